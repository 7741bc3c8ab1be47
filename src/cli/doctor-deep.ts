import { examineDeeply, fixFinding } from "../contract/doctor.ts";
import type { Output } from "../contract/operation.ts";
import { plural } from "../contract/phrases.ts";
import { clientOf, companyOf } from "./terminal.ts";

/** `agency doctor --deep` and `--fix`: every invariant of the stored rows, page after page. */
type Finding = Output<typeof examineDeeply>["findings"][number];

export interface DeepReport {
  readonly ok: boolean;
  readonly invariants: number;
  readonly broken: number;
  readonly findings: readonly Finding[];
  readonly fixed: readonly Finding[];
}

export async function examineDeep(
  env: NodeJS.ProcessEnv,
  flags: { readonly company?: string; readonly fix?: true },
): Promise<DeepReport> {
  const client = clientOf(env);
  const where = flags.company === undefined ? {} : { companyId: await companyOf(client, flags.company) };
  const fixed: Finding[] = [];
  let { invariants, findings } = await examineAll(client, where);
  if (flags.fix === true) {
    for (const finding of findings) {
      const { companyId, invariant, id, fix } = finding;
      if (fix === null || companyId === null) continue;
      await client.call(fixFinding, { companyId, invariant, id });
      fixed.push(finding);
    }
    if (fixed.length > 0) ({ findings } = await examineAll(client, where));
  }
  const broken = new Set(findings.map(({ invariant }) => invariant)).size;
  return { ok: broken === 0, invariants, broken, findings, fixed };
}

export function describeDeep({ invariants, broken, findings, fixed }: DeepReport): string {
  const byInvariant = Map.groupBy(findings, ({ invariant }) => invariant);
  return [
    ...fixed.map(({ invariant, what }) => `fixed  ${invariant}: ${what}`),
    ...[...byInvariant.values()].flatMap((group) => [
      `broken ${group[0]?.invariant ?? ""}: ${group[0]?.statement ?? ""}`,
      ...group.flatMap(({ what, fix, advice }) => [
        `       ${what}`,
        `       ${fix === null ? (advice ?? "") : `Fix it: ${fix}`}`,
      ]),
    ]),
    `${broken} of ${invariants} invariants broken${findings.length === 0 ? "" : `, ${plural(findings.length, "finding")}`}`,
  ].join("\n");
}

async function examineAll(
  client: ReturnType<typeof clientOf>,
  where: { readonly companyId?: string },
): Promise<{ invariants: number; findings: Finding[] }> {
  const findings: Finding[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await client.call(examineDeeply, { ...where, ...(cursor === undefined ? {} : { cursor }) });
    findings.push(...page.findings);
    if (page.nextCursor === null) return { invariants: page.invariants, findings };
    cursor = page.nextCursor;
  }
}

import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import type { Client } from "../client/client.ts";
import { listCompanies } from "../contract/companies.ts";
import { examineDeeply, fixFinding } from "../contract/doctor.ts";
import { type Sandbox, viewInstallation } from "../contract/installation.ts";
import type { Output } from "../contract/operation.ts";
import { plural } from "../contract/phrases.ts";
import { describeAudit, verifyAll } from "./audit.ts";
import { sandboxNotice } from "./isolation.ts";
import { clientOf, companyOf, type Context, homeOf, print, tokenOf, urlOf } from "./terminal.ts";
import { example, jsonFlag } from "./texts.ts";

interface Finding {
  readonly check: string;
  readonly ok: boolean;
  readonly says: string;
  readonly warns?: boolean;
  readonly sandbox?: Sandbox;
}

export function addDoctor(program: Command, context: Context): void {
  program
    .command("doctor")
    .description("Check the installation and explain how to fix what is wrong.")
    .option("--deep", "Also check every invariant of the stored rows, with a fix or advice for each finding.")
    .option("--fix", "Like --deep, and mend the findings that need no decision.")
    .option("--company <id or name>", "With --deep or --fix: check only the rows of this company.")
    .option(...jsonFlag)
    .addHelpText("after", example("agency doctor", "agency doctor --deep", "agency doctor --fix"))
    .action(async (flags: { json?: true; deep?: true; fix?: true; company?: string }) => {
      const findings = await examine(context.env);
      const answers = findings.some(({ check, ok: isFine }) => check === "daemon" && isFine);
      const isDeep = answers && (flags.deep === true || flags.fix === true);
      const deep = isDeep ? await examineDeep(context.env, flags) : undefined;
      // Afterwards, because mending a row also puts the record of that row right.
      if (answers) findings.push(await ledgerFinding(context.env, isDeep));
      const ok = findings.every((finding) => finding.ok) && deep?.ok !== false;
      const lines = findings.map(
        (found) =>
          `${(found.warns === true ? "warn" : found.ok ? "ok" : "fix").padEnd(5)}${found.check.padEnd(13)}${found.says}`,
      );
      if (deep !== undefined) lines.push(describeDeep(deep));
      print(context, flags, { ok, findings, deep }, ...lines);
      if (!ok) context.exitCode = 1;
    });
}

async function examine(env: NodeJS.ProcessEnv): Promise<Finding[]> {
  return [nodeVersion(), ...homeFindings(homeOf(env)), ...(await daemonFindings(env))];
}

function nodeVersion(): Finding {
  const major = Number(process.versions.node.split(".")[0]);
  return {
    check: "node",
    ok: major >= 24,
    says: `Node ${process.versions.node}${major >= 24 ? "" : " is too old. Install Node 24 or newer."}`,
  };
}

function homeFindings(home: string): Finding[] {
  if (!existsSync(home))
    return [{ check: "home", ok: true, says: `${home} does not exist yet. \`agency up\` creates it.` }];
  const token = join(home, "board-token");
  return [isPrivate("home", home), ...(existsSync(token) ? [isPrivate("board token", token)] : [])];
}

function isPrivate(check: string, path: string): Finding {
  const ok = (statSync(path).mode & 0o077) === 0;
  return { check, ok, says: ok ? path : `Other users can read ${path}. Run: chmod go= ${path}` };
}

async function daemonFindings(env: NodeJS.ProcessEnv): Promise<Finding[]> {
  if (tokenOf(env) === undefined)
    return [{ check: "daemon", ok: false, says: "There is no board token yet. Start the daemon: agency up" }];
  try {
    const { companies } = await clientOf(env).call(listCompanies, { limit: 1000 });
    const { sandbox, secrets } = await clientOf(env).call(viewInstallation, {});
    const running = `Running at ${urlOf(env)} with ${plural(companies.length, "company", "companies")}`;
    return [
      { check: "daemon", ok: true, says: running },
      {
        check: "sandbox",
        ok: true,
        // Not a fault: agents without programs work. But it must not go unnoticed.
        warns: sandbox.status !== "works",
        says: sandboxNotice(sandbox)[0] ?? sandbox.says,
        sandbox,
      },
      secretsFinding(secrets),
    ];
  } catch (error) {
    return [{ check: "daemon", ok: false, says: error instanceof Error ? error.message : String(error) }];
  }
}

function secretsFinding({ kept, missing }: Output<typeof viewInstallation>["secrets"]): Finding {
  const names = missing.map(
    ({ company, name, usedBy }) =>
      `${name} of ${company}${usedBy.length === 0 ? "" : `, which ${usedBy.join(", ")} ${usedBy.length === 1 ? "waits" : "wait"} for`}`,
  );
  const where = kept === "encrypted" ? "Stored encrypted" : "Kept in memory until the daemon stops";
  const says =
    missing.length === 0 ? where : `Missing: ${names.join("; ")}. Set each: agency secrets set <name>`;
  return { check: "secrets", ok: true, warns: missing.length > 0, says };
}

async function ledgerFinding(env: NodeJS.ProcessEnv, isDeep: boolean): Promise<Finding> {
  const audit = await verifyAll(env, isDeep);
  return { check: "ledger", ok: audit.ok, says: describeAudit(audit) };
}

/** `agency doctor --deep` and `--fix`: every invariant of the stored rows, page after page. */
type Broken = Output<typeof examineDeeply>["findings"][number];

interface DeepReport {
  readonly ok: boolean;
  readonly invariants: number;
  readonly broken: number;
  readonly findings: readonly Broken[];
  readonly fixed: readonly Broken[];
}

async function examineDeep(
  env: NodeJS.ProcessEnv,
  flags: { readonly company?: string; readonly fix?: true },
): Promise<DeepReport> {
  const client = clientOf(env);
  const companyId = flags.company === undefined ? undefined : await companyOf(client, flags.company);
  const fixed: Broken[] = [];
  let { invariants, findings } = await examineAll(client, companyId);
  if (flags.fix === true) {
    for (const finding of findings) {
      const { companyId, invariant, id, fix } = finding;
      if (fix === null || companyId === null) continue;
      await client.call(fixFinding, { companyId, invariant, id });
      fixed.push(finding);
    }
    if (fixed.length > 0) ({ findings } = await examineAll(client, companyId));
  }
  const broken = new Set(findings.map(({ invariant }) => invariant)).size;
  return { ok: broken === 0, invariants, broken, findings, fixed };
}

function describeDeep({ invariants, broken, findings, fixed }: DeepReport): string {
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
  client: Client,
  companyId: string | undefined,
): Promise<{ invariants: number; findings: Broken[] }> {
  const findings: Broken[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await client.call(examineDeeply, { companyId, cursor });
    findings.push(...page.findings);
    if (page.nextCursor === null) return { invariants: page.invariants, findings };
    cursor = page.nextCursor;
  }
}

import { examineDeeply, fixFinding } from "../contract/doctor.ts";
import type { Output } from "../contract/operation.ts";
import { notFound } from "../contract/refusal.ts";
import { guarded } from "../dispatch/guarded.ts";
import { cursorInvalid } from "../dispatch/texts.ts";
import type { Damage } from "../events/verify.ts";
import type { ReadTx } from "../store/store.ts";
import type { Bookmark, Finding } from "./examine.ts";
import { noSuchInvariant, notRepairable } from "./texts.ts";

/** Loaded with the first call: a daemon that is never examined needs neither the list nor its queries. */
const load = async () => ({ ...(await import("./examine.ts")), ...(await import("./list.ts")) });

const onExamine = guarded(examineDeeply, async ({ tx, input }) => {
  const { examine, invariants } = await load();
  const { findings, next } = await examine(tx, input.companyId ?? null, placeIn(input.cursor, invariants));
  return {
    invariants: invariants.length,
    findings: findings.map(presentFinding),
    nextCursor: next === null ? null : `${next.invariant} ${next.after}`,
  };
});

const onFix = guarded(fixFinding, async ({ tx, input, companyId, newId, record }) => {
  const { findingOf, invariants, isBroken } = await load();
  const invariant = invariants.find(({ id }) => id === input.invariant);
  if (invariant === undefined) throw noSuchInvariant(input.invariant);
  const { advice = "", repair } = invariant;
  if (repair === undefined) throw notRepairable(invariant.id, advice.replaceAll("{id}", input.id));
  const finding = await findingOf(tx, invariant, input.id);
  if (finding.companyId !== companyId) throw notFound("finding", input.id);
  const isStillBroken = await isBroken(tx, invariant, input.id);
  if (isStillBroken) await repair({ tx, companyId, newId }, input.id);
  await record(input.id, { invariant: invariant.id, what: finding.what, fixed: isStillBroken });
  return { fixed: isStillBroken };
});

export const doctorHandlers = [onExamine, onFix];

/** The files whose content no longer matches the hash of its version, for `agency audit verify --deep`. */
export async function damagedContent(
  tx: ReadTx,
  after: string | undefined,
): Promise<{ problems: Damage[]; next: string | null }> {
  const { examine, invariants } = await load();
  const content = invariants.filter(({ id }) => id === "version-content");
  const from = content.flatMap(({ id }) => (after === undefined ? [] : [{ invariant: id, after }]));
  const { findings, next } = await examine(tx, null, from[0], content);
  const problems = findings.map((finding) => ({
    companyId: finding.companyId ?? "",
    seq: null,
    row: `knowledge/${finding.id}`,
    what: finding.what,
    intactUntil: null,
    advice: presentFinding(finding).advice ?? "",
  }));
  return { problems, next: next?.after ?? null };
}

export function presentFinding({ invariant, id, companyId, what }: Finding) {
  const { advice, statement } = invariant;
  return {
    invariant: invariant.id,
    statement,
    companyId,
    id,
    what,
    fix: advice === undefined ? "agency doctor --fix" : null,
    advice: advice?.replaceAll("{id}", id) ?? null,
  } satisfies Output<typeof examineDeeply>["findings"][number];
}

function placeIn(
  cursor: string | undefined,
  known: readonly { readonly id: string }[],
): Bookmark | undefined {
  if (cursor === undefined) return undefined;
  const [invariant = "", after = ""] = cursor.split(" ");
  if (!known.some(({ id }) => id === invariant)) throw cursorInvalid();
  return { invariant, after };
}

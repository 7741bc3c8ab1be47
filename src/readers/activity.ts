import * as contract from "../contract/ledger.ts";
import { guarded } from "../dispatch/guarded.ts";
import { cursorParts, defaultPage, numberCursor, pageAfter } from "../dispatch/page.ts";
import { aboutAgent, listAfter, presentEvent } from "../events/ledger.ts";
import { deedsOf } from "../events/pages.ts";
import { RowCheck } from "../events/rows.ts";
import { type Anchors, type Damage, verify } from "../events/verify.ts";
import { boardHasLedger, deepCheckLost } from "./texts.ts";

const onList = guarded(contract.listEvents, async ({ tx, companyId, input }) => {
  const limit = input.limit ?? defaultPage;
  const rows = await tx.all(listAfter, { companyId, after: input.after ?? 0, limit: limit + 1 });
  const { page, nextCursor } = pageAfter(rows, limit, (row) => String(row.seq));
  return { events: page.map(presentEvent), nextCursor };
});

const onMine = guarded(contract.readAuditLog, async ({ tx, actor, companyId, input }) => {
  if (actor.agentId === null) throw boardHasLedger();
  const own = { companyId, id: actor.agentId };
  const from = numberCursor(input.cursor, Number.MAX_SAFE_INTEGER);
  const { rows, nextCursor } = await deedsOf(tx, own, from, input.limit ?? defaultPage);
  const events = rows.map(presentEvent).map(({ at, actor: by, operation, subject, data }) => ({
    at,
    actor: by,
    operation,
    subject,
    data,
  }));
  return { events, nextCursor };
});

const onAgent = guarded(contract.listAgentEvents, async ({ tx, input }) => {
  const limit = input.limit ?? defaultPage;
  const before = numberCursor(input.cursor, Number.MAX_SAFE_INTEGER);
  const rows = await tx.all(aboutAgent, { agent: input.id, before, limit: limit + 1 });
  const { page, nextCursor } = pageAfter(rows, limit, (row) => String(row.seq));
  return { events: page.map(presentEvent), nextCursor };
});

/** What a place outside the database remembers of the ledger. Tests leave it out. */
export interface AnchorReader {
  readonly read: () => Anchors;
}

/** A deep check remembers what the ledger says of each row from one call to the next: here, for the newest check only. */
function verifying(anchor: AnchorReader) {
  let run = 0;
  let rows = new RowCheck();
  return guarded(contract.verifyLedger, async ({ tx, input }) => {
    const isRows = input.cursor?.startsWith("rows ") === true;
    if (isRows && input.cursor !== `rows ${run}`) throw deepCheckLost();
    if (isRows) {
      const { checked, problems, done } = await rows.step(tx);
      return presentCheck({ rows: checked }, problems, done ? null : `rows ${run}`);
    }
    const [chain, after] = cursorParts(input.cursor, "chain number");
    const from = chain === undefined ? null : { companyId: chain === "-" ? "" : chain, after: Number(after) };
    const { checked, problems, next } = await verify(tx, anchor.read(), from, input.limit ?? 10_000);
    if (next !== null) return presentCheck({ checked }, problems, `${next.companyId || "-"} ${next.after}`);
    if (input.deep !== true) return presentCheck({ checked }, problems, null);
    rows = new RowCheck();
    return presentCheck({ checked }, problems, `rows ${++run}`);
  });
}

function presentCheck(
  counts: { readonly checked?: number; readonly rows?: number },
  problems: readonly Damage[],
  nextCursor: string | null,
) {
  return {
    ok: problems.length === 0,
    checked: counts.checked ?? 0,
    rows: counts.rows ?? 0,
    problems: problems.map(({ intactUntil, ...found }) => ({
      ...found,
      companyId: found.companyId || null,
      intactUntil: intactUntil === null ? null : new Date(intactUntil).toISOString(),
    })),
    nextCursor,
  };
}

export const activityHandlers = (anchor: AnchorReader) => [onList, onMine, onAgent, verifying(anchor)];

import * as contract from "../contract/ledger.ts";
import { guarded } from "../dispatch/guarded.ts";
import { cursorParts, defaultPage, numberCursor, pageAfter } from "../dispatch/page.ts";
import { aboutAgent, listAfter, presentEvent } from "../events/ledger.ts";
import { verify } from "../events/verify.ts";
import type { ReadTx } from "../store/store.ts";
import { boardHasLedger } from "./texts.ts";

const onList = guarded(contract.listEvents, async ({ tx, companyId, input }) => {
  const limit = input.limit ?? defaultPage;
  const rows = await tx.all(listAfter, { companyId, after: input.after ?? 0, limit: limit + 1 });
  const { page, nextCursor } = pageAfter(rows, limit, (row) => String(row.seq));
  return { events: page.map(presentEvent), nextCursor };
});

const onMine = guarded(contract.readAuditLog, async ({ tx, actor, input }) => {
  if (actor.agentId === null) throw boardHasLedger();
  return ofAgent(tx, actor.agentId, input);
});

const onAgent = guarded(contract.listAgentEvents, ({ tx, input }) => ofAgent(tx, input.id, input));

const onVerify = guarded(contract.verifyLedger, async ({ tx, input }) => {
  const [chain, after] = cursorParts(input.cursor, "chain number");
  const from = chain === undefined ? null : { companyId: chain === "-" ? "" : chain, after: Number(after) };
  const { checked, problems, next } = await verify(tx, from, input.limit ?? 10_000);
  return {
    ok: problems.length === 0,
    checked,
    problems: problems.map((found) => ({ ...found, companyId: found.companyId || null })),
    nextCursor: next === null ? null : `${next.companyId || "-"} ${next.after}`,
  };
});

export const activityHandlers = [onList, onMine, onAgent, onVerify];

async function ofAgent(
  tx: ReadTx,
  agent: string,
  input: { limit?: number | undefined; cursor?: string | undefined },
) {
  const limit = input.limit ?? defaultPage;
  const before = numberCursor(input.cursor, Number.MAX_SAFE_INTEGER);
  const rows = await tx.all(aboutAgent, { agent, before, limit: limit + 1 });
  const { page, nextCursor } = pageAfter(rows, limit, (row) => String(row.seq));
  return { events: page.map(presentEvent), nextCursor };
}

import * as contract from "../contract/agents.ts";
import { guarded } from "../dispatch/guarded.ts";
import { cursorParts, defaultPage, pageAfter } from "../dispatch/page.ts";
import type { ReadTx } from "../store/store.ts";
import { keyHandlers } from "./keys.ts";
import { listRows, presentAgent, presentShown } from "./table.ts";

const onList = guarded(contract.listAgents, ({ tx, companyId, input }) => listPage(tx, companyId, input));

const onView = guarded(contract.viewAgent, async ({ tx, actor, input }) => {
  const agent = await presentAgent(tx, input.id);
  const isKnown = actor.agentId === null || [agent.id, agent.boss?.id].includes(actor.agentId);
  return isKnown ? agent : { ...agent, logFileId: null, reviews: null };
});

export const agentHandlers = [onList, onView, ...keyHandlers];

async function listPage(
  tx: ReadTx,
  companyId: string,
  input: {
    status?: contract.Agent["status"] | undefined;
    limit?: number | undefined;
    cursor?: string | undefined;
  },
) {
  const [at = "0", id = ""] = cursorParts(input.cursor, "number id");
  const limit = input.limit ?? defaultPage;
  const after = { at: Number(at), id };
  const rows = await listRows(tx, { companyId, status: input.status ?? "any", after, limit: limit + 1 });
  const { page, nextCursor } = pageAfter(rows, limit, (row) => `${row.created_at} ${row.id}`);
  return { agents: page.map(presentShown), nextCursor };
}

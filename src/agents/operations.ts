import * as contract from "../contract/agents.ts";
import { guarded } from "../dispatch/guarded.ts";
import { cursorParts, defaultPage, pageAfter } from "../dispatch/page.ts";
import type { ReadTx } from "../store/store.ts";
import { keyHandlers } from "./keys.ts";
import { countAgents, listRows, presentShown } from "./table.ts";

const onList = guarded(contract.listAgents, ({ tx, companyId, input }) => listPage(tx, companyId, input));

export const agentHandlers = [onList, ...keyHandlers];

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
  const { status = "any" } = input;
  const rows = await listRows(tx, { companyId, status, after, limit: limit + 1 });
  const { page, nextCursor } = pageAfter(rows, limit, (row) => `${row.created_at} ${row.id}`);
  return { agents: page.map(presentShown), count: await countAgents(tx, companyId, status), nextCursor };
}

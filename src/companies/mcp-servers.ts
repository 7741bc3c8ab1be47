import { sql } from "kysely";
import * as contract from "../contract/companies.ts";
import { notFound } from "../contract/refusal.ts";
import { JsonObject } from "../contract/words.ts";
import type { Writing } from "../dispatch/context.ts";
import { guarded } from "../dispatch/guarded.ts";
import { redact } from "../redaction/redact.ts";
import { deleting, insertion, selection } from "../store/query.ts";
import { type Row, tables } from "../store/schema.ts";

/** Further MCP servers are records of the company. A grant of `mcp:<name>` lets an agent use one. */
type ServerRow = Row<"mcp_servers">;

const onPut = guarded(contract.putMcpServer, async (call) => present(await keepServer(call, call.input)));

export async function keepServer(
  call: Writing,
  server: { name: string; config: object },
): Promise<ServerRow> {
  const { tx, companyId: company_id } = call;
  const { name, config } = server;
  const row = { company_id, name, config: JSON.stringify(config), created_at: tx.now };
  await tx.run(putServer, row);
  await call.record(company_id, { server: name }, "mcp_server.put");
  return row;
}

const onList = guarded(contract.listMcpServers, async ({ tx, companyId }) => ({
  servers: (await tx.all(serversOf, { company_id: companyId })).map(present),
  nextCursor: null,
}));

const onRemove = guarded(contract.removeMcpServer, async (call) => {
  const { tx, companyId, input } = call;
  const row = (await tx.all(serversOf, { company_id: companyId })).find(({ name }) => name === input.name);
  if (row === undefined) throw notFound("MCP server", input.name);
  await tx.run(drop, { company_id: companyId, name: input.name });
  await call.record(companyId, { server: input.name });
  return present(row);
});

export const mcpServerHandlers = [onPut, onList, onRemove];

function present(row: ServerRow) {
  return {
    name: row.name,
    config: JsonObject.parse(redact(tables.mcp_servers.config.parse(row.config)).value),
    createdAt: new Date(row.created_at).toISOString(),
  };
}

const putServer = insertion(
  "mcp_servers",
  sql`on conflict (company_id, name) do update set config = excluded.config`,
);
export const serversOf = selection("mcp_servers", ["company_id"], sql`order by name`);
const drop = deleting("mcp_servers", ["company_id", "name"]);

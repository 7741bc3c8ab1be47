import * as contract from "../contract/companies.ts";
import { notFound } from "../contract/refusal.ts";
import { guarded } from "../dispatch/guarded.ts";
import { query } from "../store/query.ts";
import type { Schema } from "../store/schema.ts";

/** Further MCP servers are records of the company. Which agent gets which is a matter of grants (mcp:<name>). */
type Row = Schema["mcp_servers"];

const onPut = guarded(contract.putMcpServer, async (call) => {
  const { tx, companyId, input } = call;
  const row = {
    company_id: companyId,
    name: input.name,
    config: JSON.stringify(input.config),
    created_at: tx.now,
  };
  await tx.run(putServer, row);
  await call.record(companyId, { server: input.name });
  return present(row);
});

const onList = guarded(contract.listMcpServers, async ({ tx, companyId }) => ({
  servers: (await tx.all(serversOf, { companyId })).map(present),
  nextCursor: null,
}));

const onRemove = guarded(contract.removeMcpServer, async (call) => {
  const { tx, companyId, input } = call;
  const row = (await tx.all(serversOf, { companyId })).find(({ name }) => name === input.name);
  if (row === undefined) throw notFound("MCP server", input.name);
  await tx.run(drop, { companyId, name: input.name });
  await call.record(companyId, { server: input.name });
  return present(row);
});

export const mcpServerHandlers = [onPut, onList, onRemove];

function present(row: Row) {
  const config: unknown = JSON.parse(row.config);
  return { name: row.name, config: { ...Object(config) }, createdAt: new Date(row.created_at).toISOString() };
}

export const putServer = query((db, p: Row) =>
  db
    .insertInto("mcp_servers")
    .values({ company_id: p.company_id, name: p.name, config: p.config, created_at: p.created_at })
    .onConflict((conflict) => conflict.columns(["company_id", "name"]).doUpdateSet({ config: p.config })),
);
export const serversOf = query((db, p: { companyId: string }) =>
  db.selectFrom("mcp_servers").selectAll().where("company_id", "=", p.companyId).orderBy("name"),
);
const drop = query((db, p: { companyId: string; name: string }) =>
  db.deleteFrom("mcp_servers").where("company_id", "=", p.companyId).where("name", "=", p.name),
);

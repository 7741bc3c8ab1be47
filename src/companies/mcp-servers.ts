import { sql } from "kysely";
import { z } from "zod";
import { notFound } from "../contract/refusal.ts";
import { SecretReference } from "../contract/secrets.ts";
import * as contract from "../contract/servers.ts";
import { JsonObject } from "../contract/words.ts";
import { serversOf } from "../capabilities/grants.ts";
import { reachOf } from "../capabilities/hosts.ts";
import type { Writing } from "../dispatch/context.ts";
import { type Guarded, guarded } from "../dispatch/guarded.ts";
import { takeAway, tellOfServer } from "../permissions/giving.ts";
import { secretNames } from "../redaction/marks.ts";
import { redact } from "../redaction/redact.ts";
import { insertion } from "../store/inserts.ts";
import { deleting, selection, textQuery, updating } from "../store/query.ts";
import { type Row, tables } from "../store/schema.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { addressNeverReached, secretInServer, serverLacksSecrets, valueInServer } from "./texts.ts";

/** The MCP servers that a company added, as records. A grant of `mcp:<name>` lets an agent use one (servers/broker.ts). */
export type ServerRow = Row<"mcp_servers">;

const Tool = z.looseObject({ name: z.string(), description: z.string().optional(), inputSchema: JsonObject });
const Tools = z.array(Tool);
const Trouble = z.object({ status: z.enum(["fails", "signed_out"]), says: z.string(), at: z.number() });

/** The finding of the last start or request of a server (servers/server-health.ts). */
export const ServerHealth = z.object({
  status: z.enum(["works", "fails", "signed_out"]),
  says: z.string(),
  at: z.number(),
  /** Tools as the board saw them, or as they were first listed. Agents see these definitions. */
  tools: Tools,
  /** Agents for which the server fails now. The empty name stands for a test by the board. */
  failing: z.record(z.string(), Trouble).default({}),
  /** Tools whose definition the server has changed since. */
  changed: z.array(z.string()).default([]),
  /** Tools that the server does not list any more. If one comes back, it is compared with this definition. */
  gone: Tools.default([]),
});
export type ServerHealth = z.infer<typeof ServerHealth>;
export type ServerTool = z.infer<typeof Tool>;

/** The secrets among these that have no value now. */
export type LackingSecrets = (tx: ReadTx, companyId: string, names: readonly string[]) => Promise<string[]>;

export const mcpServerHandlers = (
  lacking: LackingSecrets,
  forget: (call: Writing, secret: string) => Promise<void>,
): Guarded[] => {
  const present = (tx: ReadTx, row: ServerRow) => presentServer(tx, row, lacking);
  return [
    guarded(contract.putMcpServer, async (call) => present(call.tx, await keepServer(call, call.input))),
    guarded(contract.listMcpServers, async ({ tx, companyId }) => {
      const servers = [];
      for (const row of await tx.all(serversOf, { company_id: companyId }))
        servers.push(await present(tx, row));
      return { servers, nextCursor: null };
    }),
    guarded(contract.removeMcpServer, async (call) => {
      const { tx, companyId, input } = call;
      const row = await serverNamed(tx, companyId, input.name);
      const shown = await present(tx, row);
      await tx.run(drop, { company_id: companyId, name: input.name });
      await forget(call, contract.signInSecret(input.name));
      await call.record(companyId, { server: input.name });
      // Otherwise the grants would be valid again for another server of that name.
      for (const grant of await tx.all(grantsOn, { company_id: companyId, resource: `mcp:${input.name}` })) {
        await takeAway(call, grant);
        if (grant.broken === 0) await tellOfServer(call, grant, false);
      }
      return shown;
    }),
  ];
};

export async function serverNamed(tx: ReadTx, companyId: string, name: string): Promise<ServerRow> {
  const row = await tx.first(serverRow, { company_id: companyId, name });
  if (row === undefined) throw notFound("MCP server", name);
  return row;
}

export const storedConfig = ({ config }: Pick<ServerRow, "config">): contract.ServerConfig =>
  contract.ServerConfig.parse(tables.mcp_servers.config.parse(config));

export const healthOf = ({ health }: Pick<ServerRow, "health">): ServerHealth | undefined =>
  health === null ? undefined : ServerHealth.parse(JSON.parse(health));

/** Refuses a record that would show a secret: values must be secrets of the company, and every user can read arguments. */
export async function keepServer(
  call: Writing,
  server: { name: string; config: contract.ServerConfig },
): Promise<ServerRow> {
  const { tx, companyId: company_id } = call;
  const { name, config } = server;
  const values = Object.entries(("command" in config ? config.env : config.headers) ?? {});
  for (const [key, value] of values)
    if (value !== "" && !SecretReference.safeParse(value).success) throw valueInServer(name, key);
  const open =
    "command" in config ? { command: config.command, args: config.args ?? [] } : { url: config.url };
  if (redact(open).redactedPaths.length > 0) throw secretInServer(name, "command" in config);
  if ("url" in config && isNever(config.url)) throw addressNeverReached(config.url);
  const row = { company_id, name, config: JSON.stringify(config), health: null, created_at: tx.now };
  await tx.run(putServer, row);
  await call.record(company_id, { server: name }, "mcp_server.put");
  return row;
}

/** Whether the URL has an address that is never allowed. A name is looked up with each request instead. */
function isNever(url: string): boolean {
  const { hostname } = new URL(url);
  return /^[\d.]+$|^\[/.test(hostname) && reachOf(hostname) === "never";
}

/** Stores a finding, unless the server was removed or changed meanwhile. */
export async function noteHealth(tx: Tx, row: ServerRow, health: ServerHealth): Promise<void> {
  await tx.run(keepHealth, {
    company_id: row.company_id,
    name: row.name,
    config: row.config,
    health: JSON.stringify(health),
  });
}

async function presentServer(
  tx: ReadTx,
  row: ServerRow,
  lacking: LackingSecrets,
): Promise<contract.McpServerEntry> {
  const config = storedConfig(row);
  const health = healthOf(row);
  const missingSecrets = await lacking(tx, row.company_id, secretNames(config));
  const users = await tx.all(usersOf, { companyId: row.company_id, resource: `mcp:${row.name}` });
  const failing = Object.keys(health?.failing ?? {});
  return {
    name: row.name,
    config: JsonObject.parse(config),
    createdAt: new Date(row.created_at).toISOString(),
    status: missingSecrets.length > 0 ? "no_secret" : (health?.status ?? "untried"),
    says: health?.says ?? "",
    checkedAt: health === undefined ? null : new Date(health.at).toISOString(),
    tools: (health?.tools ?? []).map(({ name, description = "" }) => ({ name, description })),
    missingSecrets,
    usedBy: users.map(({ name }) => name),
    failsFor: users.filter(({ id }) => failing.includes(id)).map(({ name }) => name),
    changedTools: health?.changed ?? [],
  };
}

/** A server that agents may use and that fails now. */
export interface BrokenServer {
  readonly name: string;
  readonly says: string;
  readonly since: number;
  readonly missing: readonly string[];
  readonly isSignedOut: boolean;
  /** Tools that the server defines differently than when the board saw them. The server still works. */
  readonly changed: readonly string[];
  /**
   * The ids of the affected agents. Each has a separate connection, so a server may fail for one agent and work for another.
   */
  readonly agents: readonly string[];
}

export async function brokenServersIn(
  tx: ReadTx,
  companyId: string,
  lacking: LackingSecrets = async () => [],
): Promise<BrokenServer[]> {
  const broken: BrokenServer[] = [];
  for (const row of await tx.all(serversOf, { company_id: companyId })) {
    const agents = await tx.all(usersOf, { companyId, resource: `mcp:${row.name}` });
    if (agents.length === 0) continue;
    const health = healthOf(row);
    const missing = await lacking(tx, companyId, secretNames(storedConfig(row)));
    const { status = "works", says = "", changed = [], failing = {} } = health ?? {};
    const isForAll = missing.length > 0 || status === "signed_out" || "" in failing;
    const concerned = isForAll ? agents : agents.filter(({ id }) => id in failing);
    if (concerned.length === 0 && changed.length === 0) continue;
    broken.push({
      name: row.name,
      says: missing.length > 0 ? serverLacksSecrets(missing) : says,
      since: health?.at ?? row.created_at,
      missing,
      isSignedOut: status === "signed_out",
      changed,
      agents: concerned.map(({ id }) => id),
    });
  }
  return broken;
}

const putServer = insertion(
  "mcp_servers",
  sql`on conflict (company_id, name) do update set config = excluded.config, health = null`,
);
const serverRow = selection("mcp_servers", ["company_id", "name"]);
const keepHealth = updating("mcp_servers", ["health"], ["company_id", "name", "config"]);
const grantsOn = selection("grants", ["company_id", "resource"], sql`and revoked_at is null order by num`);
const drop = deleting("mcp_servers", ["company_id", "name"]);
const usersOf = textQuery(
  (p: { companyId: string; resource: string }) => sql<{ id: string; name: string }>`
    select distinct a.id, a.name from grants g join agents a on a.id = g.grantee_id
    where g.company_id = ${p.companyId} and g.resource = ${p.resource} and g.broken = 0 order by a.name`,
);

import * as contract from "../contract/configurations.ts";
import { Refusal } from "../contract/refusal.ts";
import { ranks } from "../contract/resources.ts";
import { indexText, pageText } from "../brains/documentation.ts";
import { brains, findBrain } from "../brains/registry.ts";
import { revoke } from "../capabilities/grants.ts";
import { type Call, guarded, parseSettings, type Surroundings } from "../capabilities/guarded.ts";
import { isActive } from "../capabilities/members.ts";
import { recordGrant } from "../capabilities/operations.ts";
import { cursorParts, defaultPage, pageAfter } from "../capabilities/page.ts";
import { redact } from "../capabilities/redaction.ts";
import { holds } from "../capabilities/rights.ts";
import { heldOn, insertGrant } from "../capabilities/table.ts";
import { query } from "../store/query.ts";
import type { Schema } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";
import { configurationOf } from "./configuration.ts";
import { agentById, type AgentRow, listRows, presentAgent, presentShown, shownAgent } from "./table.ts";

/** How agents are made, for whoever may hire; and who may hire. */

const onList = guarded(contract.listConfigurations, async (call) => {
  const { tx, companyId, input } = call;
  await demandHirer(call);
  const [at = "0", id = ""] = cursorParts(input.cursor, "number id");
  const limit = input.limit ?? defaultPage;
  const filter = { companyId, status: undefined, employed: true, after: { at: Number(at), id } };
  const rows = await listRows(tx, { ...filter, limit: limit + 1 });
  const { page, nextCursor } = pageAfter(rows, limit, (row) => `${row.created_at} ${row.id}`);
  const configurations = [];
  for (const row of page)
    configurations.push({ agent: presentShown(row), ...(await shown(tx, await agentById(tx, row.id))) });
  return { configurations, nextCursor };
});

const onView = guarded(contract.viewConfiguration, async (call) => {
  await demandHirer(call);
  const row = await shownAgent(call.tx, call.input.id);
  return { agent: presentShown(row), ...(await shown(call.tx, row)) };
});

const onSetPermissions = guarded(contract.setPermissions, async (call) => {
  const { tx, actor, input } = call;
  const isRoot = actor.agentId === (await tx.first(companyRow, { id: call.companyId }))?.root_agent_id;
  if (actor.agentId !== null && !isRoot)
    throw new Refusal(
      "forbidden",
      "Only the board and the root agent say who may hire.",
      'Ask your boss: request_permission {"resource":"org:hire","reason":"…"}.',
    );
  const agent = await agentById(tx, input.id);
  if (!isActive(agent))
    throw new Refusal(
      "refused",
      `${agent.name} is ${agent.status} and cannot hold rights.`,
      "Choose an active agent.",
    );
  const isHeld = await holds(tx, agent.id, "org:hire", "use");
  if (input.canCreateAgents && !isHeld) await allow(call, agent);
  if (!input.canCreateAgents)
    for (const grant of await heldOn(tx, agent.id, "org:hire"))
      if (grant.revoked_at === null)
        await recordGrant(call, "permission.revoke", await revoke(tx, call.companyId, grant.id, null));
  await call.record(agent.id, { canCreateAgents: input.canCreateAgents });
  const canCreateAgents = await holds(tx, agent.id, "org:hire", "use");
  return { ...(await presentAgent(tx, agent.id)), permissions: { canCreateAgents } };
});

const onIndex = guarded(contract.brainIndex, async (call) => {
  const company = await demandHirer(call);
  return { text: indexText(brains, parseSettings(company?.settings ?? "{}").allowedAdapterTypes) };
});

const onPage = guarded(contract.brainPage, async (call) => {
  await demandHirer(call);
  return { text: pageText(findBrain(call.input.adapterType)) };
});

export const configurationHandlers = [onList, onView, onSetPermissions, onIndex, onPage];

/** The root agent is the chief also when somebody took its own right to hire. */
async function demandHirer({
  tx,
  caller,
}: Pick<Surroundings, "tx" | "caller">): Promise<Schema["companies"] | undefined> {
  const { agentId } = caller.actor;
  if (agentId === null || caller.companyId === null) return undefined;
  const company = await tx.first(companyRow, { id: caller.companyId });
  if (agentId === company?.root_agent_id || (await holds(tx, agentId, "org:hire", "use"))) return company;
  throw new Refusal(
    "forbidden",
    "How agents are made is for whoever may hire.",
    'Ask your boss: request_permission {"resource":"org:hire","reason":"…"}. list_roster shows who is here.',
  );
}

async function shown(tx: ReadTx, agent: AgentRow) {
  const { value, redactedPaths } = redact(await configurationOf(tx, agent));
  return { configuration: { ...Object(value) }, redactedPaths };
}

/**
 * By the board, out of its own right. By the root agent, handed on from its own: it may do so for anybody in the company,
 * not only for direct reports, and what it gave ends with what it has.
 */
async function allow(call: Call<{ id: string }>, agent: AgentRow): Promise<void> {
  const { tx, actor, companyId } = call;
  const own =
    actor.agentId === null
      ? undefined
      : (await heldOn(tx, actor.agentId, "org:hire")).find(({ broken }) => broken === 0);
  if (actor.agentId !== null && own === undefined)
    throw new Refusal("refused", "You may not hire yourself, so you cannot let others.", "Ask the board.");
  const row = {
    id: call.newId(),
    company_id: companyId,
    grantee_id: agent.id,
    resource: "org:hire" as const,
    level: ranks.use,
    scope_id: agent.mandate_id,
    origin: own === undefined ? "board" : "boss",
    granted_by: actor.agentId,
    parent_id: own?.id ?? null,
    structural: own?.structural ?? 0,
    broken: 0,
    created_at: tx.now,
    revoked_at: null,
  };
  await insertGrant(tx, row);
  await recordGrant(call, "permission.grant", { ...row, num: 0 });
}

const companyRow = query((db, p: { id: string }) =>
  db.selectFrom("companies").selectAll().where("id", "=", p.id),
);

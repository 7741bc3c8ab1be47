import { setPermissions } from "../contract/agents.ts";
import * as contract from "../contract/hiring.ts";
import { Refusal } from "../contract/refusal.ts";
import { indexText, pageText } from "../brains/documentation.ts";
import { brains, findBrain } from "../brains/registry.ts";
import { give, isWithin, revoke } from "../capabilities/grants.ts";
import { parseSettings } from "../dispatch/company-settings.ts";
import { type Call, guarded } from "../dispatch/guarded.ts";
import type { CallContext } from "../dispatch/context.ts";
import { isActive } from "../capabilities/members.ts";
import { recordGrant } from "../permissions/operations.ts";
import { cursorParts, defaultPage, pageAfter } from "../dispatch/page.ts";
import { redact } from "../capabilities/redaction.ts";
import { holds } from "../capabilities/rights.ts";
import { heldOn } from "../capabilities/table.ts";
import { query } from "../store/query.ts";
import type { Schema } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";
import { configurationOf } from "./snapshot.ts";
import {
  agentById,
  type AgentRow,
  listRows,
  presentAgent,
  presentShown,
  shownAgent,
} from "../agents/table.ts";

/** How agents are made, for whoever may hire; and who may hire. */

const onList = guarded(contract.listConfigurations, async (call) => {
  const { tx, companyId, input } = call;
  await demandHirer(call);
  const [at = "0", id = ""] = cursorParts(input.cursor, "number id");
  const limit = input.limit ?? defaultPage;
  const after = { at: Number(at), id };
  const rows = await listRows(tx, { companyId, status: "employed", after, limit: limit + 1 });
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

const onSetPermissions = guarded(setPermissions, async (call) => {
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
  if (input.canCreateAgents && !(await isStanding(tx, agent))) await allow(call, agent);
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
async function demandHirer({ tx, caller }: CallContext): Promise<Schema["companies"] | undefined> {
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

/** For as long as it works here; a right to hire for one outcome is less. */
async function isStanding(tx: ReadTx, agent: AgentRow): Promise<boolean> {
  for (const grant of await heldOn(tx, agent.id, "org:hire"))
    if (grant.broken === 0 && (await isWithin(tx, agent.mandate_id, grant.scope_id))) return true;
  return false;
}

/**
 * By the board, out of its own right. By the root agent, handed on from its own: it may do so for anybody in the company,
 * not only for direct reports, and what it gave ends with what it has.
 */
async function allow(call: Call<{ id: string }>, agent: AgentRow): Promise<void> {
  const { tx, actor, companyId } = call;
  const row = await give(tx, {
    id: call.newId(),
    companyId,
    giver: actor.agentId === null ? null : await agentById(tx, actor.agentId),
    receiver: agent,
    acrossLevels: true,
    resource: "org:hire",
    level: undefined,
    scopeId: undefined,
  });
  await recordGrant(call, "permission.grant", row);
}

const companyRow = query((db, p: { id: string }) =>
  db.selectFrom("companies").selectAll().where("id", "=", p.id),
);

import { JsonObject } from "../contract/words.ts";
import { setPermissions } from "../contract/agents.ts";
import * as contract from "../contract/hiring.ts";
import { indexText, pageText } from "../brains/documentation.ts";
import { seesConfigurations } from "../approvals/operations.ts";
import { brainMarks, brains, findBrain } from "../brains/registry.ts";
import { isWithin } from "../capabilities/grants.ts";
import { type Call, guarded } from "../dispatch/guarded.ts";
import type { CallContext } from "../dispatch/context.ts";
import { isActive, memberById, rootAgentOf } from "../capabilities/members.ts";
import { grantRight, takeAway } from "../permissions/giving.ts";
import { cursorParts, defaultPage, pageAfter } from "../dispatch/page.ts";
import { redact } from "../redaction/redact.ts";
import { holds } from "../capabilities/rights.ts";
import { isKnown, type Viewer } from "../capabilities/visible.ts";
import { heldOn } from "../capabilities/table.ts";
import { cannotHoldRights, configurationsForHirers, onlyBoardAllowsHiring } from "./texts.ts";
import type { ReadTx } from "../store/store.ts";
import { configurationOf } from "./drafting.ts";
import {
  agentById,
  type AgentRow,
  listRows,
  presentAgent,
  presentShown,
  shownAgent,
} from "../agents/table.ts";

/** Shows the configurations of agents and brains to callers that may hire, and decides who may hire. */

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
    configurations.push({
      agent: presentShown(row),
      ...(await shown(tx, call.actor, await agentById(tx, row.id))),
    });
  return { configurations, nextCursor };
});

const onView = guarded(contract.viewConfiguration, async (call) => {
  await demandHirer(call);
  const row = await shownAgent(call.tx, call.input.id);
  return { agent: presentShown(row), ...(await shown(call.tx, call.actor, row)) };
});

const onSetPermissions = guarded(setPermissions, async (call) => {
  const { tx, actor, input } = call;
  const isRoot = actor.agentId === (await rootAgentOf(tx, call.companyId));
  if (actor.agentId !== null && !isRoot) throw onlyBoardAllowsHiring();
  const agent = await agentById(tx, input.id);
  if (!isActive(agent)) throw cannotHoldRights(agent);
  if (input.canCreateAgents && !(await isStanding(tx, agent))) await allow(call, agent);
  if (!input.canCreateAgents)
    for (const grant of await heldOn(tx, agent.id, "org:hire"))
      if (grant.revoked_at === null) await takeAway(call, grant);
  await call.record(agent.id, { canCreateAgents: input.canCreateAgents });
  const canCreateAgents = await holds(tx, agent.id, "org:hire", "use");
  return { ...(await presentAgent(tx, agent.id)), permissions: { canCreateAgents } };
});

const onIndex = guarded(contract.brainIndex, async (call) => {
  await demandHirer(call);
  return { text: indexText(brains, (await call.settings()).allowedAdapterTypes) };
});

const onPage = guarded(contract.brainPage, async (call) => {
  await demandHirer(call);
  return { text: pageText(findBrain(call.input.adapterType)) };
});

export const configurationHandlers = [onList, onView, onSetPermissions, onIndex, onPage];

export async function demandHirer({
  tx,
  actor,
  companyId,
}: Pick<CallContext, "tx" | "actor" | "companyId">): Promise<void> {
  if (!(await seesConfigurations(tx, actor, companyId))) throw configurationsForHirers();
}

/** Leaves out rights on things that the viewer may not know of. */
async function shown(tx: ReadTx, viewer: Viewer, agent: AgentRow) {
  const configuration = await configurationOf(tx, agent);
  const grants = [];
  for (const grant of configuration.grants) if (await isKnown(tx, viewer, grant.resource)) grants.push(grant);
  const { value, redactedPaths } = redact({ ...configuration, grants }, brainMarks);
  return { configuration: JsonObject.parse(value), redactedPaths };
}

/** Whether the agent may hire for as long as it is employed. A right for one outcome is less than that. */
async function isStanding(tx: ReadTx, agent: AgentRow): Promise<boolean> {
  for (const grant of await heldOn(tx, agent.id, "org:hire"))
    if (grant.broken === 0 && (await isWithin(tx, agent.mandate_id, grant.scope_id))) return true;
  return false;
}

/**
 * The board grants the right directly. The root agent passes on its own right. It may do this for every agent of the company,
 * not only for direct reports, and the grant ends with the root agent's right.
 */
async function allow(call: Call<{ id: string }>, agent: AgentRow): Promise<void> {
  const giver = (await memberById(call.tx, call.actor.agentId)) ?? null;
  await grantRight(call, { giver, receiver: agent, acrossLevels: true, resource: "org:hire" });
}

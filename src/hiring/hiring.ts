import { deleteAgent } from "../contract/agents.ts";
import * as contract from "../contract/hiring.ts";
import { createAgent } from "../contract/hiring.ts";
import { Refusal, refusalOf } from "../contract/refusal.ts";
import type { ApprovalKind } from "../approvals/kinds.ts";
import { presentApproval } from "../approvals/operations.ts";
import { type ApprovalRow, openStatuses, payloadOf } from "../approvals/approval.ts";
import { brainShown, placeBelow, rightFrom } from "../approvals/sections.ts";
import { lastHireOf, openApproval } from "../approvals/table.ts";
import { carve, weighBudget } from "../budgets/carving.ts";
import { moneyOf } from "../budgets/requested.ts";
import { guarded } from "../dispatch/guarded.ts";
import type { CallContext, Writing } from "../dispatch/context.ts";
import { weigh } from "../capabilities/grants.ts";
import { isActive, type Member, memberById, membersAhead } from "../capabilities/members.ts";
import { byAhead } from "../capabilities/people.ts";
import { type Viewer, visibleOutcomes } from "../capabilities/visible.ts";
import { grantRight } from "../permissions/giving.ts";
import { fileById, tombstone } from "../knowledge/table.ts";
import { noticeAhead, notify } from "../mail/notices.ts";
import type { OutcomeRow } from "../outcomes/outcome.ts";
import { recordChange, outcomeFields } from "../outcomes/history.ts";
import { outcomeById, saveOutcome, setParents } from "../outcomes/table.ts";
import { personAfter } from "../people/positions.ts";
import { redactText } from "../redaction/redact.ts";
import { counting, deleting } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { demandOwnToShare, measuresIn } from "../budgets/operations.ts";
import { bossOf, configured, type HireInput, redrafted, rowOf, snapshotOf, weighGrants } from "./drafting.ts";
import { freeName, freeSlug, nameAhead } from "../agents/naming.ts";
import { employ, insertMandate } from "./employ.ts";
import { demandNewRole, demandRoomForAgent, headcountWith, noRoomFor } from "./headcount.ts";
import { fire, reclaimAgents } from "../departures/leaving.ts";
import { sendOrder } from "../agents/orders.ts";
import { agentById, type AgentRow, presentAgent, presentHired, saveAgent } from "../agents/table.ts";
import { heldFor, releaseParts, renameHeld } from "../departures/waiting-parts.ts";
import {
  boundToOutcome,
  grantsNotHeld,
  hireChanges,
  hireRevised,
  managerGone,
  notDeletable,
  workIsBack,
} from "./texts.ts";

/**
 * The only way an agent enters a company. If the company requires approval, an agent that the board did not create starts as
 * pending_approval. A pending agent is in the tree and can be reviewed, but it can't run, be assigned work or hold rights. An
 * agent is pending exactly while one approval for it is open.
 */

const onCreate = guarded(createAgent, async (call) => {
  const boss = await bossOf(call, call.input.reportsTo);
  const { person, ...input } = call.input;
  const { agent } = await takeOn(call, { input, boss, waits: false });
  if (person !== undefined) {
    const personId = await personAfter(call.tx, agent, person);
    await saveAgent(call.tx, agent, { person_id: personId });
    await call.record(agent.id, { person: personId }, "agent.bind");
  }
  return presentAgent(call.tx, agent.id);
});

const onHire = guarded(
  contract.hireAgent,
  async (call) => {
    const boss = await bossOf(call, call.input.reportsTo);
    const { requireBoardApprovalForNewAgents: waits } = await call.settings();
    byAhead(call.tx, call.actor);
    const { agent, approval } = await takeOn(call, { input: call.input, boss, waits });
    return {
      agent: presentHired(agent, boss),
      approval: approval === null ? null : await presentApproval(call.tx, approval, call.actor),
    };
  },
  (tx, { name, reportsTo }, { companyId, agentId }) => {
    membersAhead(tx, reportsTo ?? agentId);
    nameAhead({ tx, companyId }, name);
  },
);

/** Deletes the row of a rejected agent. The approval with its thread and the closed mandate stay. */
const onDelete = guarded(deleteAgent, async (call) => {
  const agent = await agentById(call.tx, call.input.id);
  const approval = await call.tx.first(lastHireOf, { agent_id: agent.id });
  const wasDenied = approval?.status === "rejected" || approval?.status === "cancelled";
  if (agent.status !== "terminated" || !wasDenied) throw notDeletable(agent);
  await call.tx.run(deleteRow, { id: agent.id });
  const state = await fileById(call.tx, agent.state_file_id);
  if (state !== undefined) await tombstone(call.tx, state);
  await call.record(agent.id, { name: agent.name, approval: approval.id });
  return { id: agent.id, name: agent.name, deleted: true as const };
});

export const hireHandlers = [onCreate, onHire, onDelete];

export interface Hire {
  readonly input: HireInput;
  readonly boss: Member;
  /** Whether the hire needs an approval first. */
  readonly waits: boolean;
  /** True if the hire comes from a plan or a directive, not from a call that fills in the whole hire. */
  readonly byItself?: boolean;
  /** The outcome the agent is hired for, and the message to send with it. Without one, the agent gets a standing mandate. */
  readonly made?: { readonly outcome: OutcomeRow; readonly message: string | undefined };
  /** The id of an agent with a standing mandate, if other records refer to the agent before it exists. */
  readonly id?: string;
}

/** Creates the agent, and its approval if it needs one. If the agent is hired for an outcome, the caller delegates that outcome. */
export async function takeOn(
  call: CallContext,
  hire: Hire,
): Promise<{ agent: AgentRow; approval: ApprovalRow | null }> {
  const { tx, companyId, actor } = call;
  const { boss, made } = hire;
  if (hire.byItself === true) await demandNewRole(call, boss, hire.input.role);
  await demandRoomForAgent(call);
  const configuration = await configured(call, hire.input, boss, made?.outcome.description);
  // The first agent of a mandate has the mandate's id. A successor gets a new id: with the old one, the tokens, mail and grants
  // of its predecessor would be valid again.
  const generation =
    made === undefined ? 1 : ((await tx.first(generations, { mandate_id: made.outcome.id }))?.count ?? 0) + 1;
  const id = made !== undefined && generation === 1 ? made.outcome.id : (hire.id ?? call.newId());
  const mandateId = made?.outcome.id ?? id;
  nameAhead(call, configuration.name);
  if (made === undefined) await insertMandate(call, { id, ...mandateOf(configuration) }, boss);
  const agent = await employ(call, {
    ...rowOf(configuration),
    id,
    company_id: companyId,
    status: hire.waits ? "pending_approval" : "idle",
    boss_id: boss.id,
    mandate_id: mandateId,
    made_for_mandate: made === undefined ? 0 : 1,
    generation,
  });
  const giver = actor.agentId === null && made === undefined ? null : boss;
  await weighGrants(call, configuration, giver, agent);
  if (hire.waits) await weighBudget(tx, agent, configuration.budget ?? {});
  else {
    await demandOwnToShare(call, agent, measuresIn(configuration.budget ?? {}));
    await carve(tx, agent, configuration.budget ?? {});
  }
  await call.record(
    id,
    { name: agent.name, role: agent.role, boss: boss.id, mandate: mandateId, pending: hire.waits },
    "agent.create",
  );
  if (!hire.waits) {
    await giveGrants(call, agent, configuration, giver);
    return { agent, approval: null };
  }
  const approval = await openApproval(call, {
    type: "hire_agent",
    payload: {
      agentId: id,
      requestedByAgentId: actor.agentId,
      ...(made === undefined ? {} : { outcomeId: made.outcome.id, message: made.message ?? null }),
      requestedConfigurationSnapshot: configuration,
    },
    agentId: id,
    requestedBy: actor.agentId,
  });
  return { agent, approval };
}

/** The effects of approving, rejecting or revising a hire. */
export const hiring: ApprovalKind = {
  ahead: (tx, approval) => {
    membersAhead(tx, snapshotOf(approval).reportsTo, approval.agent_id);
    if (approval.agent_id !== null) tx.ahead(heldFor, { for_agent_id: approval.agent_id });
  },
  approve: async (call, approval) => {
    const { tx } = call;
    const configuration = snapshotOf(approval);
    if (configuration.reportsTo !== null) noticeAhead(call, configuration.reportsTo);
    const agent = await pendingOf(tx, approval);
    const boss = await memberById(tx, agent.boss_id);
    if (boss === undefined || !isActive(boss) || boss.id !== configuration.reportsTo)
      throw managerGone(agent);
    const full = await overLimit(tx, approval);
    if (full !== undefined) throw full;
    await saveAgent(tx, agent, { status: "idle" });
    await carve(tx, agent, configuration.budget ?? {});
    try {
      await giveGrants(call, agent, configuration, giverFor(approval, boss));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      throw grantsNotHeld(boss.name, agent.name, error.message);
    }
    const { outcomeId, message } = payloadOf(approval);
    if (typeof outcomeId === "string")
      await sendOrder(call, boss.id, agent, await outcomeById(tx, outcomeId), wordsIn(message));
    for (const part of await releaseParts(call, agent))
      await sendOrder(call, boss.id, agent, part, undefined);
  },
  deny: async (call, approval, why) => {
    const agent = await pendingOf(call.tx, approval);
    if (agent.boss_id === null) throw new Error("a pending agent has a boss");
    const reason = `not approved: ${why}`;
    if (agent.made_for_mandate === 0) return fire(call, agent, agent.boss_id, reason);
    const { title } = await outcomeById(call.tx, agent.mandate_id);
    await reclaimAgents(call, agent, agent.boss_id, reason);
    // The requester is always told of the decision. If the manager is another agent, it is told that the work is back.
    if (approval.requested_by !== agent.boss_id)
      await notify(call, agent.boss_id, workIsBack({ id: agent.mandate_id, title }, agent.name, reason));
  },
  redraft: async (call, approval, changes) => {
    const { tx } = call;
    const agent = await pendingOf(tx, approval);
    const former = snapshotOf(approval);
    const input = redrafted(approval, former, changes, agent);
    const made = agent.made_for_mandate === 1;
    const boss = await bossOf(call, input.reportsTo ?? agent.boss_id ?? undefined);
    if (made && (boss.id !== agent.boss_id || (input.mandate ?? former.mandate) !== former.mandate))
      throw boundToOutcome(agent.name);
    // An unchanged brain was allowed before. A changed brain is checked like a new proposal.
    const kept =
      input.adapterType === former.adapterType &&
      JSON.stringify(input.adapterConfig) === JSON.stringify(former.adapterConfig);
    const configuration = await configured(
      call,
      kept ? { ...input, adapterType: undefined, adapterConfig: undefined } : input,
      boss,
      made ? former.mandate : undefined,
      kept ? former : undefined,
    );
    const saved = {
      ...agent,
      ...rowOf(configuration),
      name_key: await freeName(call, configuration.name, agent.id, moneyOf),
      slug: await freeSlug(tx, agent.company_id, configuration.name, agent.id),
      boss_id: boss.id,
    };
    await saveAgent(tx, agent, saved);
    await renameHeld(tx, saved);
    await weighGrants(call, configuration, giverFor(approval, boss), saved);
    await weighBudget(tx, saved, configuration.budget ?? {});
    if (!made) {
      const mandate = await outcomeById(tx, agent.mandate_id);
      const before = await outcomeFields(tx, mandate);
      await setParents(tx, agent.mandate_id, [boss.mandate_id]);
      await saveOutcome(tx, { ...mandate, ...mandateOf(configuration), delegated_by: boss.id }, call.actor);
      await recordChange(call, mandate.id, before, { note: hireRevised });
    }
    return { ...payloadOf(approval), requestedConfigurationSnapshot: configuration };
  },
  summary: async (tx, approval) => {
    const hire = snapshotOf(approval);
    const boss = await memberById(tx, hire.reportsTo);
    const agent = await memberById(tx, approval.agent_id);
    return hireChanges(hire, boss?.name, await headcountWith(tx, approval, agent), approval.status);
  },
  sections: async (tx, approval, viewer) => {
    const hire = snapshotOf(approval);
    const boss = await memberById(tx, hire.reportsTo);
    const agent = await memberById(tx, approval.agent_id);
    const giver = boss === undefined ? null : giverFor(approval, boss);
    const rights = [];
    for (const grant of hire.grants)
      rights.push(await rightFrom(tx, viewer, approval.company_id, giver, grant));
    const isOpen = openStatuses.includes(approval.status);
    return {
      place: await placeBelow(tx, hire.reportsTo),
      headcount: await headcountWith(tx, approval, agent),
      rights,
      brain: brainShown(viewer, hire),
      heldUp: agent === undefined ? [] : await waitingFor(tx, viewer, agent),
      obstacles: isOpen && viewer.agentId === null ? await obstaclesTo(tx, approval, agent, boss, giver) : [],
    };
  },
};

/** The outcomes that wait for a pending agent: the one it is hired for, and the parts that are planned for it. */
async function waitingFor(tx: ReadTx, viewer: Viewer, agent: Member) {
  if (agent.status !== "pending_approval") return [];
  const mandate = await outcomeById(tx, agent.mandate_id);
  const parts = await tx.all(heldFor, { for_agent_id: agent.id });
  const waiting = mandate.kind === "mandate" ? parts : [mandate, ...parts];
  const shown = await visibleOutcomes(tx, viewer, waiting);
  return shown.map(({ id, title }) => ({ kind: "outcome", id, title: redactText(title) }));
}

/** The reasons why the hire can't be approved now. */
async function obstaclesTo(
  tx: ReadTx,
  approval: ApprovalRow,
  agent: Member | undefined,
  boss: Member | undefined,
  giver: Member | null,
): Promise<string[]> {
  if (agent === undefined) return [];
  if (boss === undefined || !isActive(boss)) return [managerGone(agent).message];
  const receiver = agent;
  const companyId = agent.company_id;
  const hire = snapshotOf(approval);
  const refusals = [
    await overLimit(tx, approval),
    await refusalOf(weighBudget(tx, agent, hire.budget ?? {})),
  ];
  for (const { resource, level } of hire.grants)
    refusals.push(await refusalOf(weigh(tx, { companyId, giver, receiver, resource, level })));
  return refusals.flatMap((refusal) => (refusal === undefined ? [] : [refusal.message]));
}

/** The pending agent already counts. Requests of the board itself are not limited. */
const overLimit = async (tx: ReadTx, approval: ApprovalRow): Promise<Refusal | undefined> =>
  approval.requested_by === null ? undefined : noRoomFor(tx, approval.company_id, 0);

const mandateOf = ({ name, role, mandate }: contract.HireConfiguration) => ({
  title: redactText(`${name}: ${role}`),
  description: mandate,
});

async function giveGrants(
  call: Writing,
  agent: AgentRow,
  configuration: contract.HireConfiguration,
  giver: Member | null,
): Promise<void> {
  const receiver = await memberById(call.tx, agent.id);
  if (receiver === undefined) throw new Error("an agent just made is missing");
  for (const { resource, level } of configuration.grants)
    await grantRight(call, { giver, receiver, resource, level });
}

function giverFor(approval: ApprovalRow, boss: Member): Member | null {
  return approval.requested_by === null && payloadOf(approval)["outcomeId"] === undefined ? null : boss;
}

async function pendingOf(tx: ReadTx, approval: ApprovalRow): Promise<AgentRow> {
  const agent = approval.agent_id === null ? undefined : await agentById(tx, approval.agent_id);
  if (agent?.status !== "pending_approval") throw new Error(`approval ${approval.id} has no pending agent`);
  return agent;
}

const wordsIn = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

const generations = counting("agents", ["mandate_id"]);
const deleteRow = deleting("agents", ["id"]);

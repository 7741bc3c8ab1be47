import type { z } from "zod";
import { canonicalJson } from "../contract/canonical.ts";
import * as contract from "../contract/agents.ts";
import { changeAgent, ProposalRevision } from "../contract/hiring.ts";
import { measures } from "../contract/budgets.ts";
import type { Input } from "../contract/operation.ts";
import { check, sentencesOf } from "../contract/problems.ts";
import { refusalOf } from "../contract/refusal.ts";
import { JsonObject } from "../contract/words.ts";
import { freeName, freeSlug } from "../agents/naming.ts";
import { demandThere } from "../agents/standing.ts";
import {
  agentById,
  type AgentRow,
  askToStop,
  liveSessionOf,
  presentAgent,
  saveAgent,
} from "../agents/table.ts";
import { nextAgentIn } from "../agents/agent.ts";
import { notADirectReport, notActive } from "../agents/texts.ts";
import { type ApprovalRow, openStatuses, type Payload, payloadOf } from "../approvals/approval.ts";
import { brainShown } from "../approvals/sections.ts";
import type { ApprovalKind } from "../approvals/kinds.ts";
import { presentApproval, seesConfigurations } from "../approvals/operations.ts";
import { openApproval, openApprovalOf } from "../approvals/table.ts";
import { brainMarks, checkBrainConfig } from "../brains/registry.ts";
import { weighBudget } from "../budgets/carving.ts";
import { moneyOf } from "../budgets/requested.ts";
import { changeBudget, demandOwnToShare, measuresIn } from "../budgets/operations.ts";
import { findMember, isActive, memberById } from "../capabilities/members.ts";
import { guarded } from "../dispatch/guarded.ts";
import type { CallContext, Writing } from "../dispatch/context.ts";
import { tellOwner } from "../mail/notices.ts";
import { fieldChanges, recordChange, outcomeFields } from "../outcomes/history.ts";
import { outcomeById, saveOutcome } from "../outcomes/table.ts";
import { changedByOther } from "../outcomes/texts.ts";
import { personAfter } from "../people/positions.ts";
import { secretNames } from "../redaction/marks.ts";
import { restore } from "../redaction/redact.ts";
import { tables } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";
import { redirected } from "./create-agent.ts";
import { chooseBrain } from "./employ.ts";
import {
  alreadyProposed,
  changeByRevision,
  changeOutdated,
  invalidChange,
  nothingToChange,
  noLongerManager,
  onlyManagersPropose,
  proposalChanges,
  settingsChanged,
} from "./texts.ts";

/**
 * Changes an employed agent. The board does so directly; a manager proposes a change and a person decides. Both end in apply(),
 * which records each changed field before and after.
 */
type Settings = Omit<Input<typeof contract.updateAgent>, "id" | "nextAgent">;
type Present = Awaited<ReturnType<typeof settingsOfAgent>>;
type Proposal = z.infer<typeof ProposalRevision>;

const onUpdate = guarded(contract.updateAgent, async (call) => {
  const { id, nextAgent, ...wanted } = call.input;
  const agent = await demandThere(call.tx, id);
  if (agent.status === "pending_approval") throw changeByRevision(agent.name);
  const prompt = nextAgent === undefined ? {} : await redirected(call, agent, nextAgent, wanted.prompt);
  const brain = changedBrain(agent, wanted);
  const { adapterType: brain_type = agent.brain_type } = brain;
  const person = await personAfter(call.tx, { ...agent, brain_type }, wanted.person);
  const changes = await different(call.tx, agent, { ...wanted, ...prompt, ...brain, person });
  if (Object.keys(changes).length === 0) throw nothingToChange(agent.name);
  await apply(call, agent, changes);
  return presentAgent(call.tx, id);
});

const onPropose = guarded(changeAgent, async (call) => {
  const { tx, actor, companyId } = call;
  const { agent: reference, reason, ...wanted } = call.input;
  if (actor.agentId === null) throw onlyManagersPropose();
  const { id } = await findMember(tx, companyId, reference);
  const agent = await demandThere(tx, id);
  if (agent.boss_id !== actor.agentId) throw notADirectReport(agent);
  if (!isActive(agent)) throw notActive(agent);
  const open = await tx.first(openApprovalOf, { agent_id: id });
  if (open !== undefined) throw alreadyProposed(agent.name, open.id);
  const approval = await openApproval(call, {
    type: "change_agent",
    payload: {
      agentId: id,
      agent: agent.name,
      requestedByAgentId: actor.agentId,
      reason,
      ...(await proposed(call, agent, wanted)),
    },
    agentId: id,
    requestedBy: actor.agentId,
  });
  return presentApproval(tx, approval, actor);
});

export const changeHandlers = [onUpdate, onPropose];

/** The effects of a decision on a proposed change. */
export const changing: ApprovalKind = {
  approve: async (call, approval) => {
    const agent = await agentById(call.tx, approval.agent_id ?? "");
    const problem = await outdated(call.tx, approval, agent);
    if (problem !== undefined) throw problem;
    await apply(call, agent, changesIn(approval), { approval: approval.id });
  },
  deny: async () => undefined,
  redraft: async (call, approval, given) => {
    const agent = await agentById(call.tx, approval.agent_id ?? "");
    const former = payloadOf(approval);
    const { changes: inner, ...outer } = given;
    const { reason: why } = outer;
    const said =
      inner === undefined ? outer : { ...JsonObject.parse(inner), ...(why !== undefined && { reason: why }) };
    const checked = check(ProposalRevision, restore(said, former["changes"], brainMarks));
    if ("problems" in checked)
      throw invalidChange(sentencesOf(checked.problems), Object.keys(ProposalRevision.shape));
    const { reason = former["reason"], ...wanted } = checked.data;
    return { ...former, reason, ...(await proposed(call, agent, { ...changesIn(approval), ...wanted })) };
  },
  summary: async (tx, approval) => {
    const { agent, reason } = payloadOf(approval);
    const requester = await memberById(tx, approval.requested_by);
    return proposalChanges(String(agent), requester?.name, Object.keys(changesIn(approval)), String(reason));
  },
  sections: async (tx, approval, viewer) => {
    const agent = await agentById(tx, approval.agent_id ?? "");
    const changes = changesIn(approval);
    const { budget, ...brain } = changes;
    const isOpen = openStatuses.includes(approval.status);
    const seesRest = await seesConfigurations(tx, viewer, approval.company_id);
    const problems = isOpen
      ? [await outdated(tx, approval, agent), await refusalOf(weighBudget(tx, agent, budget ?? {}))]
      : [];
    return {
      brain:
        Object.keys(brain).length > 0 && seesRest
          ? brainShown(viewer, withChanges(await settingsOfAgent(tx, agent), brain))
          : null,
      obstacles: viewer.agentId === null ? problems.flatMap((one) => (one ? [one.message] : [])) : [],
    };
  },
};

/** A proposal without the values that stay the same, checked like a hire, with the values that it would replace. */
async function proposed(
  call: CallContext,
  agent: AgentRow,
  wanted: Omit<Proposal, "reason">,
): Promise<{ before: Payload; changes: Payload }> {
  const { tx } = call;
  const brain = wanted.adapterType === undefined && wanted.adapterConfig === undefined ? {} : await chosen();
  const changes = await different(tx, agent, { ...wanted, ...brain });
  if (Object.keys(changes).length === 0) throw nothingToChange(agent.name);
  const budget = changes.budget ?? {};
  await demandOwnToShare(call, agent, measuresIn(budget));
  await weighBudget(tx, agent, budget);
  return { before: only(await settingsOfAgent(tx, agent), changes), changes };

  async function chosen() {
    const { brain_type, brain_config } = await chooseBrain(call, {
      adapterType: wanted.adapterType ?? agent.brain_type,
      adapterConfig: restoredConfig(agent, wanted),
    });
    return { adapterType: brain_type, adapterConfig: tables.agents.brain_config.parse(brain_config) };
  }
}

/** Why a proposal can't be approved: it was made for another manager or for other settings. */
async function outdated(tx: ReadTx, approval: ApprovalRow, agent: AgentRow) {
  const manager = await memberById(tx, approval.requested_by);
  if (manager === undefined || agent.boss_id !== manager.id || !isActive(manager) || !isActive(agent))
    return noLongerManager(manager?.name ?? "The manager", agent.name);
  const now = only(await settingsOfAgent(tx, agent), changesIn(approval));
  const before = JsonObject.parse(payloadOf(approval)["before"]);
  const changed = Object.keys(now).filter((key) => canonicalJson(now[key]) !== canonicalJson(before[key]));
  return changed.length === 0 ? undefined : changeOutdated(agent.name, changed);
}

/** Stores the changes, records each field before and after, and asks a running session to stop. */
async function apply(call: Writing, agent: AgentRow, changes: Settings, more: Payload = {}): Promise<void> {
  const { tx } = call;
  const before = await settingsOfAgent(tx, agent);
  const { mandate, budget } = changes;
  const { name: _n, mandate: _m, budget: _b, ...after } = withChanges(before, changes);
  const { adapterType: brain_type, adapterConfig, autoReply, person, ...row } = after;
  await saveAgent(tx, agent, {
    ...row,
    ...(changes.name === undefined ? {} : await renamed(call, agent, changes.name)),
    brain_type,
    brain_config: JSON.stringify(adapterConfig),
    auto_reply: autoReply ? 1 : 0,
    person_id: brain_type === "human" ? person : null,
  });
  if (mandate !== undefined) {
    const outcome = await outcomeById(tx, agent.mandate_id);
    const state = await outcomeFields(tx, outcome);
    const saved = await saveOutcome(tx, { ...outcome, description: mandate }, call.actor);
    const changed = await recordChange(call, outcome.id, state);
    await tellOwner(call, saved, (who, all) => changedByOther(who, saved, all), changed);
  }
  if (budget !== undefined) await changeBudget(call, agent.id, budget ?? noBudget);
  const stored = await settingsOfAgent(tx, await agentById(tx, agent.id));
  await call.record(agent.id, { ...more, changed: recorded(before, stored) }, contract.updateAgent.name);
  // A session keeps the settings it was started with. So it is asked to stop, and the next session gets the new ones.
  const session = await tx.first(liveSessionOf, { agent_id: agent.id });
  if (session !== undefined && Object.keys(changes).some((key) => key !== "budget"))
    await askToStop(call, session, settingsChanged);
}

/** The settings of an agent under the names that calls use. */
async function settingsOfAgent(tx: ReadTx, agent: AgentRow) {
  return {
    name: agent.name,
    role: agent.role,
    title: agent.title,
    capabilities: agent.capabilities,
    prompt: agent.prompt,
    adapterType: agent.brain_type,
    adapterConfig: tables.agents.brain_config.parse(agent.brain_config),
    model: agent.model,
    effort: agent.effort,
    mandate: (await outcomeById(tx, agent.mandate_id)).description,
    budget: tables.agents.budget.parse(agent.budget) ?? {},
    autoReply: agent.auto_reply === 1,
    person: agent.person_id,
  };
}

function withChanges(now: Present, changes: Omit<Settings, "budget">): Present {
  const either = <T>(wanted: T | undefined, is: T): T => (wanted === undefined ? is : wanted);
  return {
    name: either(changes.name, now.name),
    role: either(changes.role, now.role),
    title: either(changes.title, now.title),
    capabilities: either(changes.capabilities, now.capabilities),
    prompt: either(changes.prompt, now.prompt),
    adapterType: either(changes.adapterType, now.adapterType),
    adapterConfig: either(changes.adapterConfig, now.adapterConfig),
    model: either(changes.model, now.model),
    effort: either(changes.effort, now.effort),
    mandate: either(changes.mandate, now.mandate),
    budget: now.budget,
    autoReply: either(changes.autoReply, now.autoReply),
    person: either(changes.person, now.person),
  };
}

/** The wanted settings that differ from the present ones. Null as a budget removes all of it. */
async function different<S extends Settings>(tx: ReadTx, agent: AgentRow, wanted: S): Promise<Settings> {
  const now = await settingsOfAgent(tx, agent);
  const { budget, ...rest } = wanted;
  const settings: Payload = now;
  const found = Object.entries(rest).filter(
    ([key, value]) => value !== undefined && canonicalJson(value) !== canonicalJson(settings[key]),
  );
  const change = budget === null ? noBudget : (budget ?? {});
  const amounts = measures.flatMap((measure) => {
    const amount = change[measure];
    return amount === undefined || amount === (now.budget[measure] ?? null) ? [] : [[measure, amount]];
  });
  return {
    ...Object.fromEntries(found),
    ...(amounts.length > 0 && { budget: Object.fromEntries(amounts) }),
  };
}

const noBudget = { usd: null, tokens: null, sessions: null };

function changedBrain(agent: AgentRow, wanted: Settings): Pick<Settings, "adapterType" | "adapterConfig"> {
  if (wanted.adapterType === undefined && wanted.adapterConfig === undefined) return {};
  const adapterType = wanted.adapterType ?? agent.brain_type;
  const stored = checkBrainConfig(adapterType, restoredConfig(agent, wanted));
  return { adapterType, adapterConfig: tables.agents.brain_config.parse(stored) };
}

/** A configuration that is sent back as it was shown keeps the secrets that were hidden in it. */
function restoredConfig(
  agent: AgentRow,
  { adapterConfig }: Pick<Settings, "adapterConfig">,
): Record<string, unknown> | undefined {
  if (adapterConfig === undefined) return undefined;
  const former = { adapterConfig: tables.agents.brain_config.parse(agent.brain_config) };
  return JsonObject.parse(JsonObject.parse(restore({ adapterConfig }, former, brainMarks))["adapterConfig"]);
}

/** Each field that differs, with both values. A configuration's secrets appear by name, because their values are hidden. */
function recorded(before: Present, after: Present): Payload {
  const named = (settings: Present) => ({
    ...settings,
    nextAgent: nextAgentIn(settings.prompt),
    secretNames: secretNames(settings.adapterConfig),
  });
  return fieldChanges(named(before), named(after));
}

const changesIn = (approval: ApprovalRow): Omit<Proposal, "reason"> =>
  ProposalRevision.parse(payloadOf(approval)["changes"]);

const only = (settings: Payload, keys: object): Payload =>
  Object.fromEntries(Object.keys(keys).map((key) => [key, settings[key]]));

async function renamed(
  call: Writing,
  agent: AgentRow,
  name: string,
): Promise<Pick<AgentRow, "name" | "name_key" | "slug">> {
  const key = await freeName(call, name, agent.id, moneyOf);
  return { name, name_key: key, slug: await freeSlug(call.tx, agent.company_id, name, agent.id) };
}

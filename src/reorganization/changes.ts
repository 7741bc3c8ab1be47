import type { Change, Newcomer } from "../contract/reorganization.ts";
import { personAfter } from "../people/positions.ts";
import { notFound, type Refusal } from "../contract/refusal.ts";
import { dissolveAll } from "../budgets/carving.ts";
import type { CallContext } from "../dispatch/context.ts";
import {
  findMember,
  isActive,
  isAtOrBelow,
  type Member,
  memberById,
  reportsOf,
} from "../capabilities/members.ts";
import { holds } from "../capabilities/rights.ts";
import { visible } from "../capabilities/visible.ts";
import { chooseBrain } from "../hiring/employ.ts";
import { takeOn } from "../hiring/hiring.ts";
import { demandThere } from "../agents/standing.ts";
import { endRequests, fire, reclaimAgents } from "../departures/leaving.ts";
import { agentById, type AgentRow, endSessions, saveAgent, stopWorkOn } from "../agents/table.ts";
import { isLive } from "../outcomes/outcome.ts";
import { outcomeById } from "../outcomes/table.ts";
import { moveReport, moveRights, moveWork } from "./moving.ts";
import { takeAway } from "../permissions/giving.ts";
import { chooseLeavers } from "./shrinking.ts";
import {
  agentsOrCount,
  alreadyReports,
  brainNeedsHiring,
  cannotReportBelow,
  hireFirst,
  newcomerNeedsHiring,
  namedTwice,
  notAReport,
  notBelowYou,
  notItsWork,
  notMergeable,
  notMovable,
  proposeBrain,
  reasons,
  rootStays,
  splitSummary,
} from "./texts.ts";

/**
 * Each kind of change: which agents it affects, whether the caller may make it, and its effects. All kinds consist of four
 * steps: hire an agent, move a report, move work, let an agent go.
 */
export interface PreparedChange {
  readonly summary: string;
  /** The agents whose rows the change may touch, without new agents. */
  readonly agents: readonly string[];
  readonly warnings?: readonly string[];
  /** Makes the change and returns the ids of new agents, if there are any. */
  readonly run: () => Promise<string[] | void>;
}

type Of<K extends Change["kind"]> = Extract<Change, { kind: K }>;

export function prepare(call: CallContext, change: Change): Promise<PreparedChange> {
  switch (change.kind) {
    case "insert_layer":
      return insertLayer(call, change);
    case "remove_layer":
      return removeLayer(call, change);
    case "move_report":
      return moveOne(call, change);
    case "split":
      return split(call, change);
    case "merge":
      return merge(call, change);
    case "hand_over":
      return handOver(call, change);
    case "fire":
      return letGo(call, [change.agent], change.reason, []);
    case "shrink":
      return shrink(call, change);
  }
}

async function insertLayer(call: CallContext, change: Of<"insert_layer">): Promise<PreparedChange> {
  const boss = await active(call, change.boss, "or self");
  const reports = await reportsNamed(call, boss, change.reports);
  await demandNewcomers(call);
  return {
    summary: `${change.manager.name} joins between ${boss.name} and ${reports.map(({ name }) => name).join(", ")}`,
    agents: reports.map(({ id }) => id),
    run: async () => {
      const manager = await hire(call, change.manager, boss);
      for (const { id } of reports) await moveReport(call, id, manager, new Set([manager.id]));
      return [manager.id];
    },
  };
}

async function removeLayer(call: CallContext, change: Of<"remove_layer">): Promise<PreparedChange> {
  const agent = await active(call, change.agent);
  const boss = await bossOf(call, agent);
  return {
    summary: `${agent.name} leaves; its reports go to ${boss.name}`,
    agents: await withReports(call, [agent]),
    run: () => replace(call, [agent], boss, change.reason ?? reasons.layerRemoved),
  };
}

async function moveOne(call: CallContext, change: Of<"move_report">): Promise<PreparedChange> {
  const agent = await active(call, change.agent);
  const from = await bossOf(call, agent);
  const to = await active(call, change.to, "or self");
  if (from.id === to.id) throw alreadyReports(agent, to);
  if (await isAtOrBelow(call.tx, to.id, agent.id)) throw cannotReportBelow(agent, to);
  return {
    summary: `${agent.name} moves from ${from.name} to ${to.name}`,
    agents: [agent.id],
    run: () => moveReport(call, agent.id, to, new Set()),
  };
}

async function split(call: CallContext, change: Of<"split">): Promise<PreparedChange> {
  const { tx } = call;
  const agent = await active(call, change.agent);
  const boss = await bossOf(call, agent);
  await demandNewcomers(call);
  const parts: { newcomer: Newcomer; reports: Member[]; outcomes: readonly string[] }[] = [];
  for (const { agent: newcomer, reports = [], outcomes = [] } of change.into) {
    for (const id of outcomes) await demandOwn(call, agent, id);
    parts.push({ newcomer, outcomes, reports: await reportsNamed(call, agent, reports) });
  }
  demandOnce(parts.flatMap(({ reports }) => reports.map(({ id }) => id)));
  demandOnce(parts.flatMap(({ outcomes }) => outcomes));
  return {
    summary: splitSummary(
      agent.name,
      parts.map(({ newcomer }) => newcomer.name),
    ),
    agents: await withReports(call, [agent]),
    run: async () => {
      const row = await agentById(tx, agent.id);
      const made: string[] = [];
      for (const { newcomer, reports, outcomes } of parts) {
        const member = await hire(call, newcomer, boss);
        made.push(member.id);
        const moved = new Set<string>();
        // An outcome may have moved already, together with an outcome above it.
        for (const id of outcomes)
          if (!moved.has(id)) for (const each of await moveWork(call, id, row, member)) moved.add(each);
        const left = await moveRights(call, moved, row, member);
        for (const { id } of reports) await moveReport(call, id, member, new Set(made));
        for (const grant of left) await takeAway(call, grant);
        await stopWorkOn(call, moved, reasons.workMoved, (id) => id === agent.id);
      }
      return made;
    },
  };
}

async function merge(call: CallContext, change: Of<"merge">): Promise<PreparedChange> {
  const into = await active(call, change.into);
  const boss = await bossOf(call, into);
  const agents: Member[] = [];
  for (const reference of change.agents) {
    const agent = await active(call, reference);
    if (agent.boss_id !== boss.id || agent.id === into.id) throw notMergeable(agent, into);
    agents.push(agent);
  }
  demandOnce(agents.map(({ id }) => id));
  return {
    summary: `${agents.map(({ name }) => name).join(", ")} ${agents.length === 1 ? "is" : "are"} merged into ${into.name}`,
    agents: await withReports(call, agents),
    run: () => replace(call, agents, into, change.reason ?? reasons.mergedInto(into.name)),
  };
}

async function handOver(call: CallContext, change: Of<"hand_over">): Promise<PreparedChange> {
  const agent = await active(call, change.agent);
  const brain = await chooseBrain(call, change);
  // Like a hire: otherwise an agent could get a safe brain approved, and then choose another one.
  if (brain.brain_type !== "human")
    await demandHiring(call, { right: brainNeedsHiring(agent.name), approval: proposeBrain(agent.name) });
  return {
    summary:
      brain.brain_type === "human"
        ? `${agent.name} becomes a position for a person`
        : `${agent.name} gets the brain ${brain.brain_type}`,
    agents: [agent.id],
    run: async () => {
      const { tx } = call;
      const row = await agentById(tx, agent.id);
      const person_id = await personAfter(tx, { ...row, ...brain }, undefined);
      await saveAgent(tx, row, { ...brain, person_id, epoch: row.epoch + 1 });
      await tx.run(endSessions, { agent_id: agent.id, ended_at: tx.now, end_reason: reasons.handedOver });
      await call.record(agent.id, { from: row.brain_type, to: brain.brain_type }, "agent.hand_over");
    },
  };
}

async function shrink(call: CallContext, change: Of<"shrink">): Promise<PreparedChange> {
  if ((change.agents === undefined) === (change.to === undefined)) throw agentsOrCount();
  if (change.agents !== undefined) return letGo(call, change.agents, change.reason, []);
  const leavers = await chooseLeavers(call, change.to ?? 0);
  const why = leavers.map(({ name, why: reason }) => `${name} leaves: ${reason}`);
  return letGo(
    call,
    leavers.map(({ id }) => id),
    change.reason,
    why,
  );
}

/** Lets the named agents go in this order. An agent's reports and work move up one step at a time. */
async function letGo(
  call: CallContext,
  references: readonly string[],
  reason: string | undefined,
  warnings: readonly string[],
): Promise<PreparedChange> {
  const { tx } = call;
  const leavers: Member[] = [];
  for (const reference of references) {
    const agent = await named(call, reference);
    await demandThere(tx, agent.id);
    await bossOf(call, agent);
    leavers.push(agent);
  }
  demandOnce(leavers.map(({ id }) => id));
  const by = call.actor.agentId === null ? reasons.byBoard : reasons.byManager;
  return {
    summary: `${leavers.map(({ name }) => name).join(", ")} leave${leavers.length === 1 ? "s" : ""}`,
    agents: await withReports(call, leavers),
    warnings,
    run: async () => {
      await endRequests(call, await rowsOf(call, leavers), reason ?? by);
      for (const { id } of leavers) {
        const agent = await agentById(tx, id);
        const boss = agent.boss_id ?? "";
        // A pending agent that was hired for an outcome leaves only that outcome behind.
        if (agent.status === "pending_approval" && agent.made_for_mandate === 1)
          await reclaimAgents(call, agent, boss, reason ?? by);
        else await fire(call, agent, boss, reason ?? by);
      }
    },
  };
}

/** Moves the active reports of each agent to the heir, and lets the agent go. */
async function replace(
  call: CallContext,
  leavers: readonly Member[],
  heir: Member,
  reason: string,
): Promise<void> {
  const { tx } = call;
  await endRequests(call, await rowsOf(call, leavers), reason);
  for (const { id } of leavers) {
    const agent = await agentById(tx, id);
    // The agent's budget returns first, because the budgets of its reports were part of it.
    await dissolveAll(tx, agent);
    for (const report of await reportsOf(tx, id))
      if (isActive(report)) await moveReport(call, report.id, heir, new Set());
    await fire(call, await agentById(tx, id), agent.boss_id ?? heir.id, reason, heir.id);
  }
}

async function rowsOf({ tx }: CallContext, members: readonly Member[]): Promise<AgentRow[]> {
  const rows = [];
  for (const { id } of members) rows.push(await agentById(tx, id));
  return rows;
}

async function withReports(call: CallContext, agents: readonly Member[]): Promise<string[]> {
  const ids = [];
  for (const { id } of agents) ids.push(id, ...(await reportsOf(call.tx, id)).map((report) => report.id));
  return ids;
}

/** Finds an agent of this company below the caller. The board may name any agent. */
async function named(call: CallContext, reference: string, self?: "or self"): Promise<Member> {
  const { tx, companyId, actor } = call;
  const member = await findMember(tx, companyId, reference);
  if (actor.agentId === null) return member;
  const isOwn = member.id === actor.agentId;
  if (isOwn ? self === undefined : !(await isAtOrBelow(tx, member.id, actor.agentId)))
    throw notBelowYou(member, isOwn);
  return member;
}

async function active(call: CallContext, reference: string, self?: "or self"): Promise<Member> {
  const member = await named(call, reference, self);
  if (!isActive(member)) throw notMovable(member);
  return member;
}

async function bossOf(call: CallContext, agent: Member): Promise<Member> {
  const boss = await memberById(call.tx, agent.boss_id);
  if (boss === undefined) throw rootStays();
  return boss;
}

async function reportsNamed(
  call: CallContext,
  boss: Member,
  references: readonly string[],
): Promise<Member[]> {
  const reports: Member[] = [];
  for (const reference of references) {
    const report = await active(call, reference);
    if (report.boss_id !== boss.id) throw notAReport(report, boss);
    reports.push(report);
  }
  demandOnce(reports.map(({ id }) => id));
  return reports;
}

function demandOnce(ids: readonly string[]): void {
  if (new Set(ids).size !== ids.length) throw namedTwice();
}

/** Accepts only live work of the agent, but not its mandate or its inbox. */
async function demandOwn(call: CallContext, agent: Member, id: string): Promise<void> {
  const outcome = await outcomeById(call.tx, id);
  if (outcome.company_id !== call.companyId) throw notFound("outcome", id);
  if (
    outcome.responsible_id === agent.id &&
    isLive(outcome) &&
    id !== agent.mandate_id &&
    outcome.kind !== "inbox"
  )
    return;
  if (!(await visible(call.tx, call.actor, `outcome:${id}`))) throw notFound("outcome", id);
  throw notItsWork(agent, outcome);
}

/** An agent may hire, and choose brains, without asking only with `org:hire` in a company without hiring approval. */
async function demandHiring(
  call: CallContext,
  otherwise: { readonly right: Refusal; readonly approval: Refusal },
): Promise<void> {
  const { tx, actor } = call;
  if (actor.agentId === null) return;
  if (!(await holds(tx, actor.agentId, "org:hire", "use"))) throw otherwise.right;
  if ((await call.settings()).requireBoardApprovalForNewAgents) throw otherwise.approval;
}

/** A new agent has reports at once, which a pending agent can't have. So its hire must not need an approval. */
const demandNewcomers = (call: CallContext): Promise<void> =>
  demandHiring(call, { right: newcomerNeedsHiring(), approval: hireFirst() });

async function hire(call: CallContext, input: Newcomer, boss: Member): Promise<Member> {
  const { agent } = await takeOn(call, { input, boss, waits: false });
  return agent;
}

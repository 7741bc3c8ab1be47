import { createGoal } from "../contract/goals.ts";
import { createAgent } from "../contract/hiring.ts";
import { setBudget } from "../contract/budgets.ts";
import { grantPermission, revokePermission } from "../contract/capabilities.ts";
import { deleteFile } from "../contract/knowledge.ts";
import { acknowledgeMessage, boardInbox, sendDeferredMessage, sendMessage } from "../contract/mail.ts";
import * as companies from "../contract/companies.ts";
import * as agents from "../contract/agents.ts";
import * as outcomes from "../contract/outcomes.ts";
import { delegateOutcome, reclaimOutcome } from "../contract/delegation.ts";
import { Broken } from "./broken.ts";
import { call, type SimulatedCaller, onOutcome } from "./calling.ts";
import { decide, deleteDenied } from "./approving.ts";
import { cancel } from "./conversing.ts";
import { judgeForBoard, hasBoardWork } from "./deciding.ts";
import { giveKey } from "./founding.ts";
import { reorganize, undoOne } from "./reorganizing.ts";
import { stopOrGo } from "./stopping.ts";
import {
  type AgentView,
  awaitedByOthers,
  filesMade,
  grantsAround,
  isLiveStatus,
  lastParts,
  look,
  type OutcomeView,
  pendingMail,
  spentBudgets,
  waitingMessages,
} from "./view.ts";
import type { World } from "./world.ts";

/** One action of the board, which may do anything that makes sense. */
export async function boardTurn(world: World, who = world.board): Promise<void> {
  const { chance, company } = world;
  const view = await look(world.store, company.id);
  const board: SimulatedCaller = { world, who, view, alone: true };
  const employed = view.agents.filter(({ status }) => status !== "terminated");
  const agent = chance.pick(employed);
  const below = chance.pick(employed.filter(({ boss_id }) => boss_id !== null));
  const live = view.outcomes.filter(isLiveStatus);
  // A calm run has no faults, so it creates more dependencies between agents instead.
  const ties = world.calm;
  const deeds: [number, () => Promise<unknown>][] = [
    [8, () => call(board, sendMessage, { companyId: company.id, body: world.newKey() })],
    [4, () => write(board, agent)],
    [8, () => assign(board, live)],
    [ties ? 5 : 2, () => hold(board, live)],
    [4, () => pause(board, agent)],
    [8, () => resume(board, employed)],
    [3, () => wake(board, agent)],
    [employed.length > 4 ? 5 : 0, () => fire(board, below)],
    [ties ? 2 : 5, () => reorganize(board, company.id, null)],
    [ties ? 1 : 2, () => undoOne(board, company.id, null)],
    [employed.length < 6 ? 4 : 0, () => hire(board, agent)],
    [ties ? 2 : 4, () => setPlaces(board)],
    [4, () => budget(board, below)],
    [3, () => unblock(board, live)],
    [3, () => reopen(board, chance.pick(view.outcomes.filter((one) => !isLiveStatus(one))))],
    [2, () => reclaim(board, chance.pick(live.filter(({ delegated }) => delegated === 1)))],
    [ties ? 9 : 7, () => end(board, live)],
    [ties ? 8 : 2, () => move(board, live)],
    [ties ? 6 : 2, () => delegate(board, live, employed)],
    [7, () => grant(board, employed)],
    [7, () => revoke(board, agent)],
    [2, () => (agent === undefined ? Promise.resolve() : giveKey(world, agent.id))],
    [2, () => readInbox(board)],
    [2, () => actFor(board, chance.pick(employed.filter(({ brain_type }) => brain_type === "human")))],
    [1, () => deleteSome(board)],
    [2, () => elsewhere(world)],
    [1, () => decide(board)],
    [1, () => deleteDenied(board)],
    [5, () => setGoal(board, live)],
    [hasBoardWork(view) ? 8 : 1, () => judgeForBoard(board)],
    [2, () => cancel(board)],
    [1, () => stopOrGo(board)],
  ];
  await chance.weighted(deeds)();
}

/** A person decides something that waits for people. */
export async function decisionTurn(world: World): Promise<void> {
  const view = await look(world.store, world.company.id);
  const people = world.people.filter((who) => world.watch.accepts(who) && who.person?.link === undefined);
  const who = world.chance.flip(0.6) ? world.board : (world.chance.pick(people) ?? world.board);
  await decide({ world, who, view, alone: true });
}

async function write(board: SimulatedCaller, agent: AgentView | undefined): Promise<unknown> {
  const { world } = board;
  if (agent === undefined) return;
  const input = { companyId: world.company.id, to: agent.id, body: world.newKey() };
  if (world.chance.flip(0.5)) return call(board, sendMessage, input);
  const deliverAt = new Date(world.now + world.chance.between(0, 300_000)).toISOString();
  return call(board, sendDeferredMessage, { ...input, deliverAt });
}

/** Sets a goal of the board. The root agent owns it, and a person verifies it. */
async function setGoal(board: SimulatedCaller, live: readonly OutcomeView[]): Promise<unknown> {
  const { world } = board;
  if (live.length > world.mostLive) return;
  const { id: companyId, rootAgentId } = world.company;
  const answer = await call(board, createGoal, { companyId, title: world.newKey() });
  if (answer.kind !== "ok") return answer;
  const goal = (await look(world.store, companyId)).outcomes.find(({ id }) => id === answer.value.id);
  const isTheirs = goal?.responsible_id === rootAgentId && goal.delegated === 1 && goal.delegated_by === null;
  if (goal?.kind !== "work" || !isTheirs)
    throw new Broken("the board delegates a goal to the root agent", JSON.stringify(goal));
  return answer;
}

async function assign(board: SimulatedCaller, live: readonly OutcomeView[]): Promise<unknown> {
  const { world } = board;
  const isWork = world.chance.flip(0.6);
  const parent = world.chance.pick(live.filter(({ kind }) => (isWork ? kind === "work" : kind !== "inbox")));
  if (parent === undefined || live.length > world.mostLive) return;
  const before = world.chance.flip(0.3) ? ofSomebodyElse(board, live, parent) : undefined;
  return call(board, outcomes.createOutcome, {
    companyId: world.company.id,
    title: world.newKey(),
    parents: [parent.id],
    ...(before === undefined ? {} : { dependsOn: [before.id] }),
  });
}

function ofSomebodyElse(
  { world }: SimulatedCaller,
  live: readonly OutcomeView[],
  than: OutcomeView,
): OutcomeView | undefined {
  return world.chance.pick(
    live.filter(({ responsible_id, kind }) => responsible_id !== than.responsible_id && kind === "work"),
  );
}

/** Blocks an outcome until a time or on another agent's outcome. */
async function hold(board: SimulatedCaller, live: readonly OutcomeView[]): Promise<unknown> {
  const { world } = board;
  const open = live.filter(({ kind, status }) => kind === "work" && status === "open");
  const outcome = world.chance.pick(
    world.chance.flip(0.4) ? open.filter(({ delegated, above }) => delegated === 1 && above > 0) : open,
  );
  if (outcome === undefined) return;
  const other = world.chance.flip(0.7) ? ofSomebodyElse(board, live, outcome) : undefined;
  const until = new Date(world.now + world.chance.between(1000, 120_000)).toISOString();
  return call(board, outcomes.updateOutcome, {
    id: outcome.id,
    blocked: { reason: "Not yet.", ...(other === undefined ? { until } : { on: other.id }) },
  });
}

async function pause(board: SimulatedCaller, agent: AgentView | undefined): Promise<unknown> {
  return agent === undefined ? undefined : call(board, agents.pauseAgent, { id: agent.id });
}

async function resume(board: SimulatedCaller, employed: readonly AgentView[]): Promise<unknown> {
  const agent = board.world.chance.pick(employed.filter(({ status }) => status === "paused"));
  return agent === undefined ? undefined : call(board, agents.resumeAgent, { id: agent.id });
}

/** Sets a budget, sometimes too large. Usually no agent runs out: the aim is to catch budget that is given out twice. */
async function budget(board: SimulatedCaller, agent: AgentView | undefined): Promise<unknown> {
  const { world, view } = board;
  const { chance } = world;
  if (agent === undefined) return;
  const bossOf = (of: string | null): string | null =>
    view.agents.find(({ id }) => id === of)?.boss_id ?? null;
  let depth = 0;
  for (let boss = agent.boss_id; boss !== null; boss = bossOf(boss)) depth += 1;
  // Sometimes as much as an agent of the level above has.
  const isTooMuch = chance.flip(0.3);
  const most = [1_000_000_000, 200_000_000, 4_000_000, 80_000][isTooMuch ? depth - 1 : depth];
  const tokens = most === undefined || chance.flip(0.3) ? null : chance.between(most / 2, most);
  // A manager that has spent a part of its budget can't give all of it to a report.
  const spent = await world.store.read((tx) => tx.all(spentBudgets, { companyId: world.company.id }));
  const reports = view.agents.flatMap((report) => {
    const above = spent.find(({ agent_id }) => agent_id === report.boss_id && report.status !== "terminated");
    return above === undefined ? [] : [{ id: report.id, tokens: above.amount }];
  });
  return call(board, setBudget, (isTooMuch && reports.at(-1)) || { id: agent.id, tokens });
}

async function wake(board: SimulatedCaller, agent: AgentView | undefined): Promise<unknown> {
  return agent === undefined ? undefined : call(board, agents.wakeAgent, { id: agent.id });
}

/** Prefers an agent with undelivered mail, because that mail must then fail or be handled. */
async function fire(board: SimulatedCaller, agent: AgentView | undefined): Promise<unknown> {
  const { world, view } = board;
  const pending = await world.store.read((tx) => tx.all(pendingMail, { companyId: world.company.id }));
  const senders = view.agents.filter(
    ({ id, boss_id, status }) =>
      boss_id !== null && status !== "terminated" && pending.some(({ from_id }) => from_id === id),
  );
  const chosen = world.chance.flip(0.75) ? (world.chance.pick(senders) ?? agent) : agent;
  return chosen === undefined ? undefined : call(board, agents.terminateAgent, { id: chosen.id });
}

async function hire(board: SimulatedCaller, boss: AgentView | undefined): Promise<unknown> {
  const { world } = board;
  if (boss === undefined) return;
  const name = world.chance.pick(["Ida", "Joe", "Kim", "Lea"]) ?? "";
  return call(board, createAgent, {
    companyId: world.company.id,
    name,
    role: "worker",
    reportsTo: boss.id,
    ...(world.chance.flip(0.2) ? { adapterType: "human" } : {}),
  });
}

async function setPlaces(board: SimulatedCaller): Promise<unknown> {
  const { world } = board;
  const maxSessions = world.chance.flip(world.calm ? 0 : 0.1) ? 0 : world.chance.between(1, 5);
  return call(board, companies.updateCompany, { companyId: world.company.id, maxSessions });
}

async function unblock(board: SimulatedCaller, live: readonly OutcomeView[]): Promise<unknown> {
  const outcome = board.world.chance.pick(live.filter(({ blocked_reason }) => blocked_reason !== null));
  return outcome === undefined
    ? undefined
    : call(board, outcomes.updateOutcome, { id: outcome.id, blocked: null });
}

async function reopen(board: SimulatedCaller, outcome: OutcomeView | undefined): Promise<unknown> {
  return outcome === undefined
    ? undefined
    : call(board, outcomes.reopenOutcome, { id: outcome.id, reason: "Once more." });
}

async function reclaim(board: SimulatedCaller, outcome: OutcomeView | undefined): Promise<unknown> {
  return outcome === undefined
    ? undefined
    : onOutcome(board, reclaimOutcome, outcome, "write", {
        id: outcome.id,
        reason: "The board wants it back.",
      });
}

/** Prefers an outcome that another agent waits for, because that agent must be told. */
async function pickWork(
  board: SimulatedCaller,
  live: readonly OutcomeView[],
): Promise<OutcomeView | undefined> {
  const { chance, company, store } = board.world;
  const awaited = await store.read((tx) => tx.all(awaitedByOthers, { companyId: company.id }));
  const blocking = awaited.filter(({ id, blocked_on }) => blocked_on === id);
  const chosen = chance.pick(blocking.length > 0 && chance.flip(0.5) ? blocking : awaited);
  const work = live.filter(({ kind }) => kind === "work");
  return (chance.flip(0.6) ? work.find(({ id }) => id === chosen?.id) : undefined) ?? chance.pick(work);
}

async function end(board: SimulatedCaller, live: readonly OutcomeView[]): Promise<unknown> {
  const { chance } = board.world;
  const outcome = await pickWork(board, live);
  if (outcome === undefined) return;
  const { id } = outcome;
  if (chance.flip(0.6)) return onOutcome(board, outcomes.completeOutcome, outcome, "write", { id });
  return onOutcome(board, outcomes.closeOutcome, outcome, "write", { id, rationale: "No longer wanted." });
}

/** Changes the parents or the dependencies of an outcome. Prefers the last part that another agent's work waits for. */
async function move(board: SimulatedCaller, live: readonly OutcomeView[]): Promise<unknown> {
  const { chance, company, store } = board.world;
  const last = chance.pick(await store.read((tx) => tx.all(lastParts, { companyId: company.id })));
  const goal = chance.pick(live.filter(({ kind, id }) => kind === "mandate" && id !== last?.parent_id));
  if (last !== undefined && goal !== undefined && chance.flip(board.world.calm ? 0.9 : 0.5))
    return call(board, outcomes.updateOutcome, { id: last.id, parents: [goal.id] });
  const outcome = await pickWork(board, live);
  const other = chance.pick(live.filter(({ responsible_id }) => responsible_id !== outcome?.responsible_id));
  if (outcome === undefined || other === undefined) return;
  const change = chance.flip(0.6)
    ? { parents: [other.id] }
    : { dependsOn: chance.flip(0.5) ? [] : [other.id] };
  return call(board, outcomes.updateOutcome, { id: outcome.id, ...change });
}

async function delegate(
  board: SimulatedCaller,
  live: readonly OutcomeView[],
  employed: readonly AgentView[],
): Promise<unknown> {
  const { chance } = board.world;
  const able = live.filter(({ kind, delegated }) => kind === "work" && delegated === 0);
  // Prefers a part of a larger outcome, whose owner then waits for another agent.
  const outcome =
    (chance.flip(0.7) ? chance.pick(able.filter(({ above }) => above > 0)) : undefined) ?? chance.pick(able);
  const to = chance.pick(employed.filter(({ boss_id }) => boss_id === outcome?.responsible_id));
  return outcome === undefined || to === undefined
    ? undefined
    : call(board, delegateOutcome, { id: outcome.id, to: to.id });
}

async function grant(board: SimulatedCaller, employed: readonly AgentView[]): Promise<unknown> {
  const { chance, company } = board.world;
  const one = chance.pick(employed);
  if (one === undefined) return;
  // Only agents without a mail route along the reporting line.
  const other = chance.pick(
    employed.filter(({ id, boss_id }) => id !== one.id && boss_id !== one.id && id !== one.boss_id),
  );
  const route = other === undefined ? undefined : (`mail:${other.id}` as const);
  const resource = (chance.flip(0.7) ? route : undefined) ?? chance.pick(["org:hire", "mcp:slack"]) ?? "";
  return call(board, grantPermission, { companyId: company.id, to: one.id, resource });
}

/** Prefers a mail route with undelivered mail. */
async function revoke(board: SimulatedCaller, agent: AgentView | undefined): Promise<unknown> {
  const { world } = board;
  const pending = await world.store.read((tx) => tx.all(pendingMail, { companyId: world.company.id }));
  const letter = world.chance.pick(
    pending.filter(({ from_id, to_id }) => world.watch.mail.routes.has(`${from_id} ${to_id}`)),
  );
  const holder = letter?.from_id ?? agent?.id;
  if (holder === undefined) return;
  const grants = await world.store.read((tx) => tx.all(grantsAround, { agentId: holder }));
  const route = grants.filter(({ resource }) => resource === `mail:${letter?.to_id}`);
  // The root agent keeps its right to hire, or the company could not grow.
  const one = world.chance.pick(
    (route.length > 0 ? route : grants).filter(
      ({ revoked_at, grantee_id, resource }) =>
        revoked_at === null &&
        grantee_id === holder &&
        !(resource === "org:hire" && holder === world.company.rootAgentId),
    ),
  );
  return one === undefined ? undefined : call(board, revokePermission, { id: one.id });
}

async function readInbox(board: SimulatedCaller): Promise<unknown> {
  const { world } = board;
  const { messages } = await world.askQuietly(world.board, boardInbox, { companyId: world.company.id });
  const message = world.chance.pick(messages);
  return message === undefined ? undefined : call(board, acknowledgeMessage, { id: message.id });
}

/** A person holds this position, so the board acts for it. */
async function actFor(board: SimulatedCaller, person: AgentView | undefined): Promise<unknown> {
  if (person === undefined) return;
  const waiting = await board.world.store.read((tx) => tx.all(waitingMessages, { agentId: person.id }));
  const message = board.world.chance.pick(waiting);
  return message === undefined
    ? undefined
    : call(board, acknowledgeMessage, { id: message.id, result: "seen" });
}

async function deleteSome(board: SimulatedCaller): Promise<unknown> {
  const { world } = board;
  const files = await world.store.read((tx) => tx.all(filesMade, { companyId: world.company.id }));
  const file = world.chance.pick(files);
  return file === undefined ? undefined : call(board, deleteFile, { id: file.id });
}

/** Gives work to the other company, because two companies should share the nodes. */
async function elsewhere(world: World): Promise<unknown> {
  return world.ask(world.board, sendMessage, { companyId: world.foreign.companyId, body: world.newKey() });
}

import type { OutcomeState } from "../contract/outcomes.ts";
import type { Sandbox } from "../contract/installation.ts";
import { limitedBy } from "../budgets/texts.ts";
import { isEscalated, levelsAbove } from "../outcomes/review.ts";
import type { Ref } from "../outcomes/table.ts";
import type { Looked, Sight } from "./sight.ts";
import * as text from "./texts.ts";
import { trailOfAgent } from "./agent-trail.ts";
import type { AgentTrail, Cause, TrailStep, Trail } from "./trail.ts";

/**
 * Why an agent or outcome moves or does not. The trail starts there and follows what each outcome waits for, link by link. It
 * ends at a live end (a session, a timer, a person, an agent about to start) or at a broken link. If an outcome waits for
 * several others, the trail follows the first stuck one, else the first that waits for a person, else the first that moves,
 * else the first with a time.
 */

/** One look around, with everything that was found so far. */
export interface Looking {
  readonly sight: Sight;
  readonly sandbox: Sandbox;
  /** The viewing position; null for the board. Work that waits for this position waits for the reader. */
  readonly you: string | null;
  readonly looks: { left: number };
  readonly outcomes: Map<string, Trail>;
  readonly agents: Map<string, AgentTrail>;
  /** The outcomes between the start and this point, in order. */
  readonly entered: Set<string>;
}

export const viewOf = (sight: Sight, sandbox: Sandbox, most: number, you: string | null = null): Looking => ({
  sight,
  sandbox,
  you,
  looks: { left: most },
  outcomes: new Map(),
  agents: new Map(),
  entered: new Set(),
});

/** The most outcomes that one look may visit. */
export const mostLooks = 500;

export async function fromAgent(view: Looking, agentId: string): Promise<Trail> {
  const state = await stateOf(view, agentId);
  if (state.state === "stuck" || state.busy) return state;
  const work = await view.sight.work(agentId);
  let worst: Trail | undefined;
  for (const { id } of work) {
    const trail = await trailOf(view, id);
    if (trail.state === "stuck") return behind(state, trail, `${text.workIsStuck} ${trail.says}`);
    if (worst === undefined || isWorse(trail, worst)) worst = trail;
  }
  return worst === undefined ? { ...state, says: `${state.says} ${text.nothingToDo}` } : behind(state, worst);
}

/** The trail of an outcome that waits for another. */
const behind = (waiter: { readonly step: TrailStep }, next: Trail, says = next.says): Trail => ({
  ...next,
  step: waiter.step,
  next,
  says,
});

/** The trail of an outcome. It never enters an outcome that the actor can't read, and nothing in it depends on one. */
export async function trailOf(view: Looking, id: string): Promise<Trail> {
  const known = view.outcomes.get(id);
  if (known !== undefined) return known;
  const outcome = await view.sight.outcome(id);
  if (view.entered.has(id)) {
    const entered = [...view.entered];
    const [one = id] = entered.slice(entered.indexOf(id)).toSorted();
    return stuck(outcome, text.inACircle(outcome.title), one);
  }
  if (view.looks.left-- <= 0) return ending(outcome, "moving", text.lookedEnough(mostLooks));
  view.entered.add(id);
  const trail = await follow(view, outcome);
  view.entered.delete(id);
  view.outcomes.set(id, trail);
  return trail;
}

const stepOf = ({ id, title, status }: Looked): TrailStep => ({
  kind: "outcome",
  id,
  title,
  what: text.outcomeStep(title, status),
});
const ending = (
  outcome: Looked,
  state: OutcomeState,
  says: string,
  { cause, names, until }: Pick<Trail, "cause" | "names" | "until"> = {},
): Trail => ({
  state,
  step: stepOf(outcome),
  says,
  leaf: outcome.id,
  ...(cause && { cause }),
  ...(names && { names }),
  ...(until !== undefined && { until }),
});
const stuck = (outcome: Looked, says: string, on = outcome.id, named?: Ref): Trail =>
  ending(outcome, "stuck", says, {
    cause: {
      kind: "stall",
      about: "outcome",
      on,
      ...(named?.status === "closed" && { closed: named.id }),
    },
    ...(named && { names: [{ kind: "outcome", id: named.id, title: named.title }] }),
  });

/** The first of the awaited outcomes in this order is followed. */
const urgency: readonly OutcomeState[] = ["stuck", "waiting", "moving", "scheduled"];
const isWorse = (one: Trail, other: Trail): boolean =>
  urgency.indexOf(one.state) < urgency.indexOf(other.state);

async function follow(view: Looking, outcome: Looked): Promise<Trail> {
  const { sight } = view;
  const { id, title } = outcome;
  const here = { step: stepOf(outcome) };
  if (outcome.status === "completed" || outcome.status === "closed")
    return ending(outcome, "moving", `${here.step.what}.`);
  if (outcome.status === "submitted")
    return decider(view, outcome, outcome.delegated_by, text.waitsForVerdict(title));
  if (outcome.blocked_reason !== null) {
    const block = await blockOf(view, outcome);
    if (block !== null) return typeof block === "string" ? behind(here, await trailOf(view, block)) : block;
  }
  let worst: Trail | undefined;
  const consider = async (next: string): Promise<boolean> => {
    const trail = await trailOf(view, next);
    if (worst === undefined || isWorse(trail, worst)) worst = trail;
    return trail.state === "stuck";
  };
  const dependencies = await sight.dependencies(id);
  for (const dependency of dependencies.seen) {
    if (dependency.status === "completed") continue;
    if (dependency.status === "closed")
      return stuck(outcome, text.dependsOnClosed(title, dependency.title), id, dependency);
    if (await consider(dependency.id)) break;
  }
  const isStanding = outcome.kind === "perpetual" || outcome.kind === "mandate";
  const children = await sight.children(id);
  for (const child of children.seen) {
    if (worst?.state === "stuck") break;
    // A permanent outcome waits neither for inboxes nor for mandates. Work waits for its agent's inbox like for any other
    // child.
    if (isStanding && (child.kind === "inbox" || child.kind === "mandate")) continue;
    if (child.kind === "mandate") return stuck(outcome, text.mandateBelow(title, child.title), id, child);
    await consider(child.id);
  }
  if (worst !== undefined) return behind(here, worst);
  if (!children.whole || !dependencies.whole) return ending(outcome, "moving", text.waitsUnseen(title));
  if (isStanding) return ending(outcome, "moving", text.standing(title));
  if (outcome.responsible_id === null) return stuck(outcome, `${text.unassignedYet} ${text.boardCanAssign}`);
  if (outcome.responsible_id === view.you)
    return ending(outcome, "waiting", text.waitsForYou(title), {
      cause: { kind: "question", about: "outcome", on: id },
    });
  return { ...behind(here, await stateOf(view, outcome.responsible_id)), leaf: id };
}

/** The end of the trail at a block, or the outcome that the block waits for. Null if the block has ended. */
async function blockOf(view: Looking, outcome: Looked): Promise<Trail | string | null> {
  const { sight } = view;
  const { title, blocked_until: until, blocked_on: on } = outcome;
  const reason = outcome.blocked_reason ?? "";
  if (until !== null && until <= sight.now) return null;
  if (outcome.for_agent_id !== null) {
    const state = await stateOf(view, outcome.for_agent_id);
    return { ...state, step: stepOf(outcome), leaf: outcome.id, says: `${text.unassignedYet} ${state.says}` };
  }
  if (on !== null && !(await sight.sees(on))) return ending(outcome, "moving", text.waitsUnseen(title));
  const status = on === null ? null : (await sight.outcome(on)).status;
  if (status === "completed" || status === "closed") return null;
  // Either the time or the other outcome ends the block, and the time is certain to come.
  if (until !== null) return ending(outcome, "scheduled", text.blockedUntil(title, until, reason), { until });
  if (on !== null) return on;
  const says = text.blocked(title, reason, isEscalated(outcome), sight.isPerson);
  const limited = limitedBy(reason);
  if (limited !== undefined && (await sight.isLive(limited)))
    return ending(outcome, "stuck", says, { cause: { kind: "budget", about: "outcome", on: limited } });
  if (!isEscalated(outcome) || (await sight.agent(outcome.delegated_by ?? "")) === undefined)
    return stuck(outcome, says);
  let by = outcome.delegated_by;
  for (let level = levelsAbove(outcome); level > 0 && by !== null; level--)
    by = (await sight.agent(by))?.boss_id ?? null;
  return decider(view, outcome, by, says, says);
}

/** For work that waits for a verdict of this agent or, for null, of the board. */
async function decider(
  view: Looking,
  outcome: Looked,
  by: string | null,
  waits: string,
  waitsForBoard = text.waitsForBoard(outcome.title),
): Promise<Trail> {
  const { sight } = view;
  const here = { step: stepOf(outcome) };
  const cause: Cause = { kind: "verdict", about: "outcome", on: outcome.id };
  if (view.you !== null && by === view.you) return ending(outcome, "waiting", waits, { cause });
  if (by === null) {
    const step: TrailStep = { kind: "board", id: "board", title: text.theBoard, what: text.boardDecides };
    return behind(here, { state: "waiting", step, says: waitsForBoard, cause, leaf: outcome.id });
  }
  const state = { ...(await stateOf(view, by)), leaf: outcome.id };
  const agent = await sight.agent(by);
  const isKnown = agent === undefined || sight.knows(agent);
  if (state.state === "stuck" || state.busy || state.isPerson || !isKnown)
    return behind(here, state, `${waits} ${state.says}`);
  const inbox = await sight.inbox(by);
  if (inbox === undefined) return { ...stuck(outcome, `${waits} ${text.noMessageAboutIt}`), next: state };
  const trail = await trailOf(view, inbox.id);
  return behind(here, trail, `${waits} ${trail.says}`);
}

async function stateOf(view: Looking, agentId: string): Promise<AgentTrail> {
  const known = view.agents.get(agentId) ?? (await trailOfAgent(view.sight, view.sandbox, agentId));
  view.agents.set(agentId, known);
  return known;
}

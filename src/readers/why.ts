import { sql } from "kysely";
import type { AttentionKind } from "../contract/attention.ts";
import { whyMany } from "../contract/finding.ts";
import { type OutcomeState, why as contract } from "../contract/outcomes.ts";
import type { Sandbox } from "../contract/installation.ts";
import { notFound } from "../contract/refusal.ts";
import type { Output } from "../contract/operation.ts";
import type { Reference } from "../contract/words.ts";
import { isInstalled, runsPrograms } from "../brains/registry.ts";
import { inWords, isUsedUp, nextMonth } from "../budgets/budget.ts";
import { limitedBy } from "../budgets/texts.ts";
import { type Call, guarded, type Guarded } from "../dispatch/guarded.ts";
import { type Viewer, visible } from "../capabilities/visible.ts";
import { companyState } from "../dispatch/company-settings.ts";
import { isEscalated, levelsAbove } from "../outcomes/review.ts";
import type { Ref } from "../outcomes/table.ts";
import type { ApprovalRow } from "../approvals/approval.ts";
import { titleOf } from "../approvals/texts.ts";
import { redactText } from "../redaction/redact.ts";
import { selection } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import {
  askingSight,
  companySight,
  type Looked,
  type LookedAgent,
  type Resolver,
  type Sight,
} from "./sight.ts";
import * as text from "./texts.ts";

/**
 * Why an agent or outcome moves or does not. Starting from it, the trail follows what each outcome waits for, link by link.
 * It ends at a live end (a session, a timer, a person, an agent about to start) or at the broken link. If an outcome waits
 * for several others, the trail follows the first that is stuck, else the first that waits for a person, else the first that
 * moves, else the first that has a time.
 */
type Answer = Output<typeof contract>;
type Step = Answer["path"][number];

export interface Trail {
  readonly state: OutcomeState;
  readonly step: Step;
  /** What the step waits for. The whole trail is this list: a chain of thousands of outcomes shares its links. */
  readonly next?: Trail;
  readonly says: string;
  /** What `says` names, apart from the steps. */
  readonly names?: readonly Reference[];
  /** The last outcome on the trail. */
  readonly leaf?: string;
  /** What a person can decide or mend. Every trail that is stuck or waits for the board has one. */
  readonly cause?: Cause;
}

/** An item of the attention list. `on` is the id of the thing, or what else tells the causes of this kind apart. */
export interface Cause {
  readonly kind: AttentionKind;
  readonly about: "outcome" | "agent" | "approval" | "budget" | "sandbox" | "brain" | "secret";
  readonly on: string;
}

/** One look around. Everything that was found is remembered until the look ends. */
export interface Looking {
  readonly sight: Sight;
  readonly sandbox: Sandbox;
  /** The position that looks: what waits for it waits for the reader. Null: the board. */
  readonly you: string | null;
  readonly looks: { left: number };
  readonly outcomes: Map<string, Trail>;
  readonly agents: Map<string, AgentTrail>;
  /** The outcomes between the start and here, in this order. */
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

const mostLooks = 500;

const onWhy = (parts: WhyParts) =>
  guarded(contract, async (call): Promise<Answer> => {
    const [answer] = await answers(call, parts, [call.input.id]);
    if (answer === undefined) throw notFound("agent or outcome", call.input.id);
    return answer;
  });

const onWhyMany = (parts: WhyParts) =>
  guarded(whyMany, async (call) => {
    const ids = [...new Set(call.input.ids)];
    const found = await answers(call, parts, ids);
    const answered = new Set(found.map(({ id }) => id));
    return { answers: found, missing: ids.filter((id) => !answered.has(id)) };
  });

/**
 * The answers about those of the ids that the actor may ask about. A person who asks about several gets them from one look at
 * everything that is open. Of an outcome that has ended, that look knows nothing.
 */
async function answers(
  { tx, actor, caller, companyId }: Call<unknown>,
  { sandbox, secrets }: WhyParts,
  ids: readonly string[],
): Promise<Answer[]> {
  const asking = askingSight(tx, actor, secrets, actor.agentId === null || caller.person !== undefined);
  const all =
    actor.agentId === null && ids.length > 1 ? await companySight(tx, companyId, secrets) : undefined;
  const views = {
    asking: viewOf(asking, sandbox(), mostLooks),
    all: all && viewOf(all, sandbox(), Infinity),
  };
  const stopped = text.companyStopped(await companyState(tx, companyId));
  const found: Answer[] = [];
  for (const id of ids) {
    if (!(await mayAsk(tx, actor, asking, companyId, id))) continue;
    views.asking.looks.left = mostLooks;
    const isOpen = all?.known(id) !== undefined || all?.agentNamed(id) !== undefined;
    const view = (isOpen ? views.all : undefined) ?? views.asking;
    const { kind, trail } = await answerAbout(view, id);
    const shown = { id, kind, ...presentTrail(trail) };
    const isStopped =
      stopped !== null && shown.state === "moving" && (kind === "agent" || (await view.sight.isLive(id)));
    const answer = isStopped ? { ...shown, moves: false, state: "waiting" as const, says: stopped } : shown;
    const unpublished = await unpublishedOf(tx, view.sight, kind, id);
    found.push({ ...answer, says: [answer.says, ...unpublished].join(" ") });
  }
  return found;
}

/** The commits that sessions of an agent, or of the agent responsible for an outcome, did not publish. */
async function unpublishedOf(tx: ReadTx, sight: Sight, kind: Answer["kind"], id: string): Promise<string[]> {
  const agentId = kind === "agent" ? id : ((await tx.first(outcomeOf, { id }))?.responsible_id ?? "");
  const agent = await sight.agent(agentId);
  if (agent === undefined || !sight.knows(agent)) return [];
  const kept = await tx.all(openBundles, { agent_id: agentId });
  return kept.map((one) => text.unpublishedCommits(agent.name, one));
}

/** Agents may ask about themselves, their direct reports and the outcomes they can read. */
async function mayAsk(
  tx: ReadTx,
  viewer: Viewer,
  sight: Sight,
  companyId: string,
  id: string,
): Promise<boolean> {
  const agent = await sight.agent(id);
  if (viewer.agentId !== null)
    return (agent !== undefined && sight.knows(agent)) || visible(tx, viewer, `outcome:${id}`);
  return (agent ?? (await tx.first(outcomeOf, { id })))?.company_id === companyId;
}

const outcomeOf = selection("outcomes", ["id"]);
const openBundles = selection(
  "bundles",
  ["agent_id"],
  sql`and settled_at is null order by created_at, id limit 5`,
);

/** An agent and its mandate have the same id. The agent answers, unless it has left and the outcome lives on. */
export async function answerAbout(
  view: Looking,
  id: string,
): Promise<{ kind: Answer["kind"]; trail: Trail }> {
  const agent = await view.sight.agent(id);
  return agent === undefined || (agent.status === "terminated" && (await view.sight.isLive(id)))
    ? { kind: "outcome", trail: await trailOf(view, id) }
    : { kind: "agent", trail: await ofAgent(view, id) };
}

export interface WhyParts {
  readonly sandbox: () => Sandbox;
  readonly secrets: Resolver;
}

export const whyHandlers = (parts: WhyParts): Guarded[] => [onWhy(parts), onWhyMany(parts)];

function presentTrail(trail: Trail): Omit<Answer, "id" | "kind"> {
  const path: Step[] = [];
  for (let at: Trail | undefined = trail; at !== undefined; at = at.next) path.push(at.step);
  const named = [
    ...path.map(({ kind, id, title }) => ({ kind, id: kind === "board" ? null : id, title })),
    ...(trail.names ?? []),
  ];
  const references = [...new Map(named.map((one) => [`${one.kind} ${one.id ?? ""}`, one])).values()];
  return { moves: trail.state !== "stuck", state: trail.state, path, says: trail.says, references };
}

async function ofAgent(view: Looking, agentId: string): Promise<Trail> {
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

/** The trail of one that waits for another. */
const behind = (waiter: { readonly step: Step }, next: Trail, says = next.says): Trail => ({
  ...next,
  step: waiter.step,
  next,
  says,
});

/** The trail never enters an outcome that the actor can't read, and says nothing that depends on one. */
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

const stepOf = ({ id, title, status }: Looked): Step => ({
  kind: "outcome",
  id,
  title,
  what: text.outcomeStep(title, status),
});
const ending = (
  outcome: Looked,
  state: OutcomeState,
  says: string,
  { cause, names }: Pick<Trail, "cause" | "names"> = {},
): Trail => ({
  state,
  step: stepOf(outcome),
  says,
  leaf: outcome.id,
  ...(cause && { cause }),
  ...(names && { names }),
});
const stuck = (outcome: Looked, says: string, on = outcome.id, named?: Ref): Trail =>
  ending(outcome, "stuck", says, {
    cause: { kind: "stall", about: "outcome", on },
    ...(named && { names: [{ kind: "outcome", id: named.id, title: named.title }] }),
  });

/** In this order, the first of what an outcome waits for is followed. */
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
    // A permanent outcome waits for neither an inbox nor a mandate. Work waits for its agent's inbox like for any other child.
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
  // The time or the other outcome ends the block, and the time is certain to come.
  if (until !== null) return ending(outcome, "scheduled", text.blockedUntil(title, until, reason));
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

/** Work that waits for a verdict of this agent or, for null, of the board. */
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
    const step: Step = { kind: "board", id: "board", title: text.theBoard, what: text.boardDecides };
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

type AgentTrail = Trail & { readonly busy: boolean; readonly isPerson: boolean };

async function stateOf(view: Looking, agentId: string): Promise<AgentTrail> {
  const known = view.agents.get(agentId) ?? (await lookAt(view, agentId));
  view.agents.set(agentId, known);
  return known;
}

/** Whether something will make this agent work, and what. Of an agent that does not report to it, an agent sees the status. */
async function lookAt({ sight, sandbox }: Looking, agentId: string): Promise<AgentTrail> {
  const agent = await sight.agent(agentId);
  const broken = agent !== undefined && sight.knows(agent) ? await sight.brokenServers(agent) : [];
  const answer = (
    state: OutcomeState,
    does: string,
    { hint = "", busy = false, cause, names }: Ends & { hint?: string; busy?: boolean } = {},
  ): AgentTrail => {
    const title = agent?.name ?? agentId;
    const what = `${title} ${does}`;
    const stall: Cause = { kind: "stall", about: "agent", on: agentId };
    const why = cause ?? (state === "stuck" ? stall : undefined);
    return {
      state,
      busy,
      isPerson: agent?.brain_type === "human",
      step: { kind: "agent", id: agentId, title, what },
      says: [`${what}.`, ...(hint === "" ? [] : [hint]), ...broken.map(text.serverFails)].join(" "),
      ...(why && { cause: why }),
      ...(names && { names }),
    };
  };
  if (agent === undefined) return answer("stuck", text.isMissing);
  const isKnown = sight.knows(agent);
  if (agent.status === "terminated") return answer("stuck", text.hasLeftWork);
  if (agent.status === "pending_approval") {
    const approval = isKnown ? await sight.approval(agentId) : undefined;
    const isRevision = approval?.status === "revision_requested";
    const cause: Cause | undefined = approval && { kind: "approval", about: "approval", on: approval.id };
    const does = text.isPending(isRevision);
    const names = approval && [approvalRef(approval)];
    return isRevision
      ? answer("moving", does, { busy: true, names })
      : answer("waiting", does, { busy: true, cause, names });
  }
  const short = isKnown ? await shortOf(sight, agent) : undefined;
  if (agent.status === "paused")
    return short !== undefined && (await sight.isPausedByBudget(agentId))
      ? answer(short.state, `${text.isPaused}: ${short.says}`, short)
      : answer("stuck", text.isPaused, { hint: text.whoCanResume });
  const brain = (about: "brain" | "sandbox" | "secret", on: string): Cause => ({ kind: "brain", about, on });
  if (!isInstalled(agent.brain_type))
    return answer("stuck", text.brainMissing(agent.brain_type), {
      hint: text.giveAnotherBrain,
      cause: brain("brain", agent.brain_type),
    });
  if (agent.brain_type === "human") return answer("moving", text.isPerson);
  if (await sight.isAtWork(agentId)) return answer("moving", text.isAtWork, { busy: true });
  if (sandbox.status !== "works" && !sandbox.unsandboxedAllowed && runsPrograms(agent.brain_type))
    return answer("stuck", text.needsSandbox(agent.brain_type), {
      hint: text.howToSandbox(sandbox),
      cause: brain("sandbox", "sandbox"),
    });
  const missing = await sight.missingSecrets(agent);
  if (isKnown && missing.length > 0)
    return answer("stuck", text.lacksSecrets(missing), {
      hint: text.setSecrets(missing),
      cause: brain("secret", missing[0] ?? ""),
    });
  const trouble = isKnown ? await sight.trouble(agent) : undefined;
  if (trouble !== undefined) {
    const { until, says: hint, secret } = trouble;
    if (until !== null) return answer("scheduled", text.thinksLater(agent.brain_type, until), { hint });
    const lacksKey = trouble.cause === "no_key" && secret !== undefined;
    const cause = lacksKey ? brain("secret", secret) : brain("brain", agent.brain_type);
    return answer("stuck", text.cannotThink(agent.brain_type), { hint, cause });
  }
  if (isKnown && agent.not_before > sight.now) return answer("scheduled", text.startsLater(agent.not_before));
  if (short !== undefined) return answer(short.state, text.cannotStart(short.says), short);
  return answer("moving", text.isIdle, { hint: text.whenItStarts });
}

/** What a trail ends with, beside its sentence. */
interface Ends {
  readonly cause?: Cause | undefined;
  readonly names?: readonly Reference[] | undefined;
}

const approvalRef = (row: Pick<ApprovalRow, "id" | "type" | "payload">): Reference => ({
  kind: "approval",
  id: row.id,
  title: redactText(titleOf(row)),
});

/** The budget the agent lacks, and what can raise it. Undefined if the budget suffices. */
async function shortOf(
  sight: Sight,
  agent: LookedAgent,
): Promise<({ state: OutcomeState; says: string } & Ends) | undefined> {
  const want = await sight.want(agent);
  if (want === undefined) return undefined;
  const { pool, called, raise } = want;
  if (!isUsedUp(pool)) return { state: "moving", says: text.budgetReserved(called) };
  const { limit, spent, handedDown, measure } = pool;
  const used = text.budgetUsedUp(called, {
    spent: inWords(measure, spent),
    given: inWords(measure, handedDown),
    limit: inWords(measure, limit ?? 0),
  });
  const names = raise && [approvalRef(raise)];
  if (raise?.status === "pending")
    return {
      state: "waiting",
      says: `${used}; ${text.raiseRequested}`,
      names,
      cause: { kind: "approval", about: "approval", on: raise.id },
    };
  // The budget starts again with the next month, unless all of it is given to reports.
  const renewed = limit !== null && limit > handedDown;
  const parts = [
    used,
    ...(raise === undefined ? [] : [text.raiseDecided(raise.status, raise.decision_note ?? "")]),
    ...(renewed ? [text.nextMonthAt(nextMonth(sight.now))] : []),
    text.boardCanRaise,
  ];
  return {
    state: renewed ? "scheduled" : "stuck",
    says: parts.join("; "),
    names,
    cause: { kind: "budget", about: "budget", on: `${pool.id} ${measure}` },
  };
}

import { sql } from "kysely";
import { why as contract } from "../contract/outcomes.ts";
import type { Sandbox } from "../contract/installation.ts";
import { notFound } from "../contract/refusal.ts";
import type { Output } from "../contract/operation.ts";
import { overrideOf, pauseOf } from "../budgets/halting.ts";
import { openApprovalOf } from "../approvals/table.ts";
import { isInstalled, runsPrograms } from "../brains/registry.ts";
import { inWords, isUsedUp, nextMonth } from "../budgets/budget.ts";
import { lacking, poolOwnerOf } from "../budgets/reservations.ts";
import { placeOf } from "../budgets/table.ts";
import { guarded, type Guarded } from "../dispatch/guarded.ts";
import { memberById } from "../capabilities/members.ts";
import { readsBelow } from "../capabilities/structure.ts";
import { type Viewer, visible, visibleOutcomes } from "../capabilities/visible.ts";
import type { OutcomeRow } from "../outcomes/outcome.ts";
import { isEscalated } from "../outcomes/review.ts";
import { dependenciesOf, liveChildrenOf, outcomeById } from "../outcomes/table.ts";
import { selection } from "../store/query.ts";
import type { Row } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";
import * as text from "./texts.ts";

/**
 * Why an agent or outcome moves or does not. Starting from it, the trail follows what each outcome waits for, link by link.
 * It ends at a live end (a session, a timer, a person, an agent about to start) or at the broken link. If an outcome waits
 * for several others, the trail follows the first of them that is stuck.
 */
type Answer = Output<typeof contract>;
type Step = Answer["path"][number];
interface Trail {
  readonly moves: boolean;
  readonly path: Step[];
  readonly says: string;
}

const mostLooks = 500;

/** The part of the secret store that this file needs. */
interface Resolver {
  resolve(tx: ReadTx, agent: Row<"agents">): Promise<{ readonly missing: readonly string[] }>;
}

const onWhy = (sandbox: () => Sandbox, secrets: Resolver) =>
  guarded(contract, async ({ tx, actor, input }): Promise<Answer> => {
    const agent = await tx.first(agentRow, { id: input.id });
    if (actor.agentId !== null) {
      const mine = agent !== undefined && (agent.id === actor.agentId || agent.boss_id === actor.agentId);
      if (!mine && !(await visible(tx, actor, `outcome:${input.id}`)))
        throw notFound("agent or outcome", input.id);
    }
    const view = { tx, actor, looks: { left: mostLooks }, sandbox: sandbox(), secrets };
    const trail = agent === undefined ? await ofOutcome(view, input.id, []) : await ofAgent(view, agent.id);
    return { id: input.id, kind: agent === undefined ? "outcome" : "agent", ...trail };
  });

export const whyHandlers = (sandbox: () => Sandbox, secrets: Resolver): Guarded[] => [
  onWhy(sandbox, secrets),
];

interface View {
  readonly tx: ReadTx;
  readonly actor: Viewer;
  readonly looks: { left: number };
  readonly sandbox: Sandbox;
  readonly secrets: Resolver;
}

async function ofAgent(view: View, agentId: string): Promise<Trail> {
  const { tx, actor } = view;
  const state = await stateOf(view, agentId);
  const { moves, path, says } = state;
  if (!moves || state.busy) return { moves, path, says };
  const work = await visibleOutcomes(tx, actor, await tx.all(liveWork, { responsible_id: agentId }));
  for (const { id } of work) {
    const trail = await ofOutcome(view, id, []);
    if (!trail.moves)
      return { ...trail, path: [...path, ...trail.path], says: `${text.workIsStuck} ${trail.says}` };
  }
  const [waits] = work;
  if (waits === undefined) return { moves, path, says: `${says} ${text.nothingToDo}` };
  const trail = await ofOutcome(view, waits.id, []);
  return { ...trail, path: [...path, ...trail.path] };
}

/** The trail never enters an outcome that the actor can't read, and says nothing that depends on one. */
async function ofOutcome(view: View, id: string, above: readonly string[]): Promise<Trail> {
  const { tx, actor, looks } = view;
  const outcome = await outcomeById(tx, id);
  const { title } = outcome;
  const here = { id, what: text.outcomeStep(title, outcome.status) };
  const end = (moves: boolean, says: string): Trail => ({ moves, path: [here], says });
  if (above.includes(id)) return end(false, text.inACircle(title));
  if (looks.left-- <= 0) return end(true, text.lookedEnough(mostLooks));
  const deeper = async (next: string): Promise<Trail> => {
    const trail = await ofOutcome(view, next, [...above, id]);
    return { ...trail, path: [here, ...trail.path] };
  };

  if (outcome.status === "completed" || outcome.status === "closed") return end(true, `${here.what}.`);
  if (outcome.status === "submitted") return verifier(view, outcome, here);
  if (outcome.blocked_reason !== null) {
    const block = await blockOf(view, outcome);
    if (block !== null) return block.on === undefined ? end(block.moves, block.says) : deeper(block.on);
  }
  let waiting: Trail | undefined;
  const dependencies = await dependenciesOf(tx, id);
  const seen = await visibleOutcomes(tx, actor, dependencies);
  const seesBelow = actor.agentId === null || (await readsBelow(tx, actor.agentId, id));
  for (const dependency of seen) {
    if (dependency.status === "completed") continue;
    if (dependency.status === "closed") return end(false, text.dependsOnClosed(title, dependency));
    const trail = await deeper(dependency.id);
    if (!trail.moves) return trail;
    waiting ??= trail;
  }
  const isStanding = outcome.kind === "perpetual" || outcome.kind === "mandate";
  const children = await liveChildrenOf(tx, id);
  for (const child of seesBelow ? children : await visibleOutcomes(tx, actor, children)) {
    // A permanent outcome waits for neither an inbox nor a mandate. Work waits for its agent's inbox like for any other child.
    if (isStanding && (child.kind === "inbox" || child.kind === "mandate")) continue;
    if (child.kind === "mandate") return end(false, text.mandateBelow(title, child));
    const trail = await deeper(child.id);
    if (!trail.moves) return trail;
    waiting ??= trail;
  }
  if (waiting !== undefined) return waiting;
  if (!seesBelow || seen.length < dependencies.length) return end(true, text.waitsUnseen(title));
  if (isStanding) return end(true, text.standing(title));
  if (outcome.responsible_id === null) return end(false, `${text.unassignedYet} ${text.boardCanAssign}`);
  const { moves, path, says } = await stateOf(view, outcome.responsible_id);
  return { moves, path: [here, ...path], says };
}

/** What a block waits for. Null if the block has ended. */
async function blockOf(
  view: View,
  outcome: OutcomeRow,
): Promise<{ moves: boolean; says: string; on?: string } | null> {
  const { tx } = view;
  const { title, blocked_until: until, blocked_on: on } = outcome;
  const reason = outcome.blocked_reason ?? "";
  if (until !== null && until <= tx.now) return null;
  if (outcome.for_agent_id !== null) {
    const { moves, says } = await stateOf(view, outcome.for_agent_id);
    return { moves, says: `${text.unassignedYet} ${says}` };
  }
  if (on !== null && !(await visible(tx, view.actor, `outcome:${on}`)))
    return { moves: true, says: text.waitsUnseen(title) };
  const status = on === null ? null : (await outcomeById(tx, on)).status;
  if (status === "completed" || status === "closed") return null;
  // The time or the other outcome ends the block, and the time is certain to come.
  if (until !== null) return { moves: true, says: text.blockedUntil(title, until, reason) };
  if (on !== null) return { moves: true, says: "", on };
  return { moves: false, says: text.blocked(title, reason, isEscalated(outcome)) };
}

async function verifier(view: View, outcome: OutcomeRow, here: Step): Promise<Trail> {
  const { tx, actor } = view;
  if (outcome.delegated_by === null)
    return {
      moves: true,
      path: [here, { id: "board", what: text.boardDecides }],
      says: text.waitsForBoard(outcome.title),
    };
  const state = await stateOf(view, outcome.delegated_by);
  const path = [here, ...state.path];
  const waits = text.waitsForVerdict(outcome.title);
  const isKnown = actor.agentId === null || outcome.delegated_by === actor.agentId;
  if (!state.moves || state.busy || state.isPerson || !isKnown)
    return { moves: state.moves, path, says: `${waits} ${state.says}` };
  const inbox = await tx.first(openInbox, { responsible_id: outcome.delegated_by });
  if (inbox === undefined) return { moves: false, path, says: `${waits} ${text.noMessageAboutIt}` };
  const trail = await ofOutcome(view, inbox.id, []);
  return { ...trail, path: [here, ...trail.path], says: `${waits} ${trail.says}` };
}

/** Whether something will make this agent work, and what. Of an agent that does not report to it, an agent sees the status. */
async function stateOf(
  { tx, actor, sandbox, secrets }: View,
  agentId: string,
): Promise<Trail & { busy: boolean; isPerson: boolean }> {
  const agent = await tx.first(agentRow, { id: agentId });
  const isKnown = actor.agentId === null || [agent?.id, agent?.boss_id].includes(actor.agentId);
  const member = await memberById(tx, agentId);
  const answer = (moves: boolean, does: string, { hint = "", busy = false } = {}) => {
    const what = `${agent?.name ?? agentId} ${does}`;
    return {
      moves,
      busy,
      isPerson: agent?.brain_type === "human",
      path: [{ id: agentId, what }],
      says: `${what}.${hint === "" ? "" : ` ${hint}`}`,
    };
  };
  if (agent === undefined || member === undefined) return answer(false, text.isMissing);
  if (agent.status === "terminated") return answer(false, text.hasLeftWork);
  if (agent.status === "pending_approval") {
    const approval = isKnown ? await tx.first(openApprovalOf, { agent_id: agentId }) : undefined;
    const isRevision = approval?.status === "revision_requested";
    return answer(true, text.isPending(approval?.id, isRevision), { busy: true });
  }
  const short = isKnown ? await wantOf(tx, agent) : undefined;
  if (agent.status === "paused")
    return short !== undefined && (await tx.first(pauseOf, { agent_id: agentId })) !== undefined
      ? answer(short.moves, `${text.isPaused}: ${short.says}`)
      : answer(false, text.isPaused, { hint: text.whoCanResume });
  if (!isInstalled(agent.brain_type))
    return answer(false, text.brainMissing(agent.brain_type), { hint: text.giveAnotherBrain });
  if (agent.brain_type === "human") return answer(true, text.isPerson);
  if ((await tx.first(liveSession, { agent_id: agentId })) !== undefined)
    return answer(true, text.isAtWork, { busy: true });
  if (sandbox.status !== "works" && !sandbox.unsandboxedAllowed && runsPrograms(agent.brain_type))
    return answer(false, text.needsSandbox(agent.brain_type), { hint: text.howToSandbox(sandbox) });
  const { missing } = await secrets.resolve(tx, agent);
  if (isKnown && missing.length > 0)
    return answer(false, text.lacksSecrets(missing), { hint: text.setSecrets(missing) });
  if (isKnown && agent.not_before > tx.now) return answer(true, text.startsLater(agent.not_before));
  if (short !== undefined) return answer(short.moves, text.cannotStart(short.says));
  return answer(true, text.isIdle, { hint: text.whenItStarts });
}

/** The budget the agent lacks, and what can raise it. Undefined if the budget suffices. */
async function wantOf(
  tx: ReadTx,
  agent: { id: string; company_id: string },
): Promise<{ moves: boolean; says: string } | undefined> {
  const pool = lacking(await placeOf(tx, agent));
  if (pool === undefined) return undefined;
  const { called } = await poolOwnerOf(tx, pool);
  if (!isUsedUp(pool)) return { moves: true, says: text.budgetReserved(called) };
  const { limit, spent, handedDown, measure } = pool;
  const used = text.budgetUsedUp(called, {
    spent: inWords(measure, spent),
    given: inWords(measure, handedDown),
    limit: inWords(measure, limit ?? 0),
  });
  const approval = await overrideOf(tx, pool);
  if (approval?.status === "pending")
    return { moves: true, says: `${used}; ${text.raiseRequested(approval.id)}` };
  // The budget starts again with the next month, unless all of it is given to reports.
  const renewed = limit !== null && limit > handedDown;
  const parts = [
    used,
    ...(approval === undefined
      ? []
      : [text.raiseDecided(approval.id, approval.status, approval.decision_note ?? "")]),
    ...(renewed ? [text.nextMonthAt(nextMonth(tx.now))] : []),
    text.boardCanRaise,
  ];
  return { moves: renewed, says: parts.join("; ") };
}

const agentRow = selection("agents", ["id"]);
const liveSession = selection("sessions", ["agent_id"], sql`and ended_at is null`);
const openInbox = selection("outcomes", ["responsible_id"], sql`and status = 'open' and kind = 'inbox'`);
const liveWork = selection(
  "outcomes",
  ["responsible_id"],
  sql`and status in ('open', 'submitted') and kind not in ('perpetual', 'mandate') order by num limit 200`,
);

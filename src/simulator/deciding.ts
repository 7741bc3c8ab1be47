import { decideOutcome, type Verdict } from "../contract/delegation.ts";
import { query } from "../store/query.ts";
import { Broken } from "./broken.ts";
import { call, demandConsequences, isOpenTo, type Player, type SimulatedCaller } from "./calling.ts";
import type { AnswerOf } from "./world.ts";
import { isLiveStatus, type OutcomeView, type View } from "./view.ts";

/** Decisions about submitted and escalated work, by the agents and people who have to decide and by some who don't. */

/** An agent decides about work of its reports or, if it is escalated, of their reports. Sometimes about any outcome. */
export async function judge(actor: Player): Promise<unknown> {
  const { world, me, view } = actor;
  const waiting = view.outcomes.filter((one) => whoDecides(view, one) === me.id);
  const any = view.outcomes.filter((one) => whoDecides(view, one) !== undefined);
  // Work that was sent back before is sent back again, because only then another agent has to decide.
  const again = waiting.filter(({ reworks }) => reworks > 0);
  const outcome =
    (world.chance.flip(0.5) ? world.chance.pick(again) : undefined) ??
    world.chance.pick(world.chance.flip(0.9) ? waiting : any.length > 0 ? any : view.outcomes);
  return outcome === undefined ? undefined : decideOn(actor, outcome, drawVerdict(actor, outcome));
}

/** A person decides for the board, mostly about goals and escalations, which no agent can decide. */
export async function judgeForBoard(board: SimulatedCaller): Promise<unknown> {
  const { world, view } = board;
  const waiting = view.outcomes.filter((one) => whoDecides(view, one) !== undefined);
  const ours = waiting.filter((one) => whoDecides(view, one) === null);
  const outcome =
    world.chance.pick(world.chance.flip(0.7) ? ours : waiting) ??
    (world.chance.flip(0.1) ? world.chance.pick(view.outcomes) : undefined);
  return outcome === undefined ? undefined : decideOn(board, outcome, drawVerdict(board, outcome));
}

const drawVerdict = ({ world }: SimulatedCaller, { reworks }: OutcomeView): Verdict =>
  world.chance.weighted([
    [4, "pass"],
    [reworks === 0 ? 6 : 9, "rework"],
    [3, "close"],
  ]);

/**
 * Returns the decider: the agent that delegated the work or, after the second rework, the manager above it, and one level
 * higher with each further escalation. Null means the board. Undefined means that there is nothing to decide. Repeats the
 * product's rule on purpose.
 */
export function whoDecides(view: View, outcome: OutcomeView): string | null | undefined {
  if (outcome.status === "submitted") return outcome.delegated_by;
  if (!isEscalated(outcome)) return undefined;
  let decider = outcome.delegated_by;
  for (let level = outcome.reworks - 1; level > 0 && decider !== null; level--)
    decider = view.agents.find(({ id }) => id === decider)?.boss_id ?? null;
  return decider;
}

const isEscalated = ({ status, delegated, reworks, blocked_reason }: OutcomeView): boolean =>
  status === "open" && delegated === 1 && reworks >= 2 && blocked_reason !== null;

export async function decideOn(
  caller: SimulatedCaller,
  outcome: OutcomeView,
  verdict: Verdict,
): Promise<AnswerOf<unknown>> {
  const { world, who, view } = caller;
  const decider = whoDecides(view, outcome);
  const isDecider = decider !== undefined && (who.agentId === null || who.agentId === decider);
  const isAble = isOpenTo(world, who);
  const answer = await call(caller, decideOutcome, { id: outcome.id, verdict, note: world.newKey() });
  if (!caller.alone || answer.kind === "lost") return answer;
  const name = `${who.label} ${verdict} ${world.trace.name("outcome", outcome.id)}`;
  if (answer.kind === "ok" && !isDecider)
    throw new Broken("work is decided only when it waits, by those it waits for or the board", name);
  // Work can't pass while parts of it are open, but it can always be sent back or given up.
  if (answer.kind === "refused" && isDecider && isAble && verdict !== "pass")
    throw new Broken(
      "an agent or person that is asked to decide can decide",
      `${name}: ${answer.refusal.message}`,
    );
  if (answer.kind === "ok") await demandVerdict(caller, outcome, verdict, decider ?? null);
  return answer;
}

/** Checks that a verdict takes effect in the same transaction. */
async function demandVerdict(
  caller: SimulatedCaller,
  outcome: OutcomeView,
  verdict: Verdict,
  decider: string | null,
): Promise<void> {
  const { world, who } = caller;
  if (verdict === "pass") await demandConsequences(caller, "outcome.complete", outcome);
  const row = await world.store.read((tx) => tx.first(outcomeNow, { id: outcome.id }));
  const expected = { pass: "completed", rework: "open", close: "closed" }[verdict];
  const name = `${verdict} of ${world.trace.name("outcome", outcome.id)}`;
  if (row?.status !== expected)
    throw new Broken("a verdict decides what becomes of the work", `${name}: it is ${row?.status}`);
  if (verdict !== "rework" || who.agentId === null) return;
  // The reviewer may send the same work back once. The second time, its manager has to decide.
  const isSecond = outcome.status === "submitted" && who.agentId === decider && outcome.reworks >= 1;
  if (isSecond !== (row.reworks >= 2 && row.blocked_reason !== null))
    throw new Broken("the second rework of the same work is escalated", `${name}: ${row.reworks} reworks`);
}

/** Whether a person has something to decide. */
export const hasBoardWork = (view: View): boolean =>
  view.outcomes.some((one) => isLiveStatus(one) && whoDecides(view, one) === null);

const outcomeNow = query((db, p: { id: string }) =>
  db.selectFrom("outcomes").select(["status", "reworks", "blocked_reason"]).where("id", "=", p.id),
);

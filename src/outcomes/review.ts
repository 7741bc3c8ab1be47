import type { ReviewVerdict } from "../contract/outcomes.ts";
import { sql } from "kysely";
import type { Writing } from "../dispatch/context.ts";
import { memberById } from "../capabilities/members.ts";
import { checksIn } from "../store/checks.ts";
import { insertion } from "../store/inserts.ts";
import { query, selection, textQuery } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import type { OutcomeRow } from "./outcome.ts";
import { awaitsDecision, notYoursToDecide } from "./texts.ts";

/**
 * The review of submitted work by the agent that delegated it:
 *
 *   pass        the outcome completes
 *   rework      the outcome goes back to its owner with a list of what is missing; a reviewer can do this once
 *   escalated   the reviewer would send it back a second time; it waits, blocked, for the reviewer's manager to decide
 *   unreadable  the reviewer's final output held no verdict that can be parsed; this never counts as a pass
 */

export async function recordReview(
  { tx, actor, companyId }: Writing,
  outcome: Pick<OutcomeRow, "id" | "responsible_id">,
  verdict: ReviewVerdict,
  note: string | null,
): Promise<void> {
  await tx.run(insertReview, {
    company_id: companyId,
    outcome_id: outcome.id,
    agent_id: outcome.responsible_id,
    reviewer_id: actor.agentId,
    verdict,
    note: note === null ? null : note.slice(0, 2000).toWellFormed(),
    created_at: tx.now,
  });
}

/**
 * Returns null if the reviewer may send the work back. Otherwise returns the agent that decides instead, and the reason to show
 * meanwhile.
 */
export async function escalation(
  tx: ReadTx,
  outcome: Pick<OutcomeRow, "reworks" | "delegated_by">,
): Promise<{ to: string | null; reason: string } | null> {
  const reviewer = await memberById(tx, outcome.delegated_by);
  if (reviewer === undefined || outcome.reworks < 1) return null;
  const boss = await memberById(tx, reviewer.boss_id);
  return {
    to: reviewer.boss_id,
    reason: awaitsDecision("the work was sent back twice", boss?.name ?? "the board", reviewer.name),
  };
}

/** Work that waits for a decision by the reviewer's manager or the board. */
export const isEscalated = ({
  status,
  delegated,
  reworks,
  blocked_reason,
}: Pick<OutcomeRow, "status" | "delegated" | "reworks" | "blocked_reason">): boolean =>
  status === "open" && delegated === 1 && reworks >= mostReworks && blocked_reason !== null;

export const mostReworks = 2;

/**
 * Refuses to let an agent submit or unblock escalated work. Otherwise the manager would find the work submitted again, and
 * owner and reviewer would disagree for ever.
 */
export function demandUndisputed(
  { actor }: Writing,
  outcome: Parameters<typeof isEscalated>[0] & Pick<OutcomeRow, "id" | "title">,
): void {
  if (actor.agentId !== null && isEscalated(outcome))
    throw notYoursToDecide(outcome, outcome.blocked_reason ?? "");
}

/**
 * Who decides about submitted work: the agent that delegated it. Who decides about escalated work: the manager above that
 * agent. Each further escalation goes one level up. The answer follows from the present reporting line, so a manager that
 * leaves or moves takes no decision along. Null means the board, which may also decide everything else.
 */
export async function deciderOf(
  tx: ReadTx,
  outcome: Pick<OutcomeRow, "delegated_by" | "reworks" | "status" | "delegated" | "blocked_reason">,
): Promise<string | null> {
  let decider = outcome.delegated_by;
  for (let level = levelsAbove(outcome); level > 0 && decider !== null; level--)
    decider = (await memberById(tx, decider))?.boss_id ?? null;
  return decider;
}

/** How many levels the decider is above the agent that delegated the work. */
export const levelsAbove = (
  outcome: Parameters<typeof isEscalated>[0] & Pick<OutcomeRow, "reworks">,
): number => (isEscalated(outcome) ? outcome.reworks - mostReworks + 1 : 0);

/** The escalated outcomes that an agent had to decide at that moment. Their reviewers are below that agent. */
export async function escalatedTo(
  tx: ReadTx,
  p: { agentId: string; at: number; limit: number },
): Promise<OutcomeRow[]> {
  const found = [];
  for (const outcome of await tx.all(escalatedIn, p)) {
    if ((await deciderOf(tx, outcome)) === p.agentId) found.push(outcome);
    if (found.length === p.limit) break;
  }
  return found;
}

const escalatedIn = textQuery(
  (p: { agentId: string; at: number }) => sql<OutcomeRow>`with recursive below(id) as (
      select id from agents where boss_id = ${p.agentId}
      union select a.id from agents a join below on a.boss_id = below.id)
    select o.* from below join outcomes o on o.delegated_by = below.id
    where o.status = 'open' and o.delegated = 1 and o.reworks >= ${mostReworks} and o.blocked_reason is not null
      and o.updated_at <= ${p.at} order by o.num`,
  { checks: checksIn("outcomes") },
);

/** How often each verdict was given on the work of an agent. */
export async function reviewsOf(tx: ReadTx, agentId: string): Promise<Record<ReviewVerdict, number>> {
  const counts = noReviews();
  for (const { verdict, count } of await tx.all(countsOf, { agentId })) counts[verdict] = count;
  return counts;
}

export const noReviews = (): Record<ReviewVerdict, number> => ({
  pass: 0,
  rework: 0,
  escalated: 0,
  unreadable: 0,
});

/** How many of the latest reviews in a row, up to 2, had an unreadable verdict. */
export async function unreadableInARow(tx: ReadTx, outcomeId: string): Promise<number> {
  const last = await tx.all(lastOn, { outcome_id: outcomeId });
  const readable = last.findIndex(({ verdict }) => verdict !== "unreadable");
  return readable < 0 ? last.length : readable;
}

const insertReview = insertion("reviews");

const countsOf = query((db, p: { agentId: string }) =>
  db
    .selectFrom("reviews")
    .select((eb) => ["verdict", eb.fn.countAll<number>().as("count")])
    .where("agent_id", "=", p.agentId)
    .groupBy("verdict"),
);

const lastOn = selection("reviews", ["outcome_id"], sql`order by num desc limit 2`);

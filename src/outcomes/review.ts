import type { ReviewVerdict } from "../contract/outcomes.ts";
import { sql } from "kysely";
import type { Writing } from "../dispatch/context.ts";
import { memberById } from "../capabilities/members.ts";
import { insertion, query, selection } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import type { OutcomeRow } from "./outcome.ts";
import { askToDecide, awaitsDecision, notYoursToDecide } from "./texts.ts";

/**
 * The review of submitted work by the agent that delegated it:
 *
 *   pass        the outcome completes
 *   rework      the outcome is sent back to its owner with what is missing; a reviewer can do this once
 *   escalated   the reviewer would send it back a second time; it waits, blocked, for the reviewer's manager to decide
 *   unreadable  the reviewer's last words held no verdict that can be parsed; this never counts as a pass
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

/** Null: the reviewer may send the work back. Otherwise who decides instead, and the reason to show while it waits. */
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
 * The owner can't submit or unblock escalated work. Otherwise the manager that was asked would find it submitted again,
 * and owner and reviewer would continue to disagree for ever.
 */
export function demandUndisputed(
  { actor }: Writing,
  outcome: Parameters<typeof isEscalated>[0] & Pick<OutcomeRow, "id" | "title" | "responsible_id">,
): void {
  if (actor.agentId !== null && actor.agentId === outcome.responsible_id && isEscalated(outcome))
    throw notYoursToDecide(outcome, outcome.blocked_reason ?? "");
}

/** The message to the manager (null: the board) that has to decide. */
export async function questionOf(
  tx: ReadTx,
  outcome: Pick<OutcomeRow, "id" | "title" | "delegated_by">,
  to: string | null,
  reason: string,
): Promise<string> {
  const reviewer = await memberById(tx, outcome.delegated_by);
  return askToDecide(outcome, { reason, reviewer: reviewer?.name ?? "its reviewer", isBoard: to === null });
}

/** The escalated outcomes an agent had to decide at that moment, because one of its reports was the reviewer. */
export const escalatedTo = query((db, p: { agentId: string; at: number; limit: number }) =>
  db
    .selectFrom("outcomes as o")
    .innerJoin("reviews as r", "r.outcome_id", "o.id")
    .innerJoin("agents as a", "a.id", "r.reviewer_id")
    .selectAll("o")
    .where("a.boss_id", "=", p.agentId)
    .where("r.verdict", "=", "escalated")
    .where("o.status", "=", "open")
    .where("o.reworks", ">=", mostReworks)
    .where("o.blocked_reason", "is not", null)
    .where(sql<boolean>`o.updated_at <= ${p.at}`)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom("reviews as n")
            .select("n.num")
            .whereRef("n.outcome_id", "=", "o.id")
            .whereRef("n.num", ">", "r.num")
            .where("n.verdict", "<>", "unreadable"),
        ),
      ),
    )
    .orderBy("o.num")
    .limit(p.limit),
);

/** How often each verdict was given on the work of an agent. */
export async function reviewsOf(tx: ReadTx, agentId: string): Promise<Record<ReviewVerdict, number>> {
  const counts = { pass: 0, rework: 0, escalated: 0, unreadable: 0 };
  for (const { verdict, count } of await tx.all(countsOf, { agentId })) counts[verdict] = count;
  return counts;
}

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

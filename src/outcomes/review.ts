import { sql } from "kysely";
import { Refusal } from "../contract/refusal.ts";
import type { Writing } from "../dispatch/context.ts";
import { memberById } from "../capabilities/members.ts";
import { query } from "../store/query.ts";
import type { Schema } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";
import type { OutcomeRow } from "./outcome.ts";

/**
 * What whoever delegated an outcome says of the work: it passes, or is sent back once with what is missing. A second time it
 * is escalated: it waits, blocked, for the reviewer's boss, who decides, and so on upwards. A verdict that cannot be read is
 * not a pass.
 */
export const verdicts = ["pass", "rework", "escalated", "unreadable"] as const;
export type ReviewVerdict = (typeof verdicts)[number];

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

/** Who decides when an agent would send the work back once more, and what to say; null while it may. */
export async function escalation(
  tx: ReadTx,
  outcome: Pick<OutcomeRow, "reworks" | "delegated_by">,
  why = "it was sent back twice",
): Promise<{ to: string | null; reason: string } | null> {
  const reviewer = outcome.delegated_by === null ? undefined : await memberById(tx, outcome.delegated_by);
  if (reviewer === undefined || outcome.reworks < 1) return null;
  const boss = reviewer.boss_id === null ? undefined : await memberById(tx, reviewer.boss_id);
  return {
    to: reviewer.boss_id,
    reason: `${why}, and ${boss?.name ?? "the board"}, the boss of ${reviewer.name}, is asked what is to become of it`,
  };
}

/** Work that waits until somebody above has decided what is to become of it. */
export const isEscalated = ({
  status,
  delegated,
  reworks,
  blocked_reason,
}: Pick<OutcomeRow, "status" | "delegated" | "reworks" | "blocked_reason">): boolean =>
  status === "open" && delegated === 1 && reworks >= mostReworks && blocked_reason !== null;

export const mostReworks = 2;

/** Not its owner: otherwise whoever was asked would find it submitted once more, and the two go on for ever. */
export function demandUndisputed(
  { actor }: Writing,
  outcome: Parameters<typeof isEscalated>[0] & Pick<OutcomeRow, "responsible_id">,
): void {
  if (actor.agentId === null || actor.agentId !== outcome.responsible_id || !isEscalated(outcome)) return;
  throw new Refusal(
    "refused",
    `Somebody else decides what becomes of it: ${outcome.blocked_reason ?? ""}.`,
    "Go on with other work; you will be told.",
  );
}

/** What whoever is asked is told: what it is about, and how to decide. */
export async function questionOf(
  tx: ReadTx,
  outcome: Pick<OutcomeRow, "id" | "title" | "delegated_by">,
  to: string | null,
  reason: string,
): Promise<string> {
  const { id, title } = outcome;
  const reviewer = outcome.delegated_by === null ? undefined : await memberById(tx, outcome.delegated_by);
  const how =
    to === null
      ? "Complete it, unblock it with a word to its owner (update_outcome with blocked: null), close it, or reclaim it."
      : `Decide in the last words of a session, on a line of its own: VERDICT[${id}]: PASS, and it is accepted as it is; or VERDICT[${id}]: REWORK and what is missing, and it goes on. Or tell ${reviewer?.name ?? "its reviewer"}, who can also close it or take it back.`;
  return `"${title}" (kb://${id}): ${reason}.\n\n${how}`;
}

/** What an agent was asked to decide by that moment, because somebody who reports to it could not. */
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
  for (const { verdict, count } of await tx.all(countsOf, { agentId })) {
    const known = verdicts.find((name) => name === verdict);
    if (known !== undefined) counts[known] = count;
  }
  return counts;
}

/** How often in a row nobody could read the verdict on what is submitted now. */
export async function unreadableInARow(tx: ReadTx, outcomeId: string): Promise<number> {
  const last = await tx.all(lastOn, { outcomeId, limit: 2 });
  const readable = last.findIndex(({ verdict }) => verdict !== "unreadable");
  return readable < 0 ? last.length : readable;
}

const insertReview = query((db, p: Omit<Schema["reviews"], "num">) =>
  db.insertInto("reviews").values({
    company_id: p.company_id,
    outcome_id: p.outcome_id,
    agent_id: p.agent_id,
    reviewer_id: p.reviewer_id,
    verdict: p.verdict,
    note: p.note,
    created_at: p.created_at,
  }),
);

const countsOf = query((db, p: { agentId: string }) =>
  db
    .selectFrom("reviews")
    .select((eb) => ["verdict", eb.fn.countAll<number>().as("count")])
    .where("agent_id", "=", p.agentId)
    .groupBy("verdict"),
);

const lastOn = query((db, p: { outcomeId: string; limit: number }) =>
  db
    .selectFrom("reviews")
    .select("verdict")
    .where("outcome_id", "=", p.outcomeId)
    .orderBy("num", "desc")
    .limit(p.limit),
);

import { sql } from "kysely";
import type { Writing } from "../dispatch/context.ts";
import { memberById } from "../capabilities/members.ts";
import { tellAbout, tellOwner } from "../mail/notices.ts";
import type { OutcomeRow } from "../outcomes/outcome.ts";
import { excerpt } from "../outcomes/results.ts";
import { workable } from "../outcomes/workable.ts";
import { query } from "../store/query.ts";
import { askToStop, liveSessionOf } from "../agents/table.ts";
import { askToDecide, lastReason, workEnded } from "./texts.ts";

/** Notices about outcomes to owners and deciders. A later notice about the same outcome replaces an unread one. */

/** Sends every owner of outcomes that ended with `top` one notice, and asks their sessions to stop. */
export async function tellOwners(
  call: Writing,
  top: Pick<OutcomeRow, "id">,
  ended: readonly Ended[],
  text: (who: string, own: readonly Ended[]) => string,
): Promise<void> {
  for (const [owner, own] of Map.groupBy(ended, ({ responsible_id }) => responsible_id))
    await tellOwner(call, { id: top.id, responsible_id: owner }, (who) => text(who, own));
  await stopOwners(call, ended);
}

type Ended = Pick<OutcomeRow, "id" | "title" | "responsible_id">;

/**
 * Asks the sessions of the owners to stop, if they were started for one of these outcomes or have nothing else to work on. A
 * session that ended the outcome itself continues.
 */
export async function stopOwners(call: Writing, ended: readonly Ended[]): Promise<void> {
  const { tx, actor } = call;
  const ids = new Set(ended.map(({ id }) => id));
  for (const owner of new Set(ended.map(({ responsible_id }) => responsible_id))) {
    const session = owner === null ? undefined : await tx.first(liveSessionOf, { agent_id: owner });
    if (session === undefined || session.agent_id === actor.agentId) continue;
    const isOver =
      (session.first_outcome_id !== null && ids.has(session.first_outcome_id)) ||
      (await tx.first(otherWork, { agentId: session.agent_id, now: tx.now })) === undefined;
    if (isOver) await askToStop(call, session, workEnded);
  }
}

/**
 * Asks the manager that has to decide about escalated work, or the board. Every escalation sends a message, however many there
 * are.
 */
export async function askDecider(
  call: Writing,
  outcome: Pick<OutcomeRow, "id" | "title" | "delegated_by">,
  { to, reason }: { readonly to: string | null; readonly reason: string },
  last: string | null = null,
): Promise<void> {
  const reviewer = (await memberById(call.tx, outcome.delegated_by))?.name ?? "its reviewer";
  const question = askToDecide(outcome, { reason, reviewer, isBoard: to === null });
  const text = last === null ? question : `${question}\n\n${lastReason(excerpt(last, null, 2000))}`;
  await tellAbout(call, { topic: `decide:${outcome.id}`, to, text: () => text });
}

/** Workable outcomes other than the inbox, which holds the notice itself. */
const otherWork = query((db, p: { agentId: string; now: number }) =>
  db
    .selectFrom("outcomes as o")
    .select("o.id")
    .where("o.responsible_id", "=", p.agentId)
    .where("o.status", "=", "open")
    .where("o.kind", "<>", "inbox")
    .where((eb) => sql<boolean>`${workable(eb, p.now)} = 1`)
    .limit(1),
);

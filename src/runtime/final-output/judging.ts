import { Refusal } from "../../contract/refusal.ts";
import { complete, sendBack } from "../../delegation/ending.ts";
import type { AgentRow } from "../../agents/table.ts";
import type { CallContext } from "../../dispatch/context.ts";
import { memberById } from "../../capabilities/members.ts";
import { notify } from "../../mail/operations.ts";
import type { OutcomeRow } from "../../outcomes/outcome.ts";
import {
  escalatedTo,
  isEscalated,
  mostReworks,
  questionOf,
  recordReview,
  unreadableInARow,
} from "../../outcomes/review.ts";
import { saveOutcome } from "../../outcomes/table.ts";
import { awaitsDecision } from "../../outcomes/texts.ts";
import { query } from "../../store/query.ts";
import type { ReadTx } from "../../store/store.ts";
import { shownReviews } from "./assignment.ts";
import type { Directive } from "./directives.ts";

/** Verdicts in a session's last words: on what was submitted to the agent, and on what it was asked to decide. */

export async function applyVerdict(
  call: CallContext,
  agent: AgentRow,
  verdict: Extract<Directive, { kind: "verdict" }>,
): Promise<void> {
  const outcome = await judgedBy(call.tx, agent.id, verdict.outcome);
  if (outcome === undefined) {
    const waiting = await shownReviews(call.tx, agent.id, call.tx.now);
    throw new Refusal(
      "refused",
      `Nothing with the id ${verdict.outcome.slice(0, 60)} waits for your verdict.`,
      waiting.length === 0
        ? "Nothing does."
        : `These do: ${waiting.map(({ id, title }) => `${id} ("${title.slice(0, 60)}")`).join(", ")}.`,
    );
  }
  // What was sent back too often is judged as it was submitted last; whoever decides that begins the count anew.
  const submitted: OutcomeRow = { ...outcome, status: "submitted", blocked_reason: null };
  if (verdict.passes) await complete(call, submitted, verdict.reason === "" ? null : verdict.reason);
  else if (isEscalated(outcome)) {
    await recordReview(call, outcome, "rework", verdict.reason);
    await sendBack(call, { ...submitted, reworks: 0 }, verdict.reason);
  } else await sendBack(call, outcome, verdict.reason);
}

/** It was asked for a verdict and gave none that can be read: that is not a pass. The second time its boss is asked. */
export async function judgeSilence(
  call: CallContext,
  agent: AgentRow,
  reviews: readonly OutcomeRow[],
): Promise<void> {
  const { tx } = call;
  for (const { id } of reviews) {
    const outcome = await judgedBy(tx, agent.id, id);
    if (outcome === undefined) continue;
    await recordReview(call, outcome, "unreadable", null);
    const how = `VERDICT[${id}]: PASS, or VERDICT[${id}]: REWORK and what is missing`;
    if ((await unreadableInARow(tx, id)) < 2) {
      await notify(call, agent.id, `No verdict on "${outcome.title}" could be read. Answer with ${how}.`, 1);
      continue;
    }
    const { boss_id: to } = agent;
    const boss = to === null ? "the board" : ((await memberById(tx, to))?.name ?? "");
    const reason = awaitsDecision(`${agent.name} gave no readable verdict twice`, boss, agent.name);
    const reworks = Math.max(outcome.reworks, mostReworks);
    await saveOutcome(tx, { ...outcome, status: "open", reworks, blocked_reason: reason }, call.actor);
    await recordReview(call, outcome, "escalated", reason);
    await call.record(id, { reason, escalatedTo: to }, "outcome.reopen");
    await notify(call, to, await questionOf(tx, outcome, to, reason));
  }
}

async function judgedBy(tx: ReadTx, agentId: string, id: string): Promise<OutcomeRow | undefined> {
  const asked = await tx.all(escalatedTo, { agentId, at: tx.now, limit: 1000 });
  return (await tx.first(submittedById, { id, agentId })) ?? asked.find((outcome) => outcome.id === id);
}

const submittedById = query((db, p: { id: string; agentId: string }) =>
  db
    .selectFrom("outcomes")
    .selectAll()
    .where("id", "=", p.id)
    .where("delegated_by", "=", p.agentId)
    .where("status", "=", "submitted"),
);

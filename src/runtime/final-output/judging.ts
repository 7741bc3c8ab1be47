import { sql } from "kysely";
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
import { selection } from "../../store/query.ts";
import type { ReadTx } from "../../store/store.ts";
import { shownReviews } from "./assignment.ts";
import type { Directive } from "./directives.ts";
import { notYoursToJudge, verdictMissing } from "./texts.ts";

/** The verdicts in a session's final output: on work submitted to the agent, and on escalated work it has to decide. */

export async function applyVerdict(
  call: CallContext,
  agent: AgentRow,
  verdict: Extract<Directive, { kind: "verdict" }>,
): Promise<void> {
  const outcome = await judgedBy(call.tx, agent.id, verdict.outcome);
  if (outcome === undefined) {
    const waiting = await shownReviews(call.tx, agent.id, call.tx.now);
    throw notYoursToJudge(verdict.outcome, waiting);
  }
  // Escalated work is open and blocked. The verdict is about what was submitted last, so it counts as submitted here.
  // A decision to rework also starts the count of reworks from zero.
  const submitted: OutcomeRow = { ...outcome, status: "submitted", blocked_reason: null };
  if (verdict.passes) await complete(call, submitted, verdict.reason === "" ? null : verdict.reason);
  else if (isEscalated(outcome)) {
    await recordReview(call, outcome, "rework", verdict.reason);
    await sendBack(call, { ...submitted, reworks: 0 }, verdict.reason);
  } else await sendBack(call, outcome, verdict.reason);
}

/**
 * The session was asked for verdicts and gave none that can be parsed, which never counts as a pass. The first time, the agent
 * gets a reminder; the second time, its manager decides.
 */
export async function recordMissingVerdicts(
  call: CallContext,
  agent: AgentRow,
  reviews: readonly OutcomeRow[],
): Promise<void> {
  const { tx } = call;
  for (const { id } of reviews) {
    const outcome = await judgedBy(tx, agent.id, id);
    if (outcome === undefined) continue;
    await recordReview(call, outcome, "unreadable", null);
    if ((await unreadableInARow(tx, id)) < 2) {
      await notify(call, agent.id, verdictMissing(outcome), 1);
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
  return (
    (await tx.first(submittedById, { id, delegated_by: agentId })) ??
    asked.find((outcome) => outcome.id === id)
  );
}

const submittedById = selection("outcomes", ["id", "delegated_by"], sql`and status = 'submitted'`);

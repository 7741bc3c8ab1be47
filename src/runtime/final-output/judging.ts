import { decideWork } from "../../delegation/deciding.ts";
import { askDecider } from "../../delegation/telling.ts";
import type { AgentRow } from "../../agents/table.ts";
import type { CallContext } from "../../dispatch/context.ts";
import { memberById } from "../../capabilities/members.ts";
import { notify } from "../../mail/notices.ts";
import type { OutcomeRow } from "../../outcomes/outcome.ts";
import {
  deciderOf,
  isEscalated,
  mostReworks,
  recordReview,
  unreadableInARow,
} from "../../outcomes/review.ts";
import { saveOutcome } from "../../outcomes/table.ts";
import { awaitsDecision } from "../../outcomes/texts.ts";
import { outcomeRow } from "../../store/row-by-id.ts";
import type { ReadTx } from "../../store/store.ts";
import { shownReviews } from "./assignment.ts";
import type { Directive } from "./directives.ts";
import { notYoursToJudge, verdictMissing } from "./texts.ts";

/** The verdicts in a session's final output: on work submitted to the agent, and on escalated work it has to decide. */

export async function applyVerdict(
  call: CallContext,
  agent: AgentRow,
  { outcome: id, verdict, note }: Extract<Directive, { kind: "verdict" }>,
): Promise<void> {
  if ((await judgedBy(call.tx, agent.id, id)) === undefined)
    throw notYoursToJudge(id, await shownReviews(call.tx, agent.id, call.tx.now));
  await decideWork(call, id, verdict, note === "" ? null : note);
}

/**
 * The session was asked for verdicts and gave none that can be parsed. That never counts as a pass. The first time, the agent
 * gets a reminder. The second time, its manager decides.
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
    // A manager that can't decide an escalation passes it one level up.
    const reworks = isEscalated(outcome) ? outcome.reworks + 1 : Math.max(outcome.reworks, mostReworks);
    await saveOutcome(tx, { ...outcome, status: "open", reworks, blocked_reason: reason }, call.actor);
    await recordReview(call, outcome, "escalated", reason);
    await call.record(id, { reason, escalatedTo: to }, "outcome.reopen");
    await askDecider(call, outcome, { to, reason });
  }
}

async function judgedBy(tx: ReadTx, agentId: string, id: string): Promise<OutcomeRow | undefined> {
  const outcome = await tx.first(outcomeRow, { id });
  const waits = outcome?.status === "submitted" || (outcome !== undefined && isEscalated(outcome));
  return waits && (await deciderOf(tx, outcome)) === agentId ? outcome : undefined;
}

import { type Verdict, decideOutcome } from "../contract/delegation.ts";
import { notFound } from "../contract/refusal.ts";
import { onOneLine } from "../contract/visible-text.ts";
import type { CallContext } from "../dispatch/context.ts";
import { guarded } from "../dispatch/guarded.ts";
import { memberName } from "../capabilities/members.ts";
import { visible } from "../capabilities/visible.ts";
import { nameOfBy, presentBy } from "../capabilities/people.ts";
import { aboutSubject, presentActor } from "../events/ledger.ts";
import { tellAbout } from "../mail/notices.ts";
import type { OutcomeRow } from "../outcomes/outcome.ts";
import { presentOutcome } from "../outcomes/presenting.ts";
import { excerpt } from "../outcomes/results.ts";
import { deciderOf, isEscalated, recordReview } from "../outcomes/review.ts";
import { outcomeById } from "../outcomes/table.ts";
import type { ReadTx } from "../store/store.ts";
import { closeSubtree, complete, sendBack } from "./ending.ts";
import * as texts from "./texts.ts";

/**
 * Handles decide_outcome and verdicts in a session's final output. The agent that delegated the work decides about submitted
 * work, the manager above it about escalated work, and the board about both. The first decision counts. The refusal of a later
 * decision names the first one.
 */
const onDecide = guarded(decideOutcome, async (call) => {
  const { id, verdict, note } = call.input;
  return presentOutcome(call, await decideWork(call, id, verdict, note ?? null));
});

export const decidingHandlers = [onDecide];

export async function decideWork(
  call: CallContext,
  id: string,
  verdict: Verdict,
  note: string | null,
): Promise<OutcomeRow> {
  const { tx, actor } = call;
  const outcome = await outcomeById(tx, id);
  const wasEscalated = isEscalated(outcome);
  const decider = await deciderOf(tx, outcome);
  const isSeen = decider === actor.agentId || (await visible(tx, actor, `outcome:${id}`));
  if (outcome.company_id !== call.companyId || !isSeen) throw notFound("outcome", id);
  if (outcome.status !== "submitted" && !wasEscalated) throw await nothingToDecide(tx, outcome);
  if (actor.agentId !== null && decider !== actor.agentId)
    throw texts.notTheDecider(outcome, await memberName(tx, decider));
  if (verdict !== "pass" && onOneLine(note ?? "") === "") throw texts.noteMissing(verdict);
  // Escalated work is open and blocked. The decision is about the last submission, so the outcome counts as submitted here.
  const submitted: OutcomeRow = { ...outcome, status: "submitted", blocked_reason: null };
  const decided = await carryOut(call, submitted, {
    verdict,
    note,
    overrules: actor.agentId !== outcome.delegated_by,
  });
  // Tell the reviewer what was decided in its place.
  if (outcome.delegated_by !== null && outcome.delegated_by !== actor.agentId) {
    const who = await memberName(tx, actor.agentId);
    const words = note === null ? null : excerpt(note, null, 2000);
    const text = (): string => texts.decidedForYou(who, outcome, verdict, words);
    await tellAbout(call, { topic: `decided:${id}`, to: outcome.delegated_by, text });
  }
  return decided;
}

/**
 * `overrules` means that another agent or the board decides instead of the reviewer. The count of reworks then starts from
 * zero.
 */
async function carryOut(
  call: CallContext,
  submitted: OutcomeRow,
  { verdict, note, overrules }: { verdict: Verdict; note: string | null; overrules: boolean },
): Promise<OutcomeRow> {
  if (verdict === "pass") return (await complete(call, submitted, note === "" ? null : note)).saved;
  if (verdict === "close") return closeSubtree(call, submitted, note ?? "");
  if (!overrules) return sendBack(call, submitted, note ?? "");
  await recordReview(call, submitted, "rework", note);
  return sendBack(call, { ...submitted, reworks: 0 }, note ?? "");
}

/** The refusal if another decision came first, or if the work was never submitted. */
async function nothingToDecide(tx: ReadTx, outcome: OutcomeRow) {
  const about = { subject: outcome.id, before: Number.MAX_SAFE_INTEGER, limit: 200 };
  const last = (await tx.all(aboutSubject, about)).find(({ operation }) => operation in texts.decisions);
  if (last === undefined) return texts.notSubmitted(outcome);
  const at = new Date(last.at).toISOString();
  const did = texts.decisions[last.operation] ?? "decided";
  const who = nameOfBy(await presentBy(tx, presentActor(last)));
  return texts.alreadyDecided(outcome, { who, did, at });
}

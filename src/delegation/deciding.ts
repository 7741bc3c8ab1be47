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
 * decide_outcome, and a verdict in a session's final output. Submitted work is decided by the agent that delegated it,
 * escalated work by the manager above, and both by the board. The first decision counts; a later one is told about it.
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
  // Escalated work is open and blocked. The decision is about what was submitted last, so it counts as submitted here.
  const submitted: OutcomeRow = { ...outcome, status: "submitted", blocked_reason: null };
  const decided = await carryOut(call, submitted, {
    verdict,
    note,
    overrules: actor.agentId !== outcome.delegated_by,
  });
  // The reviewer hears what was decided in its place.
  if (outcome.delegated_by !== null && outcome.delegated_by !== actor.agentId) {
    const who = await memberName(tx, actor.agentId);
    const words = note === null ? null : excerpt(note, null, 2000);
    const text = (): string => texts.decidedForYou(who, outcome, verdict, words);
    await tellAbout(call, { topic: `decided:${id}`, to: outcome.delegated_by, text });
  }
  return decided;
}

/** `overrules`: the decision is not the reviewer's own, so the count of reworks starts from zero. */
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

/** Someone else was faster, or the work was never submitted. */
async function nothingToDecide(tx: ReadTx, outcome: OutcomeRow) {
  const about = { subject: outcome.id, before: Number.MAX_SAFE_INTEGER, limit: 200 };
  const last = (await tx.all(aboutSubject, about)).find(({ operation }) => operation in texts.decisions);
  if (last === undefined) return texts.notSubmitted(outcome);
  const at = new Date(last.at).toISOString();
  const did = texts.decisions[last.operation] ?? "decided";
  const who = nameOfBy(await presentBy(tx, presentActor(last)));
  return texts.alreadyDecided(outcome, { who, did, at });
}

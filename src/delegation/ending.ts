import * as contract from "../contract/outcomes.ts";
import { Refusal } from "../contract/refusal.ts";
import { type Guarded, guarded } from "../dispatch/guarded.ts";
import type { CallContext } from "../dispatch/context.ts";
import { memberById } from "../capabilities/members.ts";
import { shiftScope } from "../capabilities/table.ts";
import { demandDone, retire } from "../departures/leaving.ts";
import { tellOfLimit, tellOnce } from "../mail/notices.ts";
import { notify } from "../mail/operations.ts";
import { post } from "../mail/post.ts";
import { messageById } from "../mail/table.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { demandDecided } from "../outcomes/operations.ts";
import { goOnWithout } from "./given-up.ts";
import {
  demandEndable,
  demandNoLiveChildren,
  demandReopenable,
  demandSubmittable,
  isLive,
  type OutcomeRow,
} from "../outcomes/outcome.ts";
import { presentOutcome } from "../outcomes/presenting.ts";
import { excerpt, keepResult, resultOf } from "../outcomes/results.ts";
import { demandUndisputed, escalation, questionOf, recordReview } from "../outcomes/review.ts";
import {
  liveChildrenOf,
  outcomeById,
  parentsOf,
  type Ref,
  repointDependents,
  saveOutcome,
} from "../outcomes/table.ts";

/** How outcomes end and come back, with all that follows from it for agents and mail. */
export async function submit(
  call: CallContext,
  outcome: OutcomeRow,
  note: string | null,
): Promise<OutcomeRow> {
  demandSubmittable(outcome);
  demandUndisputed(call, outcome);
  await demandDecided(call.tx, outcome.responsible_id);
  demandNoLiveChildren(outcome, await liveChildrenOf(call.tx, outcome.id));
  await demandDone(call.tx, outcome);
  const kept = note === null ? outcome : await keepResult(call, outcome, note);
  const saved = await transition(call, "outcome.submit", { ...kept, status: "submitted" }, { note });
  await notify(call, outcome.delegated_by, submission(saved, note));
  return saved;
}

export async function complete(
  call: CallContext,
  outcome: OutcomeRow,
  note: string | null,
): Promise<OutcomeRow> {
  const { tx, actor } = call;
  demandEndable(outcome);
  demandNoLiveChildren(outcome, await liveChildrenOf(tx, outcome.id));
  await retire(call, outcome);
  await shiftScope(tx, outcome.id, 1);
  // Whoever answers for it says what came out; anybody else says what it thinks of that.
  const isOwn = actor.agentId !== null && actor.agentId === outcome.responsible_id;
  const kept = note === null || !isOwn ? outcome : await keepResult(call, outcome, note);
  if (outcome.status === "submitted") await recordReview(call, outcome, "pass", note);
  const saved = await transition(
    call,
    "outcome.complete",
    { ...kept, status: "completed", reworks: 0 },
    { note },
  );
  if (outcome.kind === "integration") await rollUp(call, saved);
  if (outcome.reply_to !== null) {
    const result = await resultOf(tx, outcome.id);
    const text = result === null ? "" : Buffer.from(result.content).toString("utf8");
    const words = [`Done: ${outcome.title}`, ...(text === "" ? [] : [excerpt(text, result?.file ?? null)])];
    await answer(call, saved, words.join("\n\n"));
  }
  return saved;
}

/**
 * What was put together is what the outcome it was handed out from came to: that one is submitted, or where nobody
 * has to verify it, completed. Where it cannot end yet, its owner goes on with it.
 */
async function rollUp(call: CallContext, integration: OutcomeRow): Promise<void> {
  const { tx } = call;
  const result = await resultOf(tx, integration.id);
  const note = result === null ? null : Buffer.from(result.content).toString("utf8");
  for (const { id } of await parentsOf(tx, integration.id)) {
    const whole = await outcomeById(tx, id);
    const isItsOwn = whole.kind === "work" && whole.responsible_id === integration.responsible_id;
    if (!isItsOwn || whole.status !== "open" || whole.blocked_reason !== null) continue;
    try {
      await tx.attempt(() => (whole.delegated === 1 ? submit : complete)(call, whole, note));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
  }
}

/** Back to its owner with the reason. The second time somebody above decides: two who disagree would go on for ever. */
export async function sendBack(call: CallContext, outcome: OutcomeRow, reason: string): Promise<OutcomeRow> {
  const { tx, actor } = call;
  const parents = await parentsOf(tx, outcome.id);
  demandReopenable(outcome, parents);
  if (!isLive(outcome)) await shiftScope(tx, outcome.id, -1);
  const owner = await stillThere(tx, outcome, parents);
  const opened = { ...outcome, ...owner, stalls: 0, status: "open", rationale: null };
  const isReview = outcome.status === "submitted" && actor.agentId === outcome.delegated_by;
  const escalated = isReview ? await escalation(tx, outcome) : null;
  if (isReview) await recordReview(call, outcome, escalated === null ? "rework" : "escalated", reason);
  const saved = await transition(
    call,
    "outcome.reopen",
    {
      ...opened,
      reworks: owner.reworks + (isReview && actor.agentId !== null ? 1 : 0),
      ...(escalated === null ? {} : { blocked_reason: escalated.reason }),
    },
    { reason, ...(escalated === null ? {} : { escalatedTo: escalated.to }) },
  );
  if (escalated !== null)
    await tellOnce(call, {
      about: outcome.id,
      kind: "escalated",
      to: escalated.to,
      text: `${await questionOf(tx, outcome, escalated.to, escalated.reason)}\n\nThe last time it was sent back with: ${excerpt(reason, null, 2000)}`,
    });
  // The owner is told why. Whoever reopens its own outcome knows.
  if (owner.delegated === 1 && owner.responsible_id !== null && owner.responsible_id !== actor.agentId)
    await notify(
      call,
      owner.responsible_id,
      `"${outcome.title}" (kb://${outcome.id}) is open again: ${excerpt(reason, null)}${escalated === null ? "" : `\n\nIt was sent back before, so ${escalated.reason}.`}`,
    );
  return saved;
}

const onSubmit = guarded(contract.submitOutcome, async (call) =>
  presentOutcome(
    call.tx,
    await submit(call, await outcomeById(call.tx, call.input.id), call.input.note ?? null),
  ),
);

const onComplete = guarded(contract.completeOutcome, async (call) =>
  presentOutcome(
    call.tx,
    await complete(call, await outcomeById(call.tx, call.input.id), call.input.note ?? null),
  ),
);

/** Closing abandons what was only a means to it; what somebody else answers for has to be reclaimed first. */
const onClose = guarded(contract.closeOutcome, async (call) => {
  const { tx, input } = call;
  const outcome = await outcomeById(tx, input.id);
  demandEndable(outcome);
  const abandoned = await abandonedWith(tx, outcome);
  for (const below of abandoned) {
    await shiftScope(tx, below.id, 1);
    const rationale = `"${outcome.title}" (${outcome.id}), which it served, was closed: ${input.rationale}`
      .slice(0, 10_000)
      .toWellFormed();
    await saveOutcome(tx, { ...below, ...unblocked, status: "closed", rationale }, call.actor);
    await call.record(below.id, { rationale, with: outcome.id });
  }
  await retire(call, outcome);
  await shiftScope(tx, outcome.id, 1);
  const { rationale } = input;
  const saved = await transition(
    call,
    "outcome.close",
    { ...outcome, status: "closed", rationale },
    { rationale },
  );
  // Whoever waited for what was to be put together waits again for the whole.
  if (outcome.kind === "integration")
    for (const whole of (await parentsOf(tx, outcome.id)).filter(isLive))
      await repointDependents(tx, outcome.id, whole.id);
  await goOnWithout(call, [saved, ...abandoned], rationale);
  if (outcome.reply_to !== null)
    await answer(call, saved, `Given up: ${outcome.title}\n\n${excerpt(rationale, null)}`);
  return presentOutcome(tx, saved);
});

const onReopen = guarded(contract.reopenOutcome, async (call) =>
  presentOutcome(call.tx, await sendBack(call, await outcomeById(call.tx, call.input.id), call.input.reason)),
);

export const endingHandlers: readonly Guarded[] = [onSubmit, onComplete, onClose, onReopen];

/** A person gets it from the agent itself; to an agent it is a notice, which needs no answer. */
async function answer(call: CallContext, outcome: OutcomeRow, text: string): Promise<void> {
  const { tx, companyId, newId } = call;
  if (outcome.reply_to === null) return;
  const asked = await messageById(tx, outcome.reply_to);
  const autoTurn = asked.auto_turn + 1;
  if (asked.from_id !== null || outcome.responsible_id === null)
    return notify(call, asked.from_id, text, autoTurn);
  const content = { fileId: newId(), text };
  const from = outcome.responsible_id;
  const letter = { id: newId(), companyId, from, to: null, content, deliverAt: tx.now, autoTurn };
  try {
    await tx.attempt(() => post(tx, letter, newId));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    // The board has too much of this agent's lying there; what came out is with the outcome.
    await tellOfLimit(call, from, error);
  }
}

function submission(outcome: OutcomeRow, note: string | null): string {
  return [
    `"${outcome.title}" (kb://${outcome.id}) is submitted: verify it, then complete_outcome, or reopen_outcome with what is missing.`,
    ...(note === null ? [] : ["", excerpt(note, outcome.result_id)]),
    ...(outcome.acceptance === null ? [] : ["", "Acceptance criteria:", outcome.acceptance]),
  ].join("\n");
}

const unblocked = { blocked_reason: null, blocked_until: null, blocked_on: null, for_agent_id: null };

/** Nothing blocks what is not open. */
async function transition(
  call: CallContext,
  operation: string,
  outcome: OutcomeRow,
  data: Readonly<Record<string, string | null>>,
): Promise<OutcomeRow> {
  const settled = outcome.status === "open" ? outcome : { ...outcome, ...unblocked };
  const saved = await saveOutcome(call.tx, settled, call.actor);
  const words = Object.entries(data).map(([key, text]) => [
    key,
    text === null ? null : excerpt(text, null, 2000),
  ]);
  await call.record(outcome.id, Object.fromEntries(words), operation);
  return saved;
}

/** Everything below that served nothing else; refuses when some of it is in other hands. */
async function abandonedWith(tx: Tx, outcome: OutcomeRow): Promise<OutcomeRow[]> {
  const closing = new Set([outcome.id]);
  const order: OutcomeRow[] = [];
  const others: { id: string; title: string }[] = [];
  const frontier = [outcome.id];
  for (let id = frontier.pop(); id !== undefined; id = frontier.pop()) {
    for (const child of await liveChildrenOf(tx, id)) {
      // The inbox of an agent made for it ends when that agent retires, with all that follows from it.
      if (child.kind === "inbox") continue;
      // One that serves something else stays; it is looked at again should its other parents go too.
      const parents = await parentsOf(tx, child.id);
      if (closing.has(child.id) || parents.some((parent) => isLive(parent) && !closing.has(parent.id)))
        continue;
      closing.add(child.id);
      frontier.push(child.id);
      if (child.delegated === 1) others.push(child);
      else order.unshift(await outcomeById(tx, child.id));
    }
  }
  if (others.length > 0)
    throw new Refusal(
      "refused",
      `Others still work below it: ${others
        .slice(0, 5)
        .map(({ id, title }) => `"${title.slice(0, 60)}" (${id})`)
        .join(", ")}.`,
      "Reclaim or close those first.",
    );
  return order;
}

/**
 * Who answers for an outcome that comes back: its owner, or where that agent has left, whoever answers for what it
 * serves. Rejected: the boss the owner had, who may since have handed all around it to somebody else.
 */
async function stillThere(
  tx: ReadTx,
  outcome: OutcomeRow,
  parents: readonly Ref[],
): Promise<Pick<OutcomeRow, "responsible_id" | "delegated" | "delegated_by" | "reworks">> {
  const { responsible_id, delegated, delegated_by, reworks } = outcome;
  const owner = responsible_id === null ? undefined : await memberById(tx, responsible_id);
  if (owner === undefined || owner.status !== "terminated")
    return { responsible_id, delegated, delegated_by, reworks };
  const heir = parents.find(isLive)?.responsible_id ?? null;
  return { responsible_id: heir, delegated: 0, delegated_by: null, reworks: 0 };
}

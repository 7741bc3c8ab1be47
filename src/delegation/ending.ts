import { quotation } from "../contract/phrases.ts";
import * as contract from "../contract/outcomes.ts";
import { refusalOf } from "../contract/refusal.ts";
import type { CallContext } from "../dispatch/context.ts";
import { type Guarded, guarded } from "../dispatch/guarded.ts";
import { memberById, memberName } from "../capabilities/members.ts";
import { shiftScope } from "../capabilities/table.ts";
import { demandDone, retire } from "../departures/leaving.ts";
import { tellOfLimit, tellOnce } from "../mail/notices.ts";
import { notify } from "../mail/operations.ts";
import { post } from "../mail/post.ts";
import { messageById } from "../mail/table.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { demandDecided } from "../outcomes/operations.ts";
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
  dependenciesOf,
  liveChildrenOf,
  liveDependentsOf,
  outcomeById,
  parentsOf,
  type Ref,
  repointDependents,
  saveOutcome,
  setDependencies,
} from "../outcomes/table.ts";
import {
  closed,
  closedWithParent,
  dependencyClosed,
  done,
  lastReason,
  othersWorkBelow,
  partIsMissing,
  reopened,
  submitted,
} from "./texts.ts";

/** Submitting, completing, closing and reopening outcomes, and what each means for agents and mail. */
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
  const who = await memberName(call.tx, outcome.responsible_id);
  const result = note === null ? null : excerpt(note, saved.result_id);
  await notify(call, outcome.delegated_by, submitted(who, saved, result));
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
  // A note by the owner is the result. A note by anyone else, such as the reviewer, is a comment on it.
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
    await answer(call, saved, done(outcome), text === "" ? null : excerpt(text, result?.file ?? null));
  }
  return saved;
}

/**
 * The result of an integration is the result of the outcome that was divided. That outcome is submitted or, if it was not
 * delegated, completed. If it can't end yet (an open child, a block), it stays open and its owner continues with it.
 */
async function rollUp(call: CallContext, integration: OutcomeRow): Promise<void> {
  const { tx } = call;
  const result = await resultOf(tx, integration.id);
  const note = result === null ? null : Buffer.from(result.content).toString("utf8");
  for (const { id } of await parentsOf(tx, integration.id)) {
    const whole = await outcomeById(tx, id);
    const isItsOwn = whole.kind === "work" && whole.responsible_id === integration.responsible_id;
    if (!isItsOwn || whole.status !== "open" || whole.blocked_reason !== null) continue;
    await refusalOf(tx.attempt(() => (whole.delegated === 1 ? submit : complete)(call, whole, note)));
  }
}

/**
 * Reopens an outcome for its owner. If the reviewer sends the same work back a second time, the reviewer's manager decides
 * instead; two agents that disagree would otherwise continue for ever.
 */
export async function sendBack(call: CallContext, outcome: OutcomeRow, reason: string): Promise<OutcomeRow> {
  const { tx, actor } = call;
  const parents = await parentsOf(tx, outcome.id);
  demandReopenable(outcome, parents);
  if (!isLive(outcome)) await shiftScope(tx, outcome.id, -1);
  const owner = await ownerAfterReopening(tx, outcome, parents);
  const opened: OutcomeRow = { ...outcome, ...owner, stalls: 0, status: "open", rationale: null };
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
      text: `${await questionOf(tx, outcome, escalated.to, escalated.reason)}\n\n${lastReason(excerpt(reason, null, 2000))}`,
    });
  // An owner that reopens its own outcome needs no message.
  if (owner.delegated === 1 && owner.responsible_id !== null && owner.responsible_id !== actor.agentId)
    await notify(
      call,
      owner.responsible_id,
      reopened(
        await memberName(tx, actor.agentId),
        outcome,
        excerpt(reason, null),
        escalated?.reason ?? null,
      ),
    );
  return saved;
}

const onSubmit = guarded(contract.submitOutcome, async (call) =>
  presentOutcome(
    call,
    await submit(call, await outcomeById(call.tx, call.input.id), call.input.note ?? null),
  ),
);

const onComplete = guarded(contract.completeOutcome, async (call) =>
  presentOutcome(
    call,
    await complete(call, await outcomeById(call.tx, call.input.id), call.input.note ?? null),
  ),
);

/** Closing an outcome also closes everything below it that serves nothing else. Delegated parts must be reclaimed first. */
const onClose = guarded(contract.closeOutcome, async (call) => {
  const { tx, input } = call;
  const outcome = await outcomeById(tx, input.id);
  demandEndable(outcome);
  const abandoned = await abandonedWith(tx, outcome);
  for (const below of abandoned) {
    await shiftScope(tx, below.id, 1);
    const rationale = closedWithParent(outcome, input.rationale).slice(0, 10_000).toWellFormed();
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
  // Outcomes that waited for this integration wait for the divided outcome again.
  if (outcome.kind === "integration")
    for (const whole of (await parentsOf(tx, outcome.id)).filter(isLive))
      await repointDependents(tx, outcome.id, whole.id);
  await releaseDependents(call, [saved, ...abandoned], rationale);
  if (outcome.reply_to !== null) await answer(call, saved, closed(outcome), excerpt(rationale, null));
  return presentOutcome(call, saved);
});

const onReopen = guarded(contract.reopenOutcome, async (call) =>
  presentOutcome(call, await sendBack(call, await outcomeById(call.tx, call.input.id), call.input.reason)),
);

export const endingHandlers: readonly Guarded[] = [onSubmit, onComplete, onClose, onReopen];

/**
 * Answers the message that led to the outcome. A person gets a message from the agent; an agent gets a notice of the
 * system, which asks for no reply and so can't start an endless exchange.
 */
async function answer(
  call: CallContext,
  outcome: OutcomeRow,
  heading: string,
  words: string | null,
): Promise<void> {
  const { tx } = call;
  if (outcome.reply_to === null) return;
  const asked = await messageById(tx, outcome.reply_to);
  const autoTurn = asked.auto_turn + 1;
  if (asked.from_id !== null || outcome.responsible_id === null) {
    const who = await memberName(tx, outcome.responsible_id);
    const told = words === null ? heading : `${heading}\n\n${quotation(who, "words", words)}`;
    return notify(call, asked.from_id, told, autoTurn);
  }
  const content = { text: words === null ? heading : `${heading}\n\n${words}` };
  const from = outcome.responsible_id;
  const refusal = await refusalOf(tx.attempt(() => post(call, { from, to: null, content, autoTurn })));
  // The board has too many unread messages of this agent. The result stays readable with the outcome.
  if (refusal !== undefined) await tellOfLimit(call, from, refusal);
}

const unblocked = { blocked_reason: null, blocked_until: null, blocked_on: null, for_agent_id: null };

/** Saves the new status and records it. An outcome that is no longer open loses its block. */
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

/** Everything below that serves nothing else, deepest first. Refuses if some of it was delegated. */
async function abandonedWith(tx: Tx, outcome: OutcomeRow): Promise<OutcomeRow[]> {
  const closing = new Set([outcome.id]);
  const order: OutcomeRow[] = [];
  const others: { id: string; title: string }[] = [];
  const frontier = [outcome.id];
  for (let id = frontier.pop(); id !== undefined; id = frontier.pop()) {
    for (const child of await liveChildrenOf(tx, id)) {
      // The inbox of an agent created for this outcome ends when that agent retires.
      if (child.kind === "inbox") continue;
      // A child with another live parent stays. If that parent is closed too, the search reaches the child again.
      const parents = await parentsOf(tx, child.id);
      if (closing.has(child.id) || parents.some((parent) => isLive(parent) && !closing.has(parent.id)))
        continue;
      closing.add(child.id);
      frontier.push(child.id);
      if (child.delegated === 1) others.push(child);
      else order.unshift(await outcomeById(tx, child.id));
    }
  }
  if (others.length > 0) throw othersWorkBelow(outcome, others);
  return order;
}

/**
 * A reopened outcome keeps its owner. If that agent has left, the owner of a live parent takes over. Rejected: the
 * manager of the agent that left, who may have delegated the surrounding work to another agent since.
 */
async function ownerAfterReopening(
  tx: ReadTx,
  outcome: OutcomeRow,
  parents: readonly Ref[],
): Promise<Pick<OutcomeRow, "responsible_id" | "delegated" | "delegated_by" | "reworks">> {
  const { responsible_id, delegated, delegated_by, reworks } = outcome;
  const owner = await memberById(tx, responsible_id);
  if (owner === undefined || owner.status !== "terminated")
    return { responsible_id, delegated, delegated_by, reworks };
  const heir = parents.find(isLive)?.responsible_id ?? null;
  return { responsible_id: heir, delegated: 0, delegated_by: null, reworks: 0 };
}

/**
 * A closed outcome never completes, so outcomes that depend on it would wait for ever. An integration drops the dependency
 * and notes in its description that the part is missing. For any other outcome, the agent that decides about it gets a
 * message: its delegator if it was delegated, otherwise its owner.
 */
async function releaseDependents(
  call: CallContext,
  closed: readonly Pick<OutcomeRow, "id" | "title">[],
  rationale: string,
): Promise<void> {
  const { tx, actor } = call;
  for (const one of closed) {
    const { id } = one;
    const stuck = new Map<string | null, OutcomeRow[]>();
    for (const dependent of await liveDependentsOf(tx, id)) {
      if (dependent.kind === "integration") {
        const left = (await dependenciesOf(tx, dependent.id)).filter((dependency) => dependency.id !== id);
        await setDependencies(
          tx,
          dependent.id,
          left.map((dependency) => dependency.id),
        );
        const without = partIsMissing(one, excerpt(rationale, null, 1000));
        const description = `${dependent.description}\n\n${without}`;
        await saveOutcome(tx, { ...dependent, description }, actor);
        await call.record(
          dependent.id,
          { changed: ["dependsOn"], without: id, rationale: without },
          "outcome.update",
        );
      } else {
        const decides = dependent.delegated === 1 ? dependent.delegated_by : dependent.responsible_id;
        stuck.set(decides, [...(stuck.get(decides) ?? []), dependent]);
      }
    }
    for (const [to, waiting] of stuck)
      if (to !== actor.agentId)
        await tellOnce(call, {
          about: id,
          kind: `given up, to ${to ?? "the board"}`,
          to,
          text: dependencyClosed(
            await memberName(tx, actor.agentId),
            one,
            excerpt(rationale, null, 2000),
            waiting,
          ),
        });
  }
}

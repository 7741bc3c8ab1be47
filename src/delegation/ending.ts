import { quotation } from "../contract/phrases.ts";
import type { UnreadableLink } from "../contract/outcomes.ts";
import * as contract from "../contract/outcomes.ts";
import { refusalOf } from "../contract/refusal.ts";
import type { CallContext } from "../dispatch/context.ts";
import { type Guarded, guarded } from "../dispatch/guarded.ts";
import { memberById, memberName } from "../capabilities/members.ts";
import { shiftScope } from "../capabilities/table.ts";
import { demandDone, retire } from "../departures/leaving.ts";
import { tellOfLimit, tellOnce, tellOwner } from "../mail/notices.ts";
import { notify } from "../mail/notices.ts";
import { post } from "../mail/post.ts";
import { messageById } from "../mail/table.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { acceptDeliverables, deliverablesOf, keepDeliverables } from "../outcomes/deliverables.ts";
import { recordChange, outcomeFields } from "../outcomes/history.ts";
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
import { demandUndisputed, escalation, recordReview } from "../outcomes/review.ts";
import {
  dependenciesOf,
  liveChildrenOf,
  listedOn,
  liveDependentsOf,
  outcomeById,
  parentsOf,
  type Ref,
  repointDependents,
  saveOutcome,
  setDependencies,
} from "../outcomes/table.ts";
import { askDecider, stopOwners, tellOwners } from "./telling.ts";
import {
  closed,
  closedByOther,
  closedWithParent,
  closesCaller,
  dependencyClosed,
  done,
  partIsMissing,
  reopened,
  submitted,
} from "./texts.ts";

/** Submits, completes, closes and reopens outcomes, with the effects on agents and mail. */
export async function submit(
  call: CallContext,
  outcome: OutcomeRow,
  note: string | null,
  files?: readonly string[],
): Promise<Ended> {
  demandSubmittable(outcome);
  demandUndisputed(call, outcome);
  await demandDecided(call.tx, outcome.responsible_id);
  demandNoLiveChildren(outcome, await liveChildrenOf(call.tx, outcome.id));
  await demandDone(call.tx, outcome);
  const kept = note === null ? outcome : await keepResult(call, outcome, note);
  const unreadable = await keepDeliverables(call, outcome, note, files);
  const saved = await transition(call, "outcome.submit", { ...kept, status: "submitted" }, { note });
  const who = await memberName(call.tx, outcome.responsible_id);
  const result = note === null ? null : excerpt(note, saved.result_id);
  const delivered = await deliverablesOf(call.tx, { agentId: null }, outcome.id);
  await notify(
    call,
    outcome.delegated_by,
    submitted(who, saved, result, { delivered, isBoard: outcome.delegated_by === null }),
  );
  return { saved, unreadable };
}

export interface Ended {
  readonly saved: OutcomeRow;
  readonly unreadable: UnreadableLink[];
}

export async function complete(
  call: CallContext,
  outcome: OutcomeRow,
  note: string | null,
  files?: readonly string[],
): Promise<Ended> {
  const { tx, actor } = call;
  demandEndable(outcome);
  demandNoLiveChildren(outcome, await liveChildrenOf(tx, outcome.id));
  await retire(call, outcome, "completed");
  await shiftScope(tx, outcome.id, 1);
  // A note by the owner is the result. A note by any other agent, such as the reviewer, is a comment on it.
  const isOwn = actor.agentId !== null && actor.agentId === outcome.responsible_id;
  const kept = note === null || !isOwn ? outcome : await keepResult(call, outcome, note);
  const unreadable = await keepDeliverables(call, outcome, note, files);
  await acceptDeliverables(call, outcome.id);
  if (outcome.status === "submitted") await recordReview(call, outcome, "pass", note);
  const saved = await transition(
    call,
    "outcome.complete",
    { ...kept, status: "completed", reworks: 0 },
    { note },
  );
  if (outcome.status === "open") await stopOwners(call, [outcome]);
  if (outcome.kind === "integration") await rollUp(call, saved);
  if (outcome.reply_to !== null) {
    const result = await resultOf(tx, outcome.id);
    const text = result === null ? "" : Buffer.from(result.content).toString("utf8");
    await answer(call, saved, done(outcome), text === "" ? null : excerpt(text, result?.file ?? null));
  }
  return { saved, unreadable };
}

/**
 * Passes the result and deliverables of an integration on to the divided outcome. That outcome is submitted or, if it was not
 * delegated, completed. If it can't end yet (an open child, a block), it stays open and its owner continues with it.
 */
async function rollUp(call: CallContext, integration: OutcomeRow): Promise<void> {
  const { tx } = call;
  const result = await resultOf(tx, integration.id);
  const note = result === null ? null : Buffer.from(result.content).toString("utf8");
  const files = (await tx.all(listedOn, { outcome_id: integration.id })).map(({ file_id }) => file_id);
  for (const { id } of await parentsOf(tx, integration.id)) {
    const whole = await outcomeById(tx, id);
    const isItsOwn = whole.kind === "work" && whole.responsible_id === integration.responsible_id;
    if (!isItsOwn || whole.status !== "open" || whole.blocked_reason !== null) continue;
    await refusalOf(tx.attempt(() => (whole.delegated === 1 ? submit : complete)(call, whole, note, files)));
  }
}

/**
 * Reopens an outcome for its owner. If the reviewer sends the same work back a second time, the reviewer's manager decides
 * instead. Otherwise two agents that disagree would continue for ever.
 */
export async function sendBack(call: CallContext, outcome: OutcomeRow, reason: string): Promise<OutcomeRow> {
  const { tx, actor } = call;
  const parents = await parentsOf(tx, outcome.id);
  demandReopenable(outcome, parents);
  if (!isLive(outcome)) await shiftScope(tx, outcome.id, -1);
  const owner = await ownerAfterReopening(tx, outcome, parents);
  // Only the judgement of another agent gives the owner new tries. Otherwise an agent could complete and reopen its own work
  // for ever.
  const isOwn = actor.agentId !== null && actor.agentId === outcome.responsible_id;
  const tries = isOwn ? {} : { stalls: 0, own_steps: 0, own_parts: 0 };
  const opened: OutcomeRow = { ...outcome, ...owner, ...tries, status: "open", rationale: null };
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
  if (escalated !== null) await askDecider(call, saved, escalated, reason);
  await tellOwner(call, saved, (who) =>
    reopened(who, outcome, excerpt(reason, null), escalated?.reason ?? null),
  );
  return saved;
}

const onSubmit = guarded(contract.submitOutcome, async (call) => {
  const { id, note, files } = call.input;
  return presentEnded(call, await submit(call, await outcomeById(call.tx, id), note ?? null, files));
});

const onComplete = guarded(contract.completeOutcome, async (call) => {
  const { id, note, files } = call.input;
  return presentEnded(call, await complete(call, await outcomeById(call.tx, id), note ?? null, files));
});

const presentEnded = async (call: CallContext, { saved, unreadable }: Ended) => ({
  ...(await presentOutcome(call, saved)),
  unreadable,
});

/**
 * Closes an outcome and, in the same transaction, everything below that serves nothing else, including delegated work. Agents
 * that were hired for a part of it retire, and every owner is told.
 */
export async function closeSubtree(
  call: CallContext,
  outcome: OutcomeRow,
  rationale: string,
): Promise<OutcomeRow> {
  const { tx } = call;
  demandEndable(outcome);
  const abandoned = await abandonedWith(tx, outcome);
  await demandNotOwn(call, outcome, abandoned);
  const why = closedWithParent(outcome, rationale).slice(0, 10_000).toWellFormed();
  for (const { id } of abandoned) {
    // Read the row again: an agent that retired meanwhile may have left the outcome to its manager.
    const below = await outcomeById(tx, id);
    await retire(call, below, "abandoned");
    await shiftScope(tx, id, 1);
    await saveOutcome(
      tx,
      { ...(await outcomeById(tx, id)), ...unblocked, status: "closed", rationale: why },
      call.actor,
    );
    await call.record(id, { rationale: excerpt(why, null, 2000), with: outcome.id }, "outcome.close");
  }
  await retire(call, outcome, "abandoned");
  await shiftScope(tx, outcome.id, 1);
  const saved = await transition(
    call,
    "outcome.close",
    { ...(await outcomeById(tx, outcome.id)), status: "closed", rationale },
    { rationale },
  );
  // Outcomes that waited for this integration wait for the divided outcome again.
  if (outcome.kind === "integration")
    for (const whole of (await parentsOf(tx, outcome.id)).filter(isLive))
      await repointDependents(tx, outcome.id, whole.id);
  await releaseDependents(call, [saved, ...abandoned], rationale);
  if (outcome.reply_to !== null) await answer(call, saved, closed(outcome), excerpt(rationale, null));
  await tellOwners(call, outcome, [outcome, ...abandoned], (who, own) =>
    closedByOther(who, outcome, own, excerpt(rationale, null, 2000)),
  );
  return saved;
}

/**
 * Refuses an agent that would end itself. After a reorganization an agent may be responsible for an outcome above the one it
 * was hired for. Closing that outcome would end the agent, which only its manager decides.
 */
async function demandNotOwn(
  { tx, actor }: CallContext,
  outcome: OutcomeRow,
  abandoned: readonly OutcomeRow[],
): Promise<void> {
  const caller = await memberById(tx, actor.agentId);
  const own = abandoned.find(({ id }) => id === caller?.mandate_id);
  if (own !== undefined) throw closesCaller(outcome, own);
}

const onClose = guarded(contract.closeOutcome, async (call) =>
  presentOutcome(
    call,
    await closeSubtree(call, await outcomeById(call.tx, call.input.id), call.input.rationale),
  ),
);

const onReopen = guarded(contract.reopenOutcome, async (call) =>
  presentOutcome(call, await sendBack(call, await outcomeById(call.tx, call.input.id), call.input.reason)),
);

export const endingHandlers: readonly Guarded[] = [onSubmit, onComplete, onClose, onReopen];

/**
 * Answers the message that led to the outcome. A person gets a message from the agent. An agent gets a notice of the system,
 * which asks for no reply and so can't start an endless exchange.
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
  const refusal = await refusalOf(
    tx.attempt(() => post(call, { from, to: null, content, autoTurn, inReplyTo: asked.id, byAnswer: true })),
  );
  // The board has too many unread messages of this agent. The result can still be read with the outcome.
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

/** The outcomes below that serve nothing else, deepest first. */
async function abandonedWith(tx: Tx, outcome: OutcomeRow): Promise<OutcomeRow[]> {
  const closing = new Set([outcome.id]);
  const order: OutcomeRow[] = [];
  const frontier = [outcome.id];
  for (let id = frontier.pop(); id !== undefined; id = frontier.pop()) {
    for (const child of await liveChildrenOf(tx, id)) {
      // The inbox of an agent that was hired for this outcome ends with the agent. Its reports get another manager.
      if (child.kind === "inbox" || child.kind === "mandate") continue;
      // A child with another live parent stays. If that parent is closed too, the search reaches the child again.
      const parents = await parentsOf(tx, child.id);
      if (closing.has(child.id) || parents.some((parent) => isLive(parent) && !closing.has(parent.id)))
        continue;
      closing.add(child.id);
      frontier.push(child.id);
      order.unshift(await outcomeById(tx, child.id));
    }
  }
  return order;
}

/**
 * A reopened outcome keeps its owner, and the owner's present manager verifies it: the tree may have changed since the outcome
 * ended. If the owner has left, the owner of a live parent takes over. Rejected: the manager of the departed agent, who may
 * have delegated the surrounding work to another agent since.
 */
async function ownerAfterReopening(
  tx: ReadTx,
  outcome: OutcomeRow,
  parents: readonly Ref[],
): Promise<Pick<OutcomeRow, "responsible_id" | "delegated" | "delegated_by" | "reworks">> {
  const { responsible_id, delegated, reworks } = outcome;
  const owner = await memberById(tx, responsible_id);
  // An agent that was deleted has no row any more.
  if (owner !== undefined && owner.status !== "terminated")
    return { responsible_id, delegated, delegated_by: delegated === 1 ? owner.boss_id : null, reworks };
  const heir = parents.find(isLive)?.responsible_id ?? null;
  return { responsible_id: heir, delegated: 0, delegated_by: null, reworks: 0 };
}

/**
 * A closed outcome never completes, so outcomes that depend on it would wait for ever. An integration drops the dependency and
 * notes in its description that the part is missing. For any other outcome, the deciding agent gets a message: the delegator if
 * the outcome was delegated, otherwise the owner.
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
        const before = await outcomeFields(tx, dependent);
        const left = (await dependenciesOf(tx, dependent.id)).filter((dependency) => dependency.id !== id);
        await setDependencies(
          tx,
          dependent.id,
          left.map((dependency) => dependency.id),
          actor,
        );
        const without = partIsMissing(one, excerpt(rationale, null, 1000));
        const description = `${dependent.description}\n\n${without}`;
        await saveOutcome(tx, { ...dependent, description }, actor);
        await recordChange(call, dependent.id, before, { without: id, rationale: without });
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

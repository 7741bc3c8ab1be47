import type { Input } from "../contract/operation.ts";
import * as contract from "../contract/outcomes.ts";
import { notFound } from "../contract/refusal.ts";
import { type Call, guarded } from "../dispatch/guarded.ts";
import { memberById } from "../capabilities/members.ts";
import type { ReadTx } from "../store/store.ts";
import { demandDepth, demandRoomForOutcomes, depthOf, openOutcomesAhead } from "./limits.ts";
import { demandLive, isLive, type OutcomeRow } from "./outcome.ts";
import { fieldChanges, historyOf, recorded, outcomeFields } from "./history.ts";
import { presentOutcome } from "./presenting.ts";
import { readHandlers } from "./reading.ts";
import { contextOf } from "./results.ts";
import { demandUndisputed } from "./review.ts";
import {
  dependencyRows,
  endPause,
  insertOutcome,
  outcomeById,
  outcomesAhead,
  parentsOf,
  saveOutcome,
  setDependencies,
  setParents,
  wouldWaitForItself,
} from "./table.ts";
import * as texts from "./texts.ts";

const onCreate = guarded(contract.createOutcome, async (call) => {
  const { tx, actor, companyId, input } = call;
  const parents = unique(input.parents);
  const dependsOn = unique(input.dependsOn ?? []);
  outcomesAhead(tx, parents);
  await openOutcomesAhead(call, actor.agentId, 1);
  const rows = await parentRows(tx, companyId, parents);
  await demandAwaitable(tx, companyId, dependsOn);
  for (const parent of parents) for (const target of dependsOn) await demandNoCycle(tx, parent, target);
  // Other calls of the same batch create outcomes too.
  if (actor.agentId !== null) await tx.turn();
  await demandRoomForOutcomes(call, actor.agentId, 1);
  const id = call.newId();
  const outcome = await insertOutcome(
    tx,
    {
      id,
      company_id: companyId,
      title: input.title,
      description: input.description ?? "",
      acceptance: input.acceptance ?? null,
      responsible_id: actor.agentId ?? rows[0]?.responsible_id ?? null,
      urgent: input.urgent === true ? 1 : 0,
      important: input.important === true ? 1 : 0,
      parents,
      dependsOn,
    },
    actor,
  );
  await call.record(id, { title: input.title, parents, dependsOn });
  return presentOutcome(call, outcome, { parents: rows.toSorted((a, b) => a.num - b.num), dependsOn });
});

/** Carries out update_outcome and returns what it changed. The owner is told in delegation/updating.ts. */
export async function changeOutcome(
  call: Call<Input<typeof contract.updateOutcome>>,
): Promise<{ saved: OutcomeRow; changes: contract.FieldChanges }> {
  const { tx, actor, companyId, input } = call;
  const outcome = await outcomeById(tx, input.id);
  const isOwn = actor.agentId !== null && actor.agentId === outcome.responsible_id;
  const before = await outcomeFields(tx, outcome);
  demandLive(outcome);
  await demandDecided(tx, outcome.responsible_id);
  // Remove the old dependencies first. Otherwise a link that is being removed could look like a cycle with a new parent.
  const links = await dependencyRows(tx, outcome.id);
  if (input.dependsOn !== undefined) await setDependencies(tx, outcome.id, [], actor);
  const parentsLeft =
    input.parents === undefined ? [] : await changeParents(call, outcome, unique(input.parents));
  if (input.dependsOn !== undefined) {
    const dependsOn = unique(input.dependsOn);
    await demandAwaitable(tx, companyId, dependsOn);
    for (const target of dependsOn) await demandNoCycle(tx, outcome.id, target);
    await setDependencies(tx, outcome.id, dependsOn, actor, links);
  }
  if (input.blocked !== undefined) demandUndisputed(call, outcome);
  if (input.blocked && outcome.status !== "open") throw texts.notOpen(outcome, "blocked");
  if (input.blocked?.on !== undefined) {
    await demandKnown(tx, companyId, [input.blocked.on]);
    if (input.blocked.on === outcome.id) throw texts.blockedOnItself(outcome);
  }
  const saved = await saveOutcome(
    tx,
    {
      ...outcome,
      title: input.title ?? outcome.title,
      description: input.description ?? outcome.description,
      acceptance: input.acceptance === undefined ? outcome.acceptance : input.acceptance,
      // An agent that edits or unblocks its own outcome makes no progress by that.
      stalls: isOwn ? outcome.stalls : 0,
      urgent: input.urgent === undefined ? outcome.urgent : input.urgent ? 1 : 0,
      important: input.important === undefined ? outcome.important : input.important ? 1 : 0,
      ...(input.blocked === undefined
        ? {}
        : {
            blocked_reason: input.blocked?.reason ?? null,
            blocked_until: input.blocked?.until === undefined ? null : Date.parse(input.blocked.until),
            blocked_on: input.blocked?.on ?? null,
            // An explicit block or unblock replaces both automatic blocks: waiting for a hire, and waiting for a verdict.
            for_agent_id: null,
            reworks: 0,
          }),
    },
    actor,
  );
  if (actor.agentId === null && input.blocked === null && saved.responsible_id !== null)
    await endPause(tx, saved.responsible_id);
  const changes = fieldChanges(before, await outcomeFields(tx, saved));
  const { id: _, ...given } = input;
  await call.record(outcome.id, {
    ...recorded(changes),
    changed: Object.keys(given),
    blocked: input.blocked ?? null,
    ...(parentsLeft.length > 0 ? { parentsLeft } : {}),
  });
  return { saved, changes };
}

const onView = guarded(contract.viewOutcome, async (call) => {
  const { tx, input } = call;
  const outcome = await presentOutcome(call, await outcomeById(tx, input.id));
  return {
    ...outcome,
    depth: await depthOf(tx, input.id),
    context: await contextOf(call, input.id),
    history: await historyOf(tx, call.actor, outcome),
  };
});

/**
 * Handlers that create and view outcomes. Operations that affect agents and mail, such as changing and ending an outcome, are
 * in delegation/.
 */
export const outcomeHandlers = [onCreate, onView, ...readHandlers];

async function parentRows(tx: ReadTx, companyId: string, ids: readonly string[]): Promise<OutcomeRow[]> {
  const rows = [];
  for (const id of ids) {
    const row = await outcomeById(tx, id);
    if (row.company_id !== companyId) throw notFound("outcome", id);
    demandLive(row);
    await demandDecided(tx, row.responsible_id);
    if (row.kind === "inbox") throw texts.nothingBelowInbox(row);
    rows.push(row);
  }
  return rows;
}

/** Refuses work for a pending agent. Its outcomes stay exactly as the board sees them in the approval. */
export async function demandDecided(tx: ReadTx, ownerId: string | null): Promise<void> {
  const owner = await memberById(tx, ownerId);
  if (owner?.status === "pending_approval") throw texts.ownerPending(owner);
}

/** Refuses a dependency on an outcome that ended with its agent: that outcome never completes, so the wait would never end. */
async function demandAwaitable(tx: ReadTx, companyId: string, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    await demandKnown(tx, companyId, [id]);
    const outcome = await outcomeById(tx, id);
    if (outcome.status === "closed" && (outcome.kind === "mandate" || outcome.kind === "inbox"))
      throw texts.neverCompletes(outcome);
  }
}

async function demandKnown(tx: ReadTx, companyId: string, ids: readonly string[]): Promise<void> {
  for (const id of ids)
    if ((await outcomeById(tx, id)).company_id !== companyId) throw notFound("outcome", id);
}

async function demandNoCycle(tx: ReadTx, waiterId: string, targetId: string): Promise<void> {
  if (await wouldWaitForItself(tx, waiterId, targetId))
    throw texts.circular(await outcomeById(tx, waiterId), await outcomeById(tx, targetId));
}

/** Returns the removed parents, which no longer wait for this outcome. */
async function changeParents(
  call: Call<{ id: string }>,
  outcome: OutcomeRow,
  wanted: string[],
): Promise<string[]> {
  const { tx, actor, companyId } = call;
  if (outcome.kind === "perpetual") throw texts.rootHasNoParents(outcome);
  if (outcome.kind === "inbox") throw texts.inboxStaysInPlace(outcome);
  if (outcome.kind === "mandate") throw texts.mandateStaysInPlace(outcome);
  if (actor.kind === "agent" && outcome.delegated === 1) throw texts.delegatedStaysInPlace(outcome);
  const already = new Set((await parentsOf(tx, outcome.id)).map(({ id }) => id));
  await parentRows(
    tx,
    companyId,
    wanted.filter((id) => !already.has(id)),
  );
  for (const parent of wanted) {
    if (already.has(parent)) continue;
    await demandNoCycle(tx, parent, outcome.id);
    await demandDepth(call, await depthOf(tx, parent), outcome.id);
  }
  await setParents(tx, outcome.id, wanted);
  if (!(await parentsOf(tx, outcome.id)).some(isLive)) throw texts.noOpenParent(outcome);
  return [...already].filter((id) => !wanted.includes(id));
}

function unique(ids: readonly string[]): string[] {
  return [...new Set(ids)];
}

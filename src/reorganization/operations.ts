import { hash } from "node:crypto";
import { canonicalJson } from "../contract/canonical.ts";
import { terminateAgent } from "../contract/agents.ts";
import * as contract from "../contract/reorganization.ts";
import { notFound, Refusal } from "../contract/refusal.ts";
import { type Call, guarded } from "../dispatch/guarded.ts";
import type { CallContext } from "../dispatch/context.ts";
import { memberById } from "../capabilities/members.ts";
import { pageByNumber } from "../dispatch/page.ts";
import { brainMarks } from "../brains/registry.ts";
import { redact, redactText } from "../redaction/redact.ts";
import { presentAgent } from "../agents/table.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { treeAround } from "./after.ts";
import { announceMoves } from "./announcing.ts";
import { prepare } from "./changes.ts";
import { effectsOn } from "./effects.ts";
import { type Difference, differences, imagesAround, rowAt } from "./images.ts";
import { movesIn } from "./moves.ts";
import {
  countsOf,
  differencesOf,
  insertReorganization,
  markUndone,
  presentReorganization,
  presentSummary,
  type ReorganizationRow,
  reorganizationById,
  shownPlan,
} from "./table.ts";
import { alreadyUndone, keysStayRevoked, planOutdated } from "./texts.ts";
import { putBack } from "./undoing.ts";

/** A plan makes the change and rolls it back. It therefore shows exactly what applying the change would do. */
const onPlan = guarded(contract.planReorganization, async (call) => {
  const { done, after } = await rehearse(call.tx, async () => {
    const made = await perform(call, call.input.change);
    return { done: made, after: await treeAround(call.tx, call.companyId, made.found, made.newNames) };
  });
  await call.record(call.actor.agentId ?? call.companyId, {
    kind: call.input.change.kind,
    summary: done.summary,
  });
  return { ...shownPlan(done.foreseen, done.warnings), hash: done.hash, after };
});

const onApply = guarded(contract.applyReorganization, async (call) => {
  const row = await apply(call, call.input.change, call.input.hash);
  return presentReorganization(call.tx, row, { possible: true, reason: null });
});

const onTerminate = guarded(terminateAgent, async (call) => {
  const { id, reason } = call.input;
  await apply(call, { kind: "fire", agent: id, ...(reason === undefined ? {} : { reason }) });
  return presentAgent(call.tx, id);
});

const onUndo = guarded(contract.undoReorganization, async (call) => {
  const { tx } = call;
  const row = await visible(call);
  if (row.undone_at !== null) throw alreadyUndone();
  await putBack(call, differencesOf(row));
  await tx.run(markUndone, { id: row.id, undone_at: tx.now });
  await call.record(row.id, { kind: row.kind, summary: row.summary });
  const back = await presentReorganization(tx, { ...row, undone_at: tx.now }, wasUndone);
  const moves = back.moves.map((move) => ({ ...move, from: move.to, to: move.from }));
  await announceMoves(
    call,
    `${row.summary}, undone`,
    { moves, warnings: await keylessAfter(tx, differencesOf(row)) },
    differencesOf(row).map(turned),
  );
  return back;
});

const onView = guarded(contract.viewReorganization, async (call) => {
  const row = await visible(call);
  return presentReorganization(call.tx, row, await undoableNow(call, row));
});

const wasUndone: contract.Undoable = { possible: false, reason: alreadyUndone().message };

/** Tries to undo and rolls back, so the answer is exactly that of undoing. */
async function undoableNow(call: CallContext, row: ReorganizationRow): Promise<contract.Undoable> {
  if (row.undone_at !== null) return wasUndone;
  try {
    await rehearse(call.tx, () => putBack(call, differencesOf(row)));
    return { possible: true, reason: null };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { possible: false, reason: redactText(error.message) };
  }
}

const onList = guarded(contract.listReorganizations, async ({ tx, actor, companyId, input }) => {
  const where = { company_id: companyId, applied_by: actor.agentId ?? undefined };
  const { page, nextCursor } = await pageByNumber(tx, "reorganizations", where, "newest first", input);
  const reorganizations = [];
  for (const row of page) reorganizations.push(await presentSummary(tx, row));
  return { reorganizations, nextCursor };
});

export const reorganizationHandlers = [onPlan, onApply, onTerminate, onUndo, onView, onList];

async function apply(
  call: CallContext,
  change: contract.Change,
  expected?: string,
): Promise<ReorganizationRow> {
  const { tx, actor, companyId } = call;
  const done = await perform(call, change);
  if (expected !== undefined && expected !== done.hash) throw planOutdated(done.hash);
  const id = call.newId();
  await tx.run(insertReorganization, {
    id,
    company_id: companyId,
    kind: change.kind,
    summary: done.summary,
    change: JSON.stringify(change),
    moves: JSON.stringify(done.moves),
    warnings: JSON.stringify(done.warnings),
    images: JSON.stringify(done.found),
    hash: done.hash,
    applied_by: actor.agentId,
    applied_at: tx.now,
    undone_at: null,
  });
  const moves = countsOf(done.moves);
  await call.record(
    id,
    { kind: change.kind, summary: done.summary, hash: done.hash, moves },
    "reorganization.apply",
  );
  await announceMoves(call, done.summary, done, done.found);
  return reorganizationById(tx, id);
}

/** Does the work and rolls all of it back. */
async function rehearse<T>(tx: Tx, work: () => Promise<T>): Promise<T> {
  let result: { readonly value: T } | undefined;
  try {
    await tx.attempt(async () => {
      result = { value: await work() };
      throw new Rehearsed();
    });
  } catch (error) {
    if (!(error instanceof Rehearsed) || result === undefined) throw error;
  }
  if (result === undefined) throw new Error("the rehearsal returned no result");
  return result.value;
}

class Rehearsed extends Error {}

async function perform(call: CallContext, change: contract.Change) {
  const { tx } = call;
  const prepared = await prepare(call, change);
  const before = await imagesAround(tx, prepared.agents);
  const effects = await effectsOn(tx, call.companyId, [...before.agents.keys()]);
  const made = await prepared.run();
  const found = (await differences(tx, before, prepared.agents, made ?? [])).map(kept);
  const told = await movesIn(tx, found);
  const moves = [...told.moves, ...(await effects(found))];
  const warnings = [...(prepared.warnings ?? []), ...told.warnings];
  const newNames = await namesOfNew(call, found);
  const foreseen = moves.map((move) => ({ ...move, id: newNames.get(move.id) ?? move.id }));
  // The hash that binds applying to the plan. Secrets in a change have other names each time, so the hash is made of the shown
  // moves. New ids differ each time too, and the order of moves depends on them. Sorting makes the hash independent of both.
  const sorted = { moves: foreseen.map(canonicalJson).toSorted(), warnings: warnings.toSorted() };
  const digest = hash("sha256", canonicalJson({ change: redact(change, brainMarks).value, ...sorted }));
  return { summary: prepared.summary, moves, foreseen, newNames, warnings, hash: digest, found };
}

/** Keeps only the key of a new row: undoing ends the new agent instead of deleting its columns. */
const kept = (difference: Difference): Difference =>
  difference.before === null ? { ...difference, after: difference.key } : difference;

const turned = ({ table, key, before, after }: Difference): Difference => ({
  table,
  key,
  before: after,
  after: before,
});

/** Placeholders for the ids of new rows, because a change creates other ids each time. */
async function namesOfNew(call: CallContext, found: readonly Difference[]): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  for (const { table, key, before } of found) {
    if (before !== null || typeof key["id"] !== "string") continue;
    if (table === "agents")
      names.set(key["id"], `new: ${(await memberById(call.tx, key["id"]))?.name ?? ""}`);
    else if (!names.has(key["id"])) names.set(key["id"], "new");
  }
  return names;
}

/** The agents that came back without the keys they had. */
async function keylessAfter(tx: ReadTx, found: readonly Difference[]): Promise<string[]> {
  const warnings = new Set<string>();
  for (const { table, key } of found) {
    const owner = table === "credentials" ? (await rowAt(tx, table, key))?.["agent_id"] : undefined;
    if (typeof owner === "string")
      warnings.add(keysStayRevoked((await memberById(tx, owner))?.name ?? owner));
  }
  return [...warnings];
}

/** The board sees all reorganizations. An agent sees those it applied. */
async function visible(call: Call<{ id: string }>): Promise<ReorganizationRow> {
  const row = await reorganizationById(call.tx, call.input.id);
  if (call.actor.agentId !== null && row.applied_by !== call.actor.agentId)
    throw notFound("reorganization", row.id);
  return row;
}

import * as contract from "../contract/outcomes.ts";
import { notFound, Refusal } from "../contract/refusal.ts";
import { type Call, type Guarded, guarded, type Surroundings } from "../capabilities/guarded.ts";
import { memberById } from "../capabilities/members.ts";
import { shiftScope } from "../capabilities/table.ts";
import { aboutSubject, parseData, presentActor } from "../events/ledger.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import {
  demandEndable,
  demandLive,
  demandNoLiveChildren,
  demandReopenable,
  demandSubmittable,
  isLive,
  type OutcomeRow,
} from "./outcome.ts";
import { readHandlers } from "./reading.ts";
import {
  insertOutcome,
  liveChildrenOf,
  outcomeById,
  parentsOf,
  presentOutcome,
  type Ref,
  saveOutcome,
  setDependencies,
  setParents,
  wouldWaitForItself,
} from "./table.ts";

const onCreate = guarded(contract.createOutcome, async (call) => {
  const { tx, actor, companyId, input } = call;
  const parents = unique(input.parents);
  const dependsOn = unique(input.dependsOn ?? []);
  const rows = await parentRows(tx, companyId, parents);
  await demandKnown(tx, companyId, dependsOn);
  for (const parent of parents) for (const target of dependsOn) await demandNoCycle(tx, parent, target);
  const id = call.newId();
  await insertOutcome(
    tx,
    {
      id,
      company_id: companyId,
      kind: "work",
      title: input.title,
      description: input.description ?? "",
      acceptance: input.acceptance ?? null,
      responsible_id: actor.agentId ?? rows[0]?.responsible_id ?? null,
      delegated: 0,
      delegated_by: null,
      urgent: input.urgent === true ? 1 : 0,
      important: input.important === true ? 1 : 0,
      parents,
      dependsOn,
    },
    actor,
  );
  await call.record(id, { title: input.title, parents, dependsOn });
  return presentOutcome(tx, await outcomeById(tx, id));
});

const onUpdate = guarded(contract.updateOutcome, async (call) => {
  const { tx, actor, companyId, input } = call;
  const outcome = await outcomeById(tx, input.id);
  demandLive(outcome);
  await demandDecided(tx, outcome.responsible_id);
  // What it no longer waits for does not stand in the way of a new parent.
  if (input.dependsOn !== undefined) await setDependencies(tx, outcome.id, []);
  const parentsLeft =
    input.parents === undefined ? [] : await changeParents(call, outcome, unique(input.parents));
  if (input.dependsOn !== undefined) {
    const dependsOn = unique(input.dependsOn);
    await demandKnown(tx, companyId, dependsOn);
    for (const target of dependsOn) await demandNoCycle(tx, outcome.id, target);
    await setDependencies(tx, outcome.id, dependsOn);
  }
  if (input.blocked && outcome.status !== "open")
    throw new Refusal(
      "refused",
      `The outcome is ${outcome.status}; only work on an open one can be blocked.`,
      "Reopen it first, with the reason.",
    );
  if (input.blocked?.on !== undefined) {
    await demandKnown(tx, companyId, [input.blocked.on]);
    if (input.blocked.on === outcome.id)
      throw new Refusal("refused", "An outcome cannot wait for itself.", "Name another outcome, or a time.");
  }
  const saved = await saveOutcome(
    tx,
    {
      ...outcome,
      title: input.title ?? outcome.title,
      description: input.description ?? outcome.description,
      acceptance: input.acceptance === undefined ? outcome.acceptance : input.acceptance,
      stalls: 0,
      urgent: input.urgent === undefined ? outcome.urgent : Number(input.urgent),
      important: input.important === undefined ? outcome.important : Number(input.important),
      ...(input.blocked === undefined
        ? {}
        : {
            blocked_reason: input.blocked?.reason ?? null,
            blocked_until: input.blocked?.until === undefined ? null : Date.parse(input.blocked.until),
            blocked_on: input.blocked?.on ?? null,
          }),
    },
    actor,
  );
  const { id: _, ...changes } = input;
  await call.record(outcome.id, {
    changed: Object.keys(changes),
    blocked: input.blocked ?? null,
    ...(parentsLeft.length > 0 ? { parentsLeft } : {}),
  });
  return presentOutcome(tx, saved);
});

const onView = guarded(contract.viewOutcome, async ({ tx, input }) => {
  const outcome = await presentOutcome(tx, await outcomeById(tx, input.id));
  const rows = await tx.all(aboutSubject, { subject: input.id, before: Number.MAX_SAFE_INTEGER, limit: 200 });
  const history = rows
    .filter(({ operation }) => operation.startsWith("outcome."))
    .map((row) => {
      const { rationale, reason, note } = parseData(row.data);
      const why = [rationale, reason, note].find((words) => typeof words === "string");
      return {
        seq: row.seq,
        at: new Date(row.at).toISOString(),
        action: row.operation,
        by: presentActor(row),
        why: typeof why === "string" ? why : null,
      };
    });
  return { ...outcome, history };
});

/** What an outcome's changes mean to others, in the same transaction: who is told, and whose mandate has ended. */
export interface Consequences {
  /** A message to an agent or (null) the board. */
  readonly notify: (call: Surroundings, to: string | null, text: string) => Promise<void>;
  /** Called before an outcome ends: an agent made for it retires, or the end is refused. */
  readonly retire: (call: Surroundings, outcome: OutcomeRow) => Promise<void>;
  /** Would that end be refused? */
  readonly demandDone: (call: Surroundings, outcome: OutcomeRow) => Promise<void>;
}

export function outcomeHandlers({ notify, retire, demandDone }: Consequences): Guarded[] {
  const onSubmit = guarded(contract.submitOutcome, async (call) => {
    const outcome = await outcomeById(call.tx, call.input.id);
    demandSubmittable(outcome);
    await demandDecided(call.tx, outcome.responsible_id);
    demandNoLiveChildren(outcome, await liveChildrenOf(call.tx, outcome.id));
    await demandDone(call, outcome);
    const note = call.input.note ?? null;
    const shown = await transition(call, { ...outcome, ...unblocked, status: "submitted" }, { note });
    await notify(call, outcome.delegated_by, submission(outcome, note));
    return shown;
  });

  const onComplete = guarded(contract.completeOutcome, async (call) => {
    const outcome = await outcomeById(call.tx, call.input.id);
    demandEndable(outcome);
    demandNoLiveChildren(outcome, await liveChildrenOf(call.tx, outcome.id));
    await retire(call, outcome);
    await shiftScope(call.tx, outcome.id, 1);
    return transition(
      call,
      { ...outcome, ...unblocked, status: "completed" },
      { note: call.input.note ?? null },
    );
  });

  /** Closing abandons what was only a means to it; what somebody else answers for has to be reclaimed first. */
  const onClose = guarded(contract.closeOutcome, async (call) => {
    const { tx, input } = call;
    const outcome = await outcomeById(tx, input.id);
    demandEndable(outcome);
    for (const below of await abandonedWith(tx, outcome)) {
      await shiftScope(tx, below.id, 1);
      const rationale = `"${outcome.title}" (${outcome.id}), which it served, was closed: ${input.rationale}`
        .slice(0, 10_000)
        .toWellFormed();
      await saveOutcome(tx, { ...below, ...unblocked, status: "closed", rationale }, call.actor);
      await call.record(below.id, { rationale, with: outcome.id });
    }
    await retire(call, outcome);
    await shiftScope(tx, outcome.id, 1);
    return transition(
      call,
      { ...outcome, ...unblocked, status: "closed", rationale: input.rationale },
      { rationale: input.rationale },
    );
  });

  const onReopen = guarded(contract.reopenOutcome, async (call) => {
    const { tx, input } = call;
    const outcome = await outcomeById(tx, input.id);
    const parents = await parentsOf(tx, outcome.id);
    demandReopenable(outcome, parents);
    if (!isLive(outcome)) await shiftScope(tx, outcome.id, -1);
    const owner = await stillThere(tx, outcome, parents);
    const shown = await transition(
      call,
      { ...outcome, ...owner, stalls: 0, status: "open", rationale: null },
      { reason: input.reason },
    );
    // Sent back: the owner is told why. Whoever reopens its own outcome knows.
    if (owner.delegated === 1 && owner.responsible_id !== null && owner.responsible_id !== call.actor.agentId)
      await notify(
        call,
        owner.responsible_id,
        `"${outcome.title}" (kb://${outcome.id}) is open again: ${input.reason}`,
      );
    return shown;
  });

  return [onCreate, onUpdate, onSubmit, onComplete, onClose, onReopen, onView, ...readHandlers];
}

function submission(outcome: OutcomeRow, note: string | null): string {
  return [
    `"${outcome.title}" (kb://${outcome.id}) is submitted: verify it, then complete_outcome, or reopen_outcome with what is missing.`,
    ...(note === null ? [] : ["", note]),
    ...(outcome.acceptance === null ? [] : ["", "Acceptance criteria:", outcome.acceptance]),
  ].join("\n");
}

const unblocked = { blocked_reason: null, blocked_until: null, blocked_on: null };

async function transition(
  call: Pick<Call<unknown>, "tx" | "actor" | "record">,
  outcome: OutcomeRow,
  data: Record<string, unknown>,
): Promise<contract.Outcome> {
  const saved = await saveOutcome(call.tx, outcome, call.actor);
  await call.record(outcome.id, data);
  return presentOutcome(call.tx, saved);
}

async function parentRows(tx: ReadTx, companyId: string, ids: readonly string[]): Promise<OutcomeRow[]> {
  const rows = [];
  for (const id of ids) {
    const row = await outcomeById(tx, id);
    if (row.company_id !== companyId) throw notFound("outcome", id);
    demandLive(row);
    await demandDecided(tx, row.responsible_id);
    if (row.kind === "inbox")
      throw new Refusal(
        "refused",
        "Nothing hangs below an inbox: it completes itself when it is empty.",
        "Hang it below your mandate or another of your outcomes.",
      );
    rows.push(row);
  }
  return rows;
}

/** An agent that waits for approval is given no work, and what it is to do stays as the board sees it. */
async function demandDecided(tx: ReadTx, ownerId: string | null): Promise<void> {
  const owner = ownerId === null ? undefined : await memberById(tx, ownerId);
  if (owner?.status !== "pending_approval") return;
  throw new Refusal(
    "refused",
    `${owner.name}, who answers for it, waits for approval.`,
    "Decide on the approval first, or take the outcome back.",
  );
}

async function demandKnown(tx: ReadTx, companyId: string, ids: readonly string[]): Promise<void> {
  for (const id of ids)
    if ((await outcomeById(tx, id)).company_id !== companyId) throw notFound("outcome", id);
}

async function demandNoCycle(tx: ReadTx, waiterId: string, targetId: string): Promise<void> {
  if (await wouldWaitForItself(tx, waiterId, targetId))
    throw new Refusal(
      "refused",
      `That would make ${waiterId} wait for itself, through ${targetId}.`,
      "A parent waits for its children and an outcome for what it depends on: leave one of the links out.",
    );
}

/** Answers which it no longer serves: they do not wait for it any more. */
async function changeParents(
  call: Call<{ id: string }>,
  outcome: OutcomeRow,
  wanted: string[],
): Promise<string[]> {
  const { tx, actor, companyId } = call;
  if (outcome.kind === "perpetual")
    throw new Refusal("refused", "The root has no parents.", "Leave parents out.");
  if (outcome.kind === "inbox")
    throw new Refusal("refused", "An inbox hangs below the mandate of its agent.", "Leave parents out.");
  if (outcome.kind === "mandate")
    throw new Refusal(
      "refused",
      "A standing mandate hangs below the mandate of its agent's boss.",
      "Leave parents out.",
    );
  if (actor.kind === "agent" && outcome.delegated === 1)
    throw new Refusal(
      "refused",
      "A delegated outcome keeps its place.",
      "Reclaim it first, or ask the board.",
    );
  const already = new Set((await parentsOf(tx, outcome.id)).map(({ id }) => id));
  await parentRows(
    tx,
    companyId,
    wanted.filter((id) => !already.has(id)),
  );
  for (const parent of wanted) if (!already.has(parent)) await demandNoCycle(tx, parent, outcome.id);
  await setParents(tx, outcome.id, wanted);
  if (!(await parentsOf(tx, outcome.id)).some(isLive))
    throw new Refusal(
      "refused",
      "None of these parents is open.",
      "Name at least one open outcome it is a means to.",
    );
  return [...already].filter((id) => !wanted.includes(id));
}

/** Everything below that served nothing else; refuses when some of it is in other hands. */
async function abandonedWith(tx: Tx, outcome: OutcomeRow): Promise<OutcomeRow[]> {
  const closing = new Set([outcome.id]);
  const order: OutcomeRow[] = [];
  const others: { id: string; title: string }[] = [];
  const frontier = [outcome.id];
  for (let id = frontier.pop(); id !== undefined; id = frontier.pop()) {
    for (const child of await liveChildrenOf(tx, id)) {
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
): Promise<Pick<OutcomeRow, "responsible_id" | "delegated" | "delegated_by">> {
  const { responsible_id, delegated, delegated_by } = outcome;
  const owner = responsible_id === null ? undefined : await memberById(tx, responsible_id);
  if (owner === undefined || owner.status !== "terminated")
    return { responsible_id, delegated, delegated_by };
  return { responsible_id: parents.find(isLive)?.responsible_id ?? null, delegated: 0, delegated_by: null };
}

function unique(ids: readonly string[]): string[] {
  return [...new Set(ids)];
}

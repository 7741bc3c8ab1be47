import { sql } from "kysely";
import { notFound } from "../contract/refusal.ts";
import type { Member } from "../capabilities/members.ts";
import { isAbove } from "../capabilities/pinned.ts";
import { readsBelow } from "../capabilities/structure.ts";
import { type Actor, system } from "../events/ledger.ts";
import { addVersion, fileById, type FileRow, insertFile } from "../knowledge/table.ts";
import { checksIn } from "../store/checks.ts";
import { insertion, laterRow } from "../store/inserts.ts";
import { deleting, query, saving, selection, textQuery, updating } from "../store/query.ts";
import { agentRow, outcomeRow } from "../store/row-by-id.ts";
import type { NewRow, Row } from "../store/schema.ts";
import { redactText } from "../redaction/redact.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { isLive, type OutcomeRow, render } from "./outcome.ts";

/** The rows of outcomes, their edges (parents and dependencies), and the knowledge file that shows each outcome. */
export type NewOutcome = Pick<OutcomeRow, "id" | "company_id" | "title" | "responsible_id"> &
  Partial<typeof plainWork> & { readonly parents: readonly string[]; readonly dependsOn?: readonly string[] };

/** The values of an outcome that is created as ordinary work. */
const plainWork: Pick<
  OutcomeRow,
  "kind" | "description" | "acceptance" | "delegated" | "delegated_by" | "urgent" | "important" | "budget"
> = {
  kind: "work",
  description: "",
  acceptance: null,
  delegated: 0,
  delegated_by: null,
  urgent: 0,
  important: 0,
  budget: null,
};

/** Returns the row, without its number. */
export async function insertOutcome(tx: Tx, outcome: NewOutcome, author: Actor): Promise<OutcomeRow> {
  const { parents, dependsOn = [], ...columns } = outcome;
  const row: NewRow<"outcomes"> = {
    ...plainWork,
    ...columns,
    title: redactText(outcome.title),
    status: "open",
    rationale: null,
    blocked_reason: null,
    blocked_until: null,
    blocked_on: null,
    stalls: 0,
    made_by: author.agentId,
    own_steps: 0,
    own_parts: 0,
    stale: 0,
    result_id: null,
    for_agent_id: null,
    reply_to: null,
    reworks: 0,
    created_at: tx.now,
    updated_at: tx.now,
  };
  // In most cases this transaction has already read the parents' owners, so PostgreSQL is not asked again.
  const above =
    row.kind === "inbox" ? [] : await Promise.all(parents.map((id) => tx.first(outcomeRow, { id })));
  await tx.run(insertRow, row);
  for (const parentId of parents) await tx.run(insertEdge, { parent_id: parentId, child_id: outcome.id });
  for (const parent of above) if (parent?.stale === 0) await tx.run(markStale, { id: parent.id });
  if (dependsOn.length > 0) await setDependencies(tx, outcome.id, dependsOn, author, []);
  // In the order of renderFile(), which keeps the text the same until the outcome changes.
  const inOrder = async (ids: readonly string[], read: typeof parentsOf): Promise<readonly string[]> =>
    ids.length < 2 ? ids : (await read(tx, outcome.id)).map(({ id }) => id);
  const text = render(
    { ...row, num: 0 },
    {
      parents: await inOrder(parents, parentsOf),
      children: [],
      dependsOn: await inOrder(dependsOn, dependenciesOf),
      deliverables: [],
      responsible: outcome.responsible_id,
    },
  );
  await insertFile(tx, {
    id: outcome.id,
    companyId: outcome.company_id,
    kind: "outcome",
    description: row.title,
    mediaType: "text/markdown",
    ownerId: null,
    content: Buffer.from(text),
    author,
  });
  return { ...row, num: 0 };
}

/**
 * Saves an outcome and writes a new version of its file. Many texts repeat a title and the reason of a block, so both
 * lose their secrets here.
 */
export async function saveOutcome(tx: Tx, outcome: OutcomeRow, author: Actor): Promise<OutcomeRow> {
  const { title, blocked_reason: reason } = outcome;
  const shown = { title: redactText(title), blocked_reason: reason === null ? null : redactText(reason) };
  const saved: OutcomeRow = { ...outcome, ...shown, stale: 0, updated_at: tx.now };
  // The caller may have read the row before this write changed it.
  await saveColumns(tx, await outcomeById(tx, outcome.id), saved);
  await renderFile(tx, saved, author);
  return saved;
}

/**
 * Ends an agent's pause. When a person writes to an agent or unblocks its work, the agent need not wait for its pause to end
 * (runtime/progress.ts).
 */
export async function endPause(tx: Tx, agentId: string): Promise<void> {
  const agent = await tx.first(agentRow, { id: agentId });
  if (agent === undefined || (agent.idle_sessions === 0 && agent.not_before === 0)) return;
  await tx.run(setPause, { id: agentId, idle_sessions: 0, not_before: 0 });
}

const setPause = updating("agents", ["idle_sessions", "not_before"], ["id"]);

/**
 * A changed edge only marks the outcomes at both ends stale. This function writes their files, when one is read next. Writing
 * them at once would cost a version of the parent's file for every new child.
 */
export async function refreshOutcomeFile(tx: Tx, file: FileRow): Promise<FileRow> {
  if (file.kind !== "outcome") return file;
  const outcome = await tx.first(outcomeRow, { id: file.id });
  if (outcome === undefined || outcome.stale === 0) return file;
  await saveOutcome(tx, outcome, system);
  return (await fileById(tx, file.id)) ?? file;
}

export async function outcomeById(tx: ReadTx, id: string): Promise<OutcomeRow> {
  const row = await tx.first(outcomeRow, { id });
  if (row === undefined) throw notFound("outcome", id);
  return row;
}

/** Announces to the store that these outcomes will be read. */
export function outcomesAhead(tx: ReadTx, ids: readonly string[]): void {
  for (const id of ids) tx.ahead(outcomeRow, { id });
}

const refs = ["id", "title", "status", "responsible_id", "delegated", "delegated_by", "kind"] as const;
export type Ref = Pick<OutcomeRow, (typeof refs)[number]>;

const everyOne = Number.MAX_SAFE_INTEGER;
export const parentsOf = (tx: ReadTx, id: string): Promise<Ref[]> => tx.all(parents, { id, limit: everyOne });
export const childrenOf = (tx: ReadTx, id: string): Promise<Ref[]> => firstChildrenOf(tx, id, everyOne);
export const dependenciesOf = (tx: ReadTx, id: string): Promise<Ref[]> =>
  tx.all(dependencies, { id, limit: everyOne });
export const firstChildrenOf = (tx: ReadTx, id: string, limit: number): Promise<Ref[]> =>
  tx.all(children, { id, limit });
export const liveChildrenOf = (tx: ReadTx, id: string): Promise<Ref[]> =>
  tx.all(liveChildren, { id, limit: everyOne });

export async function setParents(tx: Tx, id: string, wanted: readonly string[]): Promise<void> {
  const now = new Set((await parentsOf(tx, id)).map((parent) => parent.id));
  for (const parentId of now) {
    if (wanted.includes(parentId)) continue;
    await tx.run(deleteEdge, { parent_id: parentId, child_id: id });
    await tx.run(markStale, { id: parentId });
  }
  for (const parentId of wanted) if (!now.has(parentId)) await addParent(tx, id, parentId);
}

export async function addParent(tx: Tx, id: string, parentId: string): Promise<void> {
  await tx.run(insertEdge, { parent_id: parentId, child_id: id });
  await tx.run(markStale, { id: parentId });
  await tx.run(markStale, { id });
}

/** Replaces one parent by another and keeps the other parents. */
export async function replaceParent(tx: Tx, id: string, from: string, to: string): Promise<void> {
  await tx.run(deleteEdge, { parent_id: from, child_id: id });
  await tx.run(markStale, { id: from });
  await addParent(tx, id, to);
}

/** Removes every dependency on this outcome and returns the ids of the outcomes that had one. */
export async function freeDependents(tx: Tx, dependsOnId: string): Promise<string[]> {
  const freed = (await tx.all(dependents, { depends_on_id: dependsOnId })).map(
    ({ outcome_id }) => outcome_id,
  );
  for (const id of freed) {
    await tx.run(deleteDependency, { outcome_id: id, depends_on_id: dependsOnId });
    await tx.run(markStale, { id });
  }
  return freed;
}

/**
 * Replaces the dependencies of an outcome. A dependency that stays (`before`: as it was) keeps its setter. The exception: only
 * the new setter may share what the awaited outcome delivers, as its owner, an owner above it, or the board.
 */
export async function setDependencies(
  tx: Tx,
  id: string,
  wanted: readonly string[],
  setter: Actor,
  before?: readonly Row<"dependencies">[],
): Promise<void> {
  const known = before ?? (await dependencyRows(tx, id));
  await tx.run(deleteDependencies, { outcome_id: id });
  for (const dependsOnId of wanted) {
    const old = known.find(({ depends_on_id }) => depends_on_id === dependsOnId);
    const shares = old?.shares === 1 || (await mayShare(tx, setter, dependsOnId)) ? 1 : 0;
    const made = { outcome_id: id, depends_on_id: dependsOnId, set_by: setter.agentId, shares } as const;
    await tx.run(insertDependency, old?.shares === shares ? old : made);
  }
}

export const dependencyRows = (tx: ReadTx, id: string): Promise<Row<"dependencies">[]> =>
  tx.all(ownDependencies, { outcome_id: id });

async function mayShare(tx: ReadTx, { agentId }: Actor, id: string): Promise<boolean> {
  if (agentId === null || (await readsBelow(tx, agentId, id))) return true;
  return isAbove(tx, agentId, (await outcomeById(tx, id)).responsible_id);
}

export async function liveDependentsOf(tx: ReadTx, id: string): Promise<OutcomeRow[]> {
  const rows = [];
  for (const { outcome_id } of await tx.all(dependents, { depends_on_id: id }))
    rows.push(await outcomeById(tx, outcome_id));
  return rows.filter(isLive);
}

/**
 * Every outcome that depended on `fromId` depends on `toId` instead. An outcome that `toId` waits for keeps its dependency,
 * because the new one would close a circle.
 */
export async function repointDependents(tx: Tx, fromId: string, toId: string): Promise<void> {
  for (const row of await tx.all(dependents, { depends_on_id: fromId })) {
    const { outcome_id: id } = row;
    if (await wouldWaitForItself(tx, id, toId)) continue;
    await tx.run(deleteDependency, { outcome_id: id, depends_on_id: fromId });
    await tx.run(insertDependency, { ...row, depends_on_id: toId });
    await tx.run(markStale, { id });
  }
}

/**
 * Whether `waiter` would wait for itself if it waited for `target`. A parent waits for its children, and an outcome waits for
 * its dependencies. The search goes upward, to the outcomes that wait for `waiter`: an outcome has few parents, but may have
 * thousands of outcomes below it.
 */
export async function wouldWaitForItself(tx: ReadTx, waiterId: string, targetId: string): Promise<boolean> {
  const seen = new Set([waiterId]);
  const frontier = [waiterId];
  for (let id = frontier.pop(); id !== undefined; id = frontier.pop()) {
    if (id === targetId) return true;
    for (const { id: next } of await tx.all(waitersOn, { id })) {
      if (seen.has(next)) continue;
      seen.add(next);
      frontier.push(next);
    }
  }
  return false;
}

export async function assign(
  tx: Tx,
  id: string,
  to: {
    responsibleId: string | null;
    delegated: 0 | 1;
    delegatedBy: string | null;
    status?: OutcomeRow["status"];
  },
): Promise<void> {
  const { responsibleId: responsible_id, delegated, delegatedBy: delegated_by, status } = to;
  // A new owner starts with a clean review record.
  const rest = { reworks: 0, stale: 1, updated_at: tx.now } as const;
  await tx.run(setOwner, { id, responsible_id, delegated, delegated_by, ...rest });
  if (status !== undefined) await tx.run(setStatus, { id, status });
}

/** The most children that an outcome's file lists. It lists no inboxes: they would show when their owner gets mail. */
export const mostChildrenShown = 10_000;

async function renderFile(tx: Tx, outcome: OutcomeRow, author: Actor): Promise<void> {
  const file = await fileById(tx, outcome.id);
  if (file === undefined) throw new Error(`outcome ${outcome.id} has no file`);
  const ids = (refs: readonly Ref[]): string[] => refs.map(({ id }) => id);
  const text = render(outcome, {
    parents: ids(await parentsOf(tx, outcome.id)),
    children: ids(await tx.all(listedChildren, { id: outcome.id, limit: mostChildrenShown })),
    dependsOn: ids(await dependenciesOf(tx, outcome.id)),
    deliverables: (await tx.all(listedOn, { outcome_id: outcome.id })).map(({ file_id }) => file_id),
    responsible: outcome.responsible_id,
  });
  await addVersion(tx, file, { content: Buffer.from(text), description: outcome.title, author });
}

/** The outcomes at one end of a link (`other`), for the outcome at the other end (`own`). */
const neighbours = (link: "edges" | "dependencies", other: string, own: string, and = sql``) =>
  textQuery(
    (p: { id: string; limit: number }) =>
      sql<Ref>`select ${sql.join(refs.map((column) => sql.ref(`o.${column}`)))}
        from ${sql.table(link)} l join outcomes o on o.id = ${sql.ref(`l.${other}`)}
        where ${sql.ref(`l.${own}`)} = ${p.id} ${and} order by o.num limit ${p.limit}`,
    { checks: checksIn("outcomes").filter(({ as }) => refs.some((column) => column === as)) },
  );
const parents = neighbours("edges", "parent_id", "child_id");
const children = neighbours("edges", "child_id", "parent_id");
const listedChildren = neighbours("edges", "child_id", "parent_id", sql`and o.kind <> 'inbox'`);
const liveChildren = neighbours("edges", "child_id", "parent_id", sql`and o.status in ('open', 'submitted')`);
const dependencies = neighbours("dependencies", "depends_on_id", "outcome_id");
const dependents = selection("dependencies", ["depends_on_id"]);
const ownDependencies = selection("dependencies", ["outcome_id"]);

/** The deliverables of an outcome's last submission. */
export const listedOn = selection(
  "deliverables",
  ["outcome_id"],
  sql`and listed = 1 order by created_at, file_id`,
);

const waitersOn = query((db, p: { id: string }) =>
  db
    .selectFrom("edges")
    .select("parent_id as id")
    .where("child_id", "=", p.id)
    .unionAll(db.selectFrom("dependencies").select("outcome_id as id").where("depends_on_id", "=", p.id)),
);

const insertRow = insertion("outcomes");

const saveColumns = saving("outcomes", ["company_id", "made_by", "created_at"]);

const setOwner = updating(
  "outcomes",
  ["responsible_id", "delegated", "delegated_by", "reworks", "stale", "updated_at"],
  ["id"],
);
const setStatus = updating("outcomes", ["status"], ["id"]);

export const markStale = query((db, p: { id: string }) =>
  db.updateTable("outcomes").set({ stale: 1 }).where("id", "=", p.id).where("stale", "=", 0),
);

const insertEdge = laterRow("edges", sql`on conflict do nothing`);

const deleteEdge = deleting("edges", ["parent_id", "child_id"]);

const insertDependency = insertion("dependencies", sql`on conflict do nothing`);

const deleteDependencies = deleting("dependencies", ["outcome_id"]);
const deleteDependency = deleting("dependencies", ["outcome_id", "depends_on_id"]);

/**
 * Moves responsibility for the outcome and for everything below it that the delegator kept. Two things stay: what the delegator
 * had already delegated to others, and what its own manager delegated to it.
 */
export async function delegateDown(tx: Tx, outcome: OutcomeRow, from: string, to: Member): Promise<string[]> {
  const moved = [outcome.id];
  await assign(tx, outcome.id, { responsibleId: to.id, delegated: 1, delegatedBy: from });
  const frontier = [outcome.id];
  const seen = new Set(frontier);
  for (let id = frontier.pop(); id !== undefined; id = frontier.pop()) {
    for (const child of await childrenOf(tx, id)) {
      if (seen.has(child.id) || child.responsible_id !== from || child.delegated === 1) continue;
      seen.add(child.id);
      await assign(tx, child.id, { responsibleId: to.id, delegated: 0, delegatedBy: null });
      moved.push(child.id);
      frontier.push(child.id);
    }
  }
  return moved;
}

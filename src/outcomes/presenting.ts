import type { Outcome, OutcomeSummary } from "../contract/outcomes.ts";
import { memberById } from "../capabilities/members.ts";
import { readsBelow } from "../capabilities/structure.ts";
import { type Viewer, visible } from "../capabilities/visible.ts";
import { query } from "../store/query.ts";
import { tables } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";
import { deliverablesOf } from "./deliverables.ts";
import type { OutcomeRow } from "./outcome.ts";
import { dependenciesOf, firstChildrenOf, parentsOf, type Ref } from "./table.ts";
import { isWorkableNew, workable } from "./workable.ts";

/**
 * One outcome with its neighbours, as `view_outcome` shows it. A neighbour that the actor can't read is shown as a bare id. A
 * new outcome has no children, and its creator may read its parents.
 */
export async function presentOutcome(
  { tx, actor }: { readonly tx: ReadTx; readonly actor: Viewer },
  row: OutcomeRow,
  created?: { readonly parents: readonly Ref[]; readonly dependsOn: readonly string[] },
): Promise<Outcome> {
  const { agentId } = actor;
  const isNew = created !== undefined;
  const isOwn = agentId === null || agentId === row.responsible_id;
  // All queries at once, because on PostgreSQL each wait costs a round trip.
  const [seesBelow, children, found, owner, delegator, parents, awaited, deliverables] = await Promise.all([
    isOwn || readsBelow(tx, agentId, row.id),
    isNew ? [] : firstChildrenOf(tx, row.id, 1000),
    isNew ? undefined : tx.first(workableNow, { id: row.id, now: tx.now }),
    memberById(tx, row.responsible_id),
    memberById(tx, row.delegated_by),
    isNew
      ? neighbours(tx, { agentId: null }, created.parents)
      : parentsOf(tx, row.id).then((refs) => neighbours(tx, actor, refs)),
    created?.dependsOn.length === 0 ? [] : dependenciesOf(tx, row.id),
    isNew ? [] : deliverablesOf(tx, actor, row.id),
  ]);
  const isWorkable = isNew ? isWorkableNew(row, owner, awaited) : found?.workable === 1;
  return {
    ...presentRow({ ...row, responsible_name: owner?.name ?? null }),
    description: row.description,
    acceptance: row.acceptance,
    rationale: row.rationale,
    delegatedBy: row.delegated_by === null ? null : { id: row.delegated_by, name: delegator?.name ?? "" },
    parents,
    // Inboxes are left out, as in the outcome's file: they would show when another agent got mail.
    children: seesBelow
      ? await neighbours(tx, { agentId: null }, children)
      : await neighbours(
          tx,
          actor,
          children.filter(({ kind }) => kind !== "inbox"),
        ),
    dependsOn: await neighbours(tx, actor, awaited),
    result: row.result_id,
    budget: tables.outcomes.budget.parse(row.budget),
    deliverables,
    // Whether the outcome can be worked on depends on its children.
    workable: seesBelow && isWorkable,
  };
}

async function neighbours(tx: ReadTx, viewer: Viewer, refs: readonly Ref[]): Promise<Outcome["parents"]> {
  const shown = [];
  for (const { id, title, status } of refs)
    shown.push(
      (await visible(tx, viewer, `outcome:${id}`))
        ? { id, title, status }
        : { id, title: null, status: null },
    );
  return shown;
}

/** The columns that a list shows. The long texts (description, acceptance, rationale) are left out. */
const listed = [
  "num",
  "id",
  "title",
  "status",
  "kind",
  "urgent",
  "important",
  "responsible_id",
  "delegated",
  "blocked_reason",
  "blocked_until",
  "blocked_on",
  "created_at",
  "updated_at",
] as const;
export const listedColumns = [
  ...listed.map((column) => `o.${column}` as const),
  "r.name as responsible_name",
] as const;
export type ListedRow = Pick<OutcomeRow, (typeof listed)[number]> & { responsible_name: string | null };

export function presentRow(row: ListedRow): OutcomeSummary {
  return {
    id: row.id,
    title: row.title,
    status: row.status,
    kind: row.kind,
    urgent: row.urgent === 1,
    important: row.important === 1,
    responsible:
      row.responsible_id === null ? null : { id: row.responsible_id, name: row.responsible_name ?? "" },
    delegated: row.delegated === 1,
    blocked:
      row.blocked_reason === null
        ? null
        : {
            reason: row.blocked_reason,
            until: row.blocked_until === null ? null : new Date(row.blocked_until).toISOString(),
            on: row.blocked_on,
          },
    createdAt: new Date(row.created_at).toISOString(),
    updatedAt: new Date(row.updated_at).toISOString(),
  };
}

const workableNow = query((db, p: { id: string; now: number }) =>
  db
    .selectFrom("outcomes as o")
    .select((eb) => workable(eb, p.now).as("workable"))
    .where("o.id", "=", p.id),
);

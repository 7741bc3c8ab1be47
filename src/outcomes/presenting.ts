import type { Outcome, OutcomeSummary } from "../contract/outcomes.ts";
import { memberById } from "../capabilities/members.ts";
import { readsBelow } from "../capabilities/structure.ts";
import { type Viewer, visible } from "../capabilities/visible.ts";
import { query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import type { OutcomeRow } from "./outcome.ts";
import { dependenciesOf, firstChildrenOf, parentsOf, type Ref } from "./table.ts";
import { workable } from "./workable.ts";

/** One outcome with its neighbours, as `view_outcome` shows it. A neighbour that the actor can't read is a bare id. */
export async function presentOutcome(
  { tx, actor }: { readonly tx: ReadTx; readonly actor: Viewer },
  row: OutcomeRow,
): Promise<Outcome> {
  const { agentId } = actor;
  const seesBelow = agentId === null || (await readsBelow(tx, agentId, row.id));
  const children = await firstChildrenOf(tx, row.id, 1000);
  const isWorkable = await tx.first(workableNow, { id: row.id, now: tx.now });
  return {
    ...presentRow({ ...row, responsible_name: await nameOf(tx, row.responsible_id) }),
    description: row.description,
    acceptance: row.acceptance,
    rationale: row.rationale,
    delegatedBy:
      row.delegated_by === null
        ? null
        : { id: row.delegated_by, name: (await nameOf(tx, row.delegated_by)) ?? "" },
    parents: await neighbours(tx, actor, await parentsOf(tx, row.id)),
    // Like the file of an outcome, an answer does not tell when another agent got mail.
    children: seesBelow
      ? await neighbours(tx, { agentId: null }, children)
      : await neighbours(
          tx,
          actor,
          children.filter(({ kind }) => kind !== "inbox"),
        ),
    dependsOn: await neighbours(tx, actor, await dependenciesOf(tx, row.id)),
    result: row.result_id,
    // Whether it can be worked on depends on what is below it.
    workable: seesBelow && isWorkable?.workable === 1,
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

async function nameOf(tx: ReadTx, agentId: string | null): Promise<string | null> {
  return agentId === null ? null : ((await memberById(tx, agentId))?.name ?? null);
}

const workableNow = query((db, p: { id: string; now: number }) =>
  db
    .selectFrom("outcomes as o")
    .select((eb) => workable(eb, p.now).as("workable"))
    .where("o.id", "=", p.id),
);

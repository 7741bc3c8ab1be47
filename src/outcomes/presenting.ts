import type { Outcome, OutcomeSummary } from "../contract/outcomes.ts";
import { memberById } from "../capabilities/members.ts";
import { query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import type { OutcomeRow } from "./outcome.ts";
import { dependenciesOf, firstChildrenOf, parentsOf, type Ref } from "./table.ts";
import { workable } from "./workable.ts";

/** One outcome with its neighbours, as `view_outcome` shows it. */
export async function presentOutcome(tx: ReadTx, row: OutcomeRow): Promise<Outcome> {
  const brief = ({ id, title, status }: Ref) => ({ id, title, status });
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
    parents: (await parentsOf(tx, row.id)).map(brief),
    children: (await firstChildrenOf(tx, row.id, 1000)).map(brief),
    dependsOn: (await dependenciesOf(tx, row.id)).map(brief),
    result: row.result_id,
    workable: isWorkable?.workable === 1,
  };
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

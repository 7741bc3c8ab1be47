import {
  type Move,
  type Reorganization,
  reorganizationStatuses,
  type Undoable,
} from "../contract/reorganization.ts";
import { JsonObject } from "../contract/words.ts";
import { notFound } from "../contract/refusal.ts";
import { memberById } from "../capabilities/members.ts";
import { redact, redactText } from "../redaction/redact.ts";
import { brainMarks } from "../brains/registry.ts";
import { insertion } from "../store/inserts.ts";
import { selection, updating } from "../store/query.ts";
import { type Row, tables } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";
import type { Difference } from "./images.ts";

const stored = tables.reorganizations;

/** Rows of reorganizations. */
export type ReorganizationRow = Row<"reorganizations">;

export async function reorganizationById(tx: ReadTx, id: string): Promise<ReorganizationRow> {
  const row = await tx.first(byId, { id });
  if (row === undefined) throw notFound("reorganization", id);
  return row;
}

export const insertReorganization = insertion("reorganizations");
export const markUndone = updating("reorganizations", ["undone_at"], ["id"]);

export async function presentSummary(tx: ReadTx, row: ReorganizationRow) {
  const by = await memberById(tx, row.applied_by);
  const [applied, undone] = reorganizationStatuses;
  return {
    id: row.id,
    kind: row.kind,
    summary: redactText(row.summary),
    status: row.undone_at === null ? applied : undone,
    appliedBy: row.applied_by === null ? null : { id: row.applied_by, name: by?.name ?? "" },
    appliedAt: new Date(row.applied_at).toISOString(),
    undoneAt: row.undone_at === null ? null : new Date(row.undone_at).toISOString(),
  };
}

export async function presentReorganization(
  tx: ReadTx,
  row: ReorganizationRow,
  undoable: Undoable,
): Promise<Reorganization> {
  return {
    ...(await presentSummary(tx, row)),
    change: JsonObject.parse(redact(stored.change.parse(row.change), brainMarks).value),
    ...shownPlan(stored.moves.parse(row.moves), stored.warnings.parse(row.warnings)),
    hash: row.hash,
    undoable,
  };
}

/** Moves name outcomes, and people write the titles of outcomes. */
export function shownPlan(moves: readonly Move[], warnings: readonly string[]) {
  return {
    moves: moves.map(({ what, from, to, ...move }) => ({
      ...move,
      what: redactText(what),
      from: from === null ? null : redactText(from),
      to: to === null ? null : redactText(to),
    })),
    totals: countsOf(moves),
    warnings: warnings.map(redactText),
  };
}

export function countsOf(moves: readonly Move[]): Record<Move["kind"], number> {
  const totals = { agent: 0, outcome: 0, grant: 0, mail: 0, budget: 0, approval: 0 };
  for (const { kind } of moves) totals[kind]++;
  return totals;
}

export function differencesOf(row: ReorganizationRow): Difference[] {
  return stored.images.parse(row.images);
}

const byId = selection("reorganizations", ["id"]);

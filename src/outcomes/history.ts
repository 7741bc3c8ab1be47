import { isDeepStrictEqual } from "node:util";
import { createOutcome, FieldChanges, type HistoryEntry } from "../contract/outcomes.ts";
import type { Writing } from "../dispatch/context.ts";
import { memberName } from "../capabilities/members.ts";
import type { Viewer } from "../capabilities/visible.ts";
import { aboutSubject, parseData, presentActor } from "../events/ledger.ts";
import { versionAt, versionWriter } from "../knowledge/table.ts";
import { query } from "../store/query.ts";
import { tables } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";
import type { OutcomeRow } from "./outcome.ts";
import { presentRow } from "./presenting.ts";
import { excerpt } from "./results.ts";
import { dependenciesOf, outcomeById, parentsOf } from "./table.ts";

/** The history of an outcome consists of its events. Every change of a field is recorded with the value before and after. */

/** The fields of an outcome that can change besides status and owner, as notices and records show them. */
export async function outcomeFields(tx: ReadTx, outcome: OutcomeRow): Promise<Record<string, unknown>> {
  return {
    title: outcome.title,
    description: outcome.description,
    acceptance: outcome.acceptance,
    urgent: outcome.urgent === 1,
    important: outcome.important === 1,
    blocked: presentRow({ ...outcome, responsible_name: null }).blocked,
    budget: tables.outcomes.budget.parse(outcome.budget),
    parents: (await parentsOf(tx, outcome.id)).map(({ id }) => id),
    dependsOn: (await dependenciesOf(tx, outcome.id)).map(({ id }) => id),
  };
}

/** The fields that differ, with both values. */
export function fieldChanges(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): FieldChanges {
  const changes: FieldChanges = {};
  for (const [field, value] of Object.entries(after))
    if (!isDeepStrictEqual(before[field], value)) changes[field] = { before: before[field], after: value };
  return changes;
}

/** Records the changes since `before` and returns them. Without a change, nothing is recorded. */
export async function recordChange(
  call: Pick<Writing, "tx" | "record">,
  id: string,
  before: Readonly<Record<string, unknown>>,
  more: Readonly<Record<string, unknown>> = {},
): Promise<FieldChanges> {
  const changes = fieldChanges(before, await outcomeFields(call.tx, await outcomeById(call.tx, id)));
  if (Object.keys(changes).length > 0)
    await call.record(id, { ...recorded(changes), ...more }, "outcome.update");
  return changes;
}

/** Long texts are cut in the record. The versions of the outcome's file have the whole text. */
export const recorded = (changes: FieldChanges) => ({
  changed: Object.keys(changes),
  changes: Object.fromEntries(
    Object.entries(changes).map(([field, { before, after }]) => [
      field,
      { before: cut(before), after: cut(after) },
    ]),
  ),
});

const cut = (value: unknown): unknown => (typeof value === "string" ? excerpt(value, null, 1000) : value);

const most = 200;

/** The last 200 events and its creation, newest first. */
export async function historyOf(
  tx: ReadTx,
  viewer: Viewer,
  { id, kind }: Pick<OutcomeRow, "id" | "kind">,
): Promise<HistoryEntry[]> {
  // A mandate has the id of its agent, whose sessions are events of the same subject.
  const limit = kind === "work" ? most : 10 * most;
  const rows = await tx.all(aboutSubject, { subject: id, before: Number.MAX_SAFE_INTEGER, limit });
  const history: HistoryEntry[] = [];
  for (const row of rows.filter(({ operation }) => operation.startsWith("outcome.")).slice(0, most)) {
    const { rationale, reason, note, changes } = parseData(row.data);
    const why = [rationale, reason, note].find((words) => typeof words === "string");
    const by = presentActor(row);
    const parsed = FieldChanges.safeParse(changes);
    history.push({
      at: new Date(row.at).toISOString(),
      action: row.operation,
      by,
      who: await nameOf(tx, viewer, by),
      why: typeof why === "string" ? why : null,
      changes: parsed.success ? parsed.data : {},
    });
  }
  // Roots and mandates are created with their company or agent, without another event. The first version of their file names
  // the actor.
  const first = await tx.first(versionAt, { id, version: 1 });
  if (first !== undefined && !history.some(({ action }) => action === createOutcome.name)) {
    const by = versionWriter(first);
    const who = await nameOf(tx, viewer, by);
    const at = new Date(first.created_at).toISOString();
    history.push({ at, action: createOutcome.name, by, who, why: null, changes: {} });
  }
  return history;
}

/** People see each other's names. Agents see a person as the board. */
async function nameOf(tx: ReadTx, viewer: Viewer, by: HistoryEntry["by"]): Promise<string> {
  if (by.agentId !== null) return memberName(tx, by.agentId);
  if (by.kind === "system") return "Agency";
  const person = viewer.agentId === null ? await tx.first(personName, { id: by.personId ?? "" }) : undefined;
  return person?.name ?? "the board";
}

const personName = query((db, p: { id: string }) =>
  db.selectFrom("people").select("name").where("id", "=", p.id),
);

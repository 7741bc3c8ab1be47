import assert from "node:assert/strict";
import type { Reorganization } from "../contract/reorganization.ts";
import { type Changed, compare, type Dump } from "../simulator/restored.ts";

/** Every row that changed is told of by a move, and every move is about one that did. */
export function demandTold(done: Pick<Reorganization, "moves">, before: Dump, after: Dump): void {
  const changed = compare(before, after).filter((one) => !isSaying(one, before));
  const ids = new Set(done.moves.map(({ id }) => id));
  for (const one of changed)
    assert.ok(
      aboutOf(one).some((id) => ids.has(id)),
      `not told: ${one.table} ${one.key} ${one.columns.join()}`,
    );
  const touched = new Set(changed.flatMap(aboutOf));
  for (const { id, what } of done.moves) assert.ok(touched.has(id), `told, but not so: ${what}`);
}

/** What is told about a row is told about these. */
function aboutOf({ table, key, before, after }: Changed): string[] {
  const row = { ...before, ...after };
  if (table === "edges") return [String(row["child_id"])];
  if (table === "dependencies") return [String(row["outcome_id"])];
  return table === "credentials" || table === "sessions" || table === "budgets"
    ? [String(row["agent_id"])]
    : [key];
}

/** Mail about the change itself, what comes with a new agent, and marks that say nothing to anybody. */
function isSaying({ table, columns, before, after }: Changed, start: Dump): boolean {
  const isNew = before === undefined;
  if (table === "messages") return isNew;
  // What was spent goes with the budget it was spent of.
  if (table === "charges" || table === "budget_pauses") return true;
  if (table === "files" || table === "versions" || table === "links") return isNew;
  if (table === "outcomes" && isNew) return after?.["kind"] === "inbox";
  if (table === "edges" && isNew) return start.get("outcomes")?.has(String(after?.["child_id"])) !== true;
  const silent = ["stale", "updated_at", "epoch", "broken", "structural", "idle_sessions", "not_before"];
  // A count that only grows from one reason to two ends nothing.
  const ends = table === "grants" && before?.["broken"] === 0;
  return columns.every((column) => silent.includes(column)) && !ends;
}

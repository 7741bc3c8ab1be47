import assert from "node:assert/strict";
import { type Measure, measures } from "../../src/contract/budgets.ts";
import type { Reorganization } from "../../src/contract/reorganization.ts";
import { type Changed, compare, type Dump } from "../../src/simulator/restored.ts";

/** Demands that moves report every changed row, and that every move reports a changed row. */
export function demandTold(done: Pick<Reorganization, "moves">, before: Dump, after: Dump): void {
  const changed = compare(before, after).filter((one) => !isSaying(one, before));
  const ids = new Set(done.moves.map(({ id }) => id));
  for (const one of changed)
    assert.ok(
      aboutOf(one).some((id) => ids.has(id)),
      `not told: ${one.table} ${one.key} ${one.columns.join()}`,
    );
  const touched = new Set(changed.flatMap(aboutOf));
  for (const agentId of demandBudgetsTold(done, before, after)) touched.add(agentId);
  // A deferred message does not change before its delivery time.
  for (const [id, row] of before.get("messages") ?? []) if (row["delivered_at"] === null) touched.add(id);
  for (const { id, what } of done.moves) assert.ok(touched.has(id), `told, but not so: ${what}`);
}

/**
 * Demands that moves report every agent whose budget changed: its amount, the budget it is part of, or the budget that an agent
 * without one draws from. The expected changes come from the rows alone, by following bosses. Returns the affected agents.
 */
function demandBudgetsTold(done: Pick<Reorganization, "moves">, before: Dump, after: Dump): Set<string> {
  const told = new Set(done.moves.filter(({ kind }) => kind === "budget").map(({ id }) => id));
  const concerned = new Set<string>();
  for (const measure of measures) {
    const [was, is] = [standing(before, measure), standing(after, measure)];
    for (const id of new Set([...was.keys(), ...is.keys()])) {
      const [old, now] = [was.get(id), is.get(id)];
      if (old === now || (old ?? now)?.startsWith("nothing") !== false) continue;
      concerned.add(id);
      assert.ok(
        told.has(id),
        `not told: the ${measure} budget of ${id}: ${old ?? ""} before, ${now ?? ""} now`,
      );
    }
    // For agents without a budget, a move reports only the agent with a new boss, on behalf of all agents below it.
    for (const [id, row] of after.get("agents") ?? []) {
      const former = before.get("agents")?.get(id);
      if (former === undefined || row["status"] === "terminated" || former["boss_id"] === row["boss_id"])
        continue;
      if (was.get(id)?.startsWith("nothing") !== true || was.get(id) === is.get(id)) continue;
      concerned.add(id);
      assert.ok(told.has(id), `not told: from what ${id} takes its ${measure}`);
    }
  }
  return concerned;
}

/** For each agent, its budget and the agent whose budget that is part of. */
function standing(all: Dump, measure: Measure): Map<string, string> {
  const agents = all.get("agents");
  const own = new Map(
    [...(all.get("budgets")?.values() ?? [])]
      .filter((row) => row["measure"] === measure)
      .map((row) => [String(row["agent_id"]), row["amount"]]),
  );
  const found = new Map<string, string>();
  for (const [id, row] of agents ?? []) {
    if (row["status"] === "terminated") continue;
    let above = row["boss_id"];
    // The limit ends the loop in a circle of bosses, which other checks report.
    for (let steps = 0; steps < 1000 && typeof above === "string" && !own.has(above); steps++)
      above = agents?.get(above)?.["boss_id"] ?? null;
    found.set(id, `${String(own.get(id) ?? "nothing")} of ${String(above ?? "the company")}`);
  }
  return found;
}

/** The ids under which a move reports the row. */
function aboutOf({ table, key, before, after }: Changed): string[] {
  const row = { ...before, ...after };
  if (table === "edges") return [String(row["child_id"])];
  if (table === "dependencies") return [String(row["outcome_id"])];
  return table === "credentials" || table === "sessions" || table === "budgets"
    ? [String(row["agent_id"])]
    : [key];
}

/** Rows that need no move: mail about the change, rows that come with a new agent, and internal marks. */
function isSaying({ table, columns, before, after }: Changed, start: Dump): boolean {
  const isNew = before === undefined;
  if (table === "messages") return isNew;
  // Charges move together with their budget.
  if (table === "charges" || table === "budget_pauses") return true;
  if (table === "files" || table === "versions" || table === "links") return isNew;
  if (table === "outcomes" && isNew) return after?.["kind"] === "inbox";
  if (table === "edges" && isNew) return start.get("outcomes")?.has(String(after?.["child_id"])) !== true;
  const silent = ["stale", "updated_at", "epoch", "broken", "structural", "idle_sessions", "not_before"];
  // Only the first reason ends a grant. A second reason changes nothing.
  const ends = table === "grants" && before?.["broken"] === 0;
  return columns.every((column) => silent.includes(column)) && !ends;
}

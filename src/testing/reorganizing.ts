import assert from "node:assert/strict";
import type { Reorganization } from "../contract/reorganization.ts";
import { dynamic, type Value } from "../store/query.ts";
import type { Schema } from "../store/schema.ts";
import type { Store } from "../store/store.ts";

/** Whole tables, to see what a change did and whether undoing it put everything back. */
type Row = Readonly<Record<string, Value>>;
export type Dump = ReadonlyMap<string, ReadonlyMap<string, Row>>;

/** Each with what tells its rows apart. The ledger and remembered answers only grow. */
const tables = {
  companies: ["id"],
  agents: ["id"],
  sessions: ["id"],
  credentials: ["id"],
  files: ["id"],
  versions: ["file_id", "version"],
  links: ["from_id", "to_id"],
  outcomes: ["id"],
  messages: ["id"],
  mcp_servers: ["company_id", "name"],
  edges: ["parent_id", "child_id"],
  dependencies: ["outcome_id", "depends_on_id"],
  grants: ["id"],
  permission_requests: ["id"],
  approvals: ["id"],
  approval_comments: ["id"],
} as const satisfies Partial<Record<keyof Schema, readonly string[]>>;
type Table = keyof typeof tables;
const names = Object.keys(tables).filter((name): name is Table => name in tables);

export async function dump(store: Store): Promise<Dump> {
  return store.read(async (tx) => {
    const all = new Map<string, Map<string, Row>>();
    for (const table of names) {
      const rows: Row[] = await tx.all(
        dynamic((db) => db.selectFrom(table).selectAll()),
        {},
      );
      const keyed = rows.map((row): [string, Row] => [tables[table].map((key) => row[key]).join(" "), row]);
      all.set(table, new Map(keyed));
    }
    return all;
  });
}

interface Changed {
  readonly table: string;
  readonly key: string;
  readonly before: Row | undefined;
  readonly after: Row | undefined;
  readonly columns: readonly string[];
}

export function compare(before: Dump, after: Dump): Changed[] {
  const found: Changed[] = [];
  for (const [table, rows] of after) {
    const was = before.get(table) ?? new Map<string, Row>();
    for (const key of new Set([...was.keys(), ...rows.keys()])) {
      const [old, now] = [was.get(key), rows.get(key)];
      const columns = Object.keys({ ...old, ...now }).filter((column) => old?.[column] !== now?.[column]);
      if (columns.length > 0) found.push({ table, key, before: old, after: now, columns });
    }
  }
  return found;
}

/**
 * Every row that was there is there again, to the last column, but for what only goes forward: an agent's epoch, and the mark
 * that an outcome's file is to be rendered anew. What is there besides is what was said, and agents that came and have left.
 */
export function demandSame(before: Dump, after: Dump): void {
  const gone = new Set([...(after.get("agents")?.values() ?? [])].map((row) => String(row["id"])));
  for (const { table, key, before: was, after: now, columns } of compare(before, after)) {
    const what = `${table} ${key}: ${columns.join(", ")}`;
    if (was === undefined && now !== undefined) {
      assert.ok(isLeftover(table, now, before, gone), `${what} was left behind: ${JSON.stringify(now)}`);
      continue;
    }
    const forward = table === "agents" ? ["epoch"] : table === "outcomes" ? ["stale"] : [];
    const wrong = columns.filter((column) => !forward.includes(column));
    assert.deepEqual(
      Object.fromEntries(wrong.map((column) => [column, now?.[column]])),
      Object.fromEntries(wrong.map((column) => [column, was?.[column]])),
      what,
    );
  }
}

function isLeftover(table: string, row: Row, before: Dump, agents: ReadonlySet<string>): boolean {
  const wasThere = (name: string, id: Value | undefined) => before.get(name)?.has(String(id)) === true;
  switch (table) {
    case "agents":
      return row["status"] === "terminated";
    case "outcomes":
      return row["kind"] === "inbox" || (agents.has(String(row["id"])) && row["status"] === "closed");
    case "edges":
      return !wasThere("outcomes", row["child_id"]);
    case "grants":
      return Number(row["broken"]) > 0 && !wasThere("agents", row["grantee_id"]);
    case "messages":
      return row["from_system"] === 1;
    case "files":
      return row["kind"] !== "file";
    case "versions":
      return !wasThere("files", row["file_id"]);
    case "links":
      return !wasThere("files", row["from_id"]);
    default:
      return false;
  }
}

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
  return table === "credentials" || table === "sessions" ? [String(row["agent_id"])] : [key];
}

/** Mail about the change itself, what comes with a new agent, and marks that say nothing to anybody. */
function isSaying({ table, columns, before, after }: Changed, start: Dump): boolean {
  const isNew = before === undefined;
  if (table === "messages") return isNew;
  if (table === "files" || table === "versions" || table === "links") return isNew;
  if (table === "outcomes" && isNew) return after?.["kind"] === "inbox";
  if (table === "edges" && isNew) return start.get("outcomes")?.has(String(after?.["child_id"])) !== true;
  const silent = ["stale", "updated_at", "epoch", "broken", "structural", "idle_sessions", "not_before"];
  // A count that only grows from one reason to two ends nothing.
  const ends = table === "grants" && before?.["broken"] === 0;
  return columns.every((column) => silent.includes(column)) && !ends;
}

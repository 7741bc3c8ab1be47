import type { Value } from "../store/columns.ts";
import { dynamic } from "../store/query.ts";
import { imagedNames, rowKeys } from "../store/row-keys.ts";
import type { Store } from "../store/store.ts";

/** Compares whole tables, to check that undoing a reorganization restores every row. */
type Row = Readonly<Record<string, Value>>;
export type Dump = ReadonlyMap<string, ReadonlyMap<string, Row>>;

/** The tables that an undo must restore. Other tables only grow. */
const names = [...imagedNames, "companies", "sessions", "files", "versions", "links", "mcp_servers"] as const;

export async function dump(store: Store): Promise<Dump> {
  return store.read(async (tx) => {
    const all = new Map<string, Map<string, Row>>();
    for (const table of names) {
      const rows: Row[] = await tx.all(
        dynamic((db) => db.selectFrom(table).selectAll()),
        {},
      );
      const keyed = rows.map((row): [string, Row] => [rowKeys[table].map((key) => row[key]).join(" "), row]);
      all.set(table, new Map(keyed));
    }
    return all;
  });
}

export interface Changed {
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
 * Lists everything that an undo failed to restore. Every earlier row must have its earlier values, with these exceptions, which
 * only move forward: an agent's epoch, its sessions, its credentials, an approval's revision and an outcome's rendered file.
 * New rows may remain only for messages and for agents that were hired and have left.
 */
export function notRestored(before: Dump, after: Dump): string[] {
  const found: string[] = [];
  for (const { table, key, before: was, after: now, columns } of compare(before, after)) {
    if (was === undefined && now !== undefined) {
      if (!isLeftover(table, now, before, after)) found.push(`${table} ${key} was left behind`);
      continue;
    }
    if (table === "sessions") continue;
    if (table === "credentials") {
      if (was?.["revoked_at"] !== null) found.push(`${table} ${key}: a revoked credential has changed`);
      continue;
    }
    const forward = table === "agents" ? ["epoch"] : table === "outcomes" ? ["stale"] : [];
    // A payload comes back as another revision, with the next number.
    if (table === "approvals" && unnumbered(was) === unnumbered(now)) forward.push("payload", "payload_hash");
    // An agent that a budget paused resumes as soon as budget becomes free, and its next session pauses it again.
    if (before.get("budget_pauses")?.has(key) === true && (table === "agents" || table === "budget_pauses"))
      continue;
    if (isRendered(before, table, key)) continue;
    // A notice about the change unblocks the inbox it arrives in. So only an inbox's owner and status are compared.
    const isInbox = isInboxIn(before, key);
    const matter = isInbox ? columns.filter((one) => one === "status" || one === "responsible_id") : columns;
    for (const column of matter)
      if (!forward.includes(column))
        found.push(`${table} ${key}: ${column} was ${String(was?.[column])}, is ${String(now?.[column])}`);
  }
  return found;
}

/** The credentials that the change revoked and that its undo made valid again. */
export function revivedCredentials(changed: Dump, undone: Dump): string[] {
  const isRevoked = (all: Dump, key: string): boolean =>
    (all.get("credentials")?.get(key)?.["revoked_at"] ?? null) !== null;
  return [...(changed.get("credentials")?.keys() ?? [])].filter(
    (key) => isRevoked(changed, key) && !isRevoked(undone, key),
  );
}

function unnumbered(approval: Row | undefined): string {
  const { revision: _, ...payload } = JSON.parse(String(approval?.["payload"] ?? "{}"));
  return JSON.stringify(payload);
}

function isLeftover(table: string, row: Row, before: Dump, after: Dump): boolean {
  const wasThere = (name: string, id: Value | undefined) => before.get(name)?.has(String(id)) === true;
  switch (table) {
    case "agents":
      return row["status"] === "terminated";
    case "outcomes":
      return (
        row["kind"] === "inbox" ||
        (after.get("agents")?.has(String(row["id"])) === true && row["status"] === "closed")
      );
    case "edges":
      return !wasThere("outcomes", row["child_id"]);
    case "grants":
      return Number(row["broken"]) > 0 && !wasThere("agents", row["grantee_id"]);
    case "charges":
      return row["amount"] === 0;
    case "messages":
      return row["from_system"] === 1;
    case "files":
      return row["kind"] !== "file";
    case "versions":
      return !wasThere("files", row["file_id"]) || isRendered(before, "files", String(row["file_id"]));
    case "links":
      return !wasThere("files", row["from_id"]) || isRendered(before, "files", String(row["from_id"]));
    default:
      return false;
  }
}

function isInboxIn(all: Dump, id: string): boolean {
  return all.get("outcomes")?.get(id)?.["kind"] === "inbox";
}

/** Whether this is an outcome's file. It is rendered from the outcome, with a new version at the first read after a change. */
function isRendered(all: Dump, table: string, key: string): boolean {
  return table === "files" && all.get("files")?.get(key)?.["kind"] === "outcome";
}

import { sql } from "kysely";
import { deletedRow, digestOf, linesIn, nameOf } from "../store/chain.ts";
import type { Column, Value } from "../store/columns.ts";
import { dynamic } from "../store/query.ts";
import { type Row, sealedColumns, tables } from "../store/schema.ts";
import { isSealed, rowKeys, type SealedTable } from "../store/row-keys.ts";
import type { ReadTx } from "../store/store.ts";
import { allHeads, markSeen, newEvents, type Seen } from "./ledger.ts";
import { linesLeftBy, removedAfter } from "./removed.ts";
import { advice, wrong } from "./texts.ts";
import type { Damage } from "./verify.ts";

/**
 * Compares every row with the newest digest that the ledger has of it.
 *
 *   reading events ─▶ scanning the tables ─▶ looking up rows that are in the ledger but in no scan ─▶ done
 *
 * Each step reads one state of the database, beginning with the events that were added since the step before. So a step compares
 * rows and digests of the same moment, although others write meanwhile. A digest is dropped once its row was found correct.
 */
export class RowCheck {
  readonly #seen: Seen = new Map();
  readonly #expected = new Map<string, string>();
  readonly #tables = Object.keys(rowKeys).filter(isSealed);
  /** The rows, events and heads that were already reported as wrong. */
  readonly #named = new Set<string>();
  readonly #unreadable: Damage[] = [];
  #after: readonly Value[] | null = null;

  /** Checks some thousand rows. `done` means that all rows were checked. */
  async step(tx: ReadTx): Promise<{ checked: number; problems: Damage[]; done: boolean }> {
    const problems: Damage[] = [];
    if (!(await this.#read(tx))) return { checked: 0, problems, done: false };
    const waiting = new Map((await tx.all(allHeads, {})).flatMap((head) => this.#linesOf(head)));
    problems.push(...this.#unreadable.splice(0));
    const judge = async (table: SealedTable, name: string, row: RowImage | undefined): Promise<void> => {
      const expected = waiting.get(name) ?? this.#expected.get(name) ?? deletedRow;
      const found = row === undefined ? deletedRow : digestOf(tx.mac, name, imageOf(table, row));
      this.#expected.delete(name);
      if (found === expected || this.#named.has(name)) return;
      this.#named.add(name);
      const what =
        found === deletedRow
          ? wrong.rowDeleted
          : expected === deletedRow
            ? wrong.rowInserted
            : wrong.rowChanged;
      problems.push(await damageOf(tx, name, what, `${name} ${expected}`));
    };
    let checked = 0;
    for (let table = this.#tables[0]; table !== undefined && checked < rowsAtOnce; table = this.#tables[0]) {
      const rows = await tx.all(rowsAfter(table, this.#after), {});
      for (const row of rows) await judge(table, nameOf(table, valuesOf(row, rowKeys[table])), row);
      checked += rows.length;
      const last = rows.at(-1);
      this.#after = last === undefined ? null : valuesOf(last, rowKeys[table]);
      if (rows.length < rowsAtOnce) {
        this.#tables.shift();
        this.#after = null;
      }
    }
    if (this.#tables.length > 0) return { checked, problems, done: false };
    // On PostgreSQL, the lookups travel together.
    const found = [...this.#expected]
      .slice(0, rowsAtOnce)
      .concat([...waiting])
      .map(async ([name, line]) => {
        const named = keyIn(name);
        if (line === deletedRow || named === undefined) return { name };
        return { name, table: named.table, row: (await tx.all(rowNamed(named), {}))[0] };
      });
    for (const { name, table, row } of await Promise.all(found)) {
      if (table === undefined) this.#expected.delete(name);
      else await judge(table, name, row);
    }
    return { checked, problems, done: this.#expected.size === 0 };
  }

  /** Reads the events since the last step. Returns false if there are more. */
  async #read(tx: ReadTx): Promise<boolean> {
    for (const { company_id } of await tx.all(allHeads, {})) {
      const after = this.#seen.get(company_id) ?? 0;
      for (const stretch of await tx.all(removedAfter, { company_id, after })) {
        const { last_seq: seq } = stretch;
        const left = { company_id, seq, rows: unlessBroken(() => linesLeftBy(stretch)) };
        for (const [name, line] of this.#linesOf(left)) this.#expected.set(name, line);
        // Events of the stretch that are still stored have no newer lines.
        this.#seen.set(company_id, seq);
      }
    }
    for (let round = 0; round < 20; round++) {
      const events = await newEvents(tx, this.#seen);
      if (events.length === 0) return true;
      for (const [name, line] of events.flatMap((event) => this.#linesOf(event)))
        this.#expected.set(name, line);
      markSeen(this.#seen, events);
    }
    return false;
  }

  /** The lines of an event or a head. Lines that name no row were edited. They are reported once. */
  #linesOf(from: Pick<Row<"events">, "company_id" | "seq" | "rows">): [string, string][] {
    // SQLite can store bytes in a column of text.
    const text: unknown = from.rows;
    const lines = typeof text === "string" ? linesIn(text) : [["", ""] satisfies [string, string]];
    const readable = lines.filter(([name]) => keyIn(name) !== undefined);
    const where = `${from.company_id} ${from.seq}`;
    if (readable.length === lines.length || this.#named.has(where)) return readable;
    this.#named.add(where);
    const { company_id: companyId, seq } = from;
    this.#unreadable.push({
      companyId,
      seq,
      row: null,
      what: wrong.lines,
      intactUntil: null,
      advice: advice.ledger,
    });
    return readable;
  }
}

/** The lines or, if they can't be read, a line that names no row. */
function unlessBroken(read: () => string): string {
  try {
    return read();
  } catch {
    return "?";
  }
}

type RowImage = Readonly<Record<string, Value>>;
const rowsAtOnce = 2000;

const valuesOf = (row: RowImage, columns: readonly string[]): Value[] =>
  columns.map((column) => row[column] ?? null);

/** The same image that store/chain.ts makes of a changed row. */
const imageOf = (table: SealedTable, row: RowImage): string =>
  JSON.stringify(valuesOf(row, sealedColumns(table)));

/** The table and the key of a row. Undefined for a name that no row can have. */
function keyIn(name: string): { table: SealedTable; key: (string | number)[] } | undefined {
  const [table = "", ...parts] = name.split("/");
  if (!isSealed(table) || parts.length !== rowKeys[table].length) return undefined;
  const columns: Readonly<Record<string, Column>> = tables[table];
  try {
    const key = parts.map(decodeURIComponent).map((part, index) => {
      const isText = columns[rowKeys[table][index] ?? ""]?.type === "text";
      return isText ? part : Number(part);
    });
    const isKey = key.every((part) =>
      typeof part === "number" ? Number.isSafeInteger(part) : !part.includes("\0"),
    );
    return isKey ? { table, key } : undefined;
  } catch {
    return undefined;
  }
}

const columnsIn = (table: SealedTable) => sql.join(rowKeys[table].map((column) => sql.ref(column)));

function rowsAfter(table: SealedTable, after: readonly Value[] | null) {
  const where = after === null ? sql`` : sql`where (${columnsIn(table)}) > (${sql.join(after)})`;
  const text = sql<RowImage>`select * from ${sql.table(table)} ${where} order by ${columnsIn(table)} limit ${rowsAtOnce}`;
  return dynamic((db) => ({ compile: () => text.compile(db) }));
}

function rowNamed({ table, key }: { table: SealedTable; key: readonly (string | number)[] }) {
  const conditions = rowKeys[table].map((column, index) => sql`${sql.ref(column)} = ${key[index] ?? ""}`);
  const text = sql<RowImage>`select * from ${sql.table(table)} where ${sql.join(conditions, sql` and `)}`;
  return dynamic((db) => ({ compile: () => text.compile(db) }));
}

async function damageOf(tx: ReadTx, name: string, what: string, line: string): Promise<Damage> {
  const [event] = await tx.all(
    dynamic((db) =>
      db
        .selectFrom("events")
        .select(["company_id", "seq", "at"])
        .where("rows", "like", `%${line}%`)
        .orderBy("at", "desc")
        .limit(1),
    ),
    {},
  );
  return {
    companyId: event?.company_id ?? "",
    seq: event?.seq ?? null,
    row: name,
    what,
    intactUntil: event?.at ?? null,
    advice: advice.row,
  };
}

import type pg from "pg";
import type { Value } from "./columns.ts";
import { getTypeParser } from "./connections.ts";

/**
 * Statements on one connection that need not wait for each other travel together, as a wave: one message to the server, and one
 * answer. Most of the cost of a short statement, on both sides, is its message.
 *
 *   asked ──▶ waiting ──the caller waits, and the connection is free──▶ under way ──▶ answered
 *
 * - PostgreSQL runs the statements of a wave one after the other. After a failed one it skips the rest of the wave, and the
 *   error answers all of them.
 * - A text is prepared once for each connection, and its columns are described once.
 * - Reads that are equal, or differ only in their values, become one statement, if there are only reads between them.
 */
export interface Statement {
  readonly text: string;
  readonly values?: readonly Value[];
  /** True if its rows are arrays of values. */
  readonly isArrays?: true;
  /** True if it runs even after a failed statement: it is then the first of its wave. */
  readonly isFirst?: true;
  /** True if it changes nothing. */
  readonly isRead?: boolean;
  /**
   * It reads for a write that waits for its turn (batches.ts). It is read together only with others like it: the write whose turn it is
   * would take an error of another one's values for its own.
   */
  readonly isEarly?: boolean;
}

export interface StatementAnswer {
  readonly rows: unknown[];
  readonly count: number;
  /** What PostgreSQL did, for example COMMIT. */
  readonly command: string;
}

export interface Waves {
  ask(statement: Statement): Promise<StatementAnswer>;
}

/**
 * A wave that is not answered within `timeout` milliseconds breaks the connection. `most` is the number of texts to prepare. It
 * is 0 if the next transaction may use another connection of the server (pooling.ts).
 */
export function wavesOn(
  client: Pick<pg.ClientBase, "query">,
  timeout: number,
  most: number = mostPrepared,
): Waves {
  const texts = new Map<string, Prepared>();
  const waiting: Asked[] = [];
  /** The waiting reads since the last change. Others can be read together with these. */
  const reads = new Map<string, Asked>();
  let isUnderWay = false;
  const send = (): void => {
    if (isUnderWay || waiting.length === 0) return;
    reads.clear();
    const next = waiting.findIndex(({ isFirst }, index) => isFirst && index > 0);
    const statements = waiting.splice(0, next === -1 ? waiting.length : next).map(forAll);
    isUnderWay = true;
    client.query(
      new Wave(statements, timeout, () => {
        isUnderWay = false;
        if (waiting.length > 0) soon(send);
      }),
    );
  };
  const prepared = (text: string): Prepared => {
    const known = texts.get(text);
    if (known !== undefined) return known;
    const isKept = texts.size < most;
    const made: Prepared = { name: isKept ? `s${texts.size}` : "", state: "new" };
    if (isKept) texts.set(text, made);
    return made;
  };
  /** The statement that makes a read together with its mates. */
  const forAll = (asked: Asked): Asked => {
    const { together, mates } = asked;
    if (mates.length === 0) return asked;
    const all = [asked, ...mates];
    const reject = (error: unknown): void => {
      for (const each of all) each.reject(error);
    };
    if (together === undefined)
      return {
        ...asked,
        resolve: ({ rows, ...answer }) => {
          for (const { resolve } of all)
            resolve({ ...answer, rows: rows.map((row) => ({ ...Object(row) })) });
        },
        reject,
      };
    return {
      ...asked,
      text: together,
      sent: [JSON.stringify(all.map(({ sent }) => sent))],
      prepared: prepared(together),
      rowsOf: all.map(({ rows }) => rows),
      resolve: ({ command }) => {
        for (const { rows, resolve } of all) resolve({ rows, command, count: rows.length });
      },
      reject,
    };
  };
  return {
    ask: (statement) => {
      const { text, values = [], isArrays = false, isFirst = false, isRead = false } = statement;
      const { isEarly = false } = statement;
      const sent = values.map(asSent);
      return new Promise((resolve, reject) => {
        const isShared = isRead && !isArrays;
        const shared = isShared ? togetherOf(text, values) : undefined;
        const asked = {
          text,
          sent,
          isArrays,
          isFirst,
          isRead,
          together: shared,
          rowsOf: undefined,
          resolve,
          reject,
        };
        const readKey = isShared ? `${isEarly} ${shared ?? text + JSON.stringify(sent)}` : undefined;
        const mate = readKey === undefined ? undefined : reads.get(readKey);
        if (mate !== undefined)
          return void mate.mates.push({ ...asked, mates: [], rows: [], prepared: mate.prepared });
        const own = { ...asked, mates: [], rows: [], prepared: prepared(text) };
        if (!isRead) reads.clear();
        else if (readKey !== undefined) reads.set(readKey, own);
        waiting.push(own);
        if (waiting.length === 1 && !isUnderWay) soon(send);
      });
    },
  };
}

/** Each prepared text takes memory of the server. Texts above this number are prepared each time. */
const mostPrepared = 2000;

/** Runs after everything that can run now has run. */
const soon = (send: () => void): void => queueMicrotask(() => process.nextTick(send));

interface Prepared {
  readonly name: string;
  /** unsure: it failed, and may have to be prepared again. */
  state: "new" | "ready" | "unsure";
  columns?: Columns;
}

interface Columns {
  readonly names: readonly string[];
  readonly parsers: readonly ((value: string) => unknown)[];
  /** A row with these columns, all null. */
  readonly empty: Readonly<Record<string, unknown>>;
}

interface Asked {
  readonly text: string;
  readonly sent: (string | Buffer | null)[];
  readonly isArrays: boolean;
  readonly isFirst: boolean;
  readonly isRead: boolean;
  /** The text that makes this read together with others. Undefined if it can be shared only with equal ones. */
  readonly together: string | undefined;
  /** The reads that are made together with it. */
  readonly mates: Asked[];
  readonly prepared: Prepared;
  readonly rows: unknown[];
  /** If reads are made together: the rows of each. The first column of a row then says whose it is. */
  readonly rowsOf: readonly unknown[][] | undefined;
  readonly resolve: (answer: StatementAnswer) => void;
  readonly reject: (error: unknown) => void;
}

/** The driver calls its methods. */
class Wave implements pg.Submittable {
  readonly statements: readonly Asked[];
  readonly #timeout: number;
  readonly #ended: () => void;
  #timer: NodeJS.Timeout | undefined;
  /** The number of answered statements. */
  #answered = 0;
  #isOver = false;

  constructor(statements: readonly Asked[], timeout: number, ended: () => void) {
    this.statements = statements;
    this.#timeout = timeout;
    this.#ended = ended;
  }

  submit(connection: pg.Connection): void {
    this.#timer = setTimeout(() => {
      this.handleError(new Error("Query read timeout"));
      connection.stream.destroy();
    }, this.#timeout);
    connection.stream.cork();
    const described = new Set<Prepared>();
    for (const { text, sent, prepared } of this.statements) {
      const { name, state } = prepared;
      if (name === "" || (state !== "ready" && !described.has(prepared))) {
        if (state === "unsure") connection.close({ type: "S", name }, true);
        connection.parse({ name, text, types: [] }, true);
        connection.describe({ type: "S", name }, true);
        described.add(prepared);
      }
      connection.bind({ statement: name, values: sent }, true);
      connection.execute({}, true);
    }
    connection.sync();
    connection.stream.uncork();
  }

  handleRowDescription({ fields }: { fields: readonly { name: string; dataTypeID: number }[] }): void {
    const { prepared } = this.#current();
    prepared.columns = {
      names: fields.map(({ name }) => name),
      parsers: fields.map(({ dataTypeID }) => getTypeParser(dataTypeID, "text")),
      empty: Object.fromEntries(fields.map(({ name }) => [name, null]).filter(([name]) => name !== whose)),
    };
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    const { prepared, rows, rowsOf, isArrays } = this.#current();
    const { names, parsers, empty } = prepared.columns ?? noColumns;
    const valueAt = (value: string | null, index: number): unknown =>
      value === null ? null : parsers[index]?.(value);
    if (isArrays) return void rows.push(fields.map(valueAt));
    const row: Record<string, unknown> = { ...empty };
    for (let index = rowsOf === undefined ? 0 : 1; index < names.length; index++)
      row[names[index] ?? ""] = valueAt(fields[index] ?? null, index);
    (rowsOf?.[Number(fields[0]) - 1] ?? rows).push(row);
  }

  handleCommandComplete({ text }: { text: string }): void {
    const { prepared, rows, resolve } = this.#current();
    prepared.state = "ready";
    this.#answered += 1;
    const [command = ""] = text.split(" ", 1);
    const count = Number(text.slice(text.lastIndexOf(" ") + 1));
    resolve({ rows, command, count: Number.isNaN(count) ? 0 : count });
  }

  handleReadyForQuery(): void {
    this.#end();
  }

  handleError(error: unknown): void {
    if (this.#isOver) return;
    const unanswered = this.statements.slice(this.#answered);
    // PostgreSQL has not seen the remaining statements.
    if (unanswered[0] !== undefined) unanswered[0].prepared.state = "unsure";
    for (const { reject } of unanswered) reject(error);
    this.#end();
  }

  #current(): Asked {
    const asked = this.statements[this.#answered];
    if (asked === undefined) throw new Error("PostgreSQL answered a statement that was not asked");
    return asked;
  }

  #end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#ended();
  }
}

/** The column that says whose row it is, if reads are made together. No column of a table is called so. */
const whose = "#";

/**
 * The text that makes several reads with this text at once. Its value is a list of their values, as JSON. The inner query is
 * planned for one read, so it uses its indexes whatever the number of reads. Undefined if a value has no place in JSON (bytes)
 * or no type there (null).
 */
export function togetherOf(text: string, values: readonly Value[]): string | undefined {
  if (values.length === 0) return undefined;
  let types = "";
  for (const value of values) {
    if (typeof value === "string") types += "t";
    else if (Number.isSafeInteger(value)) types += "n";
    else return undefined;
  }
  const key = `${types} ${text}`;
  if (!together.has(key)) {
    // Lists with optional filters have many texts.
    if (together.size >= mostPrepared) together.clear();
    together.set(key, textTogether(text, types));
  }
  return together.get(key);
}
const together = new Map<string, string | undefined>();

function textTogether(text: string, types: string): string | undefined {
  if (!/^(?:select|with)\s/.test(text) || /\boffset\b/.test(text)) return undefined;
  const one = text.replace(/\$(\d+)/g, (_, number: string) => `those.v${number}`);
  // Each value is taken from the list once, and not again for every row that a condition is checked on.
  const values = [...types].map(
    (type, at) => `(given ->> ${at})${type === "n" ? "::bigint" : ""} as v${at + 1}`,
  );
  return `select those.place as "${whose}", one.*
    from (select place, ${values.join(", ")} from json_array_elements($1::json) with ordinality as list(given, place) offset 0) as those,
    lateral (${one} offset 0) as one`;
}

const noColumns: Columns = { names: [], parsers: [], empty: {} };

function asSent(value: Value): string | Buffer | null {
  if (value === null || typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

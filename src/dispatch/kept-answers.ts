import { hash } from "node:crypto";
import { canonicalJson } from "../contract/canonical.ts";
import type { Operation } from "../contract/operation.ts";
import { sql } from "kysely";
import { query, textQuery } from "../store/query.ts";
import type { ReadTx, Store } from "../store/store.ts";
import { type Caller, hashToken } from "./identity.ts";
import { isKept } from "./kept-operations.ts";

/**
 * Keeps the answers of reads until their company changes. Only reads whose answers follow from the rows of the company and of
 * the installation alone are kept (kept-operations.ts). No kept read is recorded in the ledger.
 *
 *   asked ──not kept, or changed since──▶ computed and kept ──asked again, nothing changed──▶ answered from memory
 *
 * An answer belongs to one operation, input, credential and position. It is valid while the heads of two chains stay the same:
 * the company's and the installation's. Every change of a row that decides about the answer moves one of them, including rights,
 * epochs and people. On SQLite this process makes every commit, so without a commit nothing changed and no query is
 * needed. On PostgreSQL other nodes commit too, and one query reads both heads.
 *
 * Time changes answers without a write: a block or the pause of an agent ends, a request or a credential expires, a month begins.
 * An answer is kept until the first of these.
 */
export class KeptAnswer {
  /** The answer as JSON, as a door sends it. */
  readonly bytes: Buffer;
  /** The number of the last event that the answer reflects. */
  readonly seq: number;
  #tag: string | undefined;
  /** The bytes as a door sent them compressed. */
  packed: Uint8Array | undefined;

  constructor(output: unknown, seq: number) {
    this.bytes = Buffer.from(JSON.stringify(output));
    this.seq = seq;
  }

  get output(): unknown {
    return JSON.parse(this.bytes.toString());
  }

  get tag(): string {
    return (this.#tag ??= hash("sha256", this.bytes).slice(0, 32));
  }
}

interface Entry {
  readonly answer: KeptAnswer;
  readonly isForPerson: boolean;
  readonly companyId: string;
  readonly heads: string;
  readonly until: number;
  /** The number of commits when the entry was last found valid. */
  commits: number;
}

/** Facts about the answer that a call collects. */
interface Asked {
  readonly operation: Operation;
  readonly token: string | undefined;
  readonly as?: string | undefined;
  readonly takesText?: true;
  readonly reflects?: (seq: number) => void;
}

interface Computed {
  readonly output: unknown;
  readonly caller?: Caller;
  readonly companyId?: string;
}

/**
 * Limit for all answers and their keys together; compressed copies are shorter. The answers that were not asked for the longest
 * are removed first.
 */
const mostBytes = 8 * 1024 * 1024;
const mostOfOne = mostBytes / 4;
const day = 24 * 3600 * 1000;

export class KeptAnswers {
  readonly #store: Store;
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;
  #commits = 0;

  constructor(store: Store) {
    this.#store = store;
    store.onCommit(() => this.#commits++);
  }

  /** Runs a read in one transaction. The answer comes from memory or from `compute`. */
  read(
    asked: Asked,
    input: Readonly<Record<string, unknown>>,
    compute: (tx: ReadTx) => Promise<Computed>,
  ): Promise<unknown> {
    const { operation, token, as, takesText } = asked;
    if (!isKept(operation) || token === undefined)
      return this.#store.read(async (tx) => (await compute(tx)).output);
    const key = `${operation.name} ${hashToken(token)} ${canonicalJson([as ?? null, input])}`;
    // Count the commits before the transaction begins: the transaction then sees at least these.
    const commits = this.#commits;
    return this.#store.read(async (tx) => {
      const kept = await this.#find(tx, key, commits);
      if (kept !== undefined) {
        if (kept.isForPerson) asked.reflects?.(kept.answer.seq);
        return takesText === true ? kept.answer : kept.answer.output;
      }
      const { output, caller, companyId } = await compute(tx);
      if (caller === undefined || !companyId || !isNamed(asked, input, caller)) return output;
      const isForPerson = caller.actor.kind === "board";
      const answer = await this.#keep(tx, key, { companyId, token, isForPerson, output, commits });
      return takesText === true ? answer : output;
    });
  }

  async #find(tx: ReadTx, key: string, commits: number): Promise<Entry | undefined> {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    const isFresh = tx.dialect === "sqlite" && commits === entry.commits;
    const isSame =
      tx.now < entry.until && (isFresh || (await headsOf(tx, entry.companyId)).text === entry.heads);
    if (!isSame) {
      this.#drop(key);
      return undefined;
    }
    entry.commits = commits;
    // A Map keeps the order of insertion, so the newest entries are at the end.
    if (this.#entries.delete(key)) this.#entries.set(key, entry);
    return entry;
  }

  async #keep(
    tx: ReadTx,
    key: string,
    of: Pick<Entry, "companyId" | "isForPerson" | "commits"> & {
      readonly token: string;
      readonly output: unknown;
    },
  ): Promise<KeptAnswer> {
    const { companyId, isForPerson, commits } = of;
    const { text: heads, seq } = await headsOf(tx, companyId);
    const answer = new KeptAnswer(of.output, seq);
    if (sizeOf(key, answer) > mostOfOne) return answer;
    const alarm = (await tx.first(nextAlarm, { companyId, now: tx.now }))?.at;
    const expires = (await tx.first(expiryOf, { hash: hashToken(of.token) }))?.at;
    const midnight = (Math.floor(tx.now / day) + 1) * day;
    const until = Math.min(midnight, alarm ?? Infinity, expires ?? Infinity);
    this.#drop(key);
    this.#entries.set(key, { answer, isForPerson, companyId, heads, until, commits });
    this.#bytes += sizeOf(key, answer);
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= mostBytes) break;
      this.#drop(oldest);
    }
    return answer;
  }

  /** Removes all answers. Memory is returned only after a burst of calls, and then few of them are asked for again. */
  rest(): void {
    this.#entries.clear();
    this.#bytes = 0;
  }

  #drop(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#bytes -= sizeOf(key, entry.answer);
    this.#entries.delete(key);
  }
}

/** Counts the entry itself too, because many short answers must also reach the limit. */
const sizeOf = (key: string, { bytes }: KeptAnswer): number => key.length + bytes.byteLength + 1000;

/**
 * Whether the call names its company and its caller's position. Without these names the answer also depends on other companies,
 * whose changes these heads don't show: how many companies there are, and which other positions the person holds.
 */
function isNamed(
  { operation, as }: Asked,
  input: Readonly<Record<string, unknown>>,
  { companyId, person }: Caller,
): boolean {
  if (person?.positionId !== undefined && person.positionId !== as) return false;
  return companyId !== null || operation.within !== "company" || typeof input["companyId"] === "string";
}

async function headsOf(tx: ReadTx, companyId: string): Promise<{ text: string; seq: number }> {
  const heads = await tx.all(twoHeads, { companyId });
  const own = heads.find((head) => head.company_id === companyId);
  return { text: JSON.stringify(heads), seq: own?.seq ?? 0 };
}

const twoHeads = query((db, p: { companyId: string }) =>
  db
    .selectFrom("ledger_heads")
    .select(["company_id", "seq", "seal"])
    .where("company_id", "in", [p.companyId, ""])
    .orderBy("company_id"),
);

/** When time next changes something in the company: a block ends, a request expires, or an agent's pause ends. */
const nextAlarm = textQuery(
  (p: { companyId: string; now: number }) => sql<{ at: number | null }>`select min(at) as at from (
    select min(blocked_until) as at from outcomes
      where company_id = ${p.companyId} and status = 'open' and blocked_until > ${p.now}
    union all select min(expires_at) from approvals
      where company_id = ${p.companyId} and status in ('pending', 'revision_requested') and expires_at > ${p.now}
    union all select min(not_before) from agents
      where company_id = ${p.companyId} and status = 'idle' and not_before > ${p.now}) as changes`,
);

const expiryOf = query((db, p: { hash: string }) =>
  db.selectFrom("credentials").select("expires_at as at").where("hash", "=", p.hash),
);

import type { ReadTx } from "../store/store.ts";
import type { Area, Invariant } from "./invariant.ts";
import { invariants } from "./list.ts";
import { callIt, hasRowsIn, nextRange, type Scope, scopedTogether, tableOf } from "./scope.ts";

/** A row that breaks an invariant. */
export interface Finding {
  readonly invariant: Invariant;
  readonly id: string;
  readonly companyId: string | null;
  /** A sentence: which row it is, and what is wrong with the row. */
  readonly what: string;
}

export interface Examined {
  readonly findings: readonly Finding[];
  /** Where the next page begins. Null if everything was examined. */
  readonly next: Bookmark | null;
}

export interface Bookmark {
  readonly invariant: string;
  /** The last key that was examined. */
  readonly after: string;
}

/**
 * One page of a complete examination. SQLite answers in the daemon's own thread. So a page examines a limited number of rows,
 * and ends early when it has found much. No page holds up other calls for long, however large the company is.
 */
export async function examine(
  tx: ReadTx,
  companyId: string | null,
  from: Bookmark | undefined,
  which: readonly Invariant[] = invariants,
): Promise<Examined> {
  const findings: Finding[] = [];
  const listed = which.filter(({ subject }) => hasRowsIn(subject, companyId));
  const first = from === undefined ? 0 : listed.findIndex(({ id }) => id === from.invariant);
  let effort = 0;
  for (let index = first; index < listed.length; index++) {
    const invariant = listed[index];
    if (invariant === undefined) break;
    const numbered = tableOf(invariant.subject).isNumbered === true;
    let after = index === first && from !== undefined ? from.after : numbered ? "0" : "";
    for (;;) {
      if (effort >= mostEffort || findings.length >= mostFindings)
        return { findings, next: { invariant: invariant.id, after } };
      const isBytes = invariant.area === "bytes";
      const limit = isBytes ? rowsWithBytes : rowsAtOnce;
      const mostBytes = isBytes ? bytesAtOnce : Number.MAX_SAFE_INTEGER;
      const range = await nextRange(tx, invariant.subject, { companyId, after, limit, mostBytes });
      const upto = range?.upto ?? after;
      const found = await invariant.check(tx, { kind: "range", companyId, after, upto });
      const ids = found
        .toSorted(numbered ? (a, b) => Number(a) - Number(b) : undefined)
        .slice(0, mostFindings);
      for (const id of ids) findings.push(await findingOf(tx, invariant, id));
      if (ids.length < found.length) {
        after = ids.at(-1) ?? upto;
        continue;
      }
      if (range === undefined || range.isLast) break;
      // A range that is short because of its bytes is a full one.
      effort += 1;
      after = upto;
    }
    effort += leastEffort;
  }
  return { findings, next: null };
}

const rowsAtOnce = 2000;
const rowsWithBytes = 500;
const bytesAtOnce = 4_000_000;
/** The most work of one page. A range of rows counts as 1. */
const mostEffort = 2;
const leastEffort = 0.02;
const mostFindings = 100;

/**
 * Finds broken rows among all rows, or among those of a company: at most 20 for each invariant. For checkers that look often at
 * few rows. All invariants in SQL go to the database as one statement.
 */
export async function findBroken(tx: ReadTx, asked: Asked): Promise<Finding[]> {
  const { areas, companyId } = asked;
  const scope: Scope = companyId === undefined ? { kind: "all" } : { kind: "company", companyId };
  const listed = invariants.filter(
    ({ subject, area }) => areas.includes(area) && hasRowsIn(subject, companyId ?? null),
  );
  const key = `${companyId === undefined ? "all" : "company"} ${areas.join(" ")}`;
  const ask = together.get(key) ?? togetherOf(listed);
  together.set(key, ask);
  const findings: Finding[] = [];
  for (const { label, id } of await ask(tx, scope)) {
    const invariant = listed.find((one) => one.id === label);
    if (invariant !== undefined) findings.push(await findingOf(tx, invariant, id));
  }
  for (const invariant of listed)
    if (invariant.sql === undefined)
      for (const id of await invariant.check(tx, scope)) findings.push(await findingOf(tx, invariant, id));
  return findings;
}

interface Asked {
  readonly areas: readonly Area[];
  readonly companyId?: string;
}

const together = new Map<string, ReturnType<typeof togetherOf>>();

function togetherOf(listed: readonly Invariant[]) {
  return scopedTogether(
    listed.flatMap(({ id, subject, sql }) => (sql === undefined ? [] : [{ label: id, subject, text: sql }])),
  );
}

/** Whether this row breaks the invariant. */
export async function isBroken(tx: ReadTx, invariant: Invariant, id: string): Promise<boolean> {
  return (await invariant.check(tx, { kind: "one", id })).includes(id);
}

export async function findingOf(tx: ReadTx, invariant: Invariant, id: string): Promise<Finding> {
  const { called, companyId } = await callIt(tx, invariant.subject, id);
  return { invariant, id, companyId, what: `${called} ${invariant.broken}` };
}

/** A finding as one line, for the message of a test or of the simulator. */
export function inOneLine({ invariant, what }: Finding): string {
  return `${invariant.id} (${invariant.statement}) ${what}`;
}

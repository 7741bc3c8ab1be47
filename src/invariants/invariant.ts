import type { ReadTx, Tx } from "../store/store.ts";
import { type Scope, scoped, type Subject } from "./scope.ts";

/**
 * A statement about rows at rest: true after every committed transaction. It is about the rows of one table, its subject.
 * Most invariants are a query for the rows that break the statement. The rest need code: hashes, a graph, JSON.
 */
export type Invariant = Omit<Description, "find"> & {
  readonly id: string;
  readonly area: Area;
  /** The keys of the rows in a scope that break it. */
  readonly check: Check;
  /** The same as SQL, with `{here}` in it; undefined where it takes code. */
  readonly sql: string | undefined;
};

interface Description {
  /** One plain sentence: what is always true. */
  readonly statement: string;
  readonly subject: Subject;
  readonly find: string | Check;
  /** What is wrong with a row that breaks it; follows the row's name in a sentence. */
  readonly broken: string;
  /** What a person should do; `{id}` is the row's key. Every invariant has either this or a repair. */
  readonly advice?: string;
  /**
   * Mends a row without a decision. Only for what follows from other rows, and for taking away what an agent that left
   * must not have: no decision of a person is lost.
   */
  readonly repair?: (mending: Mending, id: string) => Promise<unknown>;
}

type Check = (tx: ReadTx, scope: Scope) => Promise<string[]>;

export interface Mending {
  readonly tx: Tx;
  readonly companyId: string;
  readonly newId: () => string;
}

/**
 * How often an invariant can break. Checkers that look after every step ask by area: work (sessions, mail, budgets) changes all
 * the time, the organization (agents, outcomes, grants, approvals) less often. History (files, versions, past sessions and
 * messages) only grows, so damage in it is still there when it is looked at later. For bytes, all stored content is read.
 */
export type Area = "work" | "organization" | "history" | "bytes";

/** The invariants of one area, by id. */
export const invariantsOf = (
  area: Area,
  described: Readonly<Record<string, Description>>,
): readonly Invariant[] =>
  Object.entries(described).map(([id, { find, ...description }]) => ({
    ...description,
    id,
    area,
    sql: typeof find === "string" ? find : undefined,
    check: typeof find === "string" ? checkBy(description.subject, find) : find,
  }));

function checkBy(subject: Subject, text: string): Check {
  const ask = scoped<{ id: string | number }>(subject, text);
  return async (tx, scope) => [...new Set((await ask(tx, scope)).map(({ id }) => String(id)))];
}

/** As every query here writes them. */
export const live = "in ('open', 'submitted')";
export const active = "in ('idle', 'paused')";

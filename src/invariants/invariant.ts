import type { ReadTx, Tx } from "../store/store.ts";
import { type Scope, scoped, type Subject } from "./scope.ts";

/**
 * A statement about rows at rest: true after every committed transaction. It is about the rows of one table, its subject. Most
 * invariants are a query for the rows that break the statement. The others need code: for hashes, a graph, or JSON.
 */
export type Invariant = Omit<Description, "find"> & {
  readonly id: string;
  readonly area: Area;
  /** Finds the keys of the rows in a scope that break the invariant. */
  readonly check: Check;
  /** The check as SQL, with `{here}` in it. Undefined if the check needs code. */
  readonly sql: string | undefined;
};

interface Description {
  /** One plain sentence that is always true. */
  readonly statement: string;
  readonly subject: Subject;
  readonly find: string | Check;
  /** What is wrong with a row that breaks the invariant. Follows the row's name in a sentence. */
  readonly broken: string;
  /** The advice for a person; `{id}` is the row's key. Every invariant has either advice or a repair. */
  readonly advice?: string;
  /**
   * Repairs a row without a decision. Only for values that follow from other rows, and for taking away what a departed agent
   * must not have. No decision of a person is lost.
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
 * How often an invariant can break. Checkers that run after every step ask by area. Work (sessions, mail, budgets) changes all
 * the time. The organization (agents, outcomes, grants, approvals) changes less often. History (files, versions, past sessions
 * and messages) only grows, so damage in it can be found later too. For bytes, all stored content is read.
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

/** Written like this in every query here. */
export const live = "in ('open', 'submitted')";
export const active = "in ('idle', 'paused')";

import type { ReadTx, Tx } from "../store/store.ts";
import { type Scope, scoped, type Subject } from "./scope.ts";

/**
 * A statement about rows at rest: true after every committed transaction. It is about the rows of one table, its subject.
 * Most invariants are a query for the rows that break the statement. The rest need code: hashes, a graph, JSON.
 */
export interface Invariant {
  readonly id: string;
  /** One plain sentence: what is always true. */
  readonly statement: string;
  readonly subject: Subject;
  readonly area: Area;
  /** What is wrong with a row that breaks it; follows the row's name in a sentence. */
  readonly broken: string;
  /** The keys of the rows in a scope that break it. */
  readonly check: (tx: ReadTx, scope: Scope) => Promise<string[]>;
  /** The same as SQL, with `{here}` in it; undefined where it takes code. */
  readonly sql: string | undefined;
  readonly cure: Cure;
}

/**
 * How often an invariant can break. Checkers that look after every step ask by area: work (sessions, mail, budgets) changes all
 * the time, the organization (agents, outcomes, grants, approvals) less often. History (files, versions, past sessions and
 * messages) only grows, so damage in it is still there when it is looked at later. For bytes, all stored content is read.
 */
export type Area = "work" | "organization" | "history" | "bytes";

/**
 * `repair` mends a row by itself. Only for what follows from other rows, and for taking away what an agent that left must
 * not have: no decision of a person is lost. `advice` says what a person should do; `{id}` is the row's key.
 */
export type Cure =
  | { readonly repair: (mending: Mending, id: string) => Promise<unknown> }
  | { readonly advice: string };

export interface Mending {
  readonly tx: Tx;
  readonly companyId: string;
  readonly newId: () => string;
}

type Description = Pick<Invariant, "id" | "statement" | "subject" | "broken" | "cure"> & {
  readonly find: string | Invariant["check"];
};

/** The invariants of one area. */
export const invariantsOf =
  (area: Area) =>
  (...descriptions: readonly Description[]): readonly Invariant[] =>
    descriptions.map(({ find, ...description }) => ({
      ...description,
      area,
      sql: typeof find === "string" ? find : undefined,
      check: typeof find === "string" ? checkBy(description.subject, find) : find,
    }));

function checkBy(subject: Subject, text: string): Invariant["check"] {
  const ask = scoped<{ id: string | number }>(subject, text);
  return async (tx, scope) => [...new Set((await ask(tx, scope)).map(({ id }) => String(id)))];
}

/** As every query here writes them. */
export const live = "in ('open', 'submitted')";
export const active = "in ('idle', 'paused')";

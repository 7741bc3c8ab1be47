import type { z } from "zod";

/**
 * The kinds of columns a table can have. A column says its type in the database and in the code, and which values the code
 * knows. Both stores share one shape: ids are text, times are milliseconds, booleans are 0 or 1, JSON is text.
 */
export type Value = string | number | null | Uint8Array;

export interface Column<T extends Value = Value, G extends boolean = boolean> {
  readonly type: "text" | "integer" | "real" | "blob";
  readonly nullable: boolean;
  /** The database fills it in. */
  readonly generated: G;
  /** Absent where the code can work with every value of the type. */
  readonly knows?: (stored: Value) => boolean;
  /** The ledger does not cover it: it changes too often, and no decision rests on it. */
  readonly unsealed?: true;
  /** Only for the type checker. */
  readonly holds?: T;
}

/** A column of JSON. The row has its text; parse() makes it a value. */
export interface JsonColumn<V, T extends string | null> extends Column<T, false> {
  readonly parse: (stored: T) => V;
}

const plain = { nullable: false, generated: false } as const;

export const string: Column<string, false> = { ...plain, type: "text" };
export const integer: Column<number, false> = { ...plain, type: "integer" };
export const real: Column<number, false> = { ...plain, type: "real" };
export const blob: Column<Uint8Array, false> = { ...plain, type: "blob" };
/** Numbers the rows of a table in the order they were made. */
export const serial: Column<number, true> = { type: "integer", nullable: false, generated: true };

export function orNull<T extends Value>(column: Column<T, false>): Column<T | null, false> {
  const { knows, ...rest } = column;
  return { ...rest, nullable: true, ...(knows === undefined ? {} : { knows }) };
}

export function unsealed<T extends Value>(column: Column<T, false>): Column<T, false> {
  return { ...column, unsealed: true };
}

/** One of these values. A row with any other value is not read: the query throws. */
export function oneOf<const V extends string | number>(values: readonly V[]): Column<V, false> {
  const known = new Set<Value>(values);
  const type = typeof values[0] === "string" ? "text" : "integer";
  return { ...plain, type, knows: (stored) => known.has(stored) };
}

export const flag = oneOf([0, 1]);

export function textThat<T extends string>(fits: (stored: string) => stored is T): Column<T, false> {
  return { ...plain, type: "text", knows: (stored) => typeof stored === "string" && fits(stored) };
}

export function json<V>(schema: z.ZodType<V>): JsonColumn<V, string> {
  return { ...string, parse: (stored) => schema.parse(JSON.parse(stored)) };
}

export function jsonOrNull<V>(schema: z.ZodType<V>): JsonColumn<V | null, string | null> {
  const parse = (stored: string | null): V | null =>
    stored === null ? null : schema.parse(JSON.parse(stored));
  return { ...string, nullable: true, parse };
}

/** Checks a value that is part of a larger one, or a column that must stay readable whatever it holds. */
export function known<V extends Value>(values: readonly V[], stored: Value, where: string): V {
  const found = values.find((value) => value === stored);
  if (found === undefined) throw unknownValue(where, stored);
  return found;
}

export function unknownValue(where: string, stored: Value | undefined): Error {
  return new Error(`${where} is ${JSON.stringify(stored)}, a value this version does not know`);
}

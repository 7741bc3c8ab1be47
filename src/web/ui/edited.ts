/** Typed values over a thing that can change elsewhere meanwhile. */
export interface Edited<T extends object> {
  /** The values in the fields: typed ones, and present ones otherwise. */
  readonly values: T;
  /** The values on which the typed fields were based. */
  readonly base: T;
  readonly changed: readonly (keyof T)[];
  /** Changed fields that also differ elsewhere now. Saving them would undo a change that the person has not seen. */
  readonly behind: readonly (keyof T)[];
  readonly set: (part: Partial<T>) => void;
  /** Keeps the typed values over the present ones. */
  readonly keepMine: () => void;
  /** Discards the typed values of the fields that are behind. */
  readonly takeTheirs: () => void;
  /** Called when these values are saved. Values typed after they were sent stay. */
  readonly saved: (sent: T) => void;
  /** Discards all typed values. */
  readonly drop: () => void;
}

interface Kept<T> {
  readonly base: Partial<T>;
  readonly typed: Partial<T>;
}

export function edited<T extends object>(now: T, text: string, keep: (text: string) => void): Edited<T> {
  const { base = {}, typed = {} } = parsed<Kept<T>>(text) ?? {};
  const began: T = { ...now, ...base };
  const values: T = { ...now, ...typed };
  const changed = keysOf(values).filter((key) => key in typed);
  const put = (next: T, over: T): void => {
    const keys = keysOf(next).filter((key) => !isSame(next[key], over[key]));
    const only = (of: T): object => Object.fromEntries(keys.map((key) => [key, of[key]]));
    keep(keys.length === 0 ? "" : JSON.stringify({ base: only(over), typed: only(next) }));
  };
  const behind = changed.filter((key) => !isSame(began[key], now[key]) && !isSame(values[key], now[key]));
  const theirs = (of: T): T => ({ ...of, ...Object.fromEntries(behind.map((key) => [key, now[key]])) });
  return {
    values,
    base: began,
    changed,
    behind,
    set: (part) => put({ ...values, ...part }, began),
    keepMine: () => put(values, now),
    takeTheirs: () => put(theirs(values), theirs(began)),
    saved: (sent) => put(values, sent),
    drop: () => keep(""),
  };
}

function keysOf<T extends object>(of: T): (keyof T)[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of plain fields
  return Object.keys(of) as (keyof T)[];
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** The page itself wrote this text. */
export function parsed<T>(text: string): T | undefined {
  if (text === "") return undefined;
  const kept: T = JSON.parse(text);
  return kept;
}

/** What is typed over something that can change elsewhere meanwhile. */
export interface Edited<T extends object> {
  /** What the fields show: what is typed, and else what is there now. */
  readonly values: T;
  /** What the typed fields began with. */
  readonly base: T;
  readonly changed: readonly (keyof T)[];
  /** The changed fields that are also different elsewhere now: saving them would undo what was not seen. */
  readonly behind: readonly (keyof T)[];
  readonly set: (part: Partial<T>) => void;
  /** Keeps what is typed, over what is there now. */
  readonly keepMine: () => void;
  /** Forgets what is typed in the fields that are behind. */
  readonly takeTheirs: () => void;
  /** These values are saved. What was typed since they were sent stays, over them. */
  readonly saved: (sent: T) => void;
  /** Forgets everything that is typed: it is saved, or not wanted. */
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

/** A page wrote it. */
export function parsed<T>(text: string): T | undefined {
  if (text === "") return undefined;
  const kept: T = JSON.parse(text);
  return kept;
}

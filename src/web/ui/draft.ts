import { useMemo, useSyncExternalStore } from "react";

/** What a person is writing, by the name of what it is about. It survives every update, a reload and a new sign-in, and ends with the tab. */
export function useDraft(name: string): [text: string, set: (text: string) => void] {
  return [useDraftText(name), (text) => keepDraft(name, text)];
}

export function useDraftText(name: string): string {
  return useSyncExternalStore(watch, () => draftNow(name));
}

export function keepDraft(name: string, text: string): void {
  if (text === "") kept.delete(name);
  else kept.set(name, text);
  try {
    if (text === "") sessionStorage.removeItem(placeOf(name));
    else sessionStorage.setItem(placeOf(name), text);
  } catch {
    // Larger than the browser keeps: it lives as long as the page. An earlier text must not come back instead.
    sessionStorage.removeItem(placeOf(name));
  }
  for (const watcher of watchers) watcher();
}

/** A draft of several fields. An empty one holds nothing. */
export function useDraftFields<T extends object>(
  name: string,
): [fields: Partial<T>, set: (part: Partial<T>) => void, drop: () => void] {
  const [text, setText] = useDraft(name);
  const fields = useMemo(() => parsed<Partial<T>>(text) ?? {}, [text]);
  return [
    fields,
    (part) => setText(JSON.stringify({ ...parsed<Partial<T>>(draftNow(name)), ...part })),
    () => setText(""),
  ];
}

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
  /** Forgets everything that is typed: it is saved, or not wanted. */
  readonly drop: () => void;
}

interface Kept<T> {
  readonly base: Partial<T>;
  readonly typed: Partial<T>;
}

/** A draft that remembers, for each field, what it was based on. */
export function useEdited<T extends object>(name: string, now: T): Edited<T> {
  const [text, setText] = useDraft(name);
  return useMemo(() => edited(now, text, setText), [name, text, JSON.stringify(now)]);
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
    drop: () => keep(""),
  };
}

function keysOf<T extends object>(of: T): (keyof T)[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of plain fields
  return Object.keys(of) as (keyof T)[];
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** This page wrote it. */
function parsed<T>(text: string): T | undefined {
  if (text === "") return undefined;
  const kept: T = JSON.parse(text);
  return kept;
}

const kept = new Map<string, string>();

const draftNow = (name: string): string => kept.get(name) ?? sessionStorage.getItem(placeOf(name)) ?? "";

const placeOf = (name: string): string => `agency.draft.${name}`;

const watchers = new Set<() => void>();

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

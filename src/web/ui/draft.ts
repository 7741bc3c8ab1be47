import { useMemo, useSyncExternalStore } from "react";
import { type Edited, edited, parsed } from "./edited.ts";

/**
 * A text that a person is writing, under the name of its subject. It survives every update, a reload and a new sign-in, and
 * ends with the tab.
 */
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
    // The text is too large for the browser to keep, so it lives as long as the page. An earlier text must not come back
    // instead.
    sessionStorage.removeItem(placeOf(name));
  }
  for (const watcher of watchers) watcher();
}

/** A draft of several fields. An empty draft is not stored. */
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

/** A draft that remembers for each field the value on which it was based. */
export function useEdited<T extends object>(name: string, now: T): Edited<T> {
  const [text, setText] = useDraft(name);
  return useMemo(() => edited(now, text, setText), [name, text, JSON.stringify(now)]);
}

const kept = new Map<string, string>();

const draftNow = (name: string): string => kept.get(name) ?? sessionStorage.getItem(placeOf(name)) ?? "";

const placeOf = (name: string): string => `agency.draft.${name}`;

const watchers = new Set<() => void>();

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

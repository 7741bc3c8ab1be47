import { useSyncExternalStore } from "react";

/** What a person is writing, by the name of what it is about. It survives every update, a reload and a new sign-in, and ends with the tab. */
export function useDraft(name: string): [text: string, set: (text: string) => void] {
  return [useDraftText(name), (text) => keepDraft(name, text)];
}

export function useDraftText(name: string): string {
  return useSyncExternalStore(watch, () => sessionStorage.getItem(placeOf(name)) ?? "");
}

export function keepDraft(name: string, text: string): void {
  if (text === "") sessionStorage.removeItem(placeOf(name));
  else sessionStorage.setItem(placeOf(name), text);
  for (const watcher of watchers) watcher();
}

const placeOf = (name: string): string => `agency.draft.${name}`;

const watchers = new Set<() => void>();

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

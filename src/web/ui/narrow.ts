import { useSyncExternalStore } from "react";

const narrow = matchMedia("(max-width: 760px)");

/** The window has no room for columns: a row has two lines. */
export function useIsNarrow(): boolean {
  return useSyncExternalStore(
    (watcher) => {
      narrow.addEventListener("change", watcher);
      return () => narrow.removeEventListener("change", watcher);
    },
    () => narrow.matches,
  );
}

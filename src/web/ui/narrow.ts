import { useSyncExternalStore } from "react";

const narrow = matchMedia("(max-width: 760px)");

/** Whether the window is too narrow for columns. A row then has two lines. */
export function useIsNarrow(): boolean {
  return useSyncExternalStore(
    (watcher) => {
      narrow.addEventListener("change", watcher);
      return () => narrow.removeEventListener("change", watcher);
    },
    () => narrow.matches,
  );
}

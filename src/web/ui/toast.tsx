import { type ReactNode, useSyncExternalStore } from "react";
import { Line } from "./words.tsx";

/** The result of an action, shown for a few seconds. Never an error: errors stay where they happened. */
interface Shown {
  readonly id: number;
  readonly text: string;
}

let toasts: readonly Shown[] = [];
let nextId = 1;
const watchers = new Set<() => void>();

export function toast(text: string): void {
  const id = nextId++;
  change([...toasts.slice(-2), { id, text }]);
  setTimeout(() => change(toasts.filter((each) => each.id !== id)), 6000);
}

export function Toasts(): ReactNode {
  const all = useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => toasts,
  );
  return (
    <div className="toasts" role="status" aria-live="assertive">
      {all.map(({ id, text }) => (
        <div key={id} className="pop">
          <Line text={text} />
        </div>
      ))}
    </div>
  );
}

function change(next: readonly Shown[]): void {
  toasts = next;
  for (const watcher of watchers) watcher();
}

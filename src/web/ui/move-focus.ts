import { type RefObject, useEffect, useRef } from "react";
import { useKeys } from "./keys.ts";

/** Keys in a field belong to the field. */
export const isInField = ({ target }: KeyboardEvent): boolean =>
  target instanceof HTMLElement && /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName);

const focusable = "a[href], button:enabled, [tabindex]";

/** What gets the focus of a row: the row itself, or the first element in it that can have it. */
const handleOf = (row: HTMLElement): HTMLElement | null =>
  row.matches(focusable) ? row : row.querySelector<HTMLElement>(focusable);

/**
 * J, K and the arrows move the focus over the rows of a list: all elements in it that match the selector. If a row disappears
 * while it has the focus, its place is remembered. So the next key continues there and not at the top. Without rows, the keys are
 * for the page.
 */
export function useRowKeys(selector = "a, button, [tabindex]"): RefObject<HTMLDivElement | null> {
  const ref = useRef<HTMLDivElement>(null);
  const last = useRef(-1);
  const rows = (): HTMLElement[] =>
    [...(ref.current?.querySelectorAll<HTMLElement>(selector) ?? [])].filter((row) => handleOf(row) !== null);
  const focused = (): number => rows().findLastIndex((row) => row.contains(document.activeElement));
  useEffect(() => {
    const note = (): void => {
      const at = focused();
      if (at !== -1) last.current = at;
    };
    document.addEventListener("focusin", note);
    return () => document.removeEventListener("focusin", note);
  }, [selector]);
  const move =
    (step: number) =>
    (event: KeyboardEvent): false | undefined => {
      if (isInField(event)) return false;
      const all = rows();
      if (all.length === 0) return false;
      const at = focused();
      // Without a focus, the row in the last one's place is next.
      const from = at !== -1 ? at : step > 0 ? Math.max(-1, last.current - 1) : last.current;
      const next = all[Math.max(0, Math.min(all.length - 1, from + step))];
      if (next !== undefined) handleOf(next)?.focus();
      next?.scrollIntoView({ block: "nearest" });
      return undefined;
    };
  useKeys({ j: move(1), k: move(-1), ArrowDown: move(1), ArrowUp: move(-1) });
  return ref;
}

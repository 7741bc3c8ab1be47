import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { type Item, itemKey } from "./item.ts";

/**
 * The list as the person sees it. Rows keep their identity: a row that is being read or written in never moves or disappears
 * because of an event. While the person writes, or is not at the top, rows keep their order and new items wait. A settled item
 * says so for ten seconds, and longer while it has the focus.
 */
export interface SteadyRow {
  readonly key: string;
  readonly item: Item;
  /** When it was settled. Null while it still waits. */
  readonly settledAt: number | null;
}

interface Kept {
  readonly rows: readonly SteadyRow[];
  /** The number of items that are not shown yet. */
  readonly fresh: number;
}

const leavingMilliseconds = 10_000;

export function useSteadyRows(
  items: readonly Item[],
  list: RefObject<HTMLElement | null>,
  /** If the person asked for more rows, they are shown at once. */
  asked: number,
): Kept & { readonly release: () => void } {
  const [kept, setKept] = useState<Kept>(() => ({ rows: items.map(waiting), fresh: 0 }));
  const shown = useRef(asked);
  useLayoutEffect(() => {
    const isHere = isHeld(list.current) && asked === shown.current;
    shown.current = asked;
    setKept((old) => merged(old, items, isHere, list.current));
  }, [items]);
  const release = useCallback(() => setKept((old) => merged(old, items, false, list.current)), [items]);
  // When the person is back at the top, everything is shown.
  useEffect(() => {
    const scroller = list.current?.closest(".scroll");
    const look = (): void => {
      if (kept.fresh > 0 && !isHeld(list.current)) release();
    };
    scroller?.addEventListener("scroll", look);
    document.addEventListener("focusout", look);
    return () => {
      scroller?.removeEventListener("scroll", look);
      document.removeEventListener("focusout", look);
    };
  }, [kept.fresh, release]);
  const isAnyLeaving = kept.rows.some(({ settledAt }) => settledAt !== null);
  useEffect(() => {
    if (!isAnyLeaving) return;
    const timer = setInterval(() => setKept((old) => withoutGone(old, list.current)), 1000);
    return () => clearInterval(timer);
  }, [isAnyLeaving]);
  return { ...kept, release };
}

const waiting = (item: Item): SteadyRow => ({ key: itemKey(item), item, settledAt: null });

/** Whether the person writes in the list, or has scrolled down. */
function isHeld(list: HTMLElement | null): boolean {
  const active = document.activeElement;
  const writes = active !== null && /^(?:INPUT|TEXTAREA|SELECT)$/.test(active.tagName);
  if (writes && list?.contains(active) === true) return true;
  return (list?.closest(".scroll")?.scrollTop ?? 0) > 8;
}

function merged(old: Kept, items: readonly Item[], held: boolean, list: HTMLElement | null): Kept {
  const byKey = new Map(items.map((item) => [itemKey(item), item]));
  const settled = (row: SteadyRow): SteadyRow =>
    row.settledAt === null ? { ...row, settledAt: Date.now() } : row;
  if (held) {
    const rows = old.rows.map((row) => {
      const item = byKey.get(row.key);
      return item === undefined ? settled(row) : waiting(item);
    });
    const shown = new Set(rows.map(({ key }) => key));
    return withoutGone({ rows, fresh: items.filter((item) => !shown.has(itemKey(item))).length }, list);
  }
  const rows = items.map(waiting);
  for (const [at, row] of old.rows.entries()) if (!byKey.has(row.key)) rows.splice(at, 0, settled(row));
  return withoutGone({ rows, fresh: 0 }, list);
}

function withoutGone(kept: Kept, list: HTMLElement | null): Kept {
  const focused = document.activeElement?.closest<HTMLElement>("[data-item]");
  const held = focused != null && list?.contains(focused) === true ? focused.dataset["item"] : undefined;
  const rows = kept.rows.filter(
    ({ key, settledAt }) =>
      settledAt === null || key === held || Date.now() - settledAt < leavingMilliseconds,
  );
  return rows.length === kept.rows.length ? kept : { ...kept, rows };
}

import { useCallback, useRef } from "react";

/** A function that stays the same and does what the latest render says: rows that get it are not rendered again because of it. */
export function useStable<A extends readonly unknown[], R>(act: (...given: A) => R): (...given: A) => R {
  const latest = useRef(act);
  latest.current = act;
  return useCallback((...given) => latest.current(...given), []);
}

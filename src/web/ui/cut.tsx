import { type ReactNode, useState } from "react";

/** The first rows of a list, and a button that says how many more there are and shows them. Null if there are no more. */
export function useCut<T>(list: readonly T[], most: number): { first: readonly T[]; more: ReactNode } {
  const [isOpen, setOpen] = useState(false);
  const left = list.length - most;
  if (isOpen || left <= 0) return { first: list, more: null };
  return {
    first: list.slice(0, most),
    more: (
      <button type="button" className="more" onClick={() => setOpen(true)}>
        and {left} more
      </button>
    ),
  };
}

import { useEffect, useState } from "react";

/**
 * Whether this browser has never shown the hint `what` before. The answer stays the same while the page is open, even once
 * the hint is shown.
 */
export function useSaidOnce(what: string, isShown: boolean): boolean {
  const place = `agency.said.${what}`;
  const [isNew] = useState(() => localStorage.getItem(place) === null);
  useEffect(() => {
    if (isShown) localStorage.setItem(place, "yes");
  }, [place, isShown]);
  return isNew;
}

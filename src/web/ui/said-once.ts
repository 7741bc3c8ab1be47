import { useEffect, useState } from "react";

/** True on the first page of this browser that shows a hint. False once the hint was shown. */
export function useSaidOnce(what: string, isShown: boolean): boolean {
  const place = `agency.said.${what}`;
  const [isNew] = useState(() => localStorage.getItem(place) === null);
  useEffect(() => {
    if (isShown) localStorage.setItem(place, "yes");
  }, [place, isShown]);
  return isNew;
}

import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { placeOfHint } from "./hint-places.ts";

/** Leads to where a hint can be followed, if the dashboard has such a place. */
export function HintLink({ hint }: { hint: string }): ReactNode {
  const place = placeOfHint(hint);
  return place === undefined ? null : (
    <Link className="b" to={place.to}>
      {place.text}
    </Link>
  );
}

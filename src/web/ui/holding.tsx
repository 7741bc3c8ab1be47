import type { ReactNode } from "react";
import type { ops } from "virtual:operations";
import type { Answer } from "../data/operations.ts";
import { Icon } from "./icons.tsx";
import { fullTime, shortSpan, useNow } from "./time.tsx";

export type HoldsUp = Answer<typeof ops.viewAttention>["items"][number]["holdsUp"];

/** The number of outcomes that wait for a decision. The tooltip names the first ones. */
export function Holding({ of: { count, outcomes } }: { of: HoldsUp }): ReactNode {
  if (count === 0) return null;
  return (
    <span className="holds" title={outcomes.map(({ title }) => title ?? "").join("\n")}>
      <Icon name="link" />
      holds up {count}
    </span>
  );
}

const soonMilliseconds = 24 * 3_600_000;

/** The time left for a decision. On the last day it has the colour of things that need a person. */
export function Expiry({ at }: { at: string }): ReactNode {
  const left = Date.parse(at) - useNow(15);
  return (
    <time dateTime={at} title={fullTime(at)} className={`expiry ${left < soonMilliseconds ? "soon" : ""}`}>
      {left < 60_000 ? "expires now" : `expires in ${shortSpan(left)}`}
    </time>
  );
}

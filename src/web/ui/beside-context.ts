import { createContext, type MouseEvent } from "react";

/** What a page opens beside its list. */
export interface BesideThing<K extends string = string> {
  readonly kind: K;
  readonly id: string;
}

/** Names in a list with a panel beside it open there. */
export const BesideContext = createContext<((thing: BesideThing, event: MouseEvent) => void) | undefined>(
  undefined,
);

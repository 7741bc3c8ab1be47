import { createContext, type MouseEvent, type ReactNode } from "react";

/** A thing that a page opens in the panel beside its list. */
export interface BesideThing<K extends string = string> {
  readonly kind: K;
  readonly id: string;
}

/** Names in a list with a panel beside it open there. */
export const BesideContext = createContext<((thing: BesideThing, event: MouseEvent) => void) | undefined>(
  undefined,
);

/** What the page around a panel sets (beside.tsx). The panel itself only knows which thing it shows. */
interface PanelFrame {
  /** Selects the element that gets the focus when the panel closes. */
  readonly back: string;
  readonly onClose: () => void;
  /** Further actions of the page around it. */
  readonly more?: ReactNode;
}

export const PanelFrameContext = createContext<PanelFrame | null>(null);

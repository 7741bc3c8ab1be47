import { createContext, type MouseEvent, type ReactNode } from "react";

/** What a page opens beside its list. */
export interface BesideThing<K extends string = string> {
  readonly kind: K;
  readonly id: string;
}

/** Names in a list with a panel beside it open there. */
export const BesideContext = createContext<((thing: BesideThing, event: MouseEvent) => void) | undefined>(
  undefined,
);

/** What the page around a panel knows (beside.tsx). The panel itself only knows which thing it shows. */
interface PanelFrame {
  /** What gets the focus when the panel closes. */
  readonly back: string;
  readonly onClose: () => void;
  /** Further verbs of the page that shows it. */
  readonly more?: ReactNode;
}

export const PanelFrameContext = createContext<PanelFrame | null>(null);

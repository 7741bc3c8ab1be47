import { Link } from "@tanstack/react-router";
import { type ReactNode, use } from "react";
import { PanelFrameContext } from "./beside-context.ts";
import { Button } from "./buttons.tsx";
import { usePanelFocus } from "./modal.ts";
import "./beside.css";

/** The panel beside a list or map: one thing in short, with a link to its page. */
export function SidePanel({
  label,
  to,
  children,
}: {
  label: string;
  /** The address of its page. */
  to: string;
  children: ReactNode;
}): ReactNode {
  const frame = use(PanelFrameContext);
  if (frame === null) throw new Error("a panel was rendered without a list beside it");
  const panel = usePanelFocus(frame.back);
  return (
    <aside className="side-panel" aria-label={label} ref={panel}>
      <div className="top">
        <Link className="b" to={to}>
          Open the page
        </Link>
        <span className="verbs">
          {frame.more}
          <Button look="ghost" icon="cross" aria-label="Close" onClick={frame.onClose} />
        </span>
      </div>
      {children}
    </aside>
  );
}

import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Button } from "./buttons.tsx";
import { usePanelFocus } from "./modal.ts";
import "./beside.css";

/** What opens beside a list or map: one thing in short, with the way to its page. */
export function SidePanel({
  label,
  to,
  back,
  onClose,
  more,
  children,
}: {
  label: string;
  /** Its page. */
  to: string;
  /** What gets the focus when the panel closes. */
  back: string;
  onClose: () => void;
  /** Further verbs of the page that shows it. */
  more?: ReactNode;
  children: ReactNode;
}): ReactNode {
  const panel = usePanelFocus(back);
  return (
    <aside className="side-panel" aria-label={label} ref={panel}>
      <div className="top">
        <Link className="b" to={to}>
          Open the page
        </Link>
        <span className="verbs">
          {more}
          <Button look="ghost" icon="cross" aria-label="Close" onClick={onClose} />
        </span>
      </div>
      {children}
    </aside>
  );
}

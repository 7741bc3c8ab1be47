import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Empty } from "../../ui/states.tsx";
import * as texts from "./texts.ts";

/** Shown if no row matches the filters. */
export function NoMatch({ view }: { view?: string }): ReactNode {
  return (
    <div className="work-inner">
      <Empty title={texts.noMatch}>
        <Link className="b" to="/outcomes" search={{ view }}>
          {texts.showAll}
        </Link>
      </Empty>
    </div>
  );
}

import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { type Choosing, WithPanel } from "../../ui/beside.tsx";
import { OutcomePanel } from "../../ui/outcome-panel.tsx";
import { Empty } from "../../ui/states.tsx";
import * as texts from "./texts.ts";

/** A view of outcomes with the chosen one beside it. */
export function WithOutcome({
  of,
  back,
  children,
}: {
  of: Choosing<"outcome">;
  /** What gets the focus when the panel closes. */
  back: string;
  children: ReactNode;
}): ReactNode {
  return (
    <WithPanel
      of={of.chosen}
      panel={({ id }) => <OutcomePanel key={id} id={id} back={back} onClose={() => of.choose(undefined)} />}
    >
      {children}
    </WithPanel>
  );
}

/** The filters leave nothing. */
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

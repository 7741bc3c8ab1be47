import { useNavigate, useSearch } from "@tanstack/react-router";
import type { MouseEvent, ReactNode } from "react";
import { useKeys } from "../../ui/keys.ts";
import { OutcomePanel } from "./panel.tsx";

interface Choosing {
  readonly chosen: string | undefined;
  readonly choose: (outcome: string | undefined) => void;
  /** A click opens an outcome beside the list. Where there is no room for that, it goes to its page. */
  readonly click: (outcome: string, event: MouseEvent) => void;
}

/** Which outcome is open beside the view. It is in the address. */
export function useChosenOutcome(): Choosing {
  const navigate = useNavigate();
  const search: { outcome?: string } = useSearch({ strict: false });
  const chosen = search.outcome === "" ? undefined : search.outcome;
  const choose = (outcome: string | undefined): void =>
    void navigate({ to: "/outcomes", search: { ...search, outcome }, replace: true });
  const click = (outcome: string, event: MouseEvent): void => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (matchMedia("(max-width: 900px)").matches) void navigate({ to: `/outcomes/${outcome}` });
    else choose(outcome);
  };
  useKeys({ Escape: () => (chosen === undefined ? false : choose(undefined)) });
  return { chosen, choose, click };
}

/** A view of outcomes with the chosen one beside it. */
export function WithPanel({
  of: { chosen, choose },
  back,
  children,
}: {
  of: Choosing;
  /** What gets the focus when the panel closes. */
  back: string;
  children: ReactNode;
}): ReactNode {
  return (
    <div className={`with-panel ${chosen === undefined ? "closed" : ""}`}>
      {children}
      {chosen !== undefined && (
        <OutcomePanel key={chosen} id={chosen} back={back} onClose={() => choose(undefined)} />
      )}
    </div>
  );
}

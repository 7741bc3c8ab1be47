import type { ReactNode } from "react";
import { Icon } from "../../ui/icons.tsx";
import type { Position } from "./position.ts";
import * as texts from "./texts.ts";

/** The actions of a card or row, for the mouse. The keys are Shift M and the full stop. */
export function MenuButton({
  agent,
  onMenu,
}: {
  agent: Position;
  onMenu: ((id: string) => void) | undefined;
}): ReactNode {
  if (onMenu === undefined || agent.status === "pending_approval") return null;
  return (
    <button
      type="button"
      className="b ghost sq dots"
      tabIndex={-1}
      aria-label={texts.reorganizeTitle(agent.name)}
      title={texts.menuHint}
      // A press here must not drag the card.
      onPointerDown={(event) => event.stopPropagation()}
      onClick={(event) => {
        event.stopPropagation();
        onMenu(agent.id);
      }}
    >
      <Icon name="more" />
    </button>
  );
}

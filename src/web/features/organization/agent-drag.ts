import { type PointerEvent, useState } from "react";
import type { Grip } from "../../ui/pan-zoom.tsx";
import { pointIn } from "../../ui/pointer.ts";
import type { MapLayout } from "./map-layout.ts";
import type { Position } from "./position.ts";

/** An agent that is dragged over the map to another card. */
export interface AgentDrag {
  /** The dragged agent, and the position of the pointer. */
  readonly dragged: { readonly agent: Position; readonly x: number; readonly y: number } | null;
  /** The card under the pointer, to which the agent would move. */
  readonly over: string | null;
  /** Returns the thing that a pressed pointer holds. Null for the map itself. */
  readonly grab: (event: PointerEvent<HTMLElement>) => Grip | null;
}

export function useAgentDrag(
  layout: MapLayout,
  canMove: boolean,
  onMove: (agent: string, to: string) => void,
): AgentDrag {
  const [dragged, setDragged] = useState<AgentDrag["dragged"]>(null);
  const [over, setOver] = useState<string | null>(null);
  const grab = ({ target }: PointerEvent<HTMLElement>): Grip | null => {
    const key =
      target instanceof Element ? target.closest<HTMLElement>("[data-agent]")?.dataset["agent"] : "";
    const box = layout.boxes.find((each) => each.key === key);
    const agent = box?.agent ?? null;
    if (!canMove || agent === null || box?.depth === 1) return null;
    let to: string | null = null;
    return {
      move: (event) => {
        const team = teamAt(event);
        to = team === agent.id || team === agent.boss?.id ? null : team;
        setDragged({ agent, ...pointIn(event.currentTarget, event) });
        setOver(to);
      },
      end: (isDropped) => {
        setDragged(null);
        setOver(null);
        if (isDropped && to !== null) onMove(agent.id, to);
      },
    };
  };
  return { dragged, over, grab };
}

/** The card under the pointer. A row belongs to the card of its manager. */
function teamAt({ clientX, clientY }: PointerEvent<HTMLElement>): string | null {
  const card = document
    .elementsFromPoint(clientX, clientY)
    .find((element) => element instanceof HTMLElement && element.matches(".team[data-agent]"));
  return card instanceof HTMLElement ? (card.dataset["agent"] ?? null) : null;
}

import { type KeyboardEvent, memo, type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { counted, roundMoney } from "../../ui/figures.tsx";
import { isOff } from "../../ui/keys.ts";
import { mapDirections, zoomedByKey, ZoomKeys } from "../../ui/pan-zoom.tsx";
import { StatusMark } from "../../ui/status.tsx";
import { Tile, tileOf } from "../../ui/tile.tsx";
import { Line } from "../../ui/words.tsx";
import { useAgentDrag } from "./agent-drag.ts";
import { headBoxOf, layOut, type MapBox, nextBox, type PlannedPlaces } from "./map-layout.ts";
import { useMapWindow } from "./map-view.ts";
import { MenuButton } from "./menu-button.tsx";
import { standingMarks, type Position, stateOfAgent } from "./position.ts";
import * as texts from "./texts.ts";
import "./map.css";

/** The organization as cards. Dragging a row or a card to another card plans the move; the outline shows the same as rows. */
export const OrgMap = memo(function OrgMap({
  agents,
  people,
  plan,
  selected,
  isDim,
  canMove,
  onSelect,
  onOpen,
  onMenu,
  onMove,
}: {
  agents: readonly Position[];
  /** The names of the board people. */
  people: string;
  plan: PlannedPlaces;
  selected: string | undefined;
  /** Whether the agent does not match the filters. */
  isDim: (agent: Position) => boolean;
  canMove: boolean;
  onSelect: (id: string) => void;
  onOpen: (id: string) => void;
  /** Undefined if the person can't reorganize. */
  onMenu: ((id: string) => void) | undefined;
  onMove: (agent: string, to: string) => void;
}): ReactNode {
  const layout = useMemo(() => layOut(agents, plan), [agents, plan]);
  const drag = useAgentDrag(layout, canMove, onMove);
  const map = useMapWindow(layout, drag.grab);
  const [focus, setFocus] = useState(selected);
  const root = layout.boxes.find(({ kind }) => kind === "team");
  const focused = layout.boxes.find(({ key }) => key === focus) ?? root;
  const show = (box: MapBox, zooms: boolean): void => {
    // The sheet with the plan covers the lower part.
    const sheet = map.frame.current?.parentElement?.querySelector<HTMLElement>(".plan")?.offsetHeight;
    map.show(headBoxOf(box), zooms, sheet);
  };
  const goTo = (box: MapBox | undefined): void => {
    if (box === undefined) return;
    // Rendered before the next key is handled.
    flushSync(() => setFocus(box.key));
    show(box, true);
    map.frame.current
      ?.querySelector<HTMLElement>(`[data-agent="${box.key}"]`)
      ?.focus({ preventScroll: true });
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || focused === undefined) return;
    const { key } = event;
    if (isOff(key)) return;
    const direction = mapDirections[key];
    if (direction !== undefined) goTo(nextBox(layout.boxes, focused, direction));
    else if (key === "Home") goTo(root);
    else if (key === "Enter" && selected === focused.key) onOpen(focused.key);
    else if (key === "Enter" || key === " ") onSelect(focused.key);
    else if (!zoomedByKey(key, map)) return;
    event.preventDefault();
  };
  // The arriving box, which the person planned, comes into view.
  const arriving = layout.boxes.find(({ planned }) => planned === "arrives");
  const shownPlan = useRef<PlannedPlaces>(null);
  useEffect(() => {
    if (arriving === undefined || shownPlan.current === plan) return;
    shownPlan.current = plan;
    show(arriving, false);
  }, [arriving, plan]);
  // The panel takes room from the map, but its subject stays in view.
  useEffect(() => {
    const box = layout.boxes.find(({ key }) => key === selected);
    if (box === undefined) return;
    const frame = requestAnimationFrame(() => show(box, false));
    return () => cancelAnimationFrame(frame);
  }, [selected]);
  const boxes = layout.boxes.filter(({ key }) => map.seen.has(key) || key === focused?.key);
  return (
    <div className={`map ${map.isFar ? "far" : ""}`} ref={map.frame} {...map.pointer}>
      <div
        className="map-layer"
        ref={map.layer}
        role="tree"
        aria-label={texts.mapOf(agents.length)}
        onKeyDown={onKey}
      >
        <svg className="wires" aria-hidden="true">
          {/* One element for all lines: a thousand elements would be styled and laid out with every change around the map. */}
          <path d={layout.wires} />
        </svg>
        {boxes.map((box) =>
          box.agent === null ? (
            <div key="board" className="team board" role="none" style={placeStyle(box)}>
              <header>
                <Tile id="board" name="Board" kind="person" />
                <div className="min-w-0">
                  <b>Board</b>
                  <span className="r cut">
                    <Line text={people} />
                  </span>
                </div>
              </header>
            </div>
          ) : (
            <Box
              key={box.key}
              box={box}
              agent={box.agent}
              isSelected={box.agent.id === selected}
              isTarget={drag.over === box.key}
              isDim={isDim(box.agent)}
              canFocus={box === focused}
              isFar={map.isFar}
              onSelect={onSelect}
              onFocus={setFocus}
              onMenu={onMenu}
            />
          ),
        )}
      </div>
      {drag.dragged !== null && (
        <div className="drag-ghost" style={{ left: drag.dragged.x, top: drag.dragged.y }}>
          <Tile id={drag.dragged.agent.id} name={drag.dragged.agent.name} size="xs" />
          <Line text={drag.dragged.agent.name} />
        </div>
      )}
      <ZoomKeys of={map} />
    </div>
  );
});

const placeStyle = ({ x, y, w, h }: MapBox) => ({
  transform: `translate(${x}px, ${y}px)`,
  width: w,
  height: h,
});

/** A card or a row. It is rendered again only if something about it changes. */
const Box = memo(function Box({
  box,
  agent,
  isSelected,
  isTarget,
  isDim,
  canFocus,
  isFar,
  onSelect,
  onFocus,
  onMenu,
}: {
  box: MapBox;
  agent: Position;
  isSelected: boolean;
  isTarget: boolean;
  isDim: boolean;
  canFocus: boolean;
  /** True if only the name can be read. Other texts are then left out, because hundreds of cards are in view. */
  isFar: boolean;
  onSelect: (id: string) => void;
  onFocus: (id: string) => void;
  onMenu: ((id: string) => void) | undefined;
}): ReactNode {
  const state = stateOfAgent(agent);
  const isRow = box.kind === "row";
  const says =
    box.planned === "arrives"
      ? texts.arrives
      : box.planned === "leaves"
        ? texts.leaves
        : isRow
          ? (agent.working?.on ?? agent.says)
          : agent.role;
  return (
    <div
      className={[
        isRow ? "mrow" : "team",
        box.h > 80 ? "with-rows" : "",
        isSelected && box.planned !== "arrives" ? "sel" : "",
        isTarget ? "target" : "",
        isDim ? "faint" : "",
        state === "pending" ? "pend" : "",
        box.planned ?? "",
      ].join(" ")}
      role="treeitem"
      data-agent={box.key}
      data-about={`agent ${agent.id}`}
      data-beside={`agent ${agent.id}`}
      aria-level={box.depth}
      aria-selected={isSelected}
      tabIndex={canFocus ? 0 : -1}
      style={placeStyle(box)}
      onClick={() => {
        onFocus(box.key);
        onSelect(agent.id);
      }}
    >
      {isFar ? (
        <header>
          <b className="cut">
            <Line text={agent.name} />
          </b>
        </header>
      ) : (
        <header>
          <Tile
            id={agent.id}
            name={agent.name}
            {...tileOf(agent.status, agent.isPerson)}
            size={isRow ? "xs" : ""}
          />
          <div className="min-w-0">
            <b className="cut">
              <Line text={agent.name} />
            </b>
            <span className="r cut">
              <Line text={says} />
            </span>
          </div>
          <StatusMark mark={standingMarks[state]} label={texts.stateWords[state]} />
          {box.planned === null && <MenuButton agent={agent} onMenu={onMenu} />}
        </header>
      )}
      {!isRow && !isFar && (
        <div className="sum">
          <span>{counted(box.reports, "report")}</span>
          <span>
            {roundMoney(agent.spentUsd ?? 0)}
            {agent.budgetUsd !== null && ` of ${roundMoney(agent.budgetUsd)}`}
          </span>
        </div>
      )}
    </div>
  );
}, isSame);

/** Each answer makes new layouts. A box counts as the same if it has the same place and the same texts. */
function isSame(
  before: Readonly<Record<string, unknown>> & { readonly box: MapBox; readonly agent: Position },
  after: typeof before,
): boolean {
  const { box, agent } = before;
  return (
    box.x === after.box.x &&
    box.y === after.box.y &&
    box.w === after.box.w &&
    box.h === after.box.h &&
    box.planned === after.box.planned &&
    box.reports === after.box.reports &&
    (["isSelected", "isTarget", "isDim", "canFocus", "isFar", "onMenu"] as const).every(
      (name) => before[name] === after[name],
    ) &&
    (["name", "role", "says", "status", "spentUsd", "budgetUsd", "blocked", "workable"] as const).every(
      (name) => agent[name] === after.agent[name],
    ) &&
    agent.working?.on === after.agent.working?.on &&
    (agent.working === null) === (after.agent.working === null)
  );
}

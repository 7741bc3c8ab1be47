import { defaultRangeExtractor, useVirtualizer } from "@tanstack/react-virtual";
import { Link } from "@tanstack/react-router";
import {
  type KeyboardEvent,
  memo,
  type ReactNode,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { flushSync } from "react-dom";
import { Meter, roundMoney } from "../../ui/figures.tsx";
import { Icon } from "../../ui/icons.tsx";
import { isOff } from "../../ui/keys.ts";
import { StatusMark } from "../../ui/status.tsx";
import { Tile, tileOf } from "../../ui/tile.tsx";
import { Line } from "../../ui/words.tsx";
import { type Branch, standingMarks, type Position, stateOfAgent, treeOf } from "./position.ts";
import { MenuButton } from "./menu-button.tsx";
import * as texts from "./texts.ts";

/** On a narrow screen an agent has two lines. */
const isNarrow = matchMedia("(max-width: 760px)").matches;
const rowHeight = isNarrow ? 56 : 33;
/** Agents are indented below the board, unless the screen is narrow. */
const indent = isNarrow ? 0 : 1;

/** The columns of words and counts, each with its look. The column of the costs comes after them. */
const columns = [
  ["who", "Agent"],
  ["do", "Doing"],
  ["n", "Open"],
  ["n", "Blocked"],
  ["n", "Inbox"],
] as const;

/** The organization as a tree of rows. Rows have one height, and only those in view are rendered, with the focused one. */
export const Outline = memo(function Outline({
  agents,
  selected,
  isDim,
  onSelect,
  onOpen,
  onMenu,
  people,
  folded,
  onFold,
}: {
  agents: readonly Position[];
  selected: string | undefined;
  /** Whether the agent does not match the filters. */
  isDim: (agent: Position) => boolean;
  onSelect: (id: string) => void;
  onOpen: (id: string) => void;
  /** Undefined if the person can't reorganize. */
  onMenu: ((id: string) => void) | undefined;
  /** The names of the board people. */
  people: string;
  /** Ids of agents whose reports are hidden. */
  folded: ReadonlySet<string>;
  onFold: (folded: ReadonlySet<string>) => void;
}): ReactNode {
  // Kept by identity: if rows above it come and go, the focus stays on the same agent.
  const [focus, setFocus] = useState(selected);
  const last = useRef(0);
  const rows = useMemo(() => treeOf(agents, folded), [agents, folded]);
  const found = rows.findIndex(({ agent }) => agent.id === focus);
  const at = found === -1 ? Math.min(last.current, rows.length - 1) : found;
  last.current = at;
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    // The head and the board are above the rows. With this padding, a focused row is never hidden at the edge.
    scrollPaddingEnd: 2 * rowHeight + 14,
    getItemKey: (index) => rows[index]?.agent.id ?? index,
    overscan: 12,
    rangeExtractor: (range) => [...new Set([...defaultRangeExtractor(range), at])].toSorted((a, b) => a - b),
  });
  // An agent that was chosen in the find field comes into view.
  const chosenAt = rows.findIndex(({ agent }) => agent.id === selected);
  // A clicked row is already in view.
  const clicked = useRef<string>(undefined);
  useEffect(() => {
    if (chosenAt === -1 || clicked.current === selected) return;
    clicked.current = undefined;
    setFocus(selected);
    virtual.scrollToIndex(chosenAt);
  }, [selected, chosenAt === -1]);
  const goTo = (next: number): void => {
    const index = Math.max(0, Math.min(rows.length - 1, next));
    const id = rows[index]?.agent.id;
    // Rendered before the next key is handled.
    flushSync(() => setFocus(id));
    virtual.scrollToIndex(index);
    box.current?.querySelector<HTMLElement>(`[data-agent="${id}"]`)?.focus({ preventScroll: true });
  };
  const fold = ({ agent, reports, depth }: Branch, wants: boolean): void => {
    const isFolded = folded.has(agent.id);
    if (wants === isFolded || reports === 0) {
      if (wants) goTo(rows.findLastIndex((row, index) => index < at && row.depth < depth));
      else goTo(at + 1);
      return;
    }
    const next = new Set(folded);
    if (wants) next.add(agent.id);
    else next.delete(agent.id);
    onFold(next);
  };
  const onKey = (event: KeyboardEvent): void => {
    const row = rows[at];
    if (row === undefined || event.ctrlKey || event.metaKey || event.shiftKey || isOff(event.key)) return;
    if (event.key === "ArrowDown" || event.key === "j") goTo(at + 1);
    else if (event.key === "ArrowUp" || event.key === "k") goTo(at - 1);
    else if (event.key === "Home") goTo(0);
    else if (event.key === "End") goTo(rows.length - 1);
    else if (event.key === "ArrowLeft") fold(row, true);
    else if (event.key === "ArrowRight") fold(row, false);
    else if (event.key === "Enter" && selected === row.agent.id) onOpen(row.agent.id);
    else if (event.key === "Enter" || event.key === " ") onSelect(row.agent.id);
    else return;
    event.preventDefault();
  };
  const select = (agent: string): void => {
    clicked.current = agent;
    setFocus(agent);
    onSelect(agent);
  };
  // The rows get functions that never change, so a row is rendered only if its own data changes.
  const latest = useRef({ fold, select });
  latest.current = { fold, select };
  const onFoldRow = useCallback((row: Branch, wants: boolean) => latest.current.fold(row, wants), []);
  const onSelectRow = useCallback((agent: string) => latest.current.select(agent), []);
  const month = new Date().toLocaleString("en", { month: "long" });
  return (
    <div
      className="org-tree"
      ref={box}
      role="treegrid"
      aria-label="Organization"
      aria-rowcount={rows.length + 2}
      onKeyDown={onKey}
    >
      <div className="orow ohead" role="row">
        {columns.map(([look, title]) => (
          <span key={title} className={look} role="columnheader">
            {title}
          </span>
        ))}
        <span className="sp" role="columnheader">
          <span />
          {month}
        </span>
      </div>
      <div className="orow oboard" role="row" aria-rowindex={2} aria-level={1}>
        <span className="who" role="gridcell">
          <span className="tw" />
          <Tile id="board" name="Board" kind="person" size="xs" />
          <b>Board</b>
          <span className="r cut">
            <Line text={people} />
          </span>
        </span>
        <span className="do" role="gridcell">
          <Link to="/settings/people" className="more">
            {texts.openPeople}
          </Link>
        </span>
      </div>
      <div role="rowgroup" className="orows" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start }) => {
          const row = rows[index];
          return (
            row && (
              <OutlineRow
                key={row.agent.id}
                agent={row.agent}
                depth={row.depth}
                reports={row.reports}
                index={index}
                top={start}
                isFolded={folded.has(row.agent.id)}
                isSelected={selected === row.agent.id}
                isDim={isDim(row.agent)}
                canFocus={index === at}
                onMenu={onMenu}
                onFold={onFoldRow}
                onSelect={onSelectRow}
              />
            )
          );
        })}
      </div>
    </div>
  );
});

const OutlineRow = memo(function OutlineRow({
  agent,
  depth,
  reports,
  index,
  top,
  isFolded,
  isSelected,
  isDim,
  canFocus,
  onFold,
  onSelect,
  onMenu,
}: {
  agent: Position;
  depth: number;
  reports: number;
  index: number;
  top: number;
  isFolded: boolean;
  isSelected: boolean;
  isDim: boolean;
  canFocus: boolean;
  onFold: (row: Branch, wants: boolean) => void;
  onSelect: (agent: string) => void;
  onMenu: ((id: string) => void) | undefined;
}): ReactNode {
  const state = stateOfAgent(agent);
  const { spentUsd, budgetUsd } = agent;
  return (
    <div
      className={`orow ${isSelected ? "sel" : ""} ${isDim ? "faint" : ""} ${state === "pending" ? "pend" : ""}`}
      role="row"
      data-row={index}
      data-agent={agent.id}
      data-about={`agent ${agent.id}`}
      data-beside={`agent ${agent.id}`}
      aria-rowindex={index + 3}
      aria-level={depth + 2}
      aria-expanded={reports > 0 ? !isFolded : undefined}
      aria-selected={isSelected}
      tabIndex={canFocus ? 0 : -1}
      style={{ transform: `translateY(${top}px)`, "--depth": depth }}
      onClick={() => onSelect(agent.id)}
    >
      <span className="who" role="gridcell" style={{ paddingInlineStart: 14 + (depth + indent) * 22 }}>
        <button
          type="button"
          className="tw"
          tabIndex={-1}
          aria-hidden={reports === 0}
          aria-label={isFolded ? "Unfold" : "Fold"}
          onClick={(event) => {
            event.stopPropagation();
            onFold({ agent, depth, reports }, !isFolded);
          }}
        >
          {reports > 0 && <Icon name={isFolded ? "right" : "down"} />}
        </button>
        <Tile id={agent.id} name={agent.name} {...tileOf(agent.status, agent.isPerson)} size="xs" />
        <b className="cut">
          <Line text={agent.name} />
        </b>
        <span className="r cut">
          <Line text={agent.role} />
        </span>
      </span>
      <span className="do" role="gridcell">
        <StatusMark mark={standingMarks[state]} label={texts.stateWords[state]} />
        <span className="cut">
          <Line text={agent.working?.on ?? agent.says} />
        </span>
        <MenuButton agent={agent} onMenu={onMenu} />
      </span>
      <Count value={agent.open} />
      <Count value={agent.blocked} bad />
      <Count value={agent.inbox} />
      <span className="sp num" role="gridcell">
        {budgetUsd !== null && budgetUsd > 0 ? (
          <Meter
            label={`${roundMoney(spentUsd ?? 0)} of ${roundMoney(budgetUsd)} spent`}
            parts={[
              {
                value: Math.min(spentUsd ?? 0, budgetUsd),
                ...((spentUsd ?? 0) >= budgetUsd && { tone: "hold" as const }),
              },
              { value: Math.max(0, budgetUsd - (spentUsd ?? 0)), tone: "none" },
            ]}
          />
        ) : (
          <span />
        )}
        <span>
          {roundMoney(spentUsd ?? 0)}
          {budgetUsd !== null && <i> of {roundMoney(budgetUsd)}</i>}
        </span>
      </span>
    </div>
  );
});

function Count({ value, bad = false }: { value: number; bad?: boolean }): ReactNode {
  return (
    <span className={`n num ${bad && value > 0 ? "bad" : ""}`} role="gridcell">
      {value === 0 ? "–" : value}
    </span>
  );
}

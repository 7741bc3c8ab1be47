import { useNavigate, useSearch } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { memo, type MouseEvent, type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { useBeside, WithPanel } from "../../ui/beside.tsx";
import { Icon } from "../../ui/icons.tsx";
import { useIsNarrow } from "../../ui/narrow.ts";
import { useKeys } from "../../ui/keys.ts";
import { isHeld, type MoveReason, useReasons } from "../../ui/reasons.ts";
import { standingOf, unowned } from "../../ui/standing.ts";
import { StatusMark } from "../../ui/status.tsx";
import { Age } from "../../ui/time.tsx";
import { WhyLine } from "../../ui/why.tsx";
import { AgentName } from "../../ui/agent-name.tsx";
import { Line } from "../../ui/words.tsx";
import { type GraphNode, type Leaf, type Searched, forestOf, rowsOfTree, shownOutcomes } from "./forest.ts";
import { NoMatch } from "./no-match.tsx";

const rowHeight = 34;
/** Two lines: the second names the owner, the time, and the reason why it does not move. */
const narrowHeight = 56;

/** The address names folded rows by the end of their ids, which is random. */
const endOf = (id: string): string => id.slice(-8);

/** The tree of outcomes: each is below the one it serves. Rows that don't move say why. */
export function OutcomeTree({ graph, matches }: Searched): ReactNode {
  const navigate = useNavigate();
  const search: { folded?: string } = useSearch({ strict: false });
  const folded = useMemo(() => {
    const ends = new Set(search.folded?.split(","));
    return new Set(graph.outcomes.filter(({ id }) => ends.has(endOf(id))).map(({ id }) => id));
  }, [graph, search.folded]);
  const [chosen, setChosen] = useState<string>();
  const scroll = useRef<HTMLDivElement>(null);
  const forest = useMemo(() => forestOf(graph.outcomes, graph.edges), [graph]);
  const sight = useMemo(() => shownOutcomes(forest, matches), [forest, matches]);
  const rows = useMemo(() => rowsOfTree(forest, sight, folded), [forest, sight, folded]);
  const height = useIsNarrow() ? narrowHeight : rowHeight;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => height,
    overscan: 12,
  });
  useEffect(() => virtual.measure(), [height]);
  const items = virtual.getVirtualItems();
  const reasons = useReasons(items.flatMap(({ index }) => rows[index]?.node ?? []));
  // A row that was far away is rendered only after the list has scrolled to it.
  const wanted = useRef<string>(undefined);
  useEffect(() => {
    const row = wanted.current === undefined ? null : document.getElementById(`o-${wanted.current}`);
    if (row === null) return;
    wanted.current = undefined;
    row.focus();
  });
  const at = Math.max(
    0,
    rows.findIndex(({ node }) => node.id === chosen),
  );
  const choose = (index: number): void => {
    const row = rows[Math.max(0, Math.min(rows.length - 1, index))];
    if (row === undefined) return;
    setChosen(row.node.id);
    virtual.scrollToIndex(rows.indexOf(row));
    wanted.current = row.node.id;
  };
  const fold = (row: Leaf<GraphNode> | undefined, isFolded: boolean): void => {
    if (row === undefined || !row.hasChildren) return;
    const next = new Set([...folded].map(endOf));
    if (isFolded) next.add(endOf(row.node.id));
    else next.delete(endOf(row.node.id));
    void navigate({
      to: ".",
      search: (now: object) => ({ ...now, folded: [...next].join(",") || undefined }),
      replace: true,
    });
  };
  const inTree = (act: () => void) => (): false | undefined => {
    if (scroll.current?.contains(document.activeElement) !== true && document.activeElement !== document.body)
      return false;
    act();
    return undefined;
  };
  const next = (step: number) => (): false | undefined =>
    inTree(() => choose(chosen === undefined ? 0 : at + step))();
  useKeys({
    j: next(1),
    k: next(-1),
    ArrowDown: next(1),
    ArrowUp: next(-1),
    ArrowLeft: inTree(() => fold(rows[at], true)),
    ArrowRight: inTree(() => fold(rows[at], false)),
    Home: inTree(() => choose(0)),
    End: inTree(() => choose(rows.length - 1)),
  });
  const choosing = useBeside("outcome");
  const beside = choosing.chosen?.id;
  const open = (id: string): void => void navigate({ to: `/outcomes/${id}` });
  const acts: RowActs = {
    choose: (event, id) => choosing.click({ kind: "outcome", id }, event),
    focus: setChosen,
    open,
    fold: (id, wants) =>
      fold(
        rows.find(({ node }) => node.id === id),
        wants,
      ),
  };
  const latest = useRef(acts);
  latest.current = acts;
  // The rows get functions that never change.
  const on = useMemo(
    (): RowActs => ({
      choose: (event, id) => latest.current.choose(event, id),
      focus: (id) => latest.current.focus(id),
      open: (id) => latest.current.open(id),
      fold: (id, wants) => latest.current.fold(id, wants),
    }),
    [],
  );
  if (rows.length === 0) return <NoMatch />;
  return (
    <WithPanel of={choosing} back={`#o-${beside ?? ""}`}>
      <div className="work" ref={scroll}>
        <div
          role="treegrid"
          aria-label="Outcomes"
          aria-rowcount={rows.length}
          className="outcome-tree"
          style={{ height: virtual.getTotalSize() }}
        >
          {items.map(({ index, start, key }) => {
            const row = rows[index];
            return (
              row && (
                <OutcomeRow
                  key={key}
                  node={row.node}
                  depth={row.depth}
                  hasChildren={row.hasChildren}
                  isFolded={row.isFolded}
                  matches={row.matches}
                  index={index}
                  top={start}
                  reason={reasons.get(row.node.id)}
                  isSelected={row.node.id === beside}
                  canFocus={index === at}
                  on={on}
                />
              )
            );
          })}
        </div>
      </div>
    </WithPanel>
  );
}

interface RowActs {
  readonly choose: (event: MouseEvent, id: string) => void;
  readonly focus: (id: string) => void;
  readonly open: (id: string) => void;
  readonly fold: (id: string, wants: boolean) => void;
}

/** Rendered again only if its own data changes. */
const OutcomeRow = memo(function OutcomeRow({
  node,
  depth,
  hasChildren,
  isFolded,
  matches,
  index,
  top,
  reason,
  isSelected,
  canFocus,
  on,
}: Leaf<GraphNode> & {
  index: number;
  top: number;
  reason: MoveReason | undefined;
  isSelected: boolean;
  canFocus: boolean;
  on: RowActs;
}): ReactNode {
  const { mark, label } = standingOf(node.status, reason?.state, node.blocked);
  return (
    <div
      id={`o-${node.id}`}
      data-about={`outcome ${node.id}`}
      role="row"
      aria-level={depth + 1}
      aria-rowindex={index + 1}
      aria-expanded={hasChildren ? !isFolded : undefined}
      tabIndex={canFocus ? 0 : -1}
      className={`grid-row outcome-row ${matches ? "" : "around"} ${isSelected ? "sel" : ""}`}
      style={{ transform: `translateY(${top}px)`, "--depth": Math.min(depth, 10) }}
      onClick={(event) => on.choose(event, node.id)}
      onFocus={() => on.focus(node.id)}
      onKeyDown={(event) => {
        if (event.key === "Enter" && event.target === event.currentTarget) on.open(node.id);
      }}
    >
      <div role="gridcell" className="what">
        <button
          type="button"
          tabIndex={-1}
          className={`twist ${hasChildren ? "" : "leaf"} ${isFolded ? "folded" : ""}`}
          aria-label={isFolded ? "Unfold" : "Fold"}
          aria-hidden={!hasChildren}
          onClick={(event) => {
            event.stopPropagation();
            on.fold(node.id, !isFolded);
          }}
        >
          <Icon name="down" />
        </button>
        <StatusMark mark={mark} label={label} />
        <span className="t cut">
          <Line text={node.title} />
        </span>
      </div>
      <div role="gridcell" className="second cut">
        {node.responsible === null ? (
          <span className="quiet">{unowned}</span>
        ) : (
          <AgentName of={node.responsible} isLink={false} />
        )}
      </div>
      <div role="gridcell" className="second r age">
        <Age since={node.createdAt} />
      </div>
      <div role="gridcell" className="second reason cut">
        {reason !== undefined && isHeld(reason.state, node.blocked) && (
          <WhyLine of={reason} title={node.title} />
        )}
      </div>
    </div>
  );
});

import { flextree } from "d3-flextree";
import { boundsOf, nearestRect, type Rect } from "../../ui/camera.ts";
import type { Position } from "./position.ts";

/**
 * The positions of everything on the map. A manager is a card. Its reports without reports are rows in the card. Teams are
 * below the card of their manager's manager, and the board is above all. A planned change is drawn at both places: rows leave
 * and arrive.
 */
export interface MapBox extends Rect {
  readonly key: string;
  readonly kind: "board" | "team" | "row";
  /** Null for the board. */
  readonly agent: Position | null;
  readonly depth: number;
  /** The number of its direct reports. */
  readonly reports: number;
  readonly planned: "leaves" | "arrives" | null;
}

export interface MapLayout {
  readonly boxes: readonly MapBox[];
  /** The lines from managers to teams, as one path. */
  readonly wires: string;
  readonly bounds: Rect;
}

/** A change that is planned but not applied: new managers by agent, and agents that leave. */
export interface PlannedPlaces {
  readonly arrives: ReadonlyMap<string, string>;
  readonly leaves: ReadonlySet<string>;
}

export const noPlan: PlannedPlaces = { arrives: new Map(), leaves: new Set() };

const cardWidth = 190;
const rowHeight = 38;
const headHeight = 46;
const footHeight = 26;
const gapX = 16;
const gapY = 46;

interface Team {
  readonly agent: Position | null;
  readonly rows: readonly { readonly agent: Position; readonly planned: MapBox["planned"] }[];
  readonly teams: readonly Team[];
  readonly depth: number;
  readonly reports: number;
  readonly columns: number;
  readonly perColumn: number;
  readonly w: number;
  readonly h: number;
}

export function layOut(agents: readonly Position[], plan: PlannedPlaces = noPlan): MapLayout {
  const root = teamsOf(agents, plan);
  const layout = flextree<Team>({
    children: ({ teams }) => teams,
    nodeSize: ({ data }) => [data.w + gapX, data.h + gapY],
  });
  const tree = layout.hierarchy(root);
  layout(tree);
  const boxes: MapBox[] = [];
  let wires = "";
  const tops = new Map<Team, { readonly x: number; readonly y: number }>();
  tree.each(({ data, x, y }) => {
    tops.set(data, { x, y });
    boxes.push(...boxesOf(data, x - data.w / 2, y, plan));
  });
  tree.each(({ data, x, y }) => {
    for (const below of data.teams) {
      const to = tops.get(below);
      if (to === undefined) continue;
      const bend = to.y - gapY / 2;
      wires += `M${x} ${y + data.h}V${bend}H${to.x}V${to.y}`;
    }
  });
  return { boxes, wires, bounds: boundsOf(boxes) };
}

function teamsOf(agents: readonly Position[], { arrives, leaves }: PlannedPlaces): Team {
  const known = new Map(agents.map((agent) => [agent.id, agent]));
  const below = new Map<string | null, Position[]>();
  const coming = new Map<string, Position[]>();
  for (const agent of agents) {
    const boss = agent.boss !== null && known.has(agent.boss.id) ? agent.boss.id : null;
    below.set(boss, [...(below.get(boss) ?? []), agent]);
    const to = arrives.get(agent.id);
    if (to !== undefined) coming.set(to, [...(coming.get(to) ?? []), agent]);
  }
  const isTeam = (id: string): boolean => below.has(id) || coming.has(id);
  const team = (agent: Position | null, depth: number): Team => {
    const reports = below.get(agent?.id ?? null) ?? [];
    const teams = reports
      .filter(({ id }) => agent === null || isTeam(id))
      .map((each) => team(each, depth + 1));
    const rows = [
      ...reports
        .filter(({ id }) => agent !== null && !isTeam(id))
        .map((each) => ({
          agent: each,
          planned: arrives.has(each.id) || leaves.has(each.id) ? ("leaves" as const) : null,
        })),
      ...(coming.get(agent?.id ?? "") ?? []).map((each) => ({ agent: each, planned: "arrives" as const })),
    ];
    // A long list is split into columns: a card stays about as wide as it is high.
    const perColumn = rows.length <= 14 ? rows.length : Math.max(12, Math.ceil(Math.sqrt(rows.length * 4)));
    const columns = Math.max(1, Math.ceil(rows.length / Math.max(1, perColumn)));
    return {
      agent,
      rows,
      teams,
      depth,
      reports: reports.length,
      columns,
      perColumn,
      w: agent === null || depth === 1 ? Math.max(216, columns * cardWidth) : columns * cardWidth,
      h:
        agent === null
          ? headHeight
          : headHeight + footHeight + (rows.length === 0 ? 0 : perColumn * rowHeight + 7),
    };
  };
  return team(null, 0);
}

function boxesOf(team: Team, x: number, y: number, { arrives, leaves }: PlannedPlaces): MapBox[] {
  const { agent, rows, w, h, depth, reports, perColumn, columns } = team;
  const id = agent?.id ?? "board";
  const isLeaving = agent !== null && (arrives.has(id) || leaves.has(id));
  const card: MapBox = {
    key: id,
    kind: agent === null ? "board" : "team",
    agent,
    x,
    y,
    w,
    h,
    depth,
    reports,
    planned: isLeaving ? "leaves" : null,
  };
  return [
    card,
    ...rows.map((row, at): MapBox => ({
      key: row.planned === "arrives" ? `${row.agent.id} arrives` : row.agent.id,
      kind: "row",
      agent: row.agent,
      x: x + Math.floor(at / perColumn) * (w / columns),
      y: y + headHeight + 4 + (at % perColumn) * rowHeight,
      w: w / columns,
      h: rowHeight,
      depth: depth + 1,
      reports: 0,
      planned: row.planned,
    })),
  ];
}

/** For a card, its head, which can have the focus. */
export const headBoxOf = (box: MapBox): MapBox => (box.kind === "row" ? box : { ...box, h: headHeight });

/** The next agent in a direction. */
export function nextBox(
  boxes: readonly MapBox[],
  from: MapBox,
  direction: "up" | "down" | "left" | "right",
): MapBox | undefined {
  const heads = boxes.filter((box) => box.agent !== null && box.planned !== "arrives").map(headBoxOf);
  return nearestRect(heads, headBoxOf(from), direction);
}

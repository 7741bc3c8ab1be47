import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useCallback, useMemo, useState } from "react";
import { shown } from "../../../contract/visible-text.ts";
import { useBeside, WithPanel } from "../../ui/beside.tsx";
import { farBelow } from "../../ui/camera.ts";
import { counted } from "../../ui/figures.tsx";
import { type MapDrawing, fitText, MapCanvas } from "../../ui/map-canvas.tsx";
import { type StateMark, stateMarks } from "../../ui/marks.ts";
import { useReasons } from "../../ui/reasons.ts";
import { standingOf, unowned } from "../../ui/standing.ts";
import type { GraphNode, Searched } from "./forest.ts";
import { NoMatch } from "./no-match.tsx";
import { layOutcomes, type PlacedItem, type Edge } from "./outcome-layout.ts";
import * as texts from "./texts.ts";

/** Outcomes from why at the left to how at the right. A click or Enter opens one in the panel. */
export function OutcomeMap({ graph, matches }: Searched): ReactNode {
  const navigate = useNavigate();
  const choosing = useBeside("outcome");
  const map = useMemo(() => layOutcomes(graph, matches), [graph, matches]);
  const [inView, setInView] = useState<readonly GraphNode[]>([]);
  const reasons = useReasons(inView);
  const standing = useCallback(
    (node: GraphNode) => standingOf(node.status, reasons.get(node.id)?.state, node.blocked),
    [reasons],
  );
  const selected = choosing.chosen?.id;
  const draw = (drawing: MapDrawing<PlacedItem>): void => {
    drawWires(drawing, map.wires);
    if (drawing.zoom < farBelow) drawFar(drawing, standing, selected);
    else for (const item of drawing.items) drawCard(drawing, item, standing(item.node), selected);
  };
  if (map.items.length === 0) return <NoMatch view="map" />;
  return (
    <WithPanel of={choosing} back=".map-canvas">
      <div className="map-frame">
        <MapCanvas
          label={texts.mapLabel(counted(map.items.length, "outcome"))}
          items={map.items}
          selected={selected}
          describe={({ node }) =>
            texts.mapItem(shown(node.title), standing(node).label, shown(node.responsible?.name ?? unowned))
          }
          draw={draw}
          onSelect={(id) => choosing.choose(id === undefined ? undefined : { kind: "outcome", id })}
          onOpen={(id) => void navigate({ to: `/outcomes/${id}` })}
          onRest={(items) => setInView(items.length > 100 ? [] : items.map(({ node }) => node))}
        />
        <p className="map-legend lab">{texts.mapLegend}</p>
      </div>
    </WithPanel>
  );
}

type Standing = (node: GraphNode) => ReturnType<typeof standingOf>;

function drawWires({ context, seen, zoom, colour }: MapDrawing<PlacedItem>, wires: readonly Edge[]): void {
  const bottom = seen.y + seen.h;
  const right = seen.x + seen.w;
  for (const [kind, token, dash] of [
    ["serves", "line-2", []],
    ["also", "line-2", [1, 4]],
    ["waits", "hold", [6, 5]],
  ] as const) {
    context.beginPath();
    for (const { from, to, kind: each } of wires) {
      if (each !== kind) continue;
      const [x1, y1, y2] = [from.x + from.w, from.y + from.h / 2, to.y + to.h / 2];
      const x2 = kind === "waits" ? to.x + to.w : to.x;
      if (Math.max(y1, y2) < seen.y || Math.min(y1, y2) > bottom || Math.min(x1, x2) > right) continue;
      const bend = kind === "waits" ? Math.max(x1, x2) + 24 : x2 - 24;
      context.moveTo(x1, y1);
      context.lineTo(bend, y1);
      context.lineTo(bend, y2);
      context.lineTo(x2, y2);
    }
    context.setLineDash(dash.map((part) => part / Math.max(zoom, 0.3)));
    context.strokeStyle = colour(token);
    context.lineWidth = 1.25 / Math.max(zoom, 0.25);
    context.stroke();
  }
  context.setLineDash([]);
}

const tones = { run: "run", idle: "ink-3", hold: "hold", stop: "stop", call: "call", done: "run" } as const;
const fills = {
  run: "run-fill",
  idle: "line-2",
  hold: "hold",
  stop: "stop",
  call: "call-fill",
  done: "line-2",
} as const;

/** Thousands of boxes at once, with one path for each colour. */
function drawFar(
  { context, items, colour, focused, zoom }: MapDrawing<PlacedItem>,
  standing: Standing,
  selected: string | undefined,
): void {
  const byTone = new Map<keyof typeof fills, PlacedItem[]>();
  for (const item of items) {
    const tone = stateMarks[standing(item.node).mark].tone;
    const same = byTone.get(tone);
    if (same === undefined) byTone.set(tone, [item]);
    else same.push(item);
  }
  for (const [tone, same] of byTone) {
    context.beginPath();
    for (const { x, y, w, h } of same) context.rect(x, y, w, h);
    context.fillStyle = colour(fills[tone]);
    context.fill();
  }
  for (const { id, x, y, w, h } of items) {
    if (id !== focused && id !== selected) continue;
    context.strokeStyle = colour("accent");
    context.lineWidth = 2 / zoom;
    context.strokeRect(x, y, w, h);
  }
}

function drawCard(
  { context, colour, focused }: MapDrawing<PlacedItem>,
  { id, x, y, w, h, node, matches }: PlacedItem,
  { mark, label }: ReturnType<typeof standingOf>,
  selected: string | undefined,
): void {
  const isChosen = id === selected;
  context.globalAlpha = matches ? 1 : 0.45;
  context.beginPath();
  context.roundRect(x, y, w, h, 8);
  context.fillStyle = colour(isChosen ? "accent-soft" : "card");
  context.fill();
  const isMarked = isChosen || id === focused;
  context.strokeStyle = colour(isMarked ? "accent" : "line-2");
  context.lineWidth = isMarked ? 2 : 1;
  context.stroke();
  drawMark(context, stateMarks[mark], colour(tones[stateMarks[mark].tone]), x + 10, y + 8);
  context.textBaseline = "alphabetic";
  context.font = "550 13px Geist, Inter, system-ui, sans-serif";
  context.fillStyle = colour("ink");
  context.fillText(fitText(context, lineOf(node.title), w - 42), x + 32, y + 19);
  context.font = "400 11.5px Geist, Inter, system-ui, sans-serif";
  context.fillStyle = colour("ink-3");
  const second = `${lineOf(node.responsible?.name ?? unowned)} · ${label}`;
  context.fillText(fitText(context, second, w - 42), x + 32, y + 35);
  context.globalAlpha = 1;
}

const paths = new Map<string, Path2D>();

function drawMark(
  context: CanvasRenderingContext2D,
  { parts }: StateMark,
  tone: string,
  x: number,
  y: number,
): void {
  context.save();
  context.translate(x, y);
  for (const { d, isFilled, isDashed, width } of parts) {
    const path = paths.get(d) ?? new Path2D(d);
    paths.set(d, path);
    context.setLineDash(isDashed ? [2.2, 2] : []);
    context.lineWidth = width ?? 1.6;
    context.strokeStyle = tone;
    context.fillStyle = tone;
    if (isFilled) context.fill(path);
    else context.stroke(path);
  }
  context.restore();
}

/** One line of an agent's text. Characters that run backwards are written as \uXXXX, as everywhere. */
const lineOf = (text: string): string => shown(text).replace(/\s+/g, " ");

import {
  type PointerEvent,
  type ReactNode,
  type RefObject,
  useCallback,
  useLayoutEffect,
  useRef,
} from "react";
import { type Camera, keptOnMap, type Rect, reveal, zoomed } from "./camera.ts";
import { Icon } from "./icons.tsx";
import { pointIn } from "./pointer.ts";
import "./pan-zoom.css";

/** The thing that a pressed pointer holds, if it is not the map. */
export interface Grip {
  readonly move: (event: PointerEvent<HTMLElement>) => void;
  readonly end: (isDropped: boolean) => void;
}

interface Scene {
  /** Everything on the map. */
  readonly bounds: () => Rect;
  /** The first view, also used to show everything. */
  readonly opening?: (bounds: Rect, width: number, height: number) => Camera;
  readonly fitting: (bounds: Rect, width: number, height: number) => Camera;
  /** Paints the map from this view. Returns true if the next frame has more to show. */
  readonly paint: (camera: Camera, width: number, height: number) => boolean;
  readonly grab?: (event: PointerEvent<HTMLElement>) => Grip | null;
}

export interface PanZoom {
  readonly frame: RefObject<HTMLDivElement | null>;
  readonly camera: RefObject<Camera | null>;
  /** True if the pointer has moved since it went down. Then it is not a click. */
  readonly isDragged: RefObject<boolean>;
  /** Paints in the next frame, however often it is called before. */
  readonly ask: () => void;
  readonly zoomBy: (factor: number) => void;
  readonly showAll: () => void;
  /** Brings an item into view, above the covered lower part. With `zooms`, large enough to be read. */
  readonly show: (item: Rect, zooms: boolean, covered?: number) => void;
  readonly pointer: Readonly<
    Record<
      "onPointerDown" | "onPointerMove" | "onPointerUp" | "onPointerCancel",
      (event: PointerEvent<HTMLElement>) => void
    >
  >;
}

/** How far a pointer moves before it drags. */
const threshold = 6;

/** Moves and zooms a map: with the wheel, one finger, two fingers, or keys. The map itself decides what to paint. */
export function usePanZoom(scene: Scene): PanZoom {
  const frame = useRef<HTMLDivElement>(null);
  const camera = useRef<Camera>(null);
  const latest = useRef(scene);
  latest.current = scene;
  const due = useRef(0);
  const isDragged = useRef(false);
  const down = useRef(new Map<number, { x: number; y: number }>());
  const start = useRef<{ x: number; y: number; grip: Grip | null }>(null);

  const paint = useCallback((): void => {
    due.current = 0;
    const box = frame.current;
    if (box === null || box.clientWidth === 0) return;
    const { bounds, opening, fitting, paint: show } = latest.current;
    const { clientWidth: w, clientHeight: h } = box;
    camera.current ??= (opening ?? fitting)(bounds(), w, h);
    if (show(camera.current, w, h)) ask();
  }, []);
  const ask = useCallback((): void => {
    if (due.current === 0) due.current = requestAnimationFrame(paint);
  }, [paint]);
  const move = useCallback(
    (change: (now: Camera, w: number, h: number) => Camera): void => {
      const box = frame.current;
      if (box === null || camera.current === null) return;
      const { clientWidth: w, clientHeight: h } = box;
      camera.current = keptOnMap(change(camera.current, w, h), latest.current.bounds(), w, h);
      ask();
    },
    [ask],
  );
  const panBy = (dx: number, dy: number): void => move((now) => ({ ...now, x: now.x + dx, y: now.y + dy }));

  useLayoutEffect(() => {
    const box = frame.current;
    if (box === null) return;
    // Paint the first picture together with the page.
    paint();
    const resized = new ResizeObserver(ask);
    resized.observe(box);
    // React's wheel listener can't keep the page from scrolling.
    const onWheel = (event: WheelEvent): void => {
      event.preventDefault();
      const { x, y } = pointIn(box, event);
      if (event.ctrlKey || event.metaKey) move((now) => zoomed(now, Math.exp(-event.deltaY * 0.01), x, y));
      else panBy(-event.deltaX, -event.deltaY);
    };
    box.addEventListener("wheel", onWheel, { passive: false });
    return () => {
      resized.disconnect();
      box.removeEventListener("wheel", onWheel);
      cancelAnimationFrame(due.current);
      due.current = 0;
    };
  }, []);

  const end = (event: PointerEvent<HTMLElement>, isDropped: boolean): void => {
    down.current.delete(event.pointerId);
    start.current?.grip?.end(isDropped && isDragged.current);
    start.current = null;
  };
  return {
    frame,
    camera,
    isDragged,
    ask,
    zoomBy: (factor) => move((now, w, h) => zoomed(now, factor, w / 2, h / 2)),
    showAll: () => move((_, w, h) => latest.current.fitting(latest.current.bounds(), w, h)),
    show: (item, zooms, covered = 0) => move((now, w, h) => reveal(now, item, w, h - covered, zooms)),
    pointer: {
      onPointerDown: (event) => {
        const { target, button } = event;
        if (button !== 0 || !(target instanceof Element) || target.closest(".zoom-keys") !== null) return;
        const { x, y } = pointIn(event.currentTarget, event);
        down.current.set(event.pointerId, { x, y });
        isDragged.current = false;
        start.current = { x, y, grip: latest.current.grab?.(event) ?? null };
      },
      onPointerMove: (event) => {
        const before = down.current.get(event.pointerId);
        const from = start.current;
        if (before === undefined || from === null) return;
        const { x, y } = pointIn(event.currentTarget, event);
        down.current.set(event.pointerId, { x, y });
        const [, other] = [...down.current].find(([id]) => id !== event.pointerId) ?? [];
        if (other !== undefined) {
          const span = (point: { x: number; y: number }): number =>
            Math.max(1, Math.hypot(point.x - other.x, point.y - other.y));
          isDragged.current = true;
          move((now) => zoomed(now, span({ x, y }) / span(before), other.x, other.y));
          return;
        }
        if (!isDragged.current && Math.hypot(x - from.x, y - from.y) < threshold) return;
        if (!isDragged.current) event.currentTarget.setPointerCapture(event.pointerId);
        isDragged.current = true;
        if (from.grip === null) panBy(x - before.x, y - before.y);
        else from.grip.move(event);
      },
      onPointerUp: (event) => end(event, true),
      onPointerCancel: (event) => end(event, false),
    },
  };
}

/** Buttons for the same actions as the wheel and the keys + - 0. */
export function ZoomKeys({ of: { zoomBy, showAll } }: { of: PanZoom }): ReactNode {
  return (
    <div className="zoom-keys" role="group" aria-label="Zoom">
      <button type="button" aria-label="Zoom in" onClick={() => zoomBy(1.25)}>
        <Icon name="plus" />
      </button>
      <button type="button" aria-label="Zoom out" onClick={() => zoomBy(0.8)}>
        <Icon name="minus" />
      </button>
      <button type="button" aria-label="Show all" onClick={showAll}>
        <Icon name="expand" />
      </button>
    </div>
  );
}

export const mapDirections: Readonly<Record<string, "up" | "down" | "left" | "right">> = {
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowLeft: "left",
  ArrowRight: "right",
  k: "up",
  j: "down",
};

/** Zooms if the key is one for zooming. Returns whether it was. */
export function zoomedByKey(key: string, { zoomBy, showAll }: PanZoom): boolean {
  if (key === "+" || key === "=") zoomBy(1.25);
  else if (key === "-") zoomBy(0.8);
  else if (key === "0") showAll();
  else return false;
  return true;
}

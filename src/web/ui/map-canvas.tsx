import { type KeyboardEvent, type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { boundsOf, type Camera, fitting, type MapItem, nearestRect, opening, type Rect } from "./camera.ts";
import { isOff } from "./keys.ts";
import { mapDirections, usePanZoom, zoomedByKey, ZoomKeys } from "./pan-zoom.tsx";
import { pointIn, textScale } from "./pointer.ts";
import { useScheme } from "./scheme.ts";
import "./map-canvas.css";

/** The drawing surface. The context uses the coordinates of the map. */
export interface MapDrawing<T> {
  readonly context: CanvasRenderingContext2D;
  /** The items in view. */
  readonly items: readonly T[];
  /** The part of the map in view. */
  readonly seen: Rect;
  readonly zoom: number;
  readonly colour: (token: string) => string;
  readonly focused: string | undefined;
}

/**
 * A picture of many things that can be moved and zoomed. It is drawn on a canvas, at most once per frame, so thousands of
 * things stay fast. One of them is focused: arrows move the focus, and `describe` gives screen readers its text.
 */
export function MapCanvas<T extends MapItem>({
  label,
  items,
  selected,
  describe,
  draw,
  onSelect,
  onOpen,
  onRest,
}: {
  label: string;
  items: readonly T[];
  selected: string | undefined;
  describe: (item: T) => string;
  draw: (drawing: MapDrawing<T>) => void;
  onSelect: (id: string) => void;
  onOpen: (id: string) => void;
  /** Called with the items in view when the map comes to rest. */
  onRest?: (items: readonly T[]) => void;
}): ReactNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  const bounds = useMemo(() => boundsOf(items), [items]);
  const scheme = useScheme();
  const [focused, setFocused] = useState(selected);
  const focus = items.find(({ id }) => id === (focused ?? selected)) ?? items[0];
  const latest = useRef({ items, draw, onRest, focus, scheme });
  latest.current = { items, draw, onRest, focus, scheme };
  const rest = useRef<ReturnType<typeof setTimeout>>(undefined);
  const colours = useRef<{ scheme: string; known: Map<string, string> }>({ scheme: "", known: new Map() });

  const colour = (token: string): string => {
    if (colours.current.scheme !== latest.current.scheme)
      colours.current = { scheme: latest.current.scheme, known: new Map() };
    const { known } = colours.current;
    const found = known.get(token);
    if (found !== undefined || canvas.current === null) return found ?? "";
    // Tokens differ by theme, and only a computed style has the actual colour.
    canvas.current.style.color = `var(--${token})`;
    const computed = getComputedStyle(canvas.current).color;
    known.set(token, computed);
    return computed;
  };
  const paint = (now: Camera, w: number, h: number): boolean => {
    const context = canvas.current?.getContext("2d");
    if (context == null) return false;
    const ratio = devicePixelRatio * textScale();
    if (context.canvas.width !== Math.round(w * ratio) || context.canvas.height !== Math.round(h * ratio)) {
      context.canvas.width = Math.round(w * ratio);
      context.canvas.height = Math.round(h * ratio);
    }
    const seen = { x: -now.x / now.k, y: -now.y / now.k, w: w / now.k, h: h / now.k };
    const visible = latest.current.items.filter(
      ({ x, y, w: width, h: height }) =>
        x + width > seen.x && x < seen.x + seen.w && y + height > seen.y && y < seen.y + seen.h,
    );
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, w, h);
    context.setTransform(ratio * now.k, 0, 0, ratio * now.k, ratio * now.x, ratio * now.y);
    latest.current.draw({
      context,
      items: visible,
      seen,
      zoom: now.k,
      colour,
      focused: latest.current.focus?.id,
    });
    clearTimeout(rest.current);
    rest.current = setTimeout(() => latest.current.onRest?.(visible), 150);
    return false;
  };
  const map = usePanZoom({
    bounds: () => bounds,
    opening: (all, w, h) => opening(focus, all, w, h),
    fitting,
    paint,
  });
  const { ask } = map;
  useEffect(ask);
  useEffect(() => {
    document.fonts.addEventListener("loadingdone", ask);
    return () => {
      document.fonts.removeEventListener("loadingdone", ask);
      clearTimeout(rest.current);
    };
  }, []);

  const itemAt = (event: { clientX: number; clientY: number }): T | undefined => {
    const now = map.camera.current;
    if (map.frame.current === null || now === null) return undefined;
    const at = pointIn(map.frame.current, event);
    const [x, y] = [(at.x - now.x) / now.k, (at.y - now.y) / now.k];
    return items.find((item) => x >= item.x && x <= item.x + item.w && y >= item.y && y <= item.y + item.h);
  };
  const goTo = (item: T | undefined): void => {
    if (item === undefined) return;
    setFocused(item.id);
    map.show(item, true);
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== event.currentTarget) return;
    if (isOff(event.key)) return;
    const direction = mapDirections[event.key];
    if (direction !== undefined && focus !== undefined) goTo(nearestRect(items, focus, direction));
    else if (event.key === "Home") goTo(items[0]);
    else if (event.key === "Enter" && focus !== undefined && selected === focus.id) onOpen(focus.id);
    else if ((event.key === "Enter" || event.key === " ") && focus !== undefined) onSelect(focus.id);
    else if (!zoomedByKey(event.key, map)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      ref={map.frame}
      className="map-canvas"
      role="application"
      aria-label={label}
      aria-describedby="map-focus"
      tabIndex={0}
      onKeyDown={onKey}
      {...map.pointer}
      onClick={(event) => {
        const item = map.isDragged.current || event.target !== canvas.current ? undefined : itemAt(event);
        if (item === undefined) return;
        setFocused(item.id);
        onSelect(item.id);
      }}
      onDoubleClick={(event) => {
        const item = event.target === canvas.current ? itemAt(event) : undefined;
        if (item !== undefined) onOpen(item.id);
      }}
    >
      <canvas ref={canvas} aria-hidden="true" />
      <p id="map-focus" className="vh" role="status">
        {focus !== undefined && describe(focus)}
      </p>
      <ZoomKeys of={map} />
    </div>
  );
}

const widths = new Map<string, string>();

/** As much of the text as fits. Measurements are cached. */
export function fitText(context: CanvasRenderingContext2D, text: string, width: number): string {
  const key = `${context.font} ${width} ${text}`;
  const known = widths.get(key);
  if (known !== undefined) return known;
  let fitted = text.slice(0, 200);
  if (context.measureText(fitted).width > width) {
    let [low, high] = [0, fitted.length];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (context.measureText(`${fitted.slice(0, middle)}…`).width <= width) low = middle;
      else high = middle - 1;
    }
    fitted = `${fitted.slice(0, low).trimEnd()}…`;
  }
  if (widths.size > 20_000) widths.clear();
  widths.set(key, fitted);
  return fitted;
}

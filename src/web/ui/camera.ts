/** The view of a map: a point (a, b) of the map is at (x + a·k, y + b·k) of the window. */
export interface Camera {
  readonly x: number;
  readonly y: number;
  readonly k: number;
}

export interface Rect {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

export interface MapItem extends Rect {
  readonly id: string;
}

/** Below this scale the words of a card can't be read, so the card shows less. */
export const farBelow = 0.4;

const margin = 32;
/** Room for the buttons that zoom, in the corner of the window. */
const sides = 56;
const clampZoom = (k: number): number => Math.min(2, Math.max(0.02, k));

export function boundsOf(items: readonly Rect[]): Rect {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const { x, y, w, h } of items) {
    left = Math.min(left, x);
    top = Math.min(top, y);
    right = Math.max(right, x + w);
    bottom = Math.max(bottom, y + h);
  }
  return items.length === 0
    ? { x: 0, y: 0, w: 1, h: 1 }
    : { x: left, y: top, w: right - left, h: bottom - top };
}

/** On a large screen a small map grows, but not beyond a size that can be read from afar. */
const largestFit = 1.5;
const fittingZoom = ({ w, h }: Rect, width: number, height: number): number =>
  clampZoom(Math.min(largestFit, (width - 2 * sides) / w, (height - 2 * margin) / h));

/** Shows everything, centred vertically. */
export function fitting(all: Rect, width: number, height: number): Camera {
  const k = fittingZoom(all, width, height);
  return {
    k,
    x: Math.max(margin, (width - all.w * k) / 2) - all.x * k,
    y: (height - all.h * k) / 2 - all.y * k,
  };
}

/** Shows everything, aligned with the top. */
export function hanging(all: Rect, width: number, height: number): Camera {
  const k = fittingZoom(all, width, height);
  return { k, x: (width - all.w * k) / 2 - all.x * k, y: margin / 2 - all.y * k };
}

/** Shows everything. If its words could not be read on a narrow screen, shows an item at the top, large enough to be read. */
export function hangingFrom(item: Rect | undefined, all: Rect, width: number, height: number): Camera {
  const whole = hanging(all, width, height);
  if (item === undefined || whole.k >= farBelow || width >= 760) return whole;
  const k = 0.7;
  return { k, x: width / 2 - (item.x + item.w / 2) * k, y: margin / 2 - item.y * k };
}

/**
 * Shows everything if its words can be read. Otherwise shows one item in the middle, or as near to it as the left end of the
 * map allows.
 */
export function opening(item: Rect | undefined, all: Rect, width: number, height: number): Camera {
  const whole = fitting(all, width, height);
  if (item === undefined || whole.k >= 0.7) return whole;
  const k = 0.85;
  return {
    k,
    x: Math.min(margin - all.x * k, width / 2 - (item.x + item.w / 2) * k),
    y: height / 2 - (item.y + item.h / 2) * k,
  };
}

/** Zooms in or out. The given point of the window stays in place. */
export function zoomed(from: Camera, factor: number, x: number, y: number): Camera {
  const k = clampZoom(from.k * factor);
  return { k, x: x - ((x - from.x) / from.k) * k, y: y - ((y - from.y) / from.k) * k };
}

/** Keeps a part of the map in view. */
export function keptOnMap({ x, y, k }: Camera, all: Rect, width: number, height: number): Camera {
  const least = 80;
  const within = (at: number, from: number, length: number, room: number): number =>
    Math.min(room - least - from * k, Math.max(least - (from + length) * k, at));
  return { k, x: within(x, all.x, all.w, width), y: within(y, all.y, all.h, height) };
}

/** Moves as little as needed to show the item and, if `zooms`, to make it large enough to be read. */
export function reveal(from: Camera, item: Rect, width: number, height: number, zooms: boolean): Camera {
  const near =
    zooms && from.k < 0.5
      ? zoomed(from, 0.8 / from.k, from.x + (item.x + item.w / 2) * from.k, from.y + item.y * from.k)
      : from;
  const off = (start: number, end: number, length: number): number =>
    start < margin ? margin - start : end > length - margin ? length - margin - end : 0;
  return {
    ...near,
    x: near.x + off(item.x * near.k + near.x, (item.x + item.w) * near.k + near.x, width),
    y: near.y + off(item.y * near.k + near.y, (item.y + item.h) * near.k + near.y, height),
  };
}

/** The next item in a direction: near, and nearly straight ahead. */
export function nearestRect<T extends Rect>(
  items: readonly T[],
  from: T,
  direction: "up" | "down" | "left" | "right",
): T | undefined {
  const isUpright = direction === "up" || direction === "down";
  const sign = direction === "down" || direction === "right" ? 1 : -1;
  const centre = ({ x, y, w, h }: Rect): [number, number] => [x + w / 2, y + h / 2];
  const [cx, cy] = centre(from);
  let best: T | undefined;
  let least = Infinity;
  for (const item of items) {
    const [x, y] = centre(item);
    const ahead = sign * (isUpright ? y - cy : x - cx);
    const aside = Math.abs(isUpright ? x - cx : y - cy);
    const score = ahead + aside * 2.5;
    if (ahead <= 1 || score >= least) continue;
    best = item;
    least = score;
  }
  return best;
}

import { type RefObject, useEffect, useRef, useState } from "react";
import { farBelow, hanging, hangingFrom } from "../../ui/camera.ts";
import { type PanZoom, usePanZoom } from "../../ui/pan-zoom.tsx";
import type { AgentDrag } from "./agent-drag.ts";
import type { MapLayout } from "./map-layout.ts";

/** The most boxes that are added in one frame: a big organization appears over a few frames instead of in one long one. */
const mostNewBoxes = 60;
const margin = 120;

export interface MapWindow extends PanZoom {
  readonly layer: RefObject<HTMLDivElement | null>;
  /** The keys of the rendered boxes, which are those in view. */
  readonly seen: ReadonlySet<string>;
  readonly isFar: boolean;
}

/** The part of the map in view. Moving changes one transform, and boxes are rendered only when they come into view. */
export function useMapWindow(layout: MapLayout, grab: AgentDrag["grab"]): MapWindow {
  const layer = useRef<HTMLDivElement>(null);
  const rendered = useRef<ReadonlySet<string>>(new Set());
  const [seen, setSeen] = useState<ReadonlySet<string>>(new Set());
  const [isFar, setFar] = useState(false);
  const map = usePanZoom({
    bounds: () => layout.bounds,
    opening: (all, w, h) => hangingFrom(layout.boxes[0], all, w, h),
    fitting: hanging,
    grab,
    paint: ({ x, y, k }, w, h) => {
      if (layer.current !== null) layer.current.style.transform = `translate(${x}px, ${y}px) scale(${k})`;
      setFar(k < farBelow);
      const inView = layout.boxes.filter(
        (box) =>
          (box.x + box.w) * k + x > -margin &&
          box.x * k + x < w + margin &&
          (box.y + box.h) * k + y > -margin &&
          box.y * k + y < h + margin &&
          (k >= farBelow || box.kind !== "row"),
      );
      const next = new Set<string>();
      let added = 0;
      for (const { key } of inView) if (rendered.current.has(key) || added++ < mostNewBoxes) next.add(key);
      if (next.size !== rendered.current.size || [...next].some((key) => !rendered.current.has(key))) {
        rendered.current = next;
        setSeen(next);
      }
      return added > mostNewBoxes;
    },
  });
  useEffect(map.ask, [layout]);
  return { ...map, layer, seen, isFar };
}

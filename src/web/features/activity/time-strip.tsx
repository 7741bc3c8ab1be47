import { type PointerEvent, type ReactNode, useState } from "react";
import { Button } from "../../ui/buttons.tsx";
import { fullTime } from "../../ui/time.tsx";
import { longSpan } from "./spans.ts";
import * as texts from "./texts.ts";
import { timeScale } from "./time-scale.ts";

const bars = 72;

/**
 * The times of the shown entries. Dragging over the strip chooses a time range; the two fields beside it do the same by
 * keyboard.
 */
export function TimeStrip({
  times,
  from,
  to,
  onChoose,
}: {
  times: readonly number[];
  from: number | undefined;
  to: number | undefined;
  onChoose: (range: { readonly from: number; readonly to: number } | null) => void;
}): ReactNode {
  const [dragged, setDragged] = useState<readonly [number, number]>();
  const start = from ?? Math.min(...times);
  const end = Math.max(to ?? Math.max(...times), start + 1000);
  if (times.length === 0 && from === undefined) return null;
  const counts = Array.from({ length: bars }, () => 0);
  const scale = timeScale(times, start, end);
  for (const time of times) {
    const at = Math.min(bars - 1, Math.max(0, Math.floor(scale.shareOf(time) * bars)));
    counts[at] = (counts[at] ?? 0) + 1;
  }
  const most = Math.max(1, ...counts);
  const shareAt = ({ clientX, currentTarget }: PointerEvent<HTMLElement>): number => {
    const { left, width } = currentTarget.getBoundingClientRect();
    return Math.min(1, Math.max(0, (clientX - left) / width));
  };
  const drop = (): void => {
    setDragged(undefined);
    if (dragged === undefined) return;
    const [a, b] = dragged.toSorted((one, other) => one - other);
    if (a === undefined || b === undefined || b - a < 0.005) return;
    onChoose({ from: scale.timeAt(a), to: scale.timeAt(b) });
  };
  const [low, high] = dragged === undefined ? [0, 0] : dragged.toSorted((one, other) => one - other);
  return (
    <div className="time-strip">
      <div
        className="bars"
        role="img"
        aria-label={texts.spread(times.length, fullTime(start), fullTime(end))}
        title={texts.dragRange}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          setDragged([shareAt(event), shareAt(event)]);
        }}
        onPointerMove={(event) => {
          const share = shareAt(event);
          setDragged((known) => known && [known[0], share]);
        }}
        onPointerUp={drop}
        onPointerCancel={() => setDragged(undefined)}
      >
        {counts.map((count, at) => (
          <i key={at} style={{ height: count === 0 ? 1 : 3 + (count / most) * 23 }} />
        ))}
        {scale.gaps.map(({ share, milliseconds }) => (
          <b key={share} style={{ left: `${share * 100}%` }} title={texts.gap(longSpan(milliseconds))} />
        ))}
        {dragged !== undefined && (
          <span
            className="range"
            style={{ left: `${(low ?? 0) * 100}%`, width: `${((high ?? 0) - (low ?? 0)) * 100}%` }}
          />
        )}
      </div>
      <span className="lab num">{fullTime(start)}</span>
      <span className="lab num end">{fullTime(end)}</span>
      {(from !== undefined || to !== undefined) && (
        <Button look="ghost" icon="cross" onClick={() => onChoose(null)}>
          {texts.allTimes}
        </Button>
      )}
    </div>
  );
}

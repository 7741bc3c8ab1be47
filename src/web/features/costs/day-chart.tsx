import { type ReactNode, useEffect, useRef } from "react";
import UPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { money, roundMoney } from "../../ui/figures.tsx";
import { useScheme } from "../../ui/scheme.ts";
import { Line } from "../../ui/words.tsx";
import { type CostDay, seriesOf } from "./series.ts";
import * as texts from "./texts.ts";

/**
 * One bar for each day, stacked by the agents that spent most, and the sum so far as a line. In the present month a dashed line
 * continues at the present pace. The text of the figure says the same.
 */
export function DayChart({
  days,
  month,
  today,
  limit,
}: {
  days: readonly CostDay[];
  month: string;
  /** The day of the month, if the month has not ended. */
  today: number | undefined;
  limit: number | null;
}): ReactNode {
  const place = useRef<HTMLDivElement>(null);
  const legend = useRef<HTMLElement>(null);
  const scheme = useScheme();
  const { names, layers, length, sums, pace } = seriesOf(days, month, today);
  const top = Math.max(...sums.map((sum) => sum ?? 0), ...pace.map((sum) => sum ?? 0), 0.000_001);
  // A budget far above the spending would make everything else too small.
  const showsLimit = limit !== null && limit > 0 && limit < top * 3;
  const drawn = JSON.stringify([layers, sums, pace, limit, scheme]);
  useEffect(() => {
    const box = place.current;
    const swatches = [...(legend.current?.querySelectorAll("i") ?? [])];
    if (box === null) return;
    // The style sheet knows the colours of each theme. The canvas gets the colours of the present theme.
    const colour = (at: number): string => {
      const swatch = swatches[at];
      return swatch === undefined ? "" : getComputedStyle(swatch).backgroundColor;
    };
    const styleOf = getComputedStyle(box);
    const ink = styleOf.color;
    const line = styleOf.borderTopColor;
    const bars = UPlot.paths.bars?.({ size: [0.72, 26, 2], radius: 0.12 });
    const font = "11px Geist, system-ui, sans-serif";
    const axis = { stroke: ink, font, ticks: { show: false } };
    const height = box.clientWidth < 480 ? 190 : 240;
    const chart = new UPlot(
      {
        width: box.clientWidth,
        height,
        padding: [8, 8, 0, 8],
        cursor: { drag: { x: false, y: false }, points: { show: false }, y: false },
        legend: { show: false },
        scales: {
          x: { time: false, range: [0.4, length + 0.6] },
          usd: { range: (_, __, most) => [0, Math.max(most, 0.000_001) * 1.08] },
          sum: { range: [0, Math.max(top, showsLimit ? limit : 0) * 1.08] },
        },
        axes: [
          {
            ...axis,
            size: 26,
            grid: { show: false },
            splits: () => [1, ...Array.from({ length: Math.floor(length / 5) }, (_, at) => (at + 1) * 5)],
          },
          {
            ...axis,
            scale: "usd",
            grid: { stroke: line, width: 1 },
            size: 58,
            values: (_, splits) => splits.map(splits.every(Number.isInteger) ? roundMoney : money),
          },
          {
            ...axis,
            scale: "sum",
            side: 1,
            grid: { show: false },
            size: 58,
            values: (_, splits) => splits.map(splits.every(Number.isInteger) ? roundMoney : money),
          },
        ],
        series: [
          {},
          ...layers.map((_, at) => ({
            scale: "usd",
            fill: colour(at),
            width: 0,
            points: { show: false },
            ...(bars && { paths: bars }),
          })),
          { scale: "sum", stroke: ink, width: 1.75, points: { show: false } },
          { scale: "sum", stroke: ink, width: 1.5, dash: [4, 4], points: { show: false } },
          {
            scale: "sum",
            stroke: colour(layers.length + 2),
            width: 1.5,
            dash: [2, 3],
            points: { show: false },
          },
        ],
      },
      [
        Array.from({ length }, (_, at) => at + 1),
        ...layers,
        sums,
        pace,
        Array.from({ length }, () => (showsLimit ? limit : null)),
      ],
      box,
    );
    const resized = new ResizeObserver(() => chart.setSize({ width: box.clientWidth, height }));
    resized.observe(box);
    return () => {
      resized.disconnect();
      chart.destroy();
    };
    // The chart is made again only when its content changes.
  }, [drawn]);
  return (
    <figure className="box cost-days">
      <p className="lab chart-sides" aria-hidden="true">
        <span>{texts.aDay}</span>
        <span>{texts.soFar}</span>
      </p>
      <div
        ref={place}
        className="day-chart"
        role="img"
        aria-label={texts.chartSays(days.map(({ day, total }) => `${day} ${money(total.costUsd)}`))}
      />
      <figcaption ref={legend}>
        {names.map((name, at) => (
          <span key={at}>
            <i className={name === undefined ? "" : `s${at}`} />
            {name === undefined ? texts.others : <Line text={name} />}
          </span>
        ))}
        <span>
          <i className="rule" />
          {texts.soFar}
        </span>
        {today !== undefined && (
          <span>
            <i className="rule dashed" />
            {texts.atThisPace}
          </span>
        )}
        {showsLimit && (
          <span>
            <i className="rule limit" />
            {texts.budget(roundMoney(limit))}
          </span>
        )}
      </figcaption>
    </figure>
  );
}

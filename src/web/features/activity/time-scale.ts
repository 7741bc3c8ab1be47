/** A time line on which long gaps take little room. Positions go from 0 at its start to 1 at its end. */
export interface TimeScale {
  readonly shareOf: (time: number) => number;
  readonly timeAt: (share: number) => number;
  /** The shortened gaps: their positions and their lengths. */
  readonly gaps: readonly { readonly share: number; readonly milliseconds: number }[];
}

/** A gap that would take more than this share of the line, or of its rest, is shortened. */
const longGap = 1 / 12;
const gapShare = 0.02;

interface Stretch {
  readonly from: number;
  readonly to: number;
  /** The room for it, in milliseconds of the parts that are not shortened. */
  readonly room: number;
  readonly isGap: boolean;
}

export function timeScale(times: readonly number[], start: number, end: number): TimeScale {
  const points = [
    start,
    ...times.filter((time) => time > start && time < end).toSorted((a, b) => a - b),
    end,
  ];
  const steps = points.slice(1).map((to, at) => ({ from: points[at] ?? start, to }));
  // Looks at the steps from the longest to the shortest. A step is a gap if it takes a large part of the sum of itself and
  // all shorter steps.
  const isLong = new Set<number>();
  let left = end - start;
  for (const { from, to } of steps.toSorted((a, b) => b.to - b.from - (a.to - a.from))) {
    if (to - from <= left * longGap || to - from < 60_000) break;
    isLong.add(from);
    left -= to - from;
  }
  const gapRoom = Math.max(left, 1000) * gapShare;
  const stretches = steps.map(({ from, to }): Stretch => {
    const isGap = isLong.has(from);
    return { from, to, isGap, room: isGap ? gapRoom : to - from };
  });
  const all = stretches.reduce((sum, { room }) => sum + room, 0);
  let sum = 0;
  const placed = stretches.map((stretch) => {
    const share = sum / all;
    sum += stretch.room;
    return { ...stretch, share, width: stretch.room / all };
  });
  return {
    shareOf: (time) => {
      const of = placed.findLast(({ from }) => from <= time) ?? placed[0];
      if (of === undefined || of.to === of.from) return 0;
      return Math.min(1, of.share + ((time - of.from) / (of.to - of.from)) * of.width);
    },
    timeAt: (share) => {
      const of = placed.findLast((each) => each.share <= share) ?? placed[0];
      if (of === undefined || of.width === 0) return start;
      return of.from + Math.min(1, (share - of.share) / of.width) * (of.to - of.from);
    },
    gaps: placed.flatMap(({ isGap, share, width, from, to }) =>
      isGap ? [{ share: share + width / 2, milliseconds: to - from }] : [],
    ),
  };
}

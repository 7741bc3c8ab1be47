/** The days of a month for a chart: stacked bars as cumulative sums, the sum so far, and its forecast. */
export interface CostDay {
  readonly day: string;
  readonly total: { readonly costUsd: number };
  readonly agents: readonly { readonly id: string; readonly name: string; readonly costUsd: number }[];
}

export interface CostSeries {
  /** The name of each layer. Undefined for everyone else. */
  readonly names: readonly (string | undefined)[];
  /** The first layer is the highest: each layer contains the ones after it. */
  readonly layers: readonly (number | null)[][];
  readonly length: number;
  readonly sums: (number | null)[];
  readonly pace: (number | null)[];
}

export const daysIn = (month: string): number =>
  new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 0)).getUTCDate();

export function seriesOf(days: readonly CostDay[], month: string, today: number | undefined): CostSeries {
  const length = daysIn(month);
  const byDay = new Map(days.map((day) => [Number(day.day.slice(8)), day]));
  const spent = new Map<string, { name: string; usd: number }>();
  for (const { agents } of days)
    for (const { id, name, costUsd } of agents)
      spent.set(id, { name, usd: (spent.get(id)?.usd ?? 0) + costUsd });
  const top = [...spent].filter(([, { usd }]) => usd > 0).toSorted(([, a], [, b]) => b.usd - a.usd);
  const all = days.reduce((sum, { total }) => sum + total.costUsd, 0);
  const known = top.reduce((sum, [, { usd }]) => sum + usd, 0);
  const hasOthers = all - known > 0.000_001;
  const at = (day: number): readonly number[] => {
    const of = byDay.get(day);
    const parts = top.map(([id]) => of?.agents.find((agent) => agent.id === id)?.costUsd ?? 0);
    const rest = (of?.total.costUsd ?? 0) - parts.reduce((sum, part) => sum + part, 0);
    return hasOthers ? [...parts, Math.max(0, rest)] : parts;
  };
  const columns = Array.from({ length }, (_, index) => at(index + 1));
  const count = top.length + (hasOthers ? 1 : 0);
  const layers = Array.from({ length: count }, (_, layer) =>
    columns.map((parts) => parts.slice(layer).reduce((sum, part) => sum + part, 0) || null),
  );
  let sum = 0;
  const end = today ?? length;
  const sums = columns.map((parts, index) => {
    sum += parts.reduce((total, part) => total + part, 0);
    return index < end ? sum : null;
  });
  return {
    names: [...top.map(([, { name }]) => name), ...(hasOthers ? [undefined] : [])],
    layers,
    length,
    sums,
    pace: columns.map((_, index) =>
      today === undefined || index + 1 < today ? null : (all / today) * (index + 1),
    ),
  };
}

/** A figure: what was measured, what the raw loop beside it reached, and how it changes with ten times the rows. */
export interface Figure {
  readonly name: string;
  readonly store: "sqlite" | "postgres";
  readonly unit: "/s" | "ms" | "MB" | "%";
  /** With the larger number of rows. */
  readonly value: number;
  readonly rows?: string;
  /** With a tenth of the rows. */
  readonly small?: number;
  readonly baseline?: {
    readonly what: string;
    readonly value: number;
    /** With a tenth of the rows, where the raw loop runs on them. */
    readonly small?: number;
  };
  readonly aim?: Aim;
}

/** At least or at most this much; `of` the baseline or by itself. */
export interface Aim {
  readonly atLeast?: number;
  readonly atMost?: number;
  readonly of?: "baseline";
}

export const growthAim = 1.5;

/** How many times as long it takes with ten times the rows. */
export function growthOf(figure: Figure): number | undefined {
  if (figure.small === undefined) return undefined;
  return figure.unit === "/s" ? figure.small / figure.value : figure.value / figure.small;
}

/** Against the raw loop: 1 is as fast, 0.5 half as fast. Of sizes, how many times as large. */
export function ratioOf(figure: Figure): number | undefined {
  if (figure.baseline === undefined) return undefined;
  return figure.unit === "ms" ? figure.baseline.value / figure.value : figure.value / figure.baseline.value;
}

export function isMet({ aim, value, ...figure }: Figure): boolean | undefined {
  if (aim === undefined) return undefined;
  const measured = aim.of === "baseline" ? (ratioOf({ ...figure, value }) ?? Number.NaN) : value;
  return measured >= (aim.atLeast ?? -Infinity) && measured <= (aim.atMost ?? Infinity);
}

/** Aims are judged only where sizes and slices are those they were set for. */
export function asTable(figures: readonly Figure[], isJudged: boolean): string {
  const head = ["figure", "rows", "value", "aim", "", "raw loop", "ratio", "growth ×10", ""];
  const lines = figures.map((figure) => {
    const growth = growthOf(figure);
    const ratio = ratioOf(figure);
    const met = isJudged ? isMet(figure) : undefined;
    return [
      figure.store === "sqlite" ? figure.name : `${figure.name} (${figure.store})`,
      figure.rows ?? "",
      amount(figure.value, figure.unit),
      figure.aim === undefined ? "" : describe(figure.aim, figure.unit),
      met === undefined ? "" : met ? "ok" : "MISSED",
      figure.baseline === undefined
        ? ""
        : `${amount(figure.baseline.value, figure.unit)} ${figure.baseline.what}`,
      ratio === undefined ? "" : ratio.toFixed(2),
      growth === undefined ? "" : `${growth.toFixed(2)}×${rawGrowth(figure)}`,
      growth === undefined || !isJudged ? "" : growth <= growthAim ? "ok" : "MISSED",
    ];
  });
  const widths = head.map((title, column) =>
    Math.max(title.length, ...lines.map((line) => line[column]?.length ?? 0)),
  );
  return [head, widths.map((width) => "─".repeat(width)), ...lines]
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** What more rows cost the raw loop, nothing can be faster than. */
function rawGrowth({ baseline, unit }: Figure): string {
  if (baseline?.small === undefined) return "";
  const growth = unit === "/s" ? baseline.small / baseline.value : baseline.value / baseline.small;
  return ` (raw ${growth.toFixed(2)}×)`;
}

function amount(value: number, unit: Figure["unit"]): string {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  const text = value.toFixed(digits).replace(/\B(?=(\d{3})+(?!\d)(?=\.|$))/g, ",");
  return unit === "/s" ? `${text}/s` : `${text} ${unit}`;
}

function describe(aim: Aim, unit: Figure["unit"]): string {
  const bound = aim.atLeast ?? aim.atMost ?? 0;
  return `${aim.atLeast === undefined ? "≤" : "≥"} ${
    aim.of === "baseline" ? `${bound.toFixed(2)} of raw` : amount(bound, unit)
  }`;
}

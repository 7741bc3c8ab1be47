/** A measured value, the value of the raw loop next to it, and the value with a tenth of the rows. */
export interface Figure {
  readonly name: string;
  readonly store: "sqlite" | "postgres";
  readonly unit: "/s" | "ms" | "MB" | "%" | "tokens" | "statements" | "sessions" | "calls" | "kB";
  /** With the larger number of rows. */
  readonly value: number;
  readonly rows?: string;
  /** With a tenth of the rows. */
  readonly small?: number;
  readonly baseline?: {
    readonly what: string;
    readonly value: number;
    /** With a tenth of the rows, if the raw loop depends on them. */
    readonly small?: number;
  };
  readonly aim?: Aim;
}

/** A lower or upper bound, either absolute or as a multiple of the baseline. */
export interface Aim {
  readonly atLeast?: number;
  readonly atMost?: number;
  readonly of?: "baseline";
}

export const growthAim = 1.5;

/** The factor by which ten times the rows slow it down. */
export function growthOf(figure: Figure): number | undefined {
  if (figure.small === undefined) return undefined;
  return figure.unit === "/s" ? figure.small / figure.value : figure.value / figure.small;
}

/** The value relative to the raw loop: 1 is as fast, 0.5 is half as fast. For sizes, 2 is twice as large. */
export function ratioOf(figure: Figure): number | undefined {
  if (figure.baseline === undefined) return undefined;
  return figure.unit === "ms" ? figure.baseline.value / figure.value : figure.value / figure.baseline.value;
}

export function isMet({ aim, value, ...figure }: Figure): boolean | undefined {
  if (aim === undefined) return undefined;
  const measured = aim.of === "baseline" ? (ratioOf({ ...figure, value }) ?? Number.NaN) : value;
  return measured >= (aim.atLeast ?? -Infinity) && measured <= (aim.atMost ?? Infinity);
}

/** Prints the figures as a table. Aims are judged only in a full run, because they were set for its sizes. */
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

/** The growth of the raw loop itself, which is a lower bound for ours. */
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

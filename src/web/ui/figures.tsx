import type { ReactNode } from "react";

const dollars = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" });
const wholeDollars = new Intl.NumberFormat("en-US", {
  style: "currency",
  currency: "USD",
  maximumFractionDigits: 0,
});
const plain = new Intl.NumberFormat("en-US");
const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
const plural = new Intl.PluralRules("en");

/** $12.00, or $0.0042 for less than a cent. */
export function money(usd: number): string {
  if (usd > 0 && usd < 0.01) return `$${usd.toFixed(4)}`;
  return dollars.format(usd);
}

/** $148, for places where cents don't matter. */
export const roundMoney = (usd: number): string =>
  usd > 0 && usd < 10 && !Number.isInteger(usd) ? money(usd) : wholeDollars.format(usd);

export const figure = (value: number): string => plain.format(value);

/** 41k */
export const tokens = (value: number): string => compact.format(value).replace("K", "k");

/** "1 outcome", "3 outcomes". */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${figure(value)} ${plural.select(value) === "one" ? one : many}`;
}

export interface Share {
  readonly value: number;
  readonly tone?: "run" | "call" | "hold" | "stop" | "soft" | "down" | "new" | "none";
}

/** Parts of a whole as one bar. The label says the same as text. */
export function Meter({ parts, label }: { parts: readonly Share[]; label: string }): ReactNode {
  return (
    <div className="meter" role="img" aria-label={label} title={label}>
      {parts
        .filter(({ value }) => value > 0)
        .map(({ value, tone = "" }, at) => (
          <i key={at} className={tone} style={{ flex: value }} />
        ))}
    </div>
  );
}

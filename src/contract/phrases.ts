/** The wording of counts and amounts in every text of the product. */

/** "1 session", "2 sessions". */
export const plural = (count: number, noun: string, many = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : many}`;

/** "just now", "20 seconds ago", "3 minutes ago" */
export function timeAgo(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000);
  if (seconds < 5) return "just now";
  if (seconds < 60) return `${seconds} seconds ago`;
  if (seconds < 3600) return `${plural(Math.floor(seconds / 60), "minute")} ago`;
  if (seconds < 86_400) return `${plural(Math.floor(seconds / 3600), "hour")} ago`;
  return `${plural(Math.floor(seconds / 86_400), "day")} ago`;
}

/** Each line marked as a quotation. No line of it can pass for a line of Agency, or for a directive. */
export const quoteBlock = (text: string): string =>
  text
    .trimEnd()
    .split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/u)
    .map((line) => `> ${line}`)
    .join("\n");

/** A quotation under its author and kind: "Ada's reason:" and the quoted text. */
export const quotation = (author: string, kind: string, text: string): string =>
  `${author.slice(0, 1).toUpperCase()}${author.slice(1)}'s ${kind}:\n${quoteBlock(text)}`;

const cents = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** "$1,000.00" */
export const dollars = (amount: number): string => `$${cents.format(amount)}`;

/** Tokens as "940", "41k", "1.2M" or "1B". */
export function thousands(count: number): string {
  if (count < 1000) return String(count);
  if (count < 999_500) return `${Math.round(count / 1000)}k`;
  return count < 999_950_000
    ? `${Math.round(count / 100_000) / 10}M`
    : `${Math.round(count / 100_000_000) / 10}B`;
}

/** A limit or the rest of it, never rounded: "$5.00", "41k tokens", "1,234 tokens", "1 session". */
export function measuredAmount(measure: "usd" | "tokens" | "sessions", amount: number): string {
  if (measure === "usd") return dollars(amount);
  const [size, letter] = sizes.find(([least]) => amount >= least) ?? [1, ""];
  const isShort = (amount * 10) % size === 0;
  const shown = isShort ? `${amount / size}${letter}` : grouped.format(amount);
  return `${shown} ${amount === 1 ? measure.slice(0, -1) : measure}`;
}

const sizes: readonly (readonly [number, string])[] = [
  [1e9, "B"],
  [1e6, "M"],
  [1e3, "k"],
];

/** Where to find the events of removed months that a list would have shown. */
export const removedSentences = (months: readonly { month: string; file: string }[]): string[] =>
  months.map(
    ({ month, file }) =>
      `The events of ${month} were exported to ${file} and removed. Events of open work are still here.`,
  );

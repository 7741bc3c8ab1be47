/** How counts and amounts read in every text of the product. */

/** "1 session", "2 sessions". */
export const plural = (count: number, noun: string, many = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : many}`;

/** How the notice about refused directives begins. The rehearsal brain recognizes it. */
export const notCarriedOut = "These directives were not carried out";

/** "$12.00" */
export const dollars = (amount: number): string => `$${amount.toFixed(2)}`;

/** Tokens as "940", "41k" or "1.2M". */
export function thousands(count: number): string {
  if (count < 1000) return String(count);
  return count < 999_500 ? `${Math.round(count / 1000)}k` : `${Math.round(count / 100_000) / 10}M`;
}

import { measuredAmount } from "../contract/phrases.ts";
import { type BudgetLine, type Measure, measures, type Usage } from "../contract/budgets.ts";

/**
 * Rules of budgets, without I/O.
 *
 * A pool is the amount of one measure that may be spent in a calendar month. The company has one per measure, and so has
 * each part of an agent's budget. An agent draws from the nearest pool at or above it. For every pool and month:
 *
 *   spent + reserved for live sessions + limits of the pools directly below ≤ limit
 *
 * Therefore all agents together never spend more than the pool has. Amounts are whole numbers, money in millionths of a
 * dollar, because sums must be exact.
 */
export interface Figures {
  /** Null means no limit. Only the board can set this, and only for the company. */
  readonly limit: number | null;
  readonly spent: number;
  readonly reserved: number;
  readonly handedDown: number;
}

/** The amount that can still be given out. It is negative after the limit was lowered, or after a last report exceeded it. */
export function left({ limit, spent, reserved, handedDown }: Figures): number {
  return limit === null ? Number.POSITIVE_INFINITY : limit - spent - reserved - handedDown;
}

/** The amount that is neither spent nor given to pools below. */
export function unspent({ limit, spent, handedDown }: Figures): number {
  return limit === null ? Number.POSITIVE_INFINITY : limit - handedDown - spent;
}

/** Whether the pool has spent everything that it did not give to pools below. Nothing comes back before the next month. */
export function isUsedUp(figures: Figures): boolean {
  return unspent(figures) <= 0;
}

export function isNearlyUsedUp({ limit, spent, handedDown }: Figures): boolean {
  return limit !== null && limit > handedDown && spent * 10 >= (limit - handedDown) * 8;
}

/** The percentage spent of the amount that was not given to pools below. */
export function percentSpent({ limit, spent, handedDown }: Figures): number {
  return limit === null ? 0 : Math.floor((100 * spent) / (limit - handedDown));
}

/** The amount reserved for a session at a time: one quantum, or the rest if that is less. */
export function share(quantum: number, figures: Figures): number {
  return Math.max(0, Math.min(quantum, left(figures)));
}

/** Books a report of usage: first against the session's reservation, then against the rest of the pool. */
export function spend(
  { used, held, quantum }: { used: number; held: number; quantum: number },
  figures: Figures,
): { fromPool: number; beyond: number; held: number } {
  const room = Math.max(0, left(figures));
  const fromRoom = Math.min(Math.max(0, used - held), room);
  const beyond = Math.max(0, used - held - fromRoom);
  const rest = Math.max(0, held - used);
  return { fromPool: used - beyond, beyond, held: rest > 0 ? rest : Math.min(quantum, room - fromRoom) };
}

export const monthOf = (now: number): string => new Date(now).toISOString().slice(0, 7);
export const dayOf = (now: number): string => new Date(now).toISOString().slice(0, 10);

export function nextMonth(now: number): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
}

const perDollar = 1_000_000;
export const inUnits = (measure: Measure, amount: number): number =>
  measure === "usd" ? Math.round(amount * perDollar) : amount;
export const fromUnits = (measure: Measure, units: number): number =>
  measure === "usd" ? units / perDollar : units;

export const inWords = (measure: Measure, units: number): string =>
  measuredAmount(measure, fromUnits(measure, units));

export function lineOf(measure: Measure, figures: Figures): BudgetLine {
  const shown = (units: number): number => fromUnits(measure, units);
  return {
    measure,
    limit: figures.limit === null ? null : shown(figures.limit),
    spent: shown(figures.spent),
    reserved: shown(figures.reserved),
    handedDown: shown(figures.handedDown),
    left: figures.limit === null ? null : shown(left(figures)),
  };
}

/** Both reports are totals, so the greater of each figure counts. */
export function furthest(one: Usage | undefined, other: Usage): Usage {
  const greater = (a: Omit<Usage, "consultants"> | undefined, b: Omit<Usage, "consultants"> | undefined) => ({
    inputTokens: Math.max(a?.inputTokens ?? 0, b?.inputTokens ?? 0),
    outputTokens: Math.max(a?.outputTokens ?? 0, b?.outputTokens ?? 0),
    costUsd: Math.max(a?.costUsd ?? 0, b?.costUsd ?? 0),
  });
  if (one?.consultants === undefined && other.consultants === undefined) return greater(one, other);
  return { ...greater(one, other), consultants: greater(one?.consultants, other.consultants) };
}

/** The total usage up to which a session may continue before it needs another reservation. */
export type Allowance = Readonly<Partial<Record<"usd" | "tokens", number>>>;

export function isUsed({ usd, tokens }: Allowance, said: Usage): boolean {
  const used = advance(unused, said);
  return used.usd >= (usd ?? Infinity) || tokensOf(used) >= (tokens ?? Infinity);
}

export const usedColumns = [
  "input_tokens",
  "output_tokens",
  "usd",
  "consultant_input_tokens",
  "consultant_output_tokens",
  "consultant_usd",
] as const;
/** Usage in whole units, by the columns that store it. It never decreases. */
export type Used = Readonly<Record<(typeof usedColumns)[number], number>>;

export const tokensOf = ({ input_tokens, output_tokens }: Used): number => input_tokens + output_tokens;

/** Whether no session can have used this amount. Booking it would empty the budgets of everyone above the agent. */
export function isIncredible({ inputTokens, outputTokens, costUsd }: Usage): boolean {
  return [inputTokens, outputTokens, costUsd * perDollar].some((amount) => amount > mostOfASession);
}

/** A report is a total. A smaller figure than before changes nothing, and a value that is not a number counts as 0. */
export function advance(before: Used, said: Usage): Used {
  const { inputTokens, outputTokens, costUsd } = said.consultants ?? noUsage;
  const input = Math.max(before.input_tokens, whole(said.inputTokens));
  const output = Math.max(before.output_tokens, whole(said.outputTokens));
  const usd = Math.max(before.usd, whole(said.costUsd * perDollar));
  const part = (former: number, amount: number, total: number): number =>
    Math.min(total, Math.max(former, whole(amount)));
  return {
    input_tokens: input,
    output_tokens: output,
    usd,
    consultant_input_tokens: part(before.consultant_input_tokens, inputTokens, input),
    consultant_output_tokens: part(before.consultant_output_tokens, outputTokens, output),
    consultant_usd: part(before.consultant_usd, costUsd * perDollar, usd),
  };
}

const noUsage: Usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 };

export const unused: Used = {
  input_tokens: 0,
  output_tokens: 0,
  usd: 0,
  consultant_input_tokens: 0,
  consultant_output_tokens: 0,
  consultant_usd: 0,
};

/** $10,000, or 10 billion tokens. */
const mostOfASession = 1e10;

function whole(amount: number): number {
  return amount > 0 ? Math.min(Math.round(amount), mostOfASession) : 0;
}

export function less(after: Used, before: Used): Used {
  const used = { ...after };
  for (const column of usedColumns) used[column] -= before[column];
  return used;
}

export const isNothing = (used: Used): boolean => Object.values(used).every((amount) => amount === 0);

/** The parts of a budget as it is stored with an agent. */
export function partsOf(stored: Readonly<Record<string, unknown>> | null): [Measure, number][] {
  return measures.flatMap((measure): [Measure, number][] => {
    const amount = stored?.[measure];
    return typeof amount === "number" ? [[measure, inUnits(measure, amount)]] : [];
  });
}

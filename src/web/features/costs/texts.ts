/** Texts of Costs. */
export const spentOf = (spent: string, limit: string | null, month: string): string =>
  limit === null ? `${spent} in ${month}` : `${spent} of ${limit} in ${month}`;
export const pace = (usd: string): string => `About ${usd} by the end of the month at this pace.`;
export const nothingSpent = "Nothing was spent in this month.";
export const nothingSpentHint = "Costs appear here when a session ends or reports what it used.";
export const againstLast = "Compared with last month";
export const monthBefore = (usd: string): string => `The month before: ${usd}`;
export const sameAsBefore = "the same";
export const aDay = "Spent on each day";
export const soFar = "Spent so far";
export const atThisPace = "At this pace";
export const others = "Others";
export const budget = (usd: string): string => `Budget of ${usd}`;
export const chartSays = (days: readonly string[]): string => `Spent by day: ${days.join(", ")}`;

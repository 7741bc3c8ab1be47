import { plural } from "../../../contract/phrases.ts";

/** "3 hours", "2 days". */
export function longSpan(milliseconds: number): string {
  const minutes = Math.floor(milliseconds / 60_000);
  if (minutes < 60) return plural(Math.max(1, minutes), "minute");
  if (minutes < 48 * 60) return plural(Math.floor(minutes / 60), "hour");
  return plural(Math.floor(minutes / (24 * 60)), "day");
}

import type { Role } from "../contract/people.ts";

/** Rules about people, without I/O. */

/** How long a one-time link is valid. The link of a new person has to reach them first. */
export const ownLinkMilliseconds = 10 * 60_000;
export const firstLinkMilliseconds = 24 * 3_600_000;

/** How long a browser stays signed in without being used. */
export const browserMilliseconds = 30 * 24 * 3_600_000;

export const mostPeople = 1000;

export function abilitiesOfRole(
  role: Role,
  positions: number,
): { govern: boolean; act: boolean; read: boolean } {
  return { govern: role === "board", act: role !== "viewer" && positions > 0, read: role !== "member" };
}

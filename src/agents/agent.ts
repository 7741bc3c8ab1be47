import { nameKey } from "../contract/names.ts";
import { Refusal } from "../contract/refusal.ts";

/**
 * Rules of an agent's name and slug, without I/O. Stored status:
 *
 *   pending_approval ──approve──▶ idle ◀──resume── paused        running is not stored: it is idle with a live session
 *          │                       ├────pause────▶  │
 *          └──reject──▶ terminated ◀──terminate─────┘            terminated is final; a successor is a new agent
 */
const reserved = new Set(["human", "user", "board", "system", "agency"]);

/** Also as a slug: whoever writes to @human means a person, not an agent named "Human!". */
export function isReserved(name: string): boolean {
  return reserved.has(nameKey(name)) || reserved.has(dashed(name));
}

export function demandUsableName(name: string): void {
  if (isReserved(name))
    throw new Refusal(
      "refused",
      `The name ${name} is reserved.`,
      "Choose another; human, user, board, system and agency are taken.",
    );
}

/** Letters and digits of every script, the rest becomes dashes; a name without any is addressed by a piece of its id. */
export function slugOf(name: string, id: string): string {
  const slug = dashed(name);
  return slug === "" ? `agent-${id.slice(0, 8)}` : slug;
}

function dashed(name: string): string {
  return nameKey(name)
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, "-")
    .replace(/^-+|-+$/g, "");
}

import { nameKey } from "../contract/names.ts";
import { reservedName } from "./texts.ts";

/**
 * Rules of an agent's name and slug, without I/O. Stored status:
 *
 *   pending_approval ──approve──▶ idle ◀──resume── paused        running is not stored: it is idle with a live session
 *          │                       ├────pause────▶  │
 *          └──reject──▶ terminated ◀──terminate─────┘            terminated is final; a successor is a new agent
 */
const reserved = new Set(["human", "user", "board", "system", "agency"]);

/** Compared as a slug too: a message to @human is meant for a person, never for an agent called "Human!". */
export function isReserved(name: string): boolean {
  return reserved.has(nameKey(name)) || reserved.has(dashed(name));
}

export function demandUsableName(name: string): void {
  if (isReserved(name)) throw reservedName(name);
}

/** Keeps letters and digits of every script; everything else becomes a dash. A name without any gets a part of its id. */
export function slugOf(name: string, id: string): string {
  const slug = dashed(name);
  return slug === "" ? `agent-${id.slice(0, 8)}` : slug;
}

function dashed(name: string): string {
  return nameKey(name)
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, "-")
    .replace(/^-+|-+$/g, "");
}

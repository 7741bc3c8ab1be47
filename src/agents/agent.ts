import { alphabetsIn, lookOf, nameKey } from "../contract/names.ts";
import type { Refusal } from "../contract/refusal.ts";
import { mixedAlphabets, reservedName } from "./texts.ts";

/**
 * Rules of an agent's name and slug, without I/O. Stored status:
 *
 *   pending_approval ──approve──▶ idle ◀──resume── paused        running is not stored: it is idle with a live session
 *          │                       ├────pause────▶  │
 *          └──reject──▶ terminated ◀──terminate─────┘            terminated is final; a successor is a new agent
 */
const reserved = ["human", "user", "board", "boss", "self", "me", "system", "agency"];
const reservedLooks = new Set(reserved.map(lookOf));

/**
 * The reason why an agent can't have this name. A name must not pass for a person, a position, the product or an agent in
 * another script.
 */
export function problemOfName(name: string): Refusal | undefined {
  const alphabets = alphabetsIn(name);
  if (alphabets.length > 1) return mixedAlphabets(name, alphabets);
  // Compared without article, accents, spaces and punctuation: "The Board", "B.O.A.R.D" and "Húman!" are all reserved.
  const bare = lookOf(name)
    .replace(/^(the|a|an)\s+/, "")
    .normalize("NFD");
  return reservedLooks.has(bare.replace(/[^\p{L}\p{N}]+/gu, "")) ? reservedName(name, reserved) : undefined;
}

/**
 * Keeps letters and digits of every script, and makes a dash of everything else. A name without letters and digits gets a part
 * of its id.
 */
export function slugOf(name: string, id: string): string {
  const slug = dashed(name);
  return slug === "" ? `agent-${id.slice(0, 8)}` : slug;
}

/** A name as it can be typed. */
export function dashed(name: string): string {
  return nameKey(name)
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, "-")
    .replace(/^-+|-+$/g, "");
}

/** In the prompt of an agent made with create_agent: the name of the agent that it answers. */
const answering =
  /^(You are agent [^]*?\n\nAlways respond in exactly this structure:\n@)([^\n]*)(\n\{Your response\})$/;

export const nextAgentIn = (prompt: string | null): string | null =>
  answering.exec(prompt ?? "")?.[2] ?? null;

export const promptFor = (prompt: string, nextAgent: string): string =>
  prompt.replace(answering, (_, head: string, _former: string, tail: string) => head + nextAgent + tail);

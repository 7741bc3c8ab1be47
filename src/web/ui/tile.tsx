import type { ReactNode } from "react";

/**
 * People are round, agents are square, pending agents are dashed, and the program itself is grey. The tint follows the id, so
 * renaming keeps it.
 */
export type TileKind = "agent" | "person" | "pending" | "left" | "system";

/** The look of an agent's tile in its present state. */
export function tileOf(status: string, isPerson: boolean): { kind: TileKind; isPaused: boolean } {
  const kind =
    status === "terminated"
      ? "left"
      : status === "pending_approval"
        ? "pending"
        : isPerson
          ? "person"
          : "agent";
  return { kind, isPaused: status === "paused" };
}

const hues = [28, 62, 95, 150, 180, 225, 262, 300, 340];

export function Tile({
  id,
  name,
  kind = "agent",
  isPaused = false,
  size = "",
}: {
  id: string;
  name: string;
  kind?: TileKind;
  /** Shows two bars at its corner. */
  isPaused?: boolean;
  size?: "" | "xs" | "lg";
}): ReactNode {
  return (
    <span
      className={`av ${size} ${kind === "agent" ? "" : kind} ${isPaused ? "paused" : ""}`}
      style={{ "--h": hueOf(id) }}
      aria-hidden="true"
    >
      {initialsOf(name, size)}
    </span>
  );
}

export function hueOf(id: string): number {
  let sum = 0;
  for (const char of id) sum = (sum * 31 + (char.codePointAt(0) ?? 0)) >>> 0;
  return hues[sum % hues.length] ?? 28;
}

export function initialsOf(name: string, size = ""): string {
  const words = name.trim().split(/\s+/);
  const letters = (words.length > 1 && size !== "xs" ? [words[0], words.at(-1)] : [words[0]]).map(
    (word) => [...(word ?? "")][0] ?? "",
  );
  return letters.join("").toUpperCase();
}

declare module "react" {
  interface CSSProperties {
    "--h"?: number;
    /** The depth of a row in its tree. */
    "--depth"?: number;
  }
}

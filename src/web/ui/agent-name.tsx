import type { ReactNode } from "react";
import { useAgent } from "../data/roster.ts";
import type { TileKind } from "./tile.tsx";
import { Name } from "./words.tsx";

/** An agent in a list or a header: name and role. In a sentence the name is enough (words.tsx). */
export function AgentName({
  of: { id, name },
  tile = "agent",
  isLink = true,
  unknown,
}: {
  of: { readonly id: string | null; readonly name: string | null };
  /** Null if its tile is elsewhere. */
  tile?: TileKind | null;
  /** False in a row that itself is a link. */
  isLink?: boolean;
  /** The text until the name is found. */
  unknown?: string;
}): ReactNode {
  const agent = useAgent(id);
  const title = name ?? agent?.name ?? unknown ?? null;
  return <Name of={{ kind: isLink ? "agent" : "", id, title }} tile={tile ?? undefined} role={agent?.role} />;
}

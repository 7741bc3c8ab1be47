import type { ReactNode } from "react";
import { useRole } from "../data/roster.ts";
import type { TileKind } from "./tile.tsx";
import { Name } from "./words.tsx";

/** An agent in a list or a header: name and role. In a sentence the name is enough (words.tsx). */
export function AgentName({
  of: { id, name },
  tile = "agent",
  isLink = true,
}: {
  of: { readonly id: string | null; readonly name: string | null };
  /** Null: its tile is elsewhere. */
  tile?: TileKind | null;
  /** False in a row that is a link itself. */
  isLink?: boolean;
}): ReactNode {
  const role = useRole(id);
  return <Name of={{ kind: isLink ? "agent" : "", id, title: name }} tile={tile ?? undefined} role={role} />;
}

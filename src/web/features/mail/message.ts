import type { ops } from "virtual:operations";
import type { Answer } from "../../data/operations.ts";
import type { TileKind } from "../../ui/tile.tsx";
import * as texts from "./texts.ts";

export type ShownMessage = Answer<typeof ops.listSent>["messages"][number];
export type Party = ShownMessage["from"];

export const tileOfParty = ({ kind }: Party): TileKind =>
  kind === "board" ? "person" : kind === "system" ? "system" : "agent";

export const nameOf = ({ kind, name }: Party): string =>
  kind === "system" ? texts.systemName : kind === "board" ? texts.boardName : name;

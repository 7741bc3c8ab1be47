import type { ops } from "virtual:operations";
import type { Me } from "../../data/company.ts";
import type { Answer } from "../../data/operations.ts";
import type { TileKind } from "../../ui/tile.tsx";
import * as texts from "./texts.ts";

export type ShownMessage = Answer<typeof ops.listSent>["messages"][number];
export type Party = ShownMessage["from"];

/** Whether the reader wrote it: the board, or the position of a member. */
export const isMine = ({ from }: ShownMessage, me: Me | undefined): boolean =>
  me?.role === "member" ? me.positions.some(({ id }) => id === from.id) : from.kind === "board";

/** Whether the reader got it and has not marked it as done. */
export const waits = (one: ShownMessage, me: Me | undefined): boolean =>
  !isMine(one, me) && one.deliveredAt !== null && one.acknowledgedAt === null;

export const tileOfParty = ({ kind }: Party): TileKind =>
  kind === "board" ? "person" : kind === "system" ? "system" : "agent";

export const partyNameOf = ({ kind, name }: Party): string =>
  kind === "system" ? texts.systemName : kind === "board" ? texts.boardName : name;

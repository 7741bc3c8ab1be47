import { useMemo } from "react";
import { ops } from "virtual:operations";
import type { Answer } from "../data/operations.ts";
import { useRead } from "../data/reading.ts";
import { useRested } from "./rested.ts";

export type MoveReason = Answer<typeof ops.whyMany>["answers"][number];

/** The most ids that one call answers. A longer list asks in parts. */
export const mostReasons = 100;

export const inParts = <T>(list: readonly T[], size: number): readonly (readonly T[])[] =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, at) => list.slice(at * size, (at + 1) * size));

/**
 * The reasons of the live outcomes on the screen, read together. The last answer stays while a new one loads. Rows that only pass by,
 * while a person scrolls or searches, are not asked about: each answer makes the daemon look at everything that is open.
 */
export function useReasons(
  nodes: readonly { readonly id: string; readonly status: string | null }[],
): ReadonlyMap<string, MoveReason> {
  const shown = nodes
    .filter(({ status }) => status === "open" || status === "submitted")
    .map(({ id }) => id)
    .slice(0, mostReasons)
    .toSorted();
  const rested = useRested(shown.join(), 120);
  const ids = rested === "" ? [] : rested.split(",");
  const { data } = useRead(ops.whyMany, ids.length === 0 ? null : { ids }, { keep: true });
  return useMemo(() => new Map((data?.answers ?? []).map((answer) => [answer.id, answer])), [data]);
}

/** A row shows a reason only if its outcome does not move. */
export const isHeld = (state: MoveReason["state"], isBlocked: boolean): boolean =>
  state !== "moving" || isBlocked;

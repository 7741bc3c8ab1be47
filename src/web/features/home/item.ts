import type { ops } from "virtual:operations";
import type { Answer } from "../../data/operations.ts";

/** An item of the attention list. */
export type Item = Answer<typeof ops.viewAttention>["items"][number];

export const itemKey = ({ kind, subject }: Item): string =>
  `${kind} ${subject.id ?? ""} ${subject.title ?? ""}`;

export type Note = Answer<typeof ops.viewAttention>["notes"][number];

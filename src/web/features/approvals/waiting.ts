import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import type { Answer } from "../../data/operations.ts";
import { type Reading, useAll, useRows } from "../../data/reading.ts";
import type { HoldsUp } from "../../ui/holding.tsx";

export type Listed = Answer<typeof ops.listApprovals>["approvals"][number];

export interface Waiting extends Omit<Reading<unknown>, "data"> {
  /** In the order of Home: first what holds up most, then what expires first, then what waits longest. */
  readonly requests: readonly Listed[] | undefined;
  readonly holdsUp: (id: string) => HoldsUp | undefined;
}

/** Every request that waits for a decision, however long. */
export function useWaiting(isWanted = true, text = ""): Waiting {
  const { company } = useHere();
  const companyId = company.id;
  const { data, ...reading } = useRows(
    ops.listApprovals,
    "approvals",
    isWanted ? { companyId, status: "pending" as const, ...(text !== "" && { text }) } : null,
    Infinity,
  );
  const ranked = useAll(
    ops.viewAttention,
    "items",
    isWanted ? { companyId, kind: "approval" as const } : null,
  );
  const rankOf = new Map(ranked.map(({ subject, holdsUp }, at) => [subject.id, { at, holdsUp }]));
  const placeOf = ({ id }: Listed): number => rankOf.get(id)?.at ?? Number.MAX_SAFE_INTEGER;
  return {
    ...reading,
    requests: data?.approvals.toSorted((a, b) => placeOf(a) - placeOf(b)),
    holdsUp: (id) => rankOf.get(id)?.holdsUp,
  };
}

import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useRead } from "../../data/reading.ts";
import { StatusMark } from "../../ui/status.tsx";
import { Line } from "../../ui/words.tsx";
import type { Item } from "./item.ts";

const deeds: Readonly<Record<string, string>> = {
  approved: "approved",
  rejected: "rejected",
  cancelled: "withdrew",
  revision_requested: "sent back",
};

/** An item that was settled while the person looked. It shows for a moment who settled it. */
export function Settled({ item }: { item: Item }): ReactNode {
  const { data } = useRead(
    ops.viewApproval,
    item.kind === "approval" && item.subject.id !== null ? { id: item.subject.id } : null,
  );
  const result = data?.decision?.result ?? data?.status ?? "";
  const by = data?.decidedBy;
  const who = by?.person?.name ?? by?.agent?.name ?? "The board";
  const did = deeds[result];
  const says = item.kind === "approval" ? did && `${who} ${did} this just now.` : "Settled just now.";
  return (
    <>
      <span className="kind quiet">
        <StatusMark mark={result === "approved" || item.kind !== "approval" ? "done" : "closed"} />
      </span>
      <div className="min-w-0">
        <div className="title cut">
          <Line text={item.title} />
        </div>
        <div className="meta">{says !== undefined && <Line text={says} />}</div>
      </div>
    </>
  );
}

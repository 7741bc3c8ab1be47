import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useRead } from "../data/reading.ts";
import { titleOf } from "./request.ts";
import { RequestCard } from "./request-card.tsx";
import { SidePanel } from "./side-panel.tsx";
import { Loaded } from "./states.tsx";
import { Line } from "./words.tsx";

/** One request in the panel: what approving changes, and the decision. */
export function RequestPanel({ id }: { id: string }): ReactNode {
  const request = useRead(ops.viewApproval, { id });
  return (
    <SidePanel label="The chosen request" to={`/approvals/${id}`}>
      <Loaded of={request}>
        {(data) => (
          <>
            <h2>
              <Line text={titleOf(data)} />
            </h2>
            <RequestCard newest={data} />
          </>
        )}
      </Loaded>
    </SidePanel>
  );
}

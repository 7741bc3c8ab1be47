import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useRead } from "../../data/reading.ts";
import { Empty, Loaded } from "../../ui/states.tsx";
import { standingOf } from "../../ui/standing.ts";
import { StatusMark } from "../../ui/status.tsx";
import { Name } from "../../ui/words.tsx";

export function AgentOutcomes({ id }: { id: string }): ReactNode {
  return (
    <Loaded of={useRead(ops.listAgentOutcomes, { id, limit: 500 })}>
      {({ outcomes }) =>
        outcomes.length === 0 ? (
          <Empty title="It has no outcomes." />
        ) : (
          <ul className="plain-list">
            {outcomes.map(({ id: outcome, title, status }) => (
              <li key={outcome}>
                <StatusMark {...standingOf(status)} />
                <span className="wide cut">
                  <Name of={{ kind: "outcome", id: outcome, title }} />
                </span>
                <span className="end">{standingOf(status).label}</span>
              </li>
            ))}
          </ul>
        )
      }
    </Loaded>
  );
}

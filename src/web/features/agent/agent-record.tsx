import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useRead } from "../../data/reading.ts";
import { Loaded } from "../../ui/states.tsx";
import { When } from "../../ui/time.tsx";
import { Line } from "../../ui/words.tsx";
import { withoutIds } from "../../ui/without-ids.ts";

export function AgentRecord({ id }: { id: string }): ReactNode {
  return (
    <Loaded of={useRead(ops.listAgentEvents, { id, limit: 200 })}>
      {({ events }) => (
        <ul className="plain-list">
          {events.map(({ seq, at, says }) => (
            <li key={seq}>
              <span className="wide cut">
                <Line text={withoutIds(says)} />
              </span>
              <span className="end num">
                <span>#{seq}</span>
                <When at={at} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Loaded>
  );
}

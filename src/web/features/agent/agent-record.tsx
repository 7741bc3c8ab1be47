import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useRead } from "../../data/reading.ts";
import { useMoreRows } from "../../ui/more-rows.tsx";
import { Sentence } from "../../ui/sentence.tsx";
import { Loaded } from "../../ui/states.tsx";
import { When } from "../../ui/time.tsx";

/** What the agent did and what was done to it, newest first. Names lead to what they stand for. */
export function AgentRecord({ id }: { id: string }): ReactNode {
  const { rows, more } = useMoreRows(200);
  return (
    <Loaded of={useRead(ops.listAgentEvents, { id, limit: rows }, { keep: true })}>
      {({ events, nextCursor }) => (
        <>
          <ul className="plain-list">
            {events.map((event) => (
              <li key={event.seq}>
                <span className="wide cut">
                  <Sentence of={event} />
                </span>
                <span className="end num">
                  <span>#{event.seq}</span>
                  <When at={event.at} />
                </span>
              </li>
            ))}
          </ul>
          {more(nextCursor)}
        </>
      )}
    </Loaded>
  );
}

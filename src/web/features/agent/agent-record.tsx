import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { LoadedList, useList } from "../../ui/more-rows.tsx";
import { Sentence } from "../../ui/sentence.tsx";
import { When } from "../../ui/time.tsx";

/** The events that the agent caused and those about it, newest first. Names are links. */
export function AgentRecord({ id }: { id: string }): ReactNode {
  const list = useList(ops.listAgentEvents, "events", { id }, 200);
  return (
    <LoadedList of={list}>
      {({ events }) => (
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
      )}
    </LoadedList>
  );
}

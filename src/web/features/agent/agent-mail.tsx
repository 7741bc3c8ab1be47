import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useRead } from "../../data/reading.ts";
import { counted } from "../../ui/figures.tsx";
import { receiptOf } from "../../ui/receipt.ts";
import { Empty, Loaded } from "../../ui/states.tsx";
import { StatusMark } from "../../ui/status.tsx";
import { When } from "../../ui/time.tsx";
import { AgentName } from "../../ui/agent-name.tsx";
import { Line, Name, Said } from "../../ui/words.tsx";
import { withoutIds } from "../../ui/without-ids.ts";

/** What the agent was written, newest first, with what became of each message. */
export function AgentMail({ id }: { id: string }): ReactNode {
  return (
    <Loaded of={useRead(ops.agentInbox, { id, all: true, limit: 500 })}>
      {({ messages, waiting }) => (
        <>
          {messages.length === 0 ? (
            <Empty title="No messages yet.">
              <p>Messages to this agent are listed here, with what became of each.</p>
            </Empty>
          ) : (
            <p className="lab">
              {waiting === 0 ? "No message waits." : `${counted(waiting, "message")} waiting`}
            </p>
          )}
          <ul className="plain-list">
            {messages.toReversed().map((one) => {
              const { mark, label } = receiptOf(one);
              return (
                <li key={one.id}>
                  <StatusMark mark={mark} label={label} />
                  <span className="wide">
                    {one.from.kind === "agent" ? (
                      <AgentName of={one.from} tile={null} />
                    ) : (
                      <b>{one.from.kind === "system" ? "Agency" : one.from.name || "The board"}</b>
                    )}{" "}
                    {one.body === null ? (
                      <Name of={{ kind: "file", id: one.file, title: "A long message, as a file" }} />
                    ) : (
                      <Said text={withoutIds(one.body)} most={300} />
                    )}
                    {one.acknowledgedAt !== null && one.result !== null && (
                      <span className="lab">
                        {" "}
                        <Line text={`Done: ${one.result}`} />
                      </span>
                    )}
                  </span>
                  <span className="end num">
                    <When at={one.sentAt} />
                  </span>
                </li>
              );
            })}
          </ul>
        </>
      )}
    </Loaded>
  );
}

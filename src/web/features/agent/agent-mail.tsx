import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import { useRead } from "../../data/reading.ts";
import { counted } from "../../ui/figures.tsx";
import { LoadedList, useList } from "../../ui/more-rows.tsx";
import { receiptOf } from "../../ui/receipt.ts";
import { Empty } from "../../ui/states.tsx";
import { StatusMark } from "../../ui/status.tsx";
import { When } from "../../ui/time.tsx";
import { AgentName } from "../../ui/agent-name.tsx";
import { Line, Name, Said } from "../../ui/words.tsx";
import { withoutIds } from "../../ui/without-ids.ts";

/** The messages to and from the agent, newest first, each with its result. */
export function AgentMail({ id }: { id: string }): ReactNode {
  const { company } = useHere();
  const list = useList(ops.listConversation, "messages", { companyId: company.id, of: id });
  const waiting = useRead(ops.agentInbox, { id, limit: 1 }).data?.waiting ?? 0;
  return (
    <LoadedList of={list}>
      {({ messages }) => (
        <>
          {messages.length === 0 ? (
            <Empty title="No messages yet.">
              <p>Messages to and from this agent are listed here, each with its state.</p>
            </Empty>
          ) : (
            <p className="lab">
              {waiting === 0 ? "No message waits." : `${counted(waiting, "message")} waiting`}
            </p>
          )}
          <ul className="plain-list">
            {messages.map((one) => {
              const { mark, label } = receiptOf(one);
              return (
                <li key={one.id}>
                  <StatusMark mark={mark} label={label} />
                  <span className="wide">
                    {one.from.id === id && <span className="quiet">to </span>}
                    <Other of={one.from.id === id ? one.to : one.from} />{" "}
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
    </LoadedList>
  );
}

function Other({
  of: { kind, id, name },
}: {
  of: { readonly kind: string; readonly id: string | null; readonly name: string };
}): ReactNode {
  if (kind === "agent" && id !== null) return <AgentName of={{ id, name }} tile={null} />;
  return <b>{kind === "system" ? "Agency" : name || "The board"}</b>;
}

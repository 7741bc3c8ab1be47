import { type ReactNode, useEffect, useRef } from "react";
import { ops } from "virtual:operations";
import { call } from "../../data/calling.ts";
import { useHere } from "../../data/company.ts";
import { useRead } from "../../data/reading.ts";
import { AskFor } from "../../ui/ask-for.tsx";
import { Icon } from "../../ui/icons.tsx";
import { useKeys } from "../../ui/keys.ts";
import { Markdown } from "../../ui/markdown.tsx";
import { useMoreRows } from "../../ui/more-rows.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { StatusMark } from "../../ui/status.tsx";
import { Tile, tileOf } from "../../ui/tile.tsx";
import { When } from "../../ui/time.tsx";
import { Line, Name, Said, withoutLinks } from "../../ui/words.tsx";
import { nameOf, type ShownMessage, tileOfParty } from "./message.ts";
import { receiptOf } from "../../ui/receipt.ts";
import * as texts from "./texts.ts";

/** Both directions, oldest first, with receipts that change in place. */
export function Conversation({ agent }: { agent: string }): ReactNode {
  const { company } = useHere();
  const about = useRead(ops.viewAgent, { id: agent });
  const { rows, more } = useMoreRows();
  const list = useRead(
    ops.listConversation,
    { companyId: company.id, with: agent, limit: rows },
    { keep: true },
  );
  const name = about.data?.name ?? "this agent";
  const end = useRef<HTMLDivElement>(null);
  const last = list.data?.messages[0]?.id;
  useEffect(() => {
    end.current?.scrollIntoView({ block: "end" });
  }, [last]);
  useMarkRead(list.data?.messages);
  useKeys({ d: openDone });
  return (
    <>
      {about.data !== undefined && (
        <header className="mail-with">
          <Tile id={agent} name={name} {...tileOf(about.data.status, about.data.person !== null)} />
          <div className="min-w-0">
            <Name of={{ kind: "agent", id: agent, title: name }} role={about.data.role} />
            <p className="cut second">
              <Line text={about.data.says} />
            </p>
          </div>
        </header>
      )}
      <div className="work" tabIndex={0} aria-label="Conversation" role="region">
        <Loaded of={list}>
          {({ messages, nextCursor }) =>
            messages.length === 0 ? (
              <div className="work-inner">
                <Empty title={texts.noConversation(name)}>
                  <p>{texts.writeBelow}</p>
                </Empty>
              </div>
            ) : (
              <>
                {more(nextCursor)}
                <ol className="messages">
                  {messages.toReversed().map((one) => (
                    <Message
                      key={one.id}
                      of={one}
                      answers={messages.find(({ id }) => id === one.inReplyTo)}
                    />
                  ))}
                </ol>
              </>
            )
          }
        </Loaded>
        <div ref={end} />
      </div>
    </>
  );
}

/** A message from the system has no conversation. */
export function OneMessage({ id }: { id: string }): ReactNode {
  const message = useRead(ops.viewMessage, { id });
  useMarkRead(message.data === undefined ? undefined : [message.data]);
  useKeys({ d: openDone });
  return (
    <div className="work">
      <Loaded of={message}>
        {(one) => (
          <ol className="messages">
            <Message of={one} />
          </ol>
        )}
      </Loaded>
    </div>
  );
}

function openDone(): void {
  [...document.querySelectorAll<HTMLElement>(".mail-done button")].at(-1)?.click();
}

/** What the person sees is read. */
function useMarkRead(messages: readonly ShownMessage[] | undefined): void {
  const { me } = useHere();
  const unread = (messages ?? [])
    .filter(({ to, readAt, deliveredAt }) => to.kind === "board" && readAt === null && deliveredAt !== null)
    .map(({ id }) => id)
    .join(",");
  useEffect(() => {
    if (unread === "" || me?.role !== "board") return;
    for (const id of unread.split(",")) void call(ops.markMessageRead, { id }).catch(() => undefined);
  }, [unread, me?.role]);
}

function Message({
  of,
  answers,
}: {
  of: ShownMessage;
  /** The message that it answers, if that is on the page. */
  answers?: ShownMessage | undefined;
}): ReactNode {
  const { mark, label } = receiptOf(of);
  const made =
    of.acknowledgedAt === null ? undefined : /\boutcome ([0-9a-f-]{36})\b/.exec(of.result ?? "")?.[1];
  const { me } = useHere();
  const isMine =
    me?.role === "member" ? me.positions.some(({ id }) => id === of.from.id) : of.from.kind === "board";
  const canCancel = isMine && of.deliveredAt === null && of.cancelledAt === null && of.failure === null;
  const waits = !isMine && of.deliveredAt !== null && of.acknowledgedAt === null;
  return (
    <li id={`m-${of.id}`} tabIndex={-1} className={isMine ? "mine" : ""}>
      <Tile id={of.from.id ?? of.from.kind} name={nameOf(of.from)} kind={tileOfParty(of.from)} />
      <article>
        <header>
          <b>
            <Line text={nameOf(of.from)} />
          </b>
          <When at={of.sentAt} />
        </header>
        {answers !== undefined && (
          <button
            type="button"
            className="more cut"
            onClick={() => document.getElementById(`m-${answers.id}`)?.focus()}
          >
            answers <Line text={withoutLinks(answers.body ?? texts.longMessage).slice(0, 80)} />
          </button>
        )}
        <div className="words">
          {of.body === null ? (
            <Name of={{ kind: "file", id: of.file, title: "Open the message as a file" }} />
          ) : (
            <Markdown text={of.body} />
          )}
        </div>
        {of.files.map(({ id, description, version }) => (
          <p key={`${id} ${version}`} className="attached">
            <Icon name="file" />
            <Name of={{ kind: "file", id, title: description }} />
            <span className="quiet">version {version}</span>
          </p>
        ))}
        <footer>
          <StatusMark mark={mark} />
          <Said text={label} most={300} />
          {made !== undefined && <Name of={{ kind: "outcome", id: made, title: texts.openOutcome }} />}
          {waits && (
            <span className="mail-done">
              <AskFor
                text="Done"
                title="Mark this message as done?"
                says="It leaves your inbox. Its sender sees your note."
                fields={[{ name: "result", label: "What became of it", optional: true }]}
                operation={ops.acknowledgeMessage}
                input={(values) => ({ id: of.id, ...(values["result"] && { result: values["result"] }) })}
                done="Done."
              />
            </span>
          )}
          {canCancel && (
            <AskFor
              text="Cancel"
              title="Cancel this message?"
              says="Its recipient never learns of it."
              fields={[]}
              danger
              operation={ops.cancelMessage}
              input={() => ({ id: of.id })}
              done="Cancelled."
            />
          )}
        </footer>
      </article>
    </li>
  );
}

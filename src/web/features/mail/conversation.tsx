import { type ReactNode, useEffect, useRef } from "react";
import { ops } from "virtual:operations";
import { call } from "../../data/calling.ts";
import { useHere } from "../../data/company.ts";
import { useRead } from "../../data/reading.ts";
import { AskFor } from "../../ui/ask-for.tsx";
import { Button } from "../../ui/buttons.tsx";
import { Icon } from "../../ui/icons.tsx";
import { Markdown } from "../../ui/markdown.tsx";
import { useList } from "../../ui/more-rows.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { StatusMark } from "../../ui/status.tsx";
import { Tile, tileOf } from "../../ui/tile.tsx";
import { When } from "../../ui/time.tsx";
import { Line, Name, Said } from "../../ui/words.tsx";
import { withoutIds } from "../../ui/without-ids.ts";
import { isMine, partyNameOf, type ShownMessage, tileOfParty, waits } from "./message.ts";
import { AgentName } from "../../ui/agent-name.tsx";
import { PartyName } from "./party-name.tsx";
import { receiptOf } from "../../ui/receipt.ts";
import * as texts from "./texts.ts";

/** The actions on a message. */
export interface MessageVerbs {
  readonly onDone: (id: string) => void;
  readonly onAnswer: (id: string) => void;
}

/** Both directions, oldest first, with receipts that change in place. */
export function Conversation({
  agent,
  message,
  ...verbs
}: MessageVerbs & {
  agent: string;
  /** The id of the chosen message, which is in view. */
  message: string | undefined;
}): ReactNode {
  const { company, me } = useHere();
  const about = useRead(ops.viewAgent, { id: agent });
  const list = useList(ops.listConversation, "messages", { companyId: company.id, with: agent });
  const isThere = list.data?.messages.some(({ id }) => id === message) ?? false;
  const isEarlier = message !== undefined && !isThere && list.data?.nextCursor != null && !list.isOld;
  const name = about.data?.name ?? "this agent";
  const end = useRef<HTMLDivElement>(null);
  // The end stays in view until the person scrolls up. Then a message that arrives moves nothing, unless it is an own one.
  const isAtEnd = useRef(true);
  const from = useRef(0);
  const last = list.data?.messages[0];
  const isLastMine = last !== undefined && isMine(last, me);
  useEffect(() => {
    if (isLastMine) isAtEnd.current = true;
    if (isAtEnd.current) end.current?.scrollIntoView({ block: "end" });
  }, [last?.id]);
  useEffect(() => {
    const box = end.current?.parentElement;
    if (box == null) return;
    // The words of a message are set later than the message, and need more room.
    const grown = new MutationObserver(() => {
      if (isAtEnd.current) end.current?.scrollIntoView({ block: "end" });
    });
    grown.observe(box, { childList: true, subtree: true });
    return () => grown.disconnect();
  }, []);
  useEffect(() => {
    if (isEarlier) list.grow();
    if (!isThere) return;
    isAtEnd.current = message === last?.id;
    document.getElementById(`m-${message}`)?.scrollIntoView({ block: "nearest" });
  }, [isEarlier, isThere, message]);
  useMarkRead(list.data?.messages);
  return (
    <>
      {about.data !== undefined && (
        <header className="mail-with">
          <Tile id={agent} name={name} {...tileOf(about.data.status, about.data.person !== null)} />
          <div className="min-w-0">
            <AgentName of={{ id: agent, name }} tile={null} />
            <p className="cut second">
              <Line text={about.data.says} />
            </p>
          </div>
        </header>
      )}
      <div
        className="work"
        tabIndex={0}
        aria-label="Conversation"
        role="region"
        onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
          const isEnd = scrollTop + clientHeight >= scrollHeight - 40;
          if (isEnd || scrollTop < from.current) isAtEnd.current = isEnd;
          from.current = scrollTop;
        }}
      >
        <Loaded of={list}>
          {({ messages }) =>
            messages.length === 0 ? (
              <div className="work-inner">
                <Empty title={texts.notWrittenYet(name)}>
                  <p>{texts.writeBelow}</p>
                </Empty>
              </div>
            ) : (
              <>
                {list.more}
                <ol className="messages">
                  {messages.toReversed().map((one) => (
                    <Message
                      key={one.id}
                      of={one}
                      isChosen={one.id === message}
                      {...verbs}
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
export function OneMessage({ id, ...verbs }: MessageVerbs & { id: string }): ReactNode {
  const message = useRead(ops.viewMessage, { id });
  useMarkRead(message.data === undefined ? undefined : [message.data]);
  return (
    <div className="work">
      <Loaded of={message}>
        {(one) => (
          <ol className="messages">
            <Message of={one} {...verbs} />
          </ol>
        )}
      </Loaded>
    </div>
  );
}

/** Messages that the person sees count as read. */
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
  isChosen = false,
  onDone,
  onAnswer,
}: MessageVerbs & {
  of: ShownMessage;
  isChosen?: boolean;
  /** The message that it answers, if it is on the page. */
  answers?: ShownMessage | undefined;
}): ReactNode {
  const { mark, label } = receiptOf(of);
  const made =
    of.acknowledgedAt === null ? undefined : /\boutcome ([0-9a-f-]{36})\b/.exec(of.result ?? "")?.[1];
  const { me, cantDecide } = useHere();
  const isOwn = isMine(of, me);
  const isWaiting = waits(of, me);
  const canCancel = isOwn && of.deliveredAt === null && of.cancelledAt === null && of.failure === null;
  return (
    <li
      id={`m-${of.id}`}
      tabIndex={-1}
      className={isOwn ? "mine" : ""}
      data-message={of.id}
      data-waits={isWaiting ? of.id : undefined}
      aria-current={isChosen ? "true" : undefined}
    >
      <Tile id={of.from.id ?? of.from.kind} name={partyNameOf(of.from)} kind={tileOfParty(of.from)} />
      <article>
        <header>
          <b>
            <PartyName of={of.from} />
          </b>
          <When at={of.sentAt} />
        </header>
        {answers !== undefined && (
          <button
            type="button"
            className="more cut"
            onClick={() => document.getElementById(`m-${answers.id}`)?.focus()}
          >
            answers <Line text={withoutIds(answers.body ?? texts.longMessage)} />
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
          <span className="mail-verbs">
            {!isOwn && of.from.kind === "agent" && (
              <Button look="ghost" hotkey="M" because={cantDecide} onClick={() => onAnswer(of.id)}>
                Answer
              </Button>
            )}
            {isWaiting && (
              <Button hotkey="D" because={cantDecide} onClick={() => onDone(of.id)}>
                Done
              </Button>
            )}
          </span>
          {canCancel && (
            <AskFor
              text="Cancel"
              title="Cancel this message?"
              says="Its recipient never learns of it."
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

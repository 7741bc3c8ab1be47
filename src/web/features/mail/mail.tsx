import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { ops } from "virtual:operations";
import { type Me, useHere } from "../../data/company.ts";
import { AskDialog } from "../../ui/ask-for.tsx";
import { Choice } from "../../ui/buttons.tsx";
import { useKeys } from "../../ui/keys.ts";
import { type Listing, LoadedList, useList } from "../../ui/more-rows.tsx";
import { useRowKeys } from "../../ui/move-focus.ts";
import { Page } from "../../ui/page.tsx";
import { Empty } from "../../ui/states.tsx";
import { StatusMark } from "../../ui/status.tsx";
import { Tile } from "../../ui/tile.tsx";
import { When } from "../../ui/time.tsx";
import { toast } from "../../ui/toast.tsx";
import { Line } from "../../ui/words.tsx";
import { withoutIds } from "../../ui/without-ids.ts";
import { Conversation, OneMessage } from "./conversation.tsx";
import { MailBox } from "./mail-box.tsx";
import { isMine, partyNameOf, type Party, type ShownMessage, tileOfParty, waits } from "./message.ts";
import { PartyName } from "./party-name.tsx";
import { receiptOf } from "../../ui/receipt.ts";
import * as texts from "./texts.ts";
import "../../ui/work.css";
import "./mail.css";

const boxes = ["waiting", "all", "sent", "deferred"] as const;

/** Mail with the organization: waiting messages, and one conversation for each agent. */
export function MailPage(): ReactNode {
  const { agent }: { agent?: string } = useParams({ strict: false });
  const { box: asked, message }: { box?: string; message?: string } = useSearch({ strict: false });
  const navigate = useNavigate();
  const { cantDecide } = useHere();
  const box = boxes.find((each) => each === asked) ?? "waiting";
  const [isDone, setDone] = useState<string>();
  const go = (to: string | undefined, chosen?: string, replace = false): void =>
    void navigate({
      to: to === undefined ? "/mail" : `/mail/${to}`,
      search: searchOf(box, chosen),
      replace,
    });
  useKeys({
    Escape: () => go(undefined),
    d: () => {
      const id = messageAtHand(message);
      if (id === undefined) return false;
      return cantDecide === undefined ? setDone(id) : toast(cantDecide);
    },
  });
  const isOpen = agent !== undefined || message !== undefined;
  const verbs = {
    onDone: setDone,
    onAnswer: (id: string) => {
      go(agent, id, true);
      document.querySelector<HTMLElement>(".mail-write textarea")?.focus();
    },
  };
  return (
    <Page title="Mail" heading>
      <div className={`mail ${isOpen ? "with-open" : ""}`}>
        <div className="mail-list">
          <div className="toolbar">
            <Choice
              label="Messages"
              value={box}
              options={boxes.map((value) => ({ value, text: texts.boxWords[value] }))}
              onChange={(value) =>
                void navigate({
                  to: agent === undefined ? "/mail" : `/mail/${agent}`,
                  search: { box: value === "waiting" ? "" : value },
                })
              }
            />
          </div>
          <MessageList key={box} box={box} agent={agent} message={message} />
        </div>
        <div className="mail-open">
          {isOpen && (
            <Link to="/mail" search={{ box }} className="mail-back linked">
              All messages
            </Link>
          )}
          {agent !== undefined ? (
            <Conversation key={agent} agent={agent} message={message} {...verbs} />
          ) : message !== undefined ? (
            <OneMessage id={message} {...verbs} />
          ) : (
            <div className="work">
              <div className="work-inner">
                <Empty title={texts.chooseConversation} />
              </div>
            </div>
          )}
          <MailBox
            agent={agent}
            message={message}
            onTo={(to) => go(to)}
            onNew={() => go(agent, undefined, true)}
          />
        </div>
      </div>
      <AskDialog
        key={isDone}
        about={isDone ?? ""}
        isOpen={isDone !== undefined}
        onClose={() => setDone(undefined)}
        text="Done"
        title="Mark this message as done?"
        says="It leaves your inbox. Its sender sees your note."
        fields={[{ name: "result", label: "What became of it", optional: true }]}
        operation={ops.acknowledgeMessage}
        input={({ result = "" }) => ({ id: isDone ?? "", ...(result !== "" && { result }) })}
        done="Done."
      />
    </Page>
  );
}

const searchOf = (box: (typeof boxes)[number], message: string | undefined) => ({
  ...(box !== "waiting" && { box }),
  ...(message !== undefined && { message }),
});

/**
 * The message that has the focus. Else the chosen one, or the last waiting one of the conversation. Undefined if it is done.
 */
function messageAtHand(chosen: string | undefined): string | undefined {
  const focused = document.activeElement?.closest<HTMLElement>("[data-message]");
  const open = [...document.querySelectorAll<HTMLElement>(".messages [data-message]")];
  const at =
    focused ??
    open.find(({ dataset }) => dataset["message"] === chosen) ??
    open.findLast(({ dataset }) => dataset["waits"] !== undefined);
  return at?.dataset["waits"];
}

function useBox(box: (typeof boxes)[number]): Listing<{ messages: readonly ShownMessage[] }> {
  const { company } = useHere();
  const companyId = company.id;
  const waiting = useList(ops.boardInbox, "messages", box === "waiting" ? { companyId } : null);
  const all = useList(ops.listConversation, "messages", box === "all" ? { companyId } : null);
  const isSent = box === "sent" || box === "deferred";
  const sent = useList(
    ops.listSent,
    "messages",
    isSent ? { companyId, ...(box === "deferred" && { deferred: true }) } : null,
  );
  if (box === "waiting") return waiting;
  return box === "all" ? all : sent;
}

function MessageList({
  box,
  agent,
  message,
}: {
  box: (typeof boxes)[number];
  agent: string | undefined;
  message: string | undefined;
}): ReactNode {
  const list = useBox(box);
  const ref = useRowKeys("a.mail-row");
  const { me } = useHere();
  return (
    <div className="work" ref={ref}>
      <LoadedList of={list}>
        {({ messages: shown }) => {
          if (shown.length === 0)
            return (
              <div className="work-inner">
                <Empty title={texts.emptyBox[box]}>
                  <p>{texts.emptyBoxHint}</p>
                </Empty>
              </div>
            );
          // One row is chosen: that of the message, or the newest of the conversation.
          const here =
            shown.find(({ id }) => id === message) ??
            shown.find((one) => agent !== undefined && otherOf(one, me).id === agent);
          return (
            <ul>
              {shown.map((one) => {
                const other = otherOf(one, me);
                const { mark, label } = receiptOf(one);
                return (
                  <li key={one.id}>
                    <Link
                      className="mail-row"
                      to={other.id === null ? "/mail" : `/mail/${other.id}`}
                      search={searchOf(box, one.id)}
                      data-message={one.id}
                      data-waits={waits(one, me) ? one.id : undefined}
                      aria-current={one === here ? "true" : undefined}
                    >
                      <Tile id={other.id ?? "system"} name={partyNameOf(other)} kind={tileOfParty(other)} />
                      <div className="min-w-0">
                        <div className="top">
                          <b className="cut">
                            {isMine(one, me) && <span className="quiet">to </span>}
                            <PartyName of={other} />
                          </b>
                          <When at={one.sentAt} />
                        </div>
                        <div className="cut second">
                          <Line text={withoutIds(one.body ?? texts.longMessage)} />
                        </div>
                      </div>
                      <StatusMark mark={mark} label={label} />
                    </Link>
                  </li>
                );
              })}
            </ul>
          );
        }}
      </LoadedList>
    </div>
  );
}

/** The party other than the reader. */
const otherOf = (one: ShownMessage, me: Me | undefined): Party => (isMine(one, me) ? one.to : one.from);

import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import { type Reading, useRead } from "../../data/reading.ts";
import { Choice } from "../../ui/buttons.tsx";
import { useKeys } from "../../ui/keys.ts";
import { useMoreRows } from "../../ui/more-rows.tsx";
import { useRowKeys } from "../../ui/move-focus.ts";
import { Page } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { StatusMark } from "../../ui/status.tsx";
import { Tile } from "../../ui/tile.tsx";
import { When } from "../../ui/time.tsx";
import { Line, withoutLinks } from "../../ui/words.tsx";
import { Conversation, OneMessage } from "./conversation.tsx";
import { MailBox } from "./mail-box.tsx";
import { nameOf, type Party, type ShownMessage, tileOfParty } from "./message.ts";
import { receiptOf } from "../../ui/receipt.ts";
import * as texts from "./texts.ts";
import "../../ui/work.css";
import "./mail.css";

const boxes = ["waiting", "all", "sent", "deferred"] as const;

/** Talk with the organization: what waits, and one conversation for each agent. */
export function MailPage(): ReactNode {
  const { agent }: { agent?: string } = useParams({ strict: false });
  const { box: asked, message }: { box?: string; message?: string } = useSearch({ strict: false });
  const navigate = useNavigate();
  const box = boxes.find((each) => each === asked) ?? "waiting";
  useKeys({ Escape: () => void navigate({ to: "/mail", search: { box } }) });
  const isOpen = agent !== undefined || message !== undefined;
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
            <Conversation agent={agent} />
          ) : message !== undefined ? (
            <OneMessage id={message} />
          ) : (
            <div className="work">
              <div className="work-inner">
                <Empty title={texts.chooseConversation} />
              </div>
            </div>
          )}
          <MailBox agent={agent} />
        </div>
      </div>
    </Page>
  );
}

function useBox(
  box: (typeof boxes)[number],
  limit: number,
): Reading<{ messages: readonly ShownMessage[]; nextCursor: string | null }> {
  const { company } = useHere();
  const companyId = company.id;
  const kept = { keep: true };
  const waiting = useRead(ops.boardInbox, box === "waiting" ? { companyId, limit } : null, kept);
  const all = useRead(ops.listConversation, box === "all" ? { companyId, limit } : null, kept);
  const isSent = box === "sent" || box === "deferred";
  const sent = useRead(ops.listSent, isSent ? { companyId, limit } : null, kept);
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
  const { rows, more } = useMoreRows();
  const list = useBox(box, rows);
  const ref = useRowKeys("a.mail-row");
  return (
    <div className="work" ref={ref}>
      <Loaded of={list}>
        {({ messages, nextCursor }) => {
          const shown =
            box === "deferred"
              ? messages.filter(
                  ({ deliveredAt, cancelledAt, failure, sentAt, deliverAt }) =>
                    deliveredAt === null && cancelledAt === null && failure === null && deliverAt > sentAt,
                )
              : messages;
          if (shown.length === 0)
            return (
              <div className="work-inner">
                <Empty title={texts.emptyBox[box]}>
                  <p>{texts.emptyBoxHint}</p>
                </Empty>
                {more(nextCursor)}
              </div>
            );
          return (
            <>
              <ul>
                {shown.map((one) => {
                  const { other, isMine } = otherParty(one, box === "waiting");
                  const { mark, label } = receiptOf(one);
                  const isHere = other.id === null ? one.id === message : other.id === agent;
                  return (
                    <li key={one.id}>
                      <Link
                        className="mail-row"
                        to={other.id === null ? "/mail" : `/mail/${other.id}`}
                        search={{
                          ...(box !== "waiting" && { box }),
                          ...(other.id === null && { message: one.id }),
                        }}
                        aria-current={isHere ? "true" : undefined}
                      >
                        <Tile id={other.id ?? "system"} name={nameOf(other)} kind={tileOfParty(other)} />
                        <div className="min-w-0">
                          <div className="top">
                            <b className="cut">
                              {isMine && <span className="quiet">to </span>}
                              <Line text={nameOf(other)} />
                            </b>
                            <When at={one.sentAt} />
                          </div>
                          <div className="cut second">
                            <Line text={withoutLinks(one.body ?? texts.longMessage).slice(0, 200)} />
                          </div>
                        </div>
                        <StatusMark mark={mark} label={label} />
                      </Link>
                    </li>
                  );
                })}
              </ul>
              {more(nextCursor)}
            </>
          );
        }}
      </Loaded>
    </div>
  );
}

/** The party that is not the reader. `isInbox`: the reader got it. */
function otherParty(one: ShownMessage, isInbox: boolean): { other: Party; isMine: boolean } {
  const isMine = !isInbox && one.from.kind === "board";
  return { other: isMine ? one.to : one.from, isMine };
}

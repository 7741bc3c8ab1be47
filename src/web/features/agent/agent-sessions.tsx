import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useRead } from "../../data/reading.ts";
import { money } from "../../ui/figures.tsx";
import { LoadedList, useList } from "../../ui/more-rows.tsx";
import { Empty } from "../../ui/states.tsx";
import { readsInbox, sessionEnds } from "../../ui/session-ends.ts";
import { StatusMark } from "../../ui/status.tsx";
import { Elapsed, When } from "../../ui/time.tsx";
import { Line } from "../../ui/words.tsx";
import { SessionDays } from "./session-days.tsx";
import * as texts from "./texts.ts";

export function AgentSessions({ id }: { id: string }): ReactNode {
  const agent = useRead(ops.viewAgent, { id }).data;
  const list = useList(ops.listAgentSessions, "sessions", { id }, 200);
  return (
    <LoadedList of={list}>
      {({ sessions, nextCursor }) =>
        sessions.length === 0 ? (
          <Empty title={texts.hadNoSessions(agent?.name ?? "")}>
            {agent?.left === null && (
              <>
                <p>{texts.whenItWorks(agent.name)}</p>
                <Link className="b" to={`/mail/${id}`}>
                  {texts.writeTo(agent.name)}
                </Link>
              </>
            )}
          </Empty>
        ) : (
          <>
            <SessionDays sessions={sessions} isAll={nextCursor === null} />
            <ul className="plain-list">
              {sessions.map(({ id: session, startedAt, endedAt, end, outcome, usage, endReason }) => (
                <li key={session}>
                  <Link to={`/sessions/${session}`}>
                    <StatusMark mark={sessionEnds[end]?.[0] ?? "idle"} label={sessionEnds[end]?.[1] ?? end} />
                    <span className="wide cut">
                      <Line text={outcome?.title ?? readsInbox} />
                      {endReason !== null && end !== "done" && (
                        <span className="lab">
                          {" "}
                          <Line text={endReason} />
                        </span>
                      )}
                    </span>
                    <span className="end num">
                      <Elapsed since={startedAt} until={endedAt} />
                      <span>{money(usage.costUsd)}</span>
                      <When at={startedAt} />
                    </span>
                  </Link>
                </li>
              ))}
            </ul>
          </>
        )
      }
    </LoadedList>
  );
}

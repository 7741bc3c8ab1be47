import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import { useBeside, WithPanel } from "../../ui/beside.tsx";
import { Choice } from "../../ui/buttons.tsx";
import { counted, money } from "../../ui/figures.tsx";
import { FindField } from "../../ui/filter-fields.tsx";
import { LoadedList, useList } from "../../ui/more-rows.tsx";
import { useRowKeys } from "../../ui/move-focus.ts";
import { Page } from "../../ui/page.tsx";
import { Empty } from "../../ui/states.tsx";
import { StatusMark } from "../../ui/status.tsx";
import { Elapsed, When } from "../../ui/time.tsx";
import { AgentName } from "../../ui/agent-name.tsx";
import { Line } from "../../ui/words.tsx";
import { readsInbox, sessionEnds } from "../../ui/session-ends.ts";
import * as texts from "./texts.ts";

const ends = ["all", "running", "done", "failed", "stopped"] as const;

/** Every session of the company, newest first. */
export function SessionsPage(): ReactNode {
  const { company } = useHere();
  const navigate = useNavigate();
  const search: { end?: string; q?: string } = useSearch({ strict: false });
  const q = search.q?.trim() ?? "";
  const end = ends.find((each) => each === search.end) ?? "all";
  const list = useList(ops.listSessions, "sessions", {
    companyId: company.id,
    ...(end !== "all" && { end }),
    ...(q !== "" && { text: q }),
  });
  const change = (part: typeof search): void =>
    void navigate({ to: "/sessions", search: (now: object) => ({ ...now, ...part }), replace: true });
  const ref = useRowKeys("a.row");
  const beside = useBeside("session");
  return (
    <Page title="Sessions" heading crumbs={[{ text: "Organization", to: "/org" }]}>
      <WithPanel of={beside}>
        <div className="scroll">
          <div className="inner" ref={ref}>
            <div className="list-filters" role="search">
              <Choice
                label="End"
                value={end}
                options={ends.map((value) => ({
                  value,
                  text: value === "all" ? "All" : (sessionEnds[value]?.[1] ?? value),
                }))}
                onChange={(value) => change({ end: value === "all" ? "" : value })}
              />
              <FindField
                label="Find by agent or outcome"
                value={search.q ?? ""}
                onChange={(sought) => change({ q: sought })}
              />
            </div>
            <LoadedList of={list}>
              {({ sessions, count }) =>
                sessions.length === 0 ? (
                  <Empty
                    title={
                      q !== "" ? texts.noSessionFound : end === "all" ? texts.noSessions : texts.noneEndedSo
                    }
                  >
                    <p>{texts.noSessionsHint}</p>
                  </Empty>
                ) : (
                  <>
                    {count !== undefined && <p className="lab list-count">{counted(count, "session")}</p>}
                    <ul>
                      {sessions.map(
                        ({ id, agent, outcome, end: how, startedAt, endedAt, usage, endReason }) => {
                          const [mark, word] = sessionEnds[how] ?? (["idle", how] as const);
                          return (
                            <li key={id} className={id === beside.chosen?.id ? "sel" : ""}>
                              <Link
                                className="row"
                                data-beside={`session ${id}`}
                                to={`/sessions/${id}`}
                                onClick={(event) => beside.click({ kind: "session", id }, event)}
                              >
                                <StatusMark mark={mark} label={word} />
                                <div className="min-w-0">
                                  <div className="title cut">
                                    <Line text={outcome?.title ?? readsInbox} />
                                  </div>
                                  <div className="meta">
                                    <AgentName of={agent} isLink={false} />
                                    {endReason !== null && how !== "done" && (
                                      <>
                                        <span className="sep">·</span>
                                        <span className="cut">
                                          <Line text={endReason} />
                                        </span>
                                      </>
                                    )}
                                  </div>
                                </div>
                                <div className="end num">
                                  <span>
                                    <Elapsed since={startedAt} until={endedAt} /> · {money(usage.costUsd)}
                                  </span>
                                  <span className="age">
                                    <When at={startedAt} />
                                  </span>
                                </div>
                              </Link>
                            </li>
                          );
                        },
                      )}
                    </ul>
                  </>
                )
              }
            </LoadedList>
          </div>
        </div>
      </WithPanel>
    </Page>
  );
}

import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import type { Refused } from "../../data/calling.ts";
import { useHere } from "../../data/company.ts";
import { useRead } from "../../data/reading.ts";
import { Box, Lines } from "../../ui/box.tsx";
import { figure } from "../../ui/figures.tsx";
import { Icon } from "../../ui/icons.tsx";
import { LoadedList, useList } from "../../ui/more-rows.tsx";
import { runsOf } from "../../ui/runs.ts";
import { DoneIn } from "../../ui/session-link.tsx";
import { Loaded, Refusal } from "../../ui/states.tsx";
import { When } from "../../ui/time.tsx";
import { AgentName } from "../../ui/agent-name.tsx";
import { Line, Name, Said } from "../../ui/words.tsx";
import * as texts from "./texts.ts";

/** A deleted file: who deleted it and why, and its versions. */
export function GoneFile({ id, refused }: { id: string; refused: Refused }): ReactNode {
  const { company, me } = useHere();
  const deleted = useRead(
    ops.listEvents,
    me?.role === "member"
      ? null
      : {
          companyId: company.id,
          subject: id,
          operation: "knowledge.delete",
          refused: false,
          order: "newest",
          limit: 1,
        },
  ).data?.events[0];
  const reason = deleted?.data["reason"];
  return (
    <>
      <Refusal of={refused} />
      {deleted !== undefined && (
        <p>
          <Line text={deleted.by.person?.name ?? deleted.by.agent?.name ?? "Agency"} /> {texts.deletedIt}{" "}
          <When at={deleted.at} />
          {typeof reason === "string" && (
            <>
              : <Said text={reason} />
            </>
          )}
        </p>
      )}
      <HistoryPart id={id} newest={null} />
    </>
  );
}

/** Every version with its author. `newest` is null if the file is deleted; then no version can be opened. */
export function HistoryPart({ id, newest }: { id: string; newest: number | null }): ReactNode {
  const history = useList(ops.viewHistory, "versions", { id });
  const name = useAuthor();
  return (
    <section className="box">
      <LoadedList of={history}>
        {({ versions }) => (
          <ul className="lines">
            {versions.map(({ version, size, author, at }) => (
              <li key={version}>
                {newest === null ? (
                  <span>Version {version}</span>
                ) : (
                  <Link to={`/knowledge/${id}`} search={{ v: version === newest ? "" : String(version) }}>
                    Version {version}
                  </Link>
                )}
                {name(author)}
                <span className="end">
                  {newest !== null && version > 1 && (
                    <Link
                      className="linked"
                      to={`/knowledge/${id}`}
                      search={{ v: String(version), against: String(version - 1) }}
                    >
                      what changed
                    </Link>
                  )}
                  {figure(size)} bytes
                  <When at={at} />
                </span>
              </li>
            ))}
          </ul>
        )}
      </LoadedList>
    </section>
  );
}

const states = { live: "", deleted: "deleted", broken: "broken" } as const;

export function LinksPart({ id }: { id: string }): ReactNode {
  const links = useRead(ops.viewLinks, { id });
  return (
    <Loaded of={links}>
      {(data) =>
        (
          [
            ["It links to", data.links],
            ["Files that link to it", data.backlinks],
          ] as const
        ).map(([title, list]) => (
          <Box key={title} title={title}>
            <Lines of={list} none="None.">
              {(one) => (
                <li key={one.id}>
                  <Icon name="link" />
                  <Name of={{ kind: "file", id: one.id, title: one.description }} />
                  {one.state !== "live" && <span className="tag stop">{states[one.state]}</span>}
                </li>
              )}
            </Lines>
          </Box>
        ))
      }
    </Loaded>
  );
}

/** Who can read the file and why, and who has read it. */
export function AccessPart({ id }: { id: string }): ReactNode {
  const { company } = useHere();
  const holders = useList(ops.listHolders, "holders", {
    companyId: company.id,
    resource: `kb:${id}`,
    level: "read" as const,
  });
  const log = useList(ops.viewAccessLog, "accesses", { id });
  const name = useAuthor();
  return (
    <>
      <Box title="Who can read it, and why">
        <LoadedList of={holders}>
          {({ holders: all }) => (
            <Lines of={all} none="No agent can read it.">
              {({ agent, held, because }) => (
                <li key={agent.id}>
                  <span className="who">
                    <AgentName of={agent} />
                  </span>
                  <span className="tag">{held}</span>
                  <span className="quiet">
                    <Said text={because} />
                  </span>
                </li>
              )}
            </Lines>
          )}
        </LoadedList>
        <p className="none">{texts.peopleRead}</p>
      </Box>
      <Box title="Access log">
        <LoadedList of={log}>
          {({ accesses }) =>
            accesses.length === 0 ? (
              <p className="none">This file was not read or written yet.</p>
            ) : (
              <ul className="lines">
                {runsOf(accesses, ({ action, by, version }) =>
                  [action, version, by.agentId, by.personId, by.sessionId].join(" "),
                ).map(([{ at, action, by, version }, ...more], index) => (
                  <li key={`${at} ${index}`}>
                    {name(by)}
                    <span>{texts.accessWords(action)}</span>
                    {more.length > 0 && <span className="tag">{more.length + 1} times</span>}
                    <span className="end">
                      {version !== null && `version ${version}`}
                      <DoneIn session={by.sessionId} at={at} />
                    </span>
                  </li>
                ))}
              </ul>
            )
          }
        </LoadedList>
      </Box>
    </>
  );
}

interface Actor {
  readonly kind: string;
  readonly agentId: string | null;
  readonly personId: string | null;
}

/** Names for the ids in records. */
function useAuthor(): (actor: Actor) => ReactNode {
  const people = useRead(ops.listPeople, {}).data;
  return ({ kind, agentId, personId }) => {
    const person = people?.people.find(({ id }) => id === personId);
    if (person !== undefined)
      return <Name of={{ kind: "person", id: person.id, title: person.name }} tile="person" />;
    if (agentId === null) return <span>{kind === "board" ? "The board" : "The system"}</span>;
    return <AgentName of={{ id: agentId, name: null }} unknown="An agent" />;
  };
}

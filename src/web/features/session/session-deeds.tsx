import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import type { Answer } from "../../data/operations.ts";
import { useCut } from "../../ui/cut.tsx";
import { useList } from "../../ui/more-rows.tsx";
import { Name } from "../../ui/words.tsx";
import * as texts from "./texts.ts";

type Session = Pick<Answer<typeof ops.viewSession>, "id" | "agent" | "startedAt" | "endedAt">;
type Told = Answer<typeof ops.listEvents>["events"][number];

/** The files that a session wrote and the outcomes that it changed, from the record. */
export function SessionDeeds({ of: { id, agent, startedAt, endedAt } }: { of: Session }): ReactNode {
  const { company, me } = useHere();
  const list = useList(
    ops.listEvents,
    "events",
    me?.role === "member"
      ? null
      : {
          companyId: company.id,
          actor: agent.id,
          from: startedAt,
          // The last entries of a session are written while it ends.
          ...(endedAt !== null && { to: new Date(Date.parse(endedAt) + 1000).toISOString() }),
          refused: false,
          order: "newest" as const,
        },
    500,
  );
  const isAll = list.data === undefined || list.data.nextCursor === null;
  const mine = (list.data?.events ?? []).filter(
    ({ actor, operation }) => actor.sessionId === id && changes.has(operation),
  );
  return (
    <>
      <Things title="Files written" of={mine.filter(({ about }) => about?.kind === "file")} isAll={isAll} />
      <Things
        title="Outcomes changed"
        of={mine.filter(({ about }) => about?.kind === "outcome")}
        isAll={isAll}
      />
      {!isAll && (
        <section className="sec">
          <h3>{texts.earlierDeeds}</h3>
          {list.more}
        </section>
      )}
    </>
  );
}

const changes: ReadonlySet<string> = new Set(
  Object.values(ops).flatMap(({ name, writes }) => (writes === true ? [name] : [])),
);

function Things({
  title,
  of,
  isAll,
}: {
  title: string;
  of: readonly Told[];
  /** False if earlier entries of the record are not read yet. */
  isAll: boolean;
}): ReactNode {
  const things = new Map(of.flatMap(({ about }) => (about === null ? [] : [[about.id, about] as const])));
  const { first, more } = useCut([...things.values()], 30);
  if (things.size === 0) return null;
  return (
    <section className="sec">
      <h3>
        {title}{" "}
        <span className="lab num">
          {!isAll && "at least "}
          {things.size}
        </span>
      </h3>
      <ul className="deeds">
        {first.map((thing) => (
          <li key={thing.id}>
            <Name of={thing} />
          </li>
        ))}
        {more !== null && <li>{more}</li>}
      </ul>
    </section>
  );
}

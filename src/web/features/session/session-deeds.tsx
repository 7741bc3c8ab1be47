import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import type { Answer } from "../../data/operations.ts";
import { useRead } from "../../data/reading.ts";
import { Name } from "../../ui/words.tsx";

type Session = Pick<Answer<typeof ops.viewSession>, "id" | "agent" | "startedAt" | "endedAt">;
type Told = Answer<typeof ops.listEvents>["events"][number];

/** The files that a session wrote and the outcomes that it changed, from the record. */
export function SessionDeeds({ of: { id, agent, startedAt, endedAt } }: { of: Session }): ReactNode {
  const { company, me } = useHere();
  const events = useRead(
    ops.listEvents,
    me?.role === "member"
      ? null
      : {
          companyId: company.id,
          actor: agent.id,
          from: startedAt,
          // The last entries of a session are written while it ends.
          ...(endedAt !== null && { to: new Date(Date.parse(endedAt) + 1000).toISOString() }),
          refused: false,
          order: "newest",
          limit: 500,
        },
  ).data?.events;
  const mine = (events ?? []).filter(
    ({ actor, operation }) => actor.sessionId === id && changes.has(operation),
  );
  return (
    <>
      <Things title="Files written" of={mine.filter(({ about }) => about?.kind === "file")} />
      <Things title="Outcomes changed" of={mine.filter(({ about }) => about?.kind === "outcome")} />
    </>
  );
}

const changes: ReadonlySet<string> = new Set(
  Object.values(ops).flatMap(({ name, writes }) => (writes === true ? [name] : [])),
);

function Things({ title, of }: { title: string; of: readonly Told[] }): ReactNode {
  const things = new Map(of.flatMap(({ about }) => (about === null ? [] : [[about.id, about] as const])));
  if (things.size === 0) return null;
  return (
    <section className="sec">
      <h3>
        {title} <span className="lab num">{things.size}</span>
      </h3>
      <ul className="deeds">
        {[...things.values()].slice(0, 30).map((thing) => (
          <li key={thing.id}>
            <Name of={thing} />
          </li>
        ))}
      </ul>
    </section>
  );
}

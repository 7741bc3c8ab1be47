import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { ops } from "virtual:operations";
import type { Answer } from "../../data/operations.ts";
import { useCut } from "../../ui/cut.tsx";
import { counted, money } from "../../ui/figures.tsx";
import { stopwatch, useNow } from "../../ui/time.tsx";

type Session = Answer<typeof ops.listAgentSessions>["sessions"][number];
const dayMs = 86_400_000;
const mostDays = 14;

/** The last days with sessions, newest first: each session is a bar at its time of day. */
export function SessionDays({
  sessions,
  isAll,
}: {
  sessions: readonly Session[];
  /** False if the oldest day has sessions that are not read yet. It is then left out. */
  isAll: boolean;
}): ReactNode {
  const now = useNow(15);
  const days = [...Map.groupBy(sessions, ({ startedAt }) => midnightBefore(Date.parse(startedAt)))];
  const { first, more } = useCut(isAll ? days : days.slice(0, Math.max(1, days.length - 1)), mostDays);
  return (
    <section className="sec">
      <h3>
        By day <span className="r">from midnight to midnight</span>
      </h3>
      <ul className="session-days">
        {first.map(([midnight, those]) => (
          <li key={midnight}>
            <span>{new Date(midnight).toLocaleDateString("en-GB", { day: "numeric", month: "short" })}</span>
            <span className="track">
              {those.map(({ id, startedAt, endedAt, end, outcome }) => {
                const from = Date.parse(startedAt);
                const until = endedAt === null ? Math.max(now, from) : Date.parse(endedAt);
                const what = `${outcome?.title ?? "Inbox"}: ${stopwatch(until - from)}, ${end}`;
                return (
                  <Link
                    key={id}
                    to={`/sessions/${id}`}
                    className={end}
                    // The list below leads to the same sessions by keyboard.
                    tabIndex={-1}
                    title={what}
                    aria-label={what}
                    style={{
                      insetInlineStart: `${(100 * (from - midnight)) / dayMs}%`,
                      width: `${(100 * (Math.min(until, midnight + dayMs) - from)) / dayMs}%`,
                    }}
                  />
                );
              })}
            </span>
            <span className="end">
              {!isAll && days.length === 1 && "at least "}
              {counted(those.length, "session")},{" "}
              {money(those.reduce((sum, { usage }) => sum + usage.costUsd, 0))}
            </span>
          </li>
        ))}
        {more !== null && <li>{more}</li>}
      </ul>
    </section>
  );
}

const midnightBefore = (at: number): number => new Date(at).setHours(0, 0, 0, 0);

import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import { useRead } from "../../data/reading.ts";
import { useRenewing } from "../../data/renewing.ts";
import { counted, money, roundMoney } from "../../ui/figures.tsx";
import { StatusMark } from "../../ui/status.tsx";
import { Tile } from "../../ui/tile.tsx";
import { Elapsed, shortTime, useNow, When } from "../../ui/time.tsx";
import { AgentName } from "../../ui/agent-name.tsx";
import { Line, Name } from "../../ui/words.tsx";
import { homeReads, lastVisit } from "./reads.ts";

/** Agents at work now, work that ended since the last visit, and the costs of the month. */
export function Rail(): ReactNode {
  const { company } = useHere();
  return (
    <aside className="rail" aria-label="Now" tabIndex={0}>
      <AtWork companyId={company.id} places={company.settings.maxSessions} />
      <SinceLastVisit companyId={company.id} />
      <Month companyId={company.id} />
    </aside>
  );
}

function AtWork({ companyId, places }: { companyId: string; places: number }): ReactNode {
  const { sessions = [], count = 0 } = useRead(ops.listSessions, homeReads.sessions(companyId)).data ?? {};
  useRenewing(ops.listSessions, count > 0);
  const free = Math.max(0, places - count);
  return (
    <section>
      <h2>
        At work now{" "}
        <span>
          {count} of {places} places
        </span>
      </h2>
      <ul className="live">
        {sessions.map(({ id, agent, startedAt, usage, outcome, lastLine }) => (
          <li key={id}>
            <Tile id={agent.id} name={agent.name} />
            <div className="who">
              <b className="cut">
                <AgentName of={agent} tile={null} />
              </b>
              <StatusMark mark="work" label="working" />
              <Link className="t" to={`/sessions/${id}`}>
                <Elapsed since={startedAt} />
                {usage.costUsd > 0 && ` · ${money(usage.costUsd)}`}
              </Link>
            </div>
            <div className="what cut">
              <Line text={outcome?.title ?? "reads its inbox"} />
            </div>
            <div className="line cut">
              <Line text={lastLine ?? "nothing printed yet"} />
            </div>
          </li>
        ))}
        {count > sessions.length && (
          <li className="free">
            <span className="slot" />
            <Link to="/sessions" search={{ end: "running" }}>
              and {count - sessions.length} more
            </Link>
          </li>
        )}
        {count === 0 && (
          <li className="free">
            <span className="slot" />
            No agent is working.
          </li>
        )}
        {count > 0 && free > 0 && (
          <li className="free">
            <span className="slot" />
            {counted(free, "place")} free
          </li>
        )}
      </ul>
    </section>
  );
}

/** The newest ends since then. Agency completes inboxes that are empty again itself; these are left out. */
function useEnded(companyId: string, from: string, operation: "outcome.complete" | "outcome.close") {
  const page = useRead(ops.listEvents, homeReads.ended(companyId, from, operation)).data;
  const events = (page?.events ?? []).filter(
    ({ actor }) => operation === "outcome.close" || actor.kind !== "system",
  );
  return { events, count: `${page?.nextCursor == null ? "" : "at least "}${events.length}` };
}

function SinceLastVisit({ companyId }: { companyId: string }): ReactNode {
  const [from] = useState(() => lastVisit(companyId));
  const present = useNow(60);
  const done = useEnded(companyId, from, "outcome.complete");
  const closed = useEnded(companyId, from, "outcome.close");
  const ended = [...done.events, ...closed.events].toSorted((a, b) => b.seq - a.seq);
  return (
    <section>
      <h2>
        Since {shortTime(from, present)}{" "}
        <span>
          {done.count} done{closed.events.length > 0 && `, ${closed.count} closed`}
        </span>
      </h2>
      <ul className="results">
        {ended.slice(0, 5).map(({ seq, at, operation, about, by }) => (
          <li key={seq}>
            <StatusMark
              mark={operation === "outcome.complete" ? "done" : "closed"}
              label={operation === "outcome.complete" ? "completed" : "closed"}
            />
            <span className="cut">
              <Name of={{ kind: "outcome", id: about?.id ?? null, title: about?.title ?? "An outcome" }} />
            </span>
            <span className="t">
              <When at={at} />
            </span>
            <span className="by">
              <Line
                text={`${operation === "outcome.complete" ? "accepted" : "closed"} by ${by.agent?.name ?? by.person?.name ?? "Agency"}`}
              />
            </span>
          </li>
        ))}
        {ended.length === 0 && <li className="none">No outcome has ended since then.</li>}
      </ul>
    </section>
  );
}

function Month({ companyId }: { companyId: string }): ReactNode {
  const costs = useRead(ops.listCosts, homeReads.costs(companyId)).data;
  if (costs === undefined) return null;
  const [year = 0, month = 1] = costs.month.split("-").map(Number);
  const last = new Date(Date.UTC(year, month, 0)).getUTCDate();
  const today = new Date().getUTCDate();
  const byDay = new Map((costs.days ?? []).map(({ day, total }) => [Number(day.slice(-2)), total.costUsd]));
  const most = Math.max(0.01, ...byDay.values());
  const spent = costs.total.costUsd;
  const budget = costs.budget.find(({ measure }) => measure === "usd");
  const pace = (spent / today) * last;
  const days = Array.from({ length: last }, (_, at) => at + 1);
  return (
    <section className="spend">
      <h2>
        {new Date(Date.UTC(year, month - 1)).toLocaleString("en", { month: "long", timeZone: "UTC" })}{" "}
        <span>
          day {today} of {last}
        </span>
      </h2>
      <div className="big">
        <Link to="/costs">{money(spent)}</Link>
        {budget?.limit != null && <span>of {roundMoney(budget.limit)}</span>}
      </div>
      <div className="bars" role="img" aria-label={`Spent each day, at most ${money(most)}`}>
        {days.map((day) => (
          <i
            key={day}
            className={day === today ? "today" : day > today ? "ahead" : ""}
            style={{ height: day > today ? (pace / last / most) * 42 : ((byDay.get(day) ?? 0) / most) * 42 }}
          />
        ))}
      </div>
      <p>
        <span>about {money(pace)} at this pace</span>
        {budget !== undefined && budget.reserved > 0 && (
          <span>{money(budget.reserved)} reserved for sessions</span>
        )}
      </p>
    </section>
  );
}

import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import type { Answer } from "../data/operations.ts";
import { useRead } from "../data/reading.ts";
import { useRenewing } from "../data/renewing.ts";
import { AgentActions } from "./agent-actions.tsx";
import { Meter, money, roundMoney } from "./figures.tsx";
import { Icon } from "./icons.tsx";
import { isHeld, useReasons } from "./reasons.ts";
import { ResourceWords } from "./resource.tsx";
import { Loaded } from "./states.tsx";
import { standingOf } from "./standing.ts";
import { RequestCard } from "./request-card.tsx";
import { SidePanel } from "./side-panel.tsx";
import { StatusMark } from "./status.tsx";
import { Tile, tileOf } from "./tile.tsx";
import { Elapsed, When } from "./time.tsx";
import { Why, WhyLine } from "./why.tsx";
import { Line, Name, Said } from "./words.tsx";
import "./agent-panel.css";

/** An agent in the panel: its name, what it does now and why, its outcomes, budget and rights in short. */
export function AgentNow({ id }: { id: string }): ReactNode {
  const agent = useRead(ops.viewAgent, { id }, { keep: true });
  return (
    <SidePanel label="Agent" to={`/agents/${id}`}>
      <Loaded of={agent}>
        {(data) => (
          <div className="agent">
            <div className="head">
              <AgentTop of={data}>
                <h2 className="nm cut">
                  <Line text={data.name} />
                </h2>
              </AgentTop>
              <AgentActions agent={data} />
            </div>
            <div className="body">
              {data.status === "pending_approval" ? <PendingHire of={data} /> : <AgentSummary id={id} />}
            </div>
          </div>
        )}
      </Loaded>
    </SidePanel>
  );
}

/** Who an agent is, at the top of its page or panel: its tile, its heading and its role, and what more is said about it. */
export function AgentTop({
  of,
  says,
  children,
}: {
  of: Answer<typeof ops.viewAgent>;
  says?: ReactNode;
  children: ReactNode;
}): ReactNode {
  return (
    <div className="top">
      <Tile id={of.id} name={of.name} {...tileOf(of.status, of.person !== null)} size="lg" />
      <div className="min-w-0">
        {children}
        <div className="role">
          <RoleLine of={of} />
        </div>
        {says}
      </div>
    </div>
  );
}

/** The role, the title if there is one, and the manager. */
function RoleLine({
  of: { role, title, boss },
}: {
  of: Pick<Answer<typeof ops.viewAgent>, "role" | "title" | "boss">;
}): ReactNode {
  return (
    <>
      <Line text={title === null || title === role ? role : `${role} (${title})`} />, reports to{" "}
      {boss === null ? "the board" : <Name of={{ kind: "agent", id: boss.id, title: boss.name }} />}
    </>
  );
}

/** An agent that is not hired yet, with its request to decide on. */
export function PendingHire({
  of: { approval },
}: {
  of: Pick<Answer<typeof ops.viewAgent>, "approval">;
}): ReactNode {
  const id = approval?.id ?? null;
  const request = useRead(ops.viewApproval, id === null ? null : { id });
  return id === null ? null : (
    <Loaded of={request}>{(newest) => <RequestCard key={id} newest={newest} />}</Loaded>
  );
}

/** "2 open, 1 blocked": the mandate and the inbox do not count as work, and counts of zero are left out. */
function workWords({ open, blocked, submitted }: Readonly<Record<"open" | "blocked" | "submitted", number>>) {
  const parts = [
    [open, "open"],
    [blocked, "blocked"],
    [submitted, "submitted"],
  ] as const;
  const said = parts.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`);
  return said.length === 0 ? "no work" : said.join(", ");
}

const mostGrants = 5;

/** The content of the tab Now. */
export function AgentSummary({ id }: { id: string }): ReactNode {
  const agent = useRead(ops.viewAgent, { id }).data;
  const why = useRead(ops.whyMany, { ids: [id] }).data?.answers[0];
  const live = useRead(ops.listAgentOutcomes, { id, live: true, limit: 8 }).data;
  const outcomes = live?.outcomes ?? [];
  const reasons = useReasons(outcomes);
  const rights = useRead(ops.listAgentGrants, { id, stands: true }).data;
  const sessions = useRead(ops.listAgentSessions, { id, limit: 1 }).data?.sessions;
  useRenewing(ops.listAgentSessions, agent?.session != null);
  if (agent === undefined) return null;
  const usd = agent.budget?.find(({ measure }) => measure === "usd");
  const last = sessions?.[0];
  const grants = rights?.grants ?? [];
  const hasMoreGrants = rights !== undefined && rights.nextCursor !== null;
  return (
    <>
      <section className="sec">
        <h3>
          {agent.session === null ? (
            <>
              <StatusMark mark={agent.status === "paused" ? "pause" : "idle"} />
              {agent.status === "paused" ? "Paused" : agent.status === "terminated" ? "Left" : "Idle"}
            </>
          ) : (
            <>
              <StatusMark mark="work" />
              <Link to={`/sessions/${agent.session.id}`}>
                At work for <Elapsed since={agent.session.since} />
              </Link>
            </>
          )}
          {last !== undefined && (
            <span className="r">
              {agent.session === null ? "last session " : ""}
              {money(last.usage.costUsd)}
            </span>
          )}
        </h3>
        {agent.session?.outcome != null && (
          <p className="t1">
            <Name of={agent.session.outcome} />
          </p>
        )}
        {last?.lastLine != null && (
          <Link className="term" to={`/sessions/${last.id}`}>
            {(last.tail.length === 0 ? [last.lastLine] : last.tail).map((line, at, all) => (
              <div key={at} className={agent.session !== null && at === all.length - 1 ? "cut now" : "cut"}>
                <Line text={line} />
              </div>
            ))}
          </Link>
        )}
      </section>
      {/* Left out if the lines above already say that it works. The page of a departed agent also says so. */}
      {agent.session === null && agent.status !== "terminated" && (
        <section className="callout why">
          <Icon name="path" />
          <div className="min-w-0">
            {why === undefined ? <Said text={agent.says} most={500} /> : <Why of={why} />}
          </div>
        </section>
      )}
      <section className="sec">
        <h3>
          Outcomes
          {agent.work !== null && <span className="r">{workWords(agent.work)}</span>}
        </h3>
        <ul className="oc">
          {outcomes.map(({ id: outcome, title, status, blocked }) => {
            const reason = reasons.get(outcome);
            const { mark, label } = standingOf(status, reason?.state, blocked !== null);
            return (
              <li key={outcome} data-about={`outcome ${outcome}`}>
                <StatusMark mark={mark} />
                <span className="cut">
                  <Name of={{ kind: "outcome", id: outcome, title }} />
                </span>
                <span className="r">{label}</span>
                {reason !== undefined && isHeld(reason.state, blocked !== null) && (
                  <span className="held">
                    <WhyLine of={reason} title={title} />
                  </span>
                )}
              </li>
            );
          })}
          {live?.outcomes.length === 0 && <li className="dim">No outcome is open.</li>}
          {live !== undefined && live.nextCursor !== null && (
            <li>
              <Icon name="right" />
              <Link to={`/agents/${id}/outcomes`}>More outcomes</Link>
            </li>
          )}
        </ul>
      </section>
      {agent.cost !== null && (
        <section className="sec">
          <h3>
            Spent this month
            <span className="r">
              {usd?.limit == null ? "from the budget above it" : `of ${roundMoney(usd.limit)}`}
            </span>
          </h3>
          {usd?.limit != null && (
            <Meter
              label={`${money(usd.spent)} spent, ${money(usd.reserved)} reserved, ${money(usd.handedDown)} given to reports`}
              parts={[
                { value: usd.spent },
                { value: usd.reserved, tone: "soft" },
                { value: usd.handedDown, tone: "down" },
                { value: usd.left ?? 0, tone: "none" },
              ]}
            />
          )}
          <p className="t2 num">
            {money(agent.cost.own.costUsd)} itself, {money(agent.cost.total.costUsd)} with all below
            {usd !== undefined && usd.handedDown > 0 && `, ${roundMoney(usd.handedDown)} given to reports`}
            {usd !== undefined && usd.reserved > 0 && `, ${money(usd.reserved)} reserved for sessions`}
          </p>
        </section>
      )}
      <section className="sec">
        <h3>
          Rights
          {agent.status !== "terminated" && (
            <span className="r">
              {hasMoreGrants && "at least "}
              {grants.length} given, {rights?.structural.length ?? 0} by place
            </span>
          )}
        </h3>
        <ul className="oc">
          {grants.slice(0, mostGrants).map(({ id: grant, resource, level, scope }) => (
            <li key={grant}>
              <Icon name="key" />
              <span className="cut">
                {level} <ResourceWords resource={resource} />
              </span>
              <span className="r cut" title={scope.title ?? undefined}>
                {scope.title !== null && <Line text={`ends with “${scope.title}”`} />}
              </span>
            </li>
          ))}
          {grants.length > mostGrants && (
            <li>
              <Icon name="right" />
              <Link to={`/agents/${id}/rights`}>
                and {hasMoreGrants && "at least "}
                {grants.length - mostGrants} more
              </Link>
            </li>
          )}
          <li>
            <Icon name="hire" />
            <span>Can create new agents</span>
            <span className="r">{agent.permissions?.canCreateAgents ? "yes" : "no"}</span>
          </li>
        </ul>
      </section>
      {agent.paused !== null && (
        <p className="lab">
          Paused <When at={agent.paused.since} said />
          {agent.paused.reason !== null && (
            <>
              : <Line text={agent.paused.reason} />
            </>
          )}
        </p>
      )}
    </>
  );
}

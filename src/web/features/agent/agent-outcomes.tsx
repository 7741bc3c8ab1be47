import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useRead } from "../../data/reading.ts";
import { useList } from "../../ui/more-rows.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { standingOf } from "../../ui/standing.ts";
import { StatusMark } from "../../ui/status.tsx";
import { WhyLine } from "../../ui/why.tsx";
import { Name } from "../../ui/words.tsx";
import * as texts from "./texts.ts";

const mostAsked = 100;

/** The outcomes of the agent. If one does not move, the row says why. */
export function AgentOutcomes({ id }: { id: string }): ReactNode {
  const list = useList(ops.listAgentOutcomes, "outcomes", { id });
  const agent = useRead(ops.viewAgent, { id }).data;
  const live = (list.data?.outcomes ?? [])
    .filter(({ status }) => status === "open" || status === "submitted")
    .map((outcome) => outcome.id)
    .slice(0, mostAsked);
  const answers = useRead(ops.whyMany, live.length === 0 ? null : { ids: live }, { keep: true }).data
    ?.answers;
  const reasons = new Map((answers ?? []).map((answer) => [answer.id, answer]));
  return (
    <Loaded of={list}>
      {({ outcomes }) =>
        outcomes.length === 0 ? (
          <Empty title={texts.hasNoOutcomes(agent?.name ?? "")}>
            {agent?.left === null && (
              <Link className="b" to={`/mail/${id}`}>
                {texts.writeTo(agent.name)}
              </Link>
            )}
          </Empty>
        ) : (
          <>
            <ul className="plain-list">
              {outcomes.map(({ id: outcome, title, status, blocked }) => {
                const reason = reasons.get(outcome);
                const { mark, label } = standingOf(status, reason?.state, blocked !== null);
                return (
                  <li key={outcome} data-about={`outcome ${outcome}`}>
                    <StatusMark mark={mark} label={label} />
                    <span className="wide min-w-0">
                      <span className="cut">
                        <Name of={{ kind: "outcome", id: outcome, title }} />
                      </span>
                      {reason !== undefined && (reason.state !== "moving" || blocked !== null) && (
                        <span className="lab">
                          <WhyLine of={reason} title={title} />
                        </span>
                      )}
                    </span>
                    <span className="end">{label}</span>
                  </li>
                );
              })}
            </ul>
            {list.more}
          </>
        )
      }
    </Loaded>
  );
}

import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import type { Answer } from "../../data/operations.ts";
import { useRead } from "../../data/reading.ts";
import { LoadedList, useList } from "../../ui/more-rows.tsx";
import { inParts, isHeld, mostReasons, useReasons } from "../../ui/reasons.ts";
import { Empty } from "../../ui/states.tsx";
import { standingOf } from "../../ui/standing.ts";
import { StatusMark } from "../../ui/status.tsx";
import { WhyLine } from "../../ui/why.tsx";
import { Name } from "../../ui/words.tsx";
import * as texts from "./texts.ts";

/** The outcomes of the agent. If one does not move, the row says why. */
export function AgentOutcomes({ id }: { id: string }): ReactNode {
  const list = useList(ops.listAgentOutcomes, "outcomes", { id });
  const agent = useRead(ops.viewAgent, { id }).data;
  return (
    <LoadedList of={list}>
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
          <ul className="plain-list">
            {inParts(outcomes, mostReasons).map((part) => (
              <Rows key={part[0]?.id} of={part} />
            ))}
          </ul>
        )
      }
    </LoadedList>
  );
}

function Rows({ of }: { of: Readonly<Answer<typeof ops.listAgentOutcomes>["outcomes"]> }): ReactNode {
  const reasons = useReasons(of);
  return of.map(({ id, title, status, blocked }) => {
    const reason = reasons.get(id);
    const { mark, label } = standingOf(status, reason?.state, blocked !== null);
    return (
      <li key={id} data-about={`outcome ${id}`}>
        <StatusMark mark={mark} label={label} />
        <span className="wide min-w-0">
          <span className="cut">
            <Name of={{ kind: "outcome", id, title }} />
          </span>
          {reason !== undefined && isHeld(reason.state, blocked !== null) && (
            <span className="lab">
              <WhyLine of={reason} title={title} />
            </span>
          )}
        </span>
        <span className="end">{label}</span>
      </li>
    );
  });
}

import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useRead } from "../data/reading.ts";
import { SidePanel } from "./side-panel.tsx";
import { standingOf, unowned } from "./standing.ts";
import { Loaded } from "./states.tsx";
import { StatusMark } from "./status.tsx";
import { AgentName } from "./agent-name.tsx";
import { Line, Said } from "./words.tsx";
import { OutcomeActions } from "./outcome-actions.tsx";
import { WhyBox } from "./why-box.tsx";
import "./work.css";

/** One outcome in the panel: its state, the reason, and the possible actions. */
export function OutcomePanel({ id }: { id: string }): ReactNode {
  const outcome = useRead(ops.viewOutcome, { id });
  const isLive = outcome.data?.status === "open" || outcome.data?.status === "submitted";
  const why = useRead(ops.why, isLive ? { id } : null).data;
  return (
    <SidePanel label="The chosen outcome" to={`/outcomes/${id}`}>
      <Loaded of={outcome}>
        {(data) => {
          const { mark, label } = standingOf(data.status, why?.state, data.blocked !== null);
          return (
            <>
              <h2>
                <Line text={data.title} />
              </h2>
              <p className="sub">
                <StatusMark mark={mark} />
                {label}
                {data.responsible === null ? <span>{unowned}</span> : <AgentName of={data.responsible} />}
              </p>
              <OutcomeActions outcome={data} />
              {why !== undefined && <WhyBox why={why} />}
              {data.acceptance !== null && (
                <section className="box">
                  <header>
                    <h3>How it is verified</h3>
                  </header>
                  <blockquote className="pad said-text">
                    <Said text={data.acceptance} most={600} />
                  </blockquote>
                </section>
              )}
            </>
          );
        }}
      </Loaded>
    </SidePanel>
  );
}

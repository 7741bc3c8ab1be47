import { useNavigate, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useRead } from "../../data/reading.ts";
import { Button } from "../../ui/buttons.tsx";
import { ChangedFields } from "../../ui/changed-fields.tsx";
import { DecisionButtons } from "../../ui/decision.tsx";
import { useKeys } from "../../ui/keys.ts";
import { Page } from "../../ui/page.tsx";
import { Quote } from "../../ui/quote.tsx";
import { Loaded } from "../../ui/states.tsx";
import { Tile } from "../../ui/tile.tsx";
import { Line } from "../../ui/words.tsx";
import { CompareWith } from "./compare.tsx";
import { type Request, titleOf } from "../../ui/request.ts";
import { askedIn } from "../../ui/requested.ts";
import { Requester } from "./requester.tsx";
import { RequestDecision, RequestNews, RequestStanding } from "../../ui/request-card.tsx";
import { useSeen } from "../../ui/request-seen.ts";
import { Thread } from "./thread.tsx";
import { useWaiting } from "./waiting.ts";
import { WhatChanges } from "../../ui/what-changes.tsx";
import "./approvals.css";

/** One request: what approving changes, everything that was said, and the decision, bound to what is shown. */
export function ApprovalPage(): ReactNode {
  const { id = "" }: { id?: string } = useParams({ strict: false });
  const navigate = useNavigate();
  const request = useRead(ops.viewApproval, { id });
  // In the order of the list.
  const waiting = useWaiting().requests;
  const at = waiting?.findIndex((each) => each.id === id) ?? -1;
  const step = (by: number) => (): void => {
    const next = waiting?.[at === -1 ? 0 : at + by];
    if (next !== undefined && next.id !== id) void navigate({ to: `/approvals/${next.id}` });
  };
  useKeys({ "[": step(-1), "]": step(1), Escape: () => void navigate({ to: "/approvals" }) });
  const title = request.data === undefined ? "Request" : titleOf(request.data);
  return (
    <Page
      title={title}
      quoted
      crumbs={[{ text: "Approvals", to: "/approvals" }]}
      actions={
        waiting !== undefined &&
        waiting.length > 0 && (
          <>
            {at >= 0 && (
              <span className="lab num hide-s">
                {at + 1} of {waiting.length}
              </span>
            )}
            <Button
              look="ghost"
              icon="up"
              aria-label="Previous request"
              title="Previous request, ["
              onClick={step(-1)}
            />
            <Button
              look="ghost"
              icon="down"
              aria-label="Next request"
              title="Next request, ]"
              onClick={step(1)}
            />
          </>
        )
      }
    >
      <Loaded of={request}>{(data) => <Whole key={id} newest={data} title={title} />}</Loaded>
    </Page>
  );
}

function Whole({ newest, title }: { newest: Request; title: string }): ReactNode {
  const seen = useSeen(newest);
  const { request, decision, canDecide, isOpen, agent, requester } = seen;
  return (
    <>
      <div className="appr">
        <div className="scroll">
          <div className="inner">
            <header className="ask">
              <Tile
                id={request.agentId ?? request.id}
                name={agent ?? requester}
                kind={isOpen ? "pending" : "agent"}
                size="lg"
              />
              <div className="min-w-0">
                <h1>
                  <Line text={title} />
                </h1>
                <RequestStanding of={seen} />
              </div>
            </header>
            <RequestNews of={seen} />
            <WhatChanges changes={request.changes} name={agent} status={request.status} />
            <ChangedFields id={request.id} revision={newest.revision} />
            <Words request={request} />
            <Thread request={request} />
          </div>
        </div>
        <aside className="decide" aria-label="Decide" tabIndex={0}>
          {canDecide && (
            <section>
              <h2>Your decision</h2>
              <RequestDecision of={seen} big />
            </section>
          )}
          <Requester request={request} />
          <CompareWith request={request} />
        </aside>
      </div>
      {canDecide && (
        <div className="dock" role="group" aria-label="Decide">
          <DecisionButtons of={decision} />
        </div>
      )}
    </>
  );
}

/** The written texts of the request: mandate, prompt, plan. */
function Words({ request }: { request: Request }): ReactNode {
  const { requestedBy } = request;
  const payload = askedIn(request);
  const quoted = [
    ["Mandate", payload["mandate"]],
    ["Prompt", payload["prompt"] ?? payload["systemPrompt"]],
    ["What it can do", payload["capabilities"]],
    ["Plan", payload["plan"]],
    ["Reason", payload["reason"]],
  ] as const;
  return quoted.map(([title, text]) =>
    typeof text === "string" && text !== "" ? (
      <Quote key={title} title={title} by={requestedBy} text={text} />
    ) : null,
  );
}

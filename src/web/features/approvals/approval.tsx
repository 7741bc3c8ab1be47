import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { type ReactNode, useEffect, useState } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import { useRead } from "../../data/reading.ts";
import { Button } from "../../ui/buttons.tsx";
import { DecisionButtons, DecisionNote, DecisionRefusal, useDecision } from "../../ui/decision.tsx";
import { useDraftText } from "../../ui/draft.ts";
import { counted } from "../../ui/figures.tsx";
import { Icon } from "../../ui/icons.tsx";
import { useKeys } from "../../ui/keys.ts";
import { Page } from "../../ui/page.tsx";
import { Quote } from "../../ui/quote.tsx";
import { Loaded } from "../../ui/states.tsx";
import { StatusMark } from "../../ui/status.tsx";
import { Tile } from "../../ui/tile.tsx";
import { When } from "../../ui/time.tsx";
import { Line, Name } from "../../ui/words.tsx";
import { marks } from "./marks.ts";
import { CompareWith } from "./compare.tsx";
import { ChangedFields, ChangesSince } from "./changed-fields.tsx";
import { DeleteRejected } from "./delete-rejected.tsx";
import { askedIn, decidedWords, nameIn, type Request, titleOf } from "../../ui/request.ts";
import { Requester } from "./requester.tsx";
import * as texts from "./texts.ts";
import { Thread } from "./thread.tsx";
import { WhatChanges } from "../../ui/what-changes.tsx";
import "./approvals.css";

/** One request: what a yes changes, everything that was said, and the decision, bound to what is shown. */
export function ApprovalPage(): ReactNode {
  const { id = "" }: { id?: string } = useParams({ strict: false });
  const { company } = useHere();
  const navigate = useNavigate();
  const request = useRead(ops.viewApproval, { id });
  const waiting = useRead(ops.listApprovals, { companyId: company.id, status: "pending", limit: 200 }).data
    ?.approvals;
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
      <Loaded of={request}>{(data) => <Seen key={id} newest={data} title={title} />}</Loaded>
    </Page>
  );
}

/** A new revision never replaces what the person reads: it waits until the person asks for it. */
function Seen({ newest, title }: { newest: Request; title: string }): ReactNode {
  const [shown, setShown] = useState(newest);
  const hasChanged = newest.payloadHash !== shown.payloadHash;
  // What is not the request itself (its status, what can be done) is always the newest.
  const request = hasChanged
    ? {
        ...newest,
        payload: shown.payload,
        payloadHash: shown.payloadHash,
        revision: shown.revision,
        changes: shown.changes,
      }
    : newest;
  useEffect(() => {
    if (newest.payloadHash === shown.payloadHash) setShown(newest);
  }, [newest, shown]);
  const { heldUp } = request.changes;
  const possible = request.abilities.filter(({ yours }) => yours).map(({ name }) => name);
  const decision = useDecision({ id: request.id, payloadHash: request.payloadHash }, possible, (verdict) =>
    decidedWords(request, verdict, heldUp.filter(({ kind }) => kind === "outcome").length),
  );
  useKeys({
    a: () => decision.arm("approve"),
    r: () => decision.arm("revise"),
    x: () => decision.arm("reject"),
    Enter: () => (decision.armed === null ? false : void decision.send(decision.armed)),
  });
  const requester = request.requestedBy?.name ?? "the board";
  const agent = nameIn(request);
  const isOpen = request.status === "pending" || request.status === "revision_requested";
  const canDecide = (["approve", "revise", "reject"] as const).some(decision.can);
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
                <div className="sub">
                  <span className={`tag ${isOpen ? "call" : ""}`}>
                    <StatusMark mark={marks[request.status] ?? "idle"} />
                    {texts.statusWords[request.status]}
                  </span>
                  <span>
                    <Name of={{ kind: "agent", id: request.requestedBy?.id ?? null, title: requester }} />{" "}
                    asked <When at={request.createdAt} />
                    {request.revision > 1 && (
                      <>
                        , revised <When at={request.updatedAt} />
                      </>
                    )}
                  </span>
                  {heldUp.length > 0 && <span>holds up {counted(heldUp.length, "thing")}</span>}
                  {request.expiresAt !== null && isOpen && (
                    <span>
                      expires <When at={request.expiresAt} />
                    </span>
                  )}
                </div>
              </div>
            </header>
            {hasChanged && (
              <div className="banner" role="status">
                <span>
                  {texts.changedMeanwhile} <ChangesSince id={request.id} revision={shown.revision} />
                </span>
                <Button onClick={() => setShown(newest)}>Show revision {newest.revision}</Button>
              </div>
            )}
            {request.decision !== null && <Decided request={request} />}
            <WhatChanges changes={request.changes} name={agent} />
            <ChangedFields id={request.id} revision={newest.revision} />
            <Words request={request} />
            <Thread request={request} />
          </div>
        </div>
        <aside className="decide" aria-label="Decide" tabIndex={0}>
          {canDecide && (
            <section>
              <h2>Your decision</h2>
              <div className="seal">
                <Icon name="lock" />
                <span>
                  {texts.seal(request.revision)}{" "}
                  <span className="mono">{hashWords(request.payloadHash)}</span>. {texts.sealRest}
                </span>
              </div>
              <DecisionNote of={decision} label={texts.noteFor(requester)} />
              <DecisionRefusal of={decision} />
              <div className="opts">
                <DecisionButtons
                  of={decision}
                  big
                  consequences={texts.consequences(requester, agent, heldUp.length)}
                />
              </div>
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

function Decided({ request }: { request: Request }): ReactNode {
  const { decision } = request;
  const note = useDraftText(`note.${request.id}`);
  if (decision === null) return null;
  const who = decision.by.person?.name ?? decision.by.agent?.name ?? "The system";
  return (
    <div className="banner decided" role="status">
      <StatusMark mark={marks[request.status] ?? "closed"} />
      <span>
        <b>
          <Line text={who} />
        </b>{" "}
        {texts.stepWords[decision.reason === "timeout" ? "expired" : decision.result]}{" "}
        <When at={decision.at} />
        {decision.note !== null && (
          <>
            : <Line text={decision.note} />
          </>
        )}
        {note !== "" && (
          <span className="unsent">
            {" "}
            {texts.noteNotSent} <Line text={note} />
          </span>
        )}
      </span>
      {request.agentId !== null && request.status === "approved" && (
        <Link className="b" to={`/agents/${request.agentId}`}>
          Open the agent
        </Link>
      )}
      <DeleteRejected request={request} />
    </div>
  );
}

/** The texts of the request that someone wrote: mandate, prompt, plan. */
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

const hashWords = (hash: string): string => (hash.slice(0, 12).match(/.{4}/g) ?? []).join(" ");

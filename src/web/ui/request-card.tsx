import type { ReactNode } from "react";
import { Button } from "./buttons.tsx";
import { ChangesSince } from "./changed-fields.tsx";
import { DecisionButtons, DecisionNote, DecisionRefusal } from "./decision.tsx";
import { counted } from "./figures.tsx";
import type { Request } from "./request.ts";
import { Decided } from "./request-decided.tsx";
import { requestMarks } from "./request-marks.ts";
import { Seal } from "./request-seal.tsx";
import { type SeenRequest, useSeen } from "./request-seen.ts";
import * as texts from "./request-texts.ts";
import { StatusMark } from "./status.tsx";
import { When } from "./time.tsx";
import { WhatChanges } from "./what-changes.tsx";
import { AgentName } from "./agent-name.tsx";
import "./request-card.css";

/** One request in short: its state, the decision, and what approving changes. */
export function RequestCard({ newest }: { newest: Request }): ReactNode {
  const seen = useSeen(newest);
  const { request, agent, canDecide } = seen;
  return (
    <>
      <RequestStanding of={seen} />
      <RequestNews of={seen} />
      {canDecide && (
        <section className="decide-beside">
          <RequestDecision of={seen} />
        </section>
      )}
      <WhatChanges changes={request.changes} name={agent} status={request.status} />
    </>
  );
}

/** Who asked and when, the state of the request, what it holds up, and when it expires. */
export function RequestStanding({ of: { request, requester, isOpen } }: { of: SeenRequest }): ReactNode {
  const { status, requestedBy, createdAt, updatedAt, revision, expiresAt, changes } = request;
  return (
    <div className="sub">
      <span className={`tag ${isOpen ? "call" : ""}`}>
        <StatusMark mark={requestMarks[status] ?? "idle"} />
        {texts.statusWords[status]}
      </span>
      <span>
        <AgentName of={{ id: requestedBy?.id ?? null, name: requester }} tile={null} /> asked{" "}
        <When at={createdAt} said />
        {revision > 1 && (
          <>
            , revised <When at={updatedAt} said />
          </>
        )}
      </span>
      {changes.heldUp.length > 0 && <span>holds up {counted(changes.heldUp.length, "thing")}</span>}
      {expiresAt !== null && isOpen && (
        <span>
          expires <When at={expiresAt} said />
        </span>
      )}
    </div>
  );
}

/** News about the request: a newer revision that waits for the person, or a decision. */
export function RequestNews({ of: { request, newer } }: { of: SeenRequest }): ReactNode {
  return (
    <>
      {newer !== undefined && (
        <div className="banner" role="status">
          <span>
            {texts.changedMeanwhile} <ChangesSince id={request.id} revision={request.revision} />
          </span>
          <Button onClick={newer.show}>Show revision {newer.revision}</Button>
        </div>
      )}
      {request.decision !== null && <Decided request={request} />}
    </>
  );
}

/** The exact subject of the decision, the note, and the decision. With `big`, each button says its consequence. */
export function RequestDecision({ of, big = false }: { of: SeenRequest; big?: boolean }): ReactNode {
  const { request, decision, requester, agent } = of;
  return (
    <>
      <Seal request={request} />
      {(big || decision.armed !== null) && <DecisionNote of={decision} label={texts.noteFor(requester)} />}
      <DecisionRefusal of={decision} />
      <div className={big ? "opts" : "acts"}>
        <DecisionButtons
          of={decision}
          big={big}
          {...(big && {
            consequences: texts.consequences(requester, agent, request.changes.heldUp.length),
          })}
        />
      </div>
    </>
  );
}

import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useRead } from "../../data/reading.ts";
import { Button } from "../../ui/buttons.tsx";
import { DecisionButtons, DecisionNote, DecisionRefusal } from "../../ui/decision.tsx";
import { usePanelFocus } from "../../ui/modal.ts";
import { type Request, titleOf } from "../../ui/request.ts";
import { Loaded } from "../../ui/states.tsx";
import { StatusMark } from "../../ui/status.tsx";
import { When } from "../../ui/time.tsx";
import { WhatChanges } from "../../ui/what-changes.tsx";
import { Line, Name } from "../../ui/words.tsx";
import { ChangesSince } from "./changed-fields.tsx";
import { Decided } from "./decided.tsx";
import { marks } from "./marks.ts";
import { Seal } from "./seal.tsx";
import { useSeen } from "./seen.ts";
import * as texts from "./texts.ts";

/** One request beside the list: what a yes changes, and the decision. */
export function RequestPanel({ id, onClose }: { id: string; onClose: () => void }): ReactNode {
  const request = useRead(ops.viewApproval, { id });
  const panel = usePanelFocus(`a.row[href*="${CSS.escape(id)}"]`);
  return (
    <aside className="side-panel" aria-label="The chosen request" ref={panel}>
      <div className="top">
        <Link className="b" to={`/approvals/${id}`}>
          Open the page
        </Link>
        <Button look="ghost" icon="cross" aria-label="Close" onClick={onClose} />
      </div>
      <Loaded of={request}>{(data) => <Content newest={data} />}</Loaded>
    </aside>
  );
}

function Content({ newest }: { newest: Request }): ReactNode {
  const { request, isOpen, agent, requester, decision, canDecide, newer } = useSeen(newest);
  return (
    <>
      <h2>
        <Line text={titleOf(request)} />
      </h2>
      <p className="sub">
        <StatusMark mark={marks[request.status] ?? "idle"} />
        {texts.statusWords[request.status]}
        <span>
          <Name of={{ kind: "agent", id: request.requestedBy?.id ?? null, title: requester }} /> asked{" "}
          <When at={request.createdAt} />
        </span>
        {request.expiresAt !== null && isOpen && (
          <span>
            expires <When at={request.expiresAt} />
          </span>
        )}
      </p>
      {newer !== undefined && (
        <div className="banner" role="status">
          <span>
            {texts.changedMeanwhile} <ChangesSince id={request.id} revision={request.revision} />
          </span>
          <Button onClick={newer.show}>Show revision {newer.revision}</Button>
        </div>
      )}
      {request.decision !== null && <Decided request={request} />}
      {canDecide && (
        <section className="decide-beside">
          <Seal request={request} />
          {decision.armed !== null && <DecisionNote of={decision} label={texts.noteFor(requester)} />}
          <DecisionRefusal of={decision} />
          <div className="acts">
            <DecisionButtons of={decision} />
          </div>
        </section>
      )}
      <WhatChanges changes={request.changes} name={agent} status={request.status} />
    </>
  );
}

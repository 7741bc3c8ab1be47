import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useDraftText } from "./draft.ts";
import type { Request } from "./request.ts";
import { StatusMark } from "./status.tsx";
import { When } from "./time.tsx";
import { Line } from "./words.tsx";
import { DeleteRejected } from "./delete-rejected.tsx";
import { requestMarks } from "./request-marks.ts";
import * as texts from "./request-texts.ts";

/** Who decided, when and with which note. */
export function Decided({ request }: { request: Request }): ReactNode {
  const { decision } = request;
  const note = useDraftText(`note.${request.id}`);
  if (decision === null) return null;
  const step = decision.reason === "timeout" ? "expired" : decision.result;
  const who = texts.stepSubject(step, decision.by.person?.name ?? decision.by.agent?.name);
  return (
    <div className="banner decided" role="status">
      <StatusMark mark={requestMarks[request.status] ?? "closed"} />
      <span>
        <b>
          <Line text={who} />
        </b>{" "}
        {texts.stepWords[step]} <When at={decision.at} said />
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

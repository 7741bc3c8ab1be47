import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../data/company.ts";
import { useAll, useRead } from "../data/reading.ts";
import { AskFor, AskWhy } from "./ask-for.tsx";
import type { OneOutcome } from "./one-outcome.ts";

const note = { name: "note", label: "Note for the owner", optional: true, long: true } as const;

/** The possible actions now, by the status of the outcome. The server decides. */
export function OutcomeActions({ outcome }: { outcome: OneOutcome }): ReactNode {
  const { id, status, kind } = outcome;
  const isWork = kind === "work" || kind === "integration";
  return (
    <div className="buttons outcome-actions">
      {status === "submitted" && (
        <>
          <AskFor
            about={id}
            look="solid"
            text="Accept"
            title="Accept this result?"
            says="The outcome is completed, and work that waited for it continues."
            fields={[note]}
            operation={ops.decideOutcome}
            input={(values) => ({
              id,
              verdict: "pass" as const,
              ...(values["note"] && { note: values["note"] }),
            })}
            done="Accepted."
          />
          <AskWhy
            about={id}
            text="Send back"
            title="Send this result back?"
            says="Its owner works on it again, with your note."
            label="What is missing"
            operation={ops.decideOutcome}
            input={(missing = "") => ({ id, verdict: "rework" as const, note: missing })}
            done="Sent back with your note."
          />
        </>
      )}
      {status === "open" && isWork && (
        <AskFor
          about={id}
          text="Complete"
          title="Complete this outcome?"
          says="The outcome is completed even if no session has reported a result."
          fields={[{ ...note, label: "The result" }]}
          operation={ops.completeOutcome}
          input={(values) => ({ id, ...(values["note"] && { note: values["note"] }) })}
          done="Completed."
        />
      )}
      {status === "open" && outcome.blocked === null && isWork && (
        <AskFor
          about={id}
          text="Block"
          title="Block this outcome?"
          says="No session starts for it until the block ends."
          fields={[
            { name: "reason", label: "What is missing" },
            {
              name: "until",
              label: "Until",
              type: "datetime-local",
              optional: true,
              hint: "Empty: until it is unblocked.",
            },
          ]}
          operation={ops.updateOutcome}
          input={(values) => ({
            id,
            blocked: {
              reason: values["reason"] ?? "",
              ...(values["until"] && { until: new Date(values["until"]).toISOString() }),
            },
          })}
          done="Blocked."
        />
      )}
      {status === "open" && outcome.blocked !== null && (
        <AskFor
          about={id}
          text="Unblock"
          title="Unblock this outcome?"
          says="Its owner can work on it again."
          operation={ops.updateOutcome}
          input={() => ({ id, blocked: null })}
          done="Unblocked."
        />
      )}
      {status === "open" && isWork && <Delegate id={id} owner={outcome.responsible?.id ?? null} />}
      {status === "open" && outcome.delegated && (
        <AskWhy
          about={id}
          text="Take back"
          title="Take this outcome back?"
          says="It returns to the agent that delegated it. An agent that was created for it is terminated."
          operation={ops.reclaimOutcome}
          input={(reason = "") => ({ id, reason })}
          done="Taken back."
        />
      )}
      {(status === "completed" || status === "closed") && (
        <AskWhy
          about={id}
          text="Reopen"
          title="Reopen this outcome?"
          says="Its owner works on it again."
          label="What is missing"
          operation={ops.reopenOutcome}
          input={(reason = "") => ({ id, reason })}
          done="Reopened."
        />
      )}
      {(status === "open" || status === "submitted") && isWork && (
        <AskWhy
          about={id}
          danger
          text="Close"
          title="Close this outcome?"
          says="The outcome is given up. Outcomes below it that serve no other outcome are closed too."
          operation={ops.closeOutcome}
          input={(rationale = "") => ({ id, rationale })}
          done="Closed."
        />
      )}
    </div>
  );
}

/** Delegates to a direct report of the owner. */
function Delegate({ id, owner }: { id: string; owner: string | null }): ReactNode {
  const { company } = useHere();
  const reports = useRead(ops.viewAgent, owner === null ? null : { id: owner }).data?.reports ?? [];
  const hasReports = reports.length > 0;
  const roster = useAll(ops.listRoster, "agents", hasReports ? { companyId: company.id } : null);
  const roles = new Map(roster.map(({ id: agent, role }) => [agent, role]));
  if (!hasReports) return null;
  return (
    <AskFor
      about={id}
      text="Delegate"
      title="Delegate this outcome?"
      says="The report becomes responsible for it and everything below it. Its manager verifies the result."
      fields={[
        {
          name: "to",
          label: "To",
          options: reports.map((one) => ({
            value: one.id,
            text: [one.name, ...(roles.has(one.id) ? [roles.get(one.id)] : [])].join(", "),
          })),
        },
        { name: "message", label: "Message to the new owner", optional: true, long: true },
      ]}
      operation={ops.delegateOutcome}
      input={(values) => ({
        id,
        to: values["to"] ?? reports[0]?.id ?? "",
        ...(values["message"] && { message: values["message"] }),
      })}
      done="Delegated."
    />
  );
}

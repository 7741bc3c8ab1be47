import { type ReactNode, useState } from "react";
import { ops } from "virtual:operations";
import type { Refused } from "../data/calling.ts";
import { useDo } from "../data/doing.ts";
import { AskDialog } from "./ask-for.tsx";
import { toast } from "./toast.tsx";
import { Line } from "./words.tsx";

interface Pausable {
  readonly id: string;
  readonly name: string;
  readonly status: string;
}

export const isEmployed = ({ status }: { readonly status: string }): boolean =>
  status === "idle" || status === "running" || status === "paused";

/** The agent of the row or card that has the focus. */
export const focusedAgent = (): string | undefined =>
  document.activeElement?.closest<HTMLElement>("[data-agent]")?.dataset["agent"];

/** Pauses an agent, after it has asked for the reason, or resumes it. */
export function usePausing(): {
  readonly toggle: (agent: Pausable) => void;
  readonly isBusy: boolean;
  readonly refused: Refused | undefined;
  readonly dialog: ReactNode;
} {
  const resume = useDo(ops.resumeAgent);
  const [asked, setAsked] = useState<Pausable>();
  const [isOpen, setOpen] = useState(false);
  const toggle = async (agent: Pausable): Promise<void> => {
    if (agent.status !== "paused") {
      setAsked(agent);
      return setOpen(true);
    }
    if ((await resume.run({ id: agent.id })) !== undefined) toast(`${agent.name} is resumed.`);
  };
  const { id = "", name = "" } = asked ?? {};
  return {
    toggle: (agent) => void toggle(agent),
    isBusy: resume.isBusy,
    refused: resume.refused,
    dialog: (
      <AskDialog
        key={id}
        text="Pause"
        title={`Pause ${name}?`}
        about={id}
        says={
          <>
            A running session of <Line text={name} /> ends, and no new one starts until it is resumed.
          </>
        }
        fields={[{ name: "reason", label: "Reason, kept on record", optional: true }]}
        operation={ops.pauseAgent}
        input={({ reason = "" }) => ({ id, ...(reason.trim() !== "" && { reason: reason.trim() }) })}
        done={`${name} is paused.`}
        isOpen={isOpen}
        onClose={() => setOpen(false)}
      />
    ),
  };
}

import { Link, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../data/company.ts";
import { useDo } from "../data/doing.ts";
import { useRead } from "../data/reading.ts";
import { Button } from "./buttons.tsx";
import { Dialog } from "./dialog.tsx";
import { useDraft } from "./draft.ts";
import { Icon } from "./icons.tsx";
import { useKeys } from "./keys.ts";
import { PlanWords } from "./plan-words.tsx";
import { Refusal } from "./states.tsx";
import { toast } from "./toast.tsx";
import { useVerbs } from "./verbs.ts";
import { Line } from "./words.tsx";

/** What people do with an agent: write to it, pause and resume it, end its employment. */
export function AgentActions({
  agent,
}: {
  agent: {
    readonly id: string;
    readonly name: string;
    readonly status: string;
    readonly reports: readonly unknown[];
  };
}): ReactNode {
  const { cantDecide, company } = useHere();
  const pause = useDo(ops.pauseAgent);
  const resume = useDo(ops.resumeAgent);
  const end = useDo(ops.applyReorganization);
  const navigate = useNavigate();
  const [asks, setAsks] = useState<"pause" | "end" | null>(null);
  const [reason, setReason] = useDraft(`${asks ?? "no"}.${agent.id}`);
  const fire = { companyId: company.id, change: { kind: "fire" as const, agent: agent.id } };
  // What would happen, before it is asked for.
  const plan = useRead(ops.planReorganization, asks === "end" ? fire : null);
  const isPaused = agent.status === "paused";
  const isEmployed = agent.status === "idle" || agent.status === "running" || isPaused;
  const toggle = async (): Promise<void> => {
    if (!isPaused) return setAsks("pause");
    if ((await resume.run({ id: agent.id })) !== undefined) toast(`${agent.name} is resumed.`);
  };
  const confirm = async (): Promise<void> => {
    const why = reason.trim() === "" ? {} : { reason: reason.trim() };
    const done =
      asks === "pause"
        ? await pause.run({ id: agent.id, ...why })
        : await end.run({ ...fire, change: { ...fire.change, ...why } });
    if (done === undefined) return;
    toast(
      asks === "pause"
        ? `${agent.name} is paused.`
        : `${agent.name} has left. Its manager has its reports, work and files.`,
    );
    setReason("");
    setAsks(null);
  };
  const write = (): void => void navigate({ to: `/mail/${agent.id}` });
  useKeys({
    m: () => (isEmployed ? write() : false),
    p: () => (isEmployed && cantDecide === undefined ? void toggle() : false),
  });
  useVerbs(
    isEmployed
      ? [
          { text: `Message ${agent.name}`, hotkey: "M", run: write },
          {
            text: `${isPaused ? "Resume" : "Pause"} ${agent.name}`,
            hotkey: "P",
            because: cantDecide,
            run: () => void toggle(),
          },
          { text: `Fire ${agent.name}`, because: cantDecide, run: () => setAsks("end") },
        ]
      : [],
  );
  if (!isEmployed) return null;
  return (
    <div className="acts2">
      <Link className="b" to={`/mail/${agent.id}`}>
        <Icon name="mail" />
        Message <kbd aria-hidden="true">M</kbd>
      </Link>
      <Button
        icon={isPaused ? "play" : "pause"}
        hotkey="P"
        because={cantDecide}
        disabled={resume.isBusy}
        onClick={() => void toggle()}
      >
        {isPaused ? "Resume" : "Pause"}
      </Button>
      <Button look="ghost danger" because={cantDecide} onClick={() => setAsks("end")}>
        Fire…
      </Button>
      <Refusal of={resume.refused} />
      <Dialog
        title={asks === "pause" ? `Pause ${agent.name}?` : `Fire ${agent.name}?`}
        isOpen={asks !== null}
        onClose={() => setAsks(null)}
        foot={
          <Button
            look={asks === "pause" ? "solid" : "danger"}
            disabled={pause.isBusy || end.isBusy}
            onClick={() => void confirm()}
          >
            {asks === "pause" ? "Pause" : "Fire"}
          </Button>
        }
      >
        <p>
          {asks === "pause" ? (
            <>
              A running session of <Line text={agent.name} /> ends, and no new one starts until it is resumed.
            </>
          ) : (
            <>
              Reports and open work of <Line text={agent.name} /> go to its manager. Its keys and rights end.
              Its documents stay. You can undo it under Reorganizations.
            </>
          )}
        </p>
        {asks === "end" && plan.data !== undefined && (
          <div className="plan-words">
            <PlanWords plan={plan.data} most={4} />
          </div>
        )}
        {asks === "end" && <Refusal of={plan.refused} />}
        <label className="field">
          <span>Reason, kept on record</span>
          <input
            className="input"
            autoFocus
            maxLength={2000}
            value={reason}
            onChange={({ target }) => setReason(target.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter") void confirm();
            }}
          />
        </label>
        <Refusal of={pause.refused ?? end.refused} />
      </Dialog>
    </div>
  );
}

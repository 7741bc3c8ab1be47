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
import { focusedAgent, isEmployed, usePausing } from "./pausing.tsx";
import { PlanWords } from "./plan-words.tsx";
import { Refusal } from "./states.tsx";
import { toast } from "./toast.tsx";
import { useVerbs } from "./verbs.ts";
import { Line } from "./words.tsx";

/** The actions on an agent: write to it, pause and resume it, end its employment. */
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
  const pausing = usePausing();
  const end = useDo(ops.applyReorganization);
  const navigate = useNavigate();
  const [asksEnd, setAsksEnd] = useState(false);
  const [reason, setReason] = useDraft(`end.${agent.id}`);
  const fire = { companyId: company.id, change: { kind: "fire" as const, agent: agent.id } };
  // The plan, read before the person confirms.
  const plan = useRead(ops.planReorganization, asksEnd ? fire : null);
  const isPaused = agent.status === "paused";
  const isHere = isEmployed(agent);
  const confirm = async (): Promise<void> => {
    const why = reason.trim() === "" ? {} : { reason: reason.trim() };
    if ((await end.run({ ...fire, change: { ...fire.change, ...why } })) === undefined) return;
    toast(`${agent.name} has left. Its manager has its reports, work and files.`);
    setReason("");
    setAsksEnd(false);
  };
  const write = (): void => void navigate({ to: `/mail/${agent.id}` });
  // Keys act on the row that has the focus. Another agent may be open in the panel.
  const isAtHand = (): boolean => isHere && (focusedAgent() ?? agent.id) === agent.id;
  useKeys({
    m: () => (isAtHand() ? write() : false),
    p: () => (isAtHand() && cantDecide === undefined ? pausing.toggle(agent) : false),
  });
  useVerbs(
    isHere
      ? [
          { text: `Message ${agent.name}`, hotkey: "M", run: write },
          {
            text: `${isPaused ? "Resume" : "Pause"} ${agent.name}`,
            hotkey: "P",
            because: cantDecide,
            run: () => pausing.toggle(agent),
          },
          { text: `Fire ${agent.name}`, because: cantDecide, run: () => setAsksEnd(true) },
        ]
      : [],
  );
  if (!isHere) return null;
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
        disabled={pausing.isBusy}
        onClick={() => pausing.toggle(agent)}
      >
        {isPaused ? "Resume" : "Pause"}
      </Button>
      <Button look="ghost danger" because={cantDecide} onClick={() => setAsksEnd(true)}>
        Fire…
      </Button>
      <Refusal of={pausing.refused} />
      {pausing.dialog}
      <Dialog
        title={`Fire ${agent.name}?`}
        isOpen={asksEnd}
        onClose={() => setAsksEnd(false)}
        foot={
          <Button look="danger" disabled={end.isBusy} because={cantDecide} onClick={() => void confirm()}>
            Fire
          </Button>
        }
      >
        <p>
          Reports and open work of <Line text={agent.name} /> go to its manager. Its keys and rights end. Its
          documents stay. You can undo it under Reorganizations.
        </p>
        {asksEnd && plan.data !== undefined && (
          <div className="plan-words">
            <PlanWords plan={plan.data} most={4} />
          </div>
        )}
        {asksEnd && <Refusal of={plan.refused} />}
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
        <Refusal of={end.refused} />
      </Dialog>
    </div>
  );
}

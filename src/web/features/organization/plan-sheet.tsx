import type { ReactNode } from "react";
import { useHere } from "../../data/company.ts";
import { Button } from "../../ui/buttons.tsx";
import { useKeys } from "../../ui/keys.ts";
import { PlanWords } from "../../ui/plan-words.tsx";
import { Refusal, Skeleton } from "../../ui/states.tsx";
import { Line } from "../../ui/words.tsx";
import type { Position } from "./position.ts";
import type { Change, Reorganizing } from "./reorganizing.ts";
import * as texts from "./texts.ts";

/** The effects of the planned change. Nothing has changed yet. */
export function PlanSheet({ of, agents }: { of: Reorganizing; agents: readonly Position[] }): ReactNode {
  const { cantDecide: because } = useHere();
  useKeys({
    Escape: () => (of.change === null ? false : of.cancel()),
    "Mod+Enter": () => (of.plan === null || because !== undefined ? false : of.apply()),
  });
  const { change, plan } = of;
  if (change === null) return null;
  return (
    <section className="plan" aria-label="Planned change">
      <header>
        <h2>
          <Line text={titleOf(change, agents)} />
        </h2>
        <span className="tag">{texts.nothingChanged}</span>
      </header>
      {plan === null && of.refused === undefined && <Skeleton rows={2} height={28} />}
      {plan !== null && <PlanWords plan={plan} />}
      <Refusal of={of.refused} />
      <div className="buttons">
        {plan !== null && of.refused === undefined && (
          <Button look="solid" hotkey="Ctrl ↵" because={because} disabled={of.isBusy} onClick={of.apply}>
            Apply
          </Button>
        )}
        {plan !== null && of.refused !== undefined && (
          <Button look="solid" onClick={() => of.propose(change)}>
            Plan it again
          </Button>
        )}
        <Button look="ghost" hotkey="Esc" onClick={of.cancel}>
          Cancel
        </Button>
        {plan !== null && <span className="lab hide-s">{texts.canUndo}</span>}
        {plan !== null && (
          <span className="mono">
            plan {plan.hash.slice(0, 4)} {plan.hash.slice(4, 8)}
          </span>
        )}
      </div>
    </section>
  );
}

function titleOf(change: Change, agents: readonly Position[]): string {
  const name = (id: string): string => agents.find((agent) => agent.id === id)?.name ?? id;
  switch (change.kind) {
    case "move_report": {
      const boss = agents.find(({ id }) => id === change.agent)?.boss?.name;
      return texts.moveTitle(name(change.agent), name(change.to), boss ?? "the board");
    }
    case "remove_layer":
      return texts.removeTitle(name(change.agent));
    case "fire":
      return texts.fireTitle(name(change.agent));
    case "merge":
      return texts.mergeTitle(change.agents.map(name).join(", "), name(change.into));
    case "hand_over":
      return texts.handOverTitle(name(change.agent), change.adapterType);
    case "insert_layer":
      return texts.insertTitle(change.manager.name, name(change.boss));
    case "split":
      return texts.splitTitle(name(change.agent), change.into.map(({ agent }) => agent.name).join(", "));
    case "shrink":
      return texts.shrinkTitle;
  }
}

/** The last applied change, and whether it can still be undone. */
export function AppliedBar({ of }: { of: Reorganizing }): ReactNode {
  const { cantDecide } = useHere();
  const { applied } = of;
  if (applied === null) return null;
  const isUndone = applied.status === "undone";
  const cant = cantDecide ?? (applied.undoable.possible ? undefined : (applied.undoable.reason ?? undefined));
  return (
    <div className="done-bar" role="status">
      <span>
        {isUndone ? "Undone: " : "Done: "}
        <Line text={applied.summary} />
      </span>
      <Refusal of={of.undoRefused} />
      <div className="buttons">
        {!isUndone && (
          <Button icon="undo" because={cant} disabled={of.isBusy} onClick={of.undo}>
            Undo
          </Button>
        )}
        <Button look="ghost" icon="cross" aria-label="Put away" onClick={of.putAway} />
      </div>
    </div>
  );
}

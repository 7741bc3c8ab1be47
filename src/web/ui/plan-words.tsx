import { type ReactNode, useState } from "react";
import type { ops } from "virtual:operations";
import type { Answer } from "../data/operations.ts";
import { counted } from "./figures.tsx";
import { Icon, type IconName } from "./icons.tsx";
import { Line } from "./words.tsx";

type Plan = Pick<Answer<typeof ops.planReorganization>, "moves" | "totals" | "warnings">;
type MoveKind = Plan["moves"][number]["kind"];

const kinds: Readonly<Record<MoveKind, readonly [icon: IconName, one: string]>> = {
  agent: ["org", "place"],
  outcome: ["target", "outcome"],
  grant: ["key", "right"],
  mail: ["mail", "mail route"],
  budget: ["coins", "budget"],
  approval: ["stamp", "request"],
};

const order = ["agent", "outcome", "grant", "mail", "budget", "approval"] as const;

/** The changes of a reorganization: warnings first, then the number of each kind, then every change as a sentence. */
export function PlanWords({ plan, most = 6 }: { plan: Plan; most?: number }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const moves = isOpen ? plan.moves : plan.moves.slice(0, most);
  return (
    <>
      {plan.warnings.map((warning) => (
        <p key={warning} className="warn">
          <Icon name="stop" />
          <Line text={warning} />
        </p>
      ))}
      <ul className="sums">
        {order.map((kind) => {
          const [icon, one] = kinds[kind];
          const count = plan.totals[kind] ?? 0;
          return (
            count > 0 && (
              <li key={kind}>
                <Icon name={icon} />
                <span>
                  <b>{counted(count, one)}</b> {count === 1 ? "changes" : "change"}
                </span>
              </li>
            )
          );
        })}
      </ul>
      <ul className="plan-moves">
        {moves.map(({ kind, id, what, from, to }, at) => (
          <li key={`${kind} ${id} ${at}`}>
            {to === null ? (
              <>
                No longer: <Line text={`${what} ${from ?? ""}`} />
              </>
            ) : (
              <>
                <Line text={`${what} ${to}`} />
                {from !== null && (
                  <span className="dim">
                    {" "}
                    (before: <Line text={from} />)
                  </span>
                )}
              </>
            )}
          </li>
        ))}
      </ul>
      {plan.moves.length > moves.length && (
        <button type="button" className="more" onClick={() => setOpen(true)}>
          Show all {plan.moves.length} changes
        </button>
      )}
    </>
  );
}

import { type ReactNode, useRef, useState } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../data/company.ts";
import { useDo } from "../data/doing.ts";
import type { Measure } from "../../contract/budgets.ts";
import * as texts from "./budget-texts.ts";
import { useEdited } from "./draft.ts";
import { Meanwhile } from "./meanwhile.tsx";
import { Refusal } from "./states.tsx";
import { toast } from "./toast.tsx";
import { typedNumber } from "./typed-number.ts";
import "./budget-cell.css";

/**
 * The monthly budget of an agent, or the budget of a goal, edited in place. Enter saves, Escape discards, and a refusal stays
 * below the field.
 */
export function BudgetCell({
  kind,
  id,
  name,
  measure = "usd",
  limit,
  left,
  unlimited = kind === "agent" ? texts.shared : texts.noLimit,
}: {
  kind: "agent" | "goal";
  id: string;
  name: string;
  measure?: Measure;
  limit: number | null;
  left: number | null;
  /** What stands there without a budget. */
  unlimited?: string;
}): ReactNode {
  const { cantDecide } = useHere();
  const words = texts.budgetWords[kind];
  const edit = useEdited(`budget.${id}.${measure}`, { limit: limit === null ? "" : String(limit) });
  const [isOpen, setOpen] = useState(edit.changed.length > 0);
  const saveAgent = useDo(ops.setBudget);
  const saveGoal = useDo(ops.setGoalBudget);
  const save = kind === "agent" ? saveAgent : saveGoal;
  const button = useRef<HTMLButtonElement>(null);
  const close = (): void => {
    edit.drop();
    setOpen(false);
    save.forget();
    // The button returns only after the field is gone.
    setTimeout(() => button.current?.focus());
  };
  const submit = async (): Promise<void> => {
    if (edit.behind.length > 0) return;
    const change = { [measure]: typedNumber(edit.values.limit) };
    const saved = await (kind === "agent"
      ? saveAgent.run({ id, ...change })
      : saveGoal.run({ id, budget: change }));
    if (saved === undefined) return;
    toast(texts.budgetChanged);
    close();
  };
  const now = limit === null ? unlimited : texts.measured(measure, limit);
  const rest = left === null ? "" : texts.left(texts.measured(measure, left));
  if (!isOpen)
    return (
      <button
        ref={button}
        type="button"
        className="budget"
        aria-label={`${now} ${rest}, ${words.change(name)}`}
        aria-disabled={cantDecide === undefined ? undefined : true}
        title={cantDecide ?? words.change(name)}
        onClick={() => cantDecide === undefined && setOpen(true)}
      >
        {now} <small className="only-narrow">{rest}</small>
      </button>
    );
  return (
    <form
      className="budget-form"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <input
        className="input"
        autoFocus
        inputMode="decimal"
        aria-label={words.field(texts.measureWords[measure], name)}
        placeholder={unlimited}
        title={words.hint}
        readOnly={save.isBusy}
        value={edit.values.limit}
        onChange={({ target }) => edit.set({ limit: target.value })}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          event.stopPropagation();
          close();
        }}
        onBlur={() => {
          if (edit.changed.length === 0 && !save.isBusy) setOpen(false);
        }}
      />
      <Meanwhile of={edit} says={texts.budgetIsNow(now)} />
      <Refusal of={save.refused} />
    </form>
  );
}

import { type ReactNode, useRef, useState } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import { useDo } from "../../data/doing.ts";
import { useEdited } from "../../ui/draft.ts";
import { roundMoney } from "../../ui/figures.tsx";
import { Meanwhile } from "../../ui/meanwhile.tsx";
import { Refusal } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.tsx";
import { typedNumber } from "../../ui/typed-number.ts";
import * as texts from "./texts.ts";

/** The monthly budget of an agent, edited in place. Enter saves, Escape discards, and a refusal stays below the field. */
export function BudgetCell({
  id,
  name,
  limit,
  left,
}: {
  id: string;
  name: string;
  limit: number | null;
  left: number | null;
}): ReactNode {
  const { cantDecide } = useHere();
  const edit = useEdited(`budget.${id}`, { usd: limit === null ? "" : String(limit) });
  const [isOpen, setOpen] = useState(edit.changed.length > 0);
  const save = useDo(ops.setBudget);
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
    if ((await save.run({ id, usd: typedNumber(edit.values.usd) })) === undefined) return;
    toast(texts.budgetChanged);
    close();
  };
  const now = limit === null ? texts.shared : roundMoney(limit);
  const rest = left === null ? "" : texts.left(roundMoney(left));
  if (!isOpen)
    return (
      <button
        ref={button}
        type="button"
        className="budget"
        aria-label={`${now} ${rest}, ${texts.changingBudget(name)}`}
        aria-disabled={cantDecide === undefined ? undefined : true}
        title={cantDecide ?? texts.changingBudget(name)}
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
        aria-label={texts.budgetField(name)}
        placeholder={texts.shared}
        title={texts.budgetHint}
        readOnly={save.isBusy}
        value={edit.values.usd}
        onChange={({ target }) => edit.set({ usd: target.value })}
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

import { type ReactNode, useRef, useState } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import { useDo } from "../../data/doing.ts";
import { roundMoney } from "../../ui/figures.tsx";
import { Refusal } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.tsx";
import * as texts from "./texts.ts";

/** The monthly budget of an agent, edited where it stands: Enter saves, Escape takes it back, a refusal stays below it. */
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
  const [draft, setDraft] = useState<string>();
  const save = useDo(ops.setBudget);
  const button = useRef<HTMLButtonElement>(null);
  const close = (): void => {
    setDraft(undefined);
    save.forget();
    // The button is there again only after the field is gone.
    setTimeout(() => button.current?.focus());
  };
  const submit = async (): Promise<void> => {
    const text = (draft ?? "").trim();
    // What is not a number is sent as it is, and refused with an explanation.
    const usd = text === "" ? null : Number(text);
    if ((await save.run({ id, usd })) === undefined) return;
    toast(texts.budgetChanged);
    close();
  };
  const now = limit === null ? texts.shared : roundMoney(limit);
  const rest = left === null ? "" : texts.left(roundMoney(left));
  if (draft === undefined)
    return (
      <button
        ref={button}
        type="button"
        className="budget"
        aria-label={`${now} ${rest}, ${texts.changeBudget(name)}`}
        aria-disabled={cantDecide === undefined ? undefined : true}
        title={cantDecide ?? texts.changeBudget(name)}
        onClick={() => cantDecide === undefined && setDraft(limit === null ? "" : String(limit))}
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
        disabled={save.isBusy}
        value={draft}
        onChange={({ target }) => setDraft(target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          event.stopPropagation();
          close();
        }}
        onBlur={() => {
          if (draft === (limit === null ? "" : String(limit)) && !save.isBusy) setDraft(undefined);
        }}
      />
      <Refusal of={save.refused} />
    </form>
  );
}

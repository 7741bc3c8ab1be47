import { type ReactNode, useState } from "react";
import { useHere } from "../data/company.ts";
import { useDo } from "../data/doing.ts";
import type { PageOperation } from "../data/operations.ts";
import { Button } from "./buttons.tsx";
import { Dialog } from "./dialog.tsx";
import { useDraftFields } from "./draft.ts";
import { SecretPairs } from "./secret-pairs.tsx";
import { Refusal } from "./states.tsx";
import { toast } from "./toast.tsx";

export interface AskedField {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly optional?: boolean;
  readonly long?: boolean;
  /** The value of a switch is `yes` or empty. */
  readonly type?: "text" | "password" | "datetime-local" | "switch";
  /** The initial value of the field: the present state. */
  readonly initial?: string;
  /** Set if the value is lines of `NAME=SECRET` (secret-pairs.tsx): the secrets to choose from. */
  readonly secrets?: readonly string[];
  /** Fields that determine the options. */
  readonly find?: ReactNode;
  readonly options?: readonly { readonly value: string; readonly text: string }[];
}

interface Asking<I, O> {
  text: string;
  title: string;
  /** The id of the subject, if the title does not name it. Typed text is kept for it until it is sent or cancelled. */
  about?: string;
  /** The effect of the call. */
  says?: ReactNode;
  /** Default: none. The dialog only asks whether to go ahead. */
  fields?: readonly AskedField[];
  danger?: boolean;
  operation: PageOperation<I, O>;
  input: (values: Readonly<Record<string, string>>) => I;
  done: string;
  onDone?: (output: O) => void;
}

/** A button that asks for the inputs of a call in a dialog. */
export function AskFor<I, O>({
  look,
  ...asking
}: Asking<I, O> & { look?: "" | "solid" | "ghost" }): ReactNode {
  const { cantDecide: because } = useHere();
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button
        look={look ?? (asking.danger === true ? "ghost danger" : "")}
        because={because}
        onClick={() => setOpen(true)}
      >
        {asking.text}
      </Button>
      <AskDialog {...asking} isOpen={isOpen} onClose={() => setOpen(false)} />
    </>
  );
}

/** Asks for the inputs of a call. A refusal is shown in the dialog, and the input stays. Only secrets are never kept. */
export function AskDialog<I, O>({
  text,
  title,
  about = "",
  says,
  fields = [],
  danger = false,
  operation,
  input,
  done,
  onDone,
  isOpen,
  onClose,
}: Asking<I, O> & { isOpen: boolean; onClose: () => void }): ReactNode {
  const { company, cantDecide: because } = useHere();
  const [kept, keep, drop] = useDraftFields<Record<string, string>>(
    ["ask", operation.name, company.id, title, about].join("."),
  );
  const [secrets, setSecrets] = useState<Readonly<Record<string, string>>>({});
  const values = { ...kept, ...secrets };
  const forget = (): void => {
    drop();
    setSecrets({});
  };
  const doing = useDo(operation);
  const all = Object.fromEntries(
    fields.map(({ name, initial, options }) => {
      const first = initial ?? options?.[0]?.value ?? "";
      // A kept choice may not exist any more.
      const isThere = options === undefined || options.some(({ value }) => value === values[name]);
      return [name, isThere ? (values[name] ?? first) : first];
    }),
  );
  const run = async (): Promise<void> => {
    const output = await doing.run(input(all));
    if (output === undefined) return;
    onClose();
    forget();
    toast(done);
    onDone?.(output);
  };
  const leave = (): void => {
    doing.forget();
    onClose();
  };
  return (
    <Dialog title={title} isOpen={isOpen} onClose={leave}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        {says !== undefined && <p>{says}</p>}
        {fields.map((field, at) => (
          <Asked
            key={field.name}
            field={field}
            isFirst={at === 0}
            value={all[field.name] ?? ""}
            onChange={(value) => {
              if (field.type === "password") setSecrets({ ...secrets, [field.name]: value });
              else keep({ [field.name]: value });
            }}
          />
        ))}
        <Refusal of={doing.refused} />
        <div className="buttons">
          <Button look={danger ? "danger" : "solid"} type="submit" disabled={doing.isBusy} because={because}>
            {text}
          </Button>
          <Button
            look="ghost"
            onClick={() => {
              leave();
              forget();
            }}
          >
            Cancel
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** A button that asks only for a reason, which is recorded. */
export function AskWhy<I, O>({
  label = "Why",
  optional = false,
  input,
  ...asked
}: Omit<Parameters<typeof AskFor<I, O>>[0], "fields" | "input"> & {
  label?: string;
  optional?: boolean;
  /** An empty reason is undefined. */
  input: (why: string | undefined) => I;
}): ReactNode {
  return (
    <AskFor
      {...asked}
      fields={[{ name: "why", label, optional, long: !optional }]}
      input={({ why = "" }) => input(why === "" ? undefined : why)}
    />
  );
}

function Asked({
  field,
  value,
  isFirst,
  onChange,
}: {
  field: AskedField;
  value: string;
  isFirst: boolean;
  onChange: (value: string) => void;
}): ReactNode {
  const shared = {
    className: "input",
    autoFocus: isFirst,
    required: field.optional !== true,
    value,
  };
  if (field.secrets !== undefined)
    return (
      <SecretPairs
        label={field.label}
        hint={field.hint}
        secrets={field.secrets}
        value={value}
        onChange={onChange}
      />
    );
  if (field.type === "switch")
    return (
      <label className="toggle">
        <span>
          <b>{field.label}</b>
          {field.hint !== undefined && <small>{field.hint}</small>}
        </span>
        <input
          type="checkbox"
          role="switch"
          checked={value !== ""}
          onChange={({ target }) => onChange(target.checked ? "yes" : "")}
        />
      </label>
    );
  return (
    <>
      {field.find}
      <label className="field">
        <span>{field.label}</span>
        {field.options !== undefined ? (
          <select {...shared} onChange={({ target }) => onChange(target.value)}>
            {field.options.map((option) => (
              <option key={option.value} value={option.value}>
                {option.text}
              </option>
            ))}
          </select>
        ) : field.long ? (
          <textarea {...shared} rows={4} onChange={({ target }) => onChange(target.value)} />
        ) : (
          <input
            {...shared}
            type={field.type ?? "text"}
            autoComplete="off"
            onChange={({ target }) => onChange(target.value)}
          />
        )}
        {field.hint !== undefined && <small>{field.hint}</small>}
      </label>
    </>
  );
}

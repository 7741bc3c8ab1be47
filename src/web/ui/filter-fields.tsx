import { type ComponentProps, type ReactNode, useState } from "react";
import { Button } from "./buttons.tsx";
import { useIsNarrow } from "./narrow.ts";

/** The filters of a list, in its toolbar. On a narrow screen they are behind a button that says how many are set. */
export function FilterFields({
  first,
  values,
  children,
}: {
  /** The field that is always visible. */
  first: ReactNode;
  /** The values of the others. An empty value does not filter. */
  values: readonly (string | undefined)[];
  children: ReactNode;
}): ReactNode {
  const isNarrow = useIsNarrow();
  const [isOpen, setOpen] = useState(false);
  const set = values.filter((value) => value !== undefined && value !== "").length;
  return (
    <>
      {isNarrow && (
        <Button className="filters-button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {set === 0 ? "Filters" : `Filters: ${set}`}
        </Button>
      )}
      {first}
      {(isOpen || !isNarrow) && children}
    </>
  );
}

/** The field of a list that `/` focuses. */
export function FindField({
  label,
  onChange,
  ...input
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
} & Pick<ComponentProps<"input">, "title" | "onKeyDown" | "className">): ReactNode {
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={label}
      onChange={({ target }) => onChange(target.value)}
      {...input}
      className={`input ${input.className ?? ""}`}
    />
  );
}

/** A filter with one of several values. The first does not filter, and is not in the address. */
export function FilterSelect({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: string | undefined;
  /** Value and text. */
  options: readonly (readonly [value: string, text: string])[];
  onChange: (value: string) => void;
}): ReactNode {
  const [[first] = [""]] = options;
  return (
    <select
      className="input"
      aria-label={label}
      value={options.some(([each]) => each === value) ? value : first}
      onChange={({ target }) => onChange(target.value === first ? "" : target.value)}
    >
      {options.map(([each, text]) => (
        <option key={each} value={each}>
          {text}
        </option>
      ))}
    </select>
  );
}

/** One end of a range of time. */
export function FilterTime({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string | undefined;
  onChange: (value: string) => void;
}): ReactNode {
  return (
    <label className="check">
      {label}
      <input
        className="input"
        type="datetime-local"
        step="1"
        value={value ?? ""}
        onChange={({ target }) => onChange(target.value)}
      />
    </label>
  );
}

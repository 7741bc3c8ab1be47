import { type ComponentProps, type ReactNode, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Button } from "./buttons.tsx";
import { useIsNarrow } from "./narrow.ts";
import { useStable } from "./stable.ts";

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

/**
 * The field of a list that `/` focuses. It keeps the typed words itself: a letter costs no more than the field. The list
 * gets them at the first pause, with Enter, and when the person leaves the field.
 */
export function FindField({
  label,
  value,
  onChange,
  onKeyDown,
  rest = 120,
  ...input
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
  /** How long a pause is, in milliseconds. */
  rest?: number;
} & Pick<ComponentProps<"input">, "title" | "onKeyDown" | "className">): ReactNode {
  const [typed, setTyped] = useState(value);
  // What the list was told and has not shown yet. Any other value comes from elsewhere: a link, or the way back.
  const told = useRef<string[]>([]);
  useLayoutEffect(() => {
    const at = told.current.indexOf(value);
    if (at === -1) setTyped(value);
    else told.current.splice(0, at + 1);
  }, [value]);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const tell = useStable((words: string): void => {
    clearTimeout(timer.current);
    if (words === (told.current.at(-1) ?? value)) return;
    told.current.push(words);
    onChange(words);
  });
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={label}
      value={typed}
      onChange={({ target }) => {
        setTyped(target.value);
        clearTimeout(timer.current);
        timer.current = setTimeout(() => tell(target.value), rest);
      }}
      onBlur={({ target }) => tell(target.value)}
      onKeyDown={(event) => {
        if (event.key === "Enter") tell(event.currentTarget.value);
        onKeyDown?.(event);
      }}
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

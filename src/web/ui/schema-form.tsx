import { type ReactNode, useState } from "react";
import { typedNumber } from "./typed-number.ts";
import { Line } from "./words.tsx";

/**
 * A form made from the JSON Schema of a brain's configuration. The schemas are flat: texts, numbers, choices, switches. Any
 * other type is a field of JSON, and the server says what is wrong with it.
 */
export type Values = Readonly<Record<string, unknown>>;

export function SchemaForm({
  schema,
  values,
  onChange,
}: {
  schema: Readonly<Record<string, unknown>>;
  values: Values;
  onChange: (values: Values) => void;
}): ReactNode {
  const fields = Object.entries(Object(schema["properties"]));
  const required = new Set(Array.isArray(schema["required"]) ? schema["required"] : []);
  if (fields.length === 0) return <p className="lab">This brain needs no configuration.</p>;
  const set = (name: string, value: unknown): void => {
    const { [name]: _, ...rest } = values;
    onChange(value === undefined || value === "" ? rest : { ...rest, [name]: value });
  };
  return (
    <div className="form">
      {fields.map(([name, part]) => (
        <SchemaField
          key={name}
          name={name}
          part={new Map<string, unknown>(Object.entries(Object(part)))}
          isRequired={required.has(name)}
          value={values[name]}
          onChange={(value) => set(name, value)}
        />
      ))}
    </div>
  );
}

function SchemaField({
  name,
  part,
  isRequired,
  value,
  onChange,
}: {
  name: string;
  part: ReadonlyMap<string, unknown>;
  isRequired: boolean;
  value: unknown;
  onChange: (value: unknown) => void;
}): ReactNode {
  const hint = part.get("description");
  const options = part.get("enum");
  const type = part.get("type");
  const shared = { className: "input", required: isRequired };
  return (
    <label className="field">
      <span>
        <code className="inlinecode">{name}</code>
        {!isRequired && <span className="quiet"> optional</span>}
      </span>
      {Array.isArray(options) ? (
        <select {...shared} value={textOf(value)} onChange={({ target }) => onChange(target.value)}>
          <option value="">Default</option>
          {options.map((option) => (
            <option key={String(option)} value={String(option)}>
              {String(option)}
            </option>
          ))}
        </select>
      ) : type === "boolean" ? (
        <select
          {...shared}
          value={textOf(value)}
          onChange={({ target }) => onChange(target.value === "" ? undefined : target.value === "true")}
        >
          <option value="">Default</option>
          <option value="true">Yes</option>
          <option value="false">No</option>
        </select>
      ) : type === "number" || type === "integer" ? (
        <NumberField {...shared} value={value} onChange={onChange} />
      ) : type === "string" ? (
        <input {...shared} value={textOf(value)} onChange={({ target }) => onChange(target.value)} />
      ) : (
        <JsonField value={value} onChange={onChange} />
      )}
      {typeof hint === "string" && (
        <small>
          <Line text={hint} />
        </small>
      )}
    </label>
  );
}

/** Keeps the typed text: `0.` is the number 0 until the next digit. */
function NumberField({
  value,
  onChange,
  ...shared
}: {
  className: string;
  required: boolean;
  value: unknown;
  onChange: (value: unknown) => void;
}): ReactNode {
  const [typed, setText] = useState(() => textOf(value));
  const valueOf = (text: string): unknown => typedNumber(text) ?? undefined;
  // The typed text is kept as long as it stands for the value. Another value came from elsewhere.
  const text = valueOf(typed) === value ? typed : textOf(value);
  return (
    <input
      {...shared}
      inputMode="decimal"
      value={text}
      onChange={({ target }) => {
        setText(target.value);
        onChange(valueOf(target.value));
      }}
    />
  );
}

/** Keeps the typed text, even while it is not valid JSON yet. */
function JsonField({ value, onChange }: { value: unknown; onChange: (value: unknown) => void }): ReactNode {
  const [typed, setText] = useState(() => jsonText(value));
  // The typed text is kept as long as it stands for the value. Another value came from elsewhere.
  const text = JSON.stringify(jsonOr(typed)) === JSON.stringify(value) ? typed : jsonText(value);
  return (
    <textarea
      className="input mono"
      rows={3}
      placeholder="JSON"
      value={text}
      onChange={({ target }) => {
        setText(target.value);
        onChange(jsonOr(target.value));
      }}
    />
  );
}

const textOf = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? String(value) : "";

/** A text that is not JSON yet is kept as it is. */
const jsonText = (value: unknown): string =>
  value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value, null, 2);

function jsonOr(text: string): unknown {
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

import type { ReactNode } from "react";
import { Button } from "./buttons.tsx";

/** One line for each pair: `NAME=SECRET`. Neither part can contain `=` or a line break. */
export function pairsIn(value: string): readonly (readonly [name: string, secret: string])[] {
  return value
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [name = "", secret = ""] = line.split("=");
      return [name, secret] as const;
    });
}

/** Names of headers or variables, each with the company's secret that is its value. */
export function SecretPairs({
  label,
  hint,
  secrets,
  value,
  onChange,
}: {
  label: string;
  hint?: string | undefined;
  secrets: readonly string[];
  value: string;
  onChange: (value: string) => void;
}): ReactNode {
  const pairs = pairsIn(value);
  const keep = (next: readonly (readonly [string, string])[]): void =>
    onChange(next.map(([name, secret]) => `${name}=${secret}`).join("\n"));
  const put = (at: number, name: string, secret: string): void =>
    keep(pairs.map((pair, index) => (index === at ? [name.replace(/[=\s]/g, ""), secret] : pair)));
  return (
    <fieldset className="field pairs">
      <legend>{label}</legend>
      {pairs.map(([name, secret], at) => (
        // A pair is identified by its position, because its name changes while it is typed.
        <div key={at} className="pair-row">
          <input
            className="input mono"
            aria-label={`Name ${at + 1}`}
            placeholder="Authorization or API_KEY"
            required
            value={name}
            onChange={({ target }) => put(at, target.value, secret)}
          />
          <select
            className="input"
            aria-label={`Secret ${at + 1}`}
            value={secret}
            onChange={({ target }) => put(at, name, target.value)}
          >
            {secrets.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
          <Button
            look="ghost"
            icon="cross"
            aria-label={`Remove ${name === "" ? `pair ${at + 1}` : name}`}
            onClick={() => keep(pairs.filter((_, index) => index !== at))}
          />
        </div>
      ))}
      {hint !== undefined && <small>{hint}</small>}
      {secrets.length > 0 && (
        <Button onClick={() => keep([...pairs, ["", secrets[0] ?? ""]])}>Add a secret value</Button>
      )}
    </fieldset>
  );
}

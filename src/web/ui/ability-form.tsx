import { type ReactNode, useState } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../data/company.ts";
import { useAll } from "../data/reading.ts";
import type { Offered } from "./ability.tsx";
import { Button } from "./buttons.tsx";
import { useDraftFields } from "./draft.ts";
import { GrowingText } from "./growing-text.tsx";
import { typedNumber } from "./typed-number.ts";

/** Inputs with few values, and the label of each value. */
const choices: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  verdict: { pass: "Accept", rework: "Send back", close: "Give up" },
};

const firstOf = (ask: string): string => Object.keys(choices[ask] ?? {})[0] ?? "";

/** Labels for inputs whose own name would not be clear. */
const askWords: Readonly<Record<string, string>> = {
  adapterType: "brain",
  "blocked.reason": "what is missing",
  body: "message",
  "budget.usd": "US dollars for the whole goal",
  "budget.tokens": "tokens for the whole goal",
  "budget.sessions": "sessions for the whole goal",
  maxOutcomeUsd: "US dollars for one outcome",
  "monthlyBudget.usd": "US dollars a month",
  "monthlyBudget.tokens": "tokens a month",
  "monthlyBudget.sessions": "sessions a month",
  to: "agent",
  usd: "US dollars a month",
  tokens: "tokens a month",
  sessions: "sessions a month",
};

const isNumber = (ask: string): boolean => /^(?:.+\.)?(?:usd|tokens|sessions)$|^maxOutcomeUsd$/.test(ask);

/** Short names, for which one line is enough. */
const isShort = (ask: string): boolean => ask === "adapterType" || isNumber(ask);

/** The inputs of the call. With a dot, an input is a part of another one. */
function inputOf(of: Offered, values: Readonly<Record<string, string | undefined>>): Record<string, unknown> {
  const input: Record<string, unknown> = { ...of.body };
  for (const ask of of.asks) {
    const [key = "", part] = ask.split(".");
    const typed = values[ask] ?? firstOf(ask);
    const value = isNumber(ask) ? typedNumber(typed) : typed;
    input[key] = part === undefined ? value : { ...Object(input[key]), [part]: value };
  }
  return input;
}

/** Fields for the missing inputs of a call that the server offers. */
export function AbilityForm({
  of,
  text,
  isBusy,
  onSend,
}: {
  of: Offered;
  text: string;
  isBusy: boolean;
  /** Call `forget` once the input has arrived. */
  onSend: (input: Record<string, unknown>, forget: () => void) => void;
}): ReactNode {
  // Messages to different agents, and answers to different messages, have the same path.
  const [kept, keep, forget] = useDraftFields<Record<string, string>>(
    ["call", of.name, of.path, JSON.stringify(of.body ?? "")].join("."),
  );
  // A secret is never stored, and ends with the form.
  const isSecret = of.name === ops.setSecret.name;
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({});
  const { cantDecide: because } = useHere();
  const values = isSecret ? typed : kept;
  const change = (part: Readonly<Record<string, string>>): void =>
    isSecret ? setTyped({ ...typed, ...part }) : keep(part);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSend(inputOf(of, values), forget);
      }}
    >
      {of.asks.map((ask, at) => (
        <label key={ask} className="field">
          <span>{askWords[ask] ?? ask.replace(/([A-Z])/g, " $1").toLowerCase()}</span>
          {ask === "to" ? (
            <AgentChoice value={values[ask] ?? ""} onChange={(value) => change({ [ask]: value })} />
          ) : choices[ask] !== undefined ? (
            <select
              className="input"
              value={values[ask] ?? firstOf(ask)}
              onChange={({ target }) => change({ [ask]: target.value })}
            >
              {Object.entries(choices[ask]).map(([value, word]) => (
                <option key={value} value={value}>
                  {word}
                </option>
              ))}
            </select>
          ) : isSecret || isShort(ask) ? (
            <input
              className="input"
              type={isSecret ? "password" : "text"}
              autoComplete="off"
              autoFocus={at === 0}
              required
              inputMode={isNumber(ask) ? "decimal" : "text"}
              value={values[ask] ?? ""}
              onChange={({ target }) => change({ [ask]: target.value })}
            />
          ) : (
            <GrowingText
              className="input"
              autoFocus={at === 0}
              required
              value={values[ask] ?? ""}
              onChange={(value) => change({ [ask]: value })}
            />
          )}
        </label>
      ))}
      <Button look="solid" type="submit" disabled={isBusy} because={because}>
        {text}
      </Button>
    </form>
  );
}

/** Agents by name and role. */
function AgentChoice({ value, onChange }: { value: string; onChange: (value: string) => void }): ReactNode {
  const { company } = useHere();
  const roster = useAll(ops.listRoster, "agents", { companyId: company.id });
  return (
    <select
      className="input"
      required
      autoFocus
      value={value}
      onChange={({ target }) => onChange(target.value)}
    >
      <option value="" disabled>
        Choose an agent…
      </option>
      {roster.map(({ id, name, role }) => (
        <option key={id} value={id}>
          {name}, {role}
        </option>
      ))}
    </select>
  );
}

import { type ReactNode, Suspense, useState } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../data/company.ts";
import { useDo } from "../data/doing.ts";
import type { PageOperation } from "../data/operations.ts";
import { useAll } from "../data/reading.ts";
import { abilityWords } from "./ability-words.ts";
import { Button } from "./buttons.tsx";
import { useDraftFields } from "./draft.ts";
import { later } from "./later.ts";
import { Refusal } from "./states.tsx";
import { toast } from "./toast.tsx";
import { typedNumber } from "./typed-number.ts";

const SignInServer = later(async () => (await import("./sign-in-server.tsx")).SignInServer);

/** A call that the server offers for a thing. Missing inputs are entered in fields below the button. */
export interface Offered {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>> | undefined;
  readonly asks: readonly string[];
}

/** Inputs with few values, and the label of each value. */
const choices: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  verdict: { pass: "Accept", rework: "Send back", close: "Give up" },
};

const firstOf = (ask: string): string => Object.keys(choices[ask] ?? {})[0] ?? "";

const numbers = new Set(["usd", "tokens", "sessions", "maxOutcomeUsd", "monthlyBudget"]);

/** Labels for inputs whose own name would not be clear. */
const askWords: Readonly<Record<string, string>> = {
  adapterType: "brain",
  body: "message",
  maxOutcomeUsd: "US dollars for one outcome",
  monthlyBudget: "US dollars a month",
  to: "agent",
  usd: "US dollars a month",
};

interface Offer {
  readonly of: Offered;
  readonly first: boolean;
  /** A call without questions that follows: for example, an answered message is marked as done. */
  readonly after?: Offered | undefined;
}

export function OfferedCall(offer: Offer): ReactNode {
  const { of, first } = offer;
  if (of.name === ops.signInMcpServer.name)
    return (
      <Suspense>
        <SignInServer path={of.path} look={first ? "solid" : ""} />
      </Suspense>
    );
  return <PlainCall {...offer} />;
}

const operationOf = ({ name, method, path }: Offered): PageOperation<Record<string, unknown>, unknown> => ({
  name,
  method,
  path,
  ...(method !== "GET" && { body: true as const }),
});

function PlainCall({ of, first, after }: Offer): ReactNode {
  const { cantDecide } = useHere();
  const [isOpen, setOpen] = useState(false);
  // Answers to different messages have the same path.
  const [values, change, forget] = useDraftFields<Record<string, string>>(
    ["call", of.name, of.path, JSON.stringify(of.body?.["inReplyTo"] ?? "")].join("."),
  );
  const doing = useDo(operationOf(of));
  const next = useDo(operationOf(after ?? of));
  const text = abilityWords[of.name] ?? of.name.split(".").at(-1)?.replaceAll("_", " ") ?? of.name;
  const run = async (): Promise<void> => {
    const given: Record<string, unknown> = Object.fromEntries(
      of.asks.map((ask) => [ask, numbers.has(ask) ? typedNumber(values[ask] ?? "") : (values[ask] ?? firstOf(ask))]),
    );
    if ("monthlyBudget" in given) given["monthlyBudget"] = { usd: given["monthlyBudget"] };
    if ((await doing.run({ ...of.body, ...given })) === undefined) return;
    setOpen(false);
    forget();
    if (after !== undefined) await next.run({ ...after.body });
    toast(`Done: ${text.toLowerCase()}.`);
  };
  return (
    <div className="offered">
      <Button
        look={first ? "solid" : ""}
        because={cantDecide}
        disabled={doing.isBusy}
        onClick={() => (of.asks.length > 0 ? setOpen(!isOpen) : void run())}
      >
        {text}
        {of.asks.length > 0 && "…"}
      </Button>
      {isOpen && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void run();
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
              ) : (
                <input
                  className="input"
                  autoFocus={at === 0}
                  required
                  inputMode={numbers.has(ask) ? "decimal" : "text"}
                  value={values[ask] ?? ""}
                  onChange={({ target }) => change({ [ask]: target.value })}
                />
              )}
            </label>
          ))}
          <Button look="solid" type="submit" disabled={doing.isBusy}>
            {text}
          </Button>
        </form>
      )}
      <Refusal of={doing.refused ?? next.refused} />
    </div>
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

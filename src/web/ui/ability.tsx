import { type ReactNode, Suspense, useState } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../data/company.ts";
import { useDo } from "../data/doing.ts";
import type { PageOperation } from "../data/operations.ts";
import { abilityLabel } from "./ability-words.ts";
import { Button } from "./buttons.tsx";
import { later } from "./later.ts";
import { Refusal } from "./states.tsx";
import { toast } from "./toast.tsx";

const SignInServer = later(async () => (await import("./sign-in-server.tsx")).SignInServer);
const AbilityForm = later(async () => (await import("./ability-form.tsx")).AbilityForm);

/** A call that the server offers for a thing. Missing inputs are entered in fields below the button. */
export interface Offered {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>> | undefined;
  readonly asks: readonly string[];
}

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
  const doing = useDo(operationOf(of));
  const next = useDo(operationOf(after ?? of));
  const text = abilityLabel(of);
  const run = async (input: Record<string, unknown>, forget?: () => void): Promise<void> => {
    if ((await doing.run(input)) === undefined) return;
    setOpen(false);
    forget?.();
    if (after !== undefined) await next.run({ ...after.body });
    toast(`Done: ${text.toLowerCase()}.`);
  };
  return (
    <div className="offered">
      <Button
        look={first ? "solid" : ""}
        because={cantDecide}
        disabled={doing.isBusy}
        onClick={() => (of.asks.length > 0 ? setOpen(!isOpen) : void run({ ...of.body }))}
      >
        {text}
        {of.asks.length > 0 && "…"}
      </Button>
      {isOpen && (
        <Suspense>
          <AbilityForm
            of={of}
            text={text}
            isBusy={doing.isBusy}
            onSend={(input, forget) => void run(input, forget)}
          />
        </Suspense>
      )}
      <Refusal of={doing.refused ?? next.refused} />
    </div>
  );
}

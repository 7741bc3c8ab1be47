import { useNavigate, useSearch } from "@tanstack/react-router";
import { type ReactNode, Suspense, useState } from "react";
import { Button } from "./buttons.tsx";
import * as texts from "./batch-texts.ts";
import { useKeys } from "./keys.ts";
import { later } from "./later.ts";

const BatchDialog = later(async () => (await import("./batch.tsx")).BatchDialog);

export interface Pickable {
  readonly id: string;
  readonly type: string;
}

export interface Picked {
  /** The chosen requests that still wait for a decision. */
  readonly ids: readonly string[];
  /** Adds a request to the choice, or removes it. */
  readonly toggle: (one: Pickable) => void;
  /** The reason why it can't be chosen with the others. */
  readonly because: (one: Pickable) => string | undefined;
  readonly none: () => void;
}

/** The chosen requests. The choice is in the address. Requests decided elsewhere are dropped from it. */
export function usePicked(waiting: readonly Pickable[]): Picked {
  const navigate = useNavigate();
  const { chosen }: { chosen?: string } = useSearch({ strict: false });
  const asked = new Set(chosen?.split(","));
  const type = waiting.find(({ id }) => asked.has(id))?.type;
  const ids = waiting.filter((one) => asked.has(one.id) && one.type === type).map(({ id }) => id);
  const choose = (next: ReadonlySet<string>): void =>
    void navigate({
      to: ".",
      search: (before: object) => ({ ...before, chosen: [...next].join(",") || undefined }),
      replace: true,
    });
  const because = (one: Pickable): string | undefined =>
    type === undefined || one.type === type ? undefined : texts.oneTypeOnly;
  return {
    ids,
    because,
    none: () => choose(new Set()),
    toggle: (one) => {
      if (because(one) !== undefined) return;
      const next = new Set(ids);
      if (!next.delete(one.id)) next.add(one.id);
      choose(next);
    },
  };
}

/** The number of chosen requests, and the actions on them. A opens the sum of their changes. */
export function BatchBar({ of: { ids, none } }: { of: Picked }): ReactNode {
  const [batch, setBatch] = useState<readonly string[] | null>(null);
  return (
    <>
      {ids.length > 0 && batch === null && (
        <Bar count={ids.length} onApprove={() => setBatch(ids)} onNone={none} />
      )}
      {batch !== null && (
        <Suspense>
          <BatchDialog ids={batch} onClose={() => setBatch(null)} />
        </Suspense>
      )}
    </>
  );
}

function Bar({
  count,
  onApprove,
  onNone,
}: {
  count: number;
  onApprove: () => void;
  onNone: () => void;
}): ReactNode {
  useKeys({ a: onApprove, Escape: onNone });
  return (
    <div className="batch-bar" role="status">
      <span>{texts.chosenOf(count)}</span>
      <Button look="solid" hotkey="A" onClick={onApprove}>
        {texts.approveChosen(count)}
      </Button>
      <Button look="ghost" hotkey="Esc" onClick={onNone}>
        Select none
      </Button>
    </div>
  );
}

import { useRef, useState } from "react";
import { ops } from "virtual:operations";
import { call, type Refused } from "../../data/calling.ts";
import { asRefused, useDo } from "../../data/doing.ts";
import type { Answer } from "../../data/operations.ts";
import type { PageOperation } from "../../data/operations.ts";
import { keepDraft } from "../../ui/draft.ts";
import { type PlannedPlaces } from "./map-layout.ts";
import type { Position } from "./position.ts";

type InputOf<Op> =
  Op extends PageOperation<infer I, never> ? I : Op extends PageOperation<infer I> ? I : never;
export type Change = InputOf<typeof ops.planReorganization>["change"];
export type Plan = Answer<typeof ops.planReorganization>;
export type Applied = Answer<typeof ops.applyReorganization>;

/** The typed fields of a change are kept until it is applied, because a plan may be refused. */
export const changeDraft = (companyId: string): string => `reorganize.${companyId}`;

/**
 * A reorganization under way: nothing → planned → applied → nothing. A plan changes nothing, and applying is bound to its hash.
 * An applied change can be undone from the bar until the person closes the bar.
 */
export interface Reorganizing {
  readonly change: Change | null;
  readonly plan: Plan | null;
  readonly refused: Refused | undefined;
  readonly isBusy: boolean;
  readonly applied: Applied | null;
  readonly propose: (change: Change) => void;
  readonly apply: () => void;
  readonly cancel: () => void;
  readonly undo: () => void;
  readonly putAway: () => void;
  readonly undoRefused: Refused | undefined;
}

export function useReorganizing(companyId: string): Reorganizing {
  const [change, setChange] = useState<Change | null>(null);
  const [plan, setPlan] = useState<Plan | null>(null);
  const [refused, setRefused] = useState<Refused>();
  const [applied, setApplied] = useState<Applied | null>(null);
  const applying = useDo(ops.applyReorganization);
  const undoing = useDo(ops.undoReorganization);
  const latest = useRef<Change>(null);
  const propose = async (next: Change): Promise<void> => {
    latest.current = next;
    setChange(next);
    setPlan(null);
    setRefused(undefined);
    setApplied(null);
    applying.forget();
    try {
      const made = await call(ops.planReorganization, { companyId, change: next });
      if (latest.current === next) setPlan(made);
    } catch (error) {
      if (latest.current === next) setRefused(asRefused(error));
    }
  };
  const cancel = (): void => {
    latest.current = null;
    setChange(null);
    setPlan(null);
    setRefused(undefined);
    applying.forget();
  };
  return {
    change,
    plan,
    refused: refused ?? applying.refused,
    isBusy: applying.isBusy || undoing.isBusy,
    applied,
    propose: (next) => void propose(next),
    cancel,
    apply: () => {
      if (change === null || plan === null || applying.isBusy) return;
      void applying.run({ companyId, change, hash: plan.hash }).then((done) => {
        if (done === undefined) return;
        undoing.forget();
        keepDraft(changeDraft(companyId), "");
        setApplied(done);
        cancel();
      });
    },
    undo: () => {
      if (applied === null) return;
      void undoing.run({ id: applied.id }).then((done) => {
        if (done !== undefined) setApplied(done);
      });
    },
    putAway: () => setApplied(null),
    undoRefused: undoing.refused,
  };
}

/** The positions of agents with the plan, for the picture. */
export function placesOf(plan: Plan | null, agents: readonly Position[]): PlannedPlaces {
  const arrives = new Map<string, string>();
  const leaves = new Set<string>();
  if (plan === null) return { arrives, leaves };
  const after = new Map(plan.after.map((place) => [place.id, place]));
  for (const { id, boss } of agents) {
    const place = after.get(id);
    if (place?.changes === true && place.boss !== null && place.boss !== boss?.id)
      arrives.set(id, place.boss);
  }
  for (const { kind, id, to } of plan.moves) if (kind === "agent" && to === null) leaves.add(id);
  return { arrives, leaves };
}

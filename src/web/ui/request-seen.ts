import { useEffect, useState } from "react";
import { type Decision, useDecision } from "./decision.tsx";
import { useKeys } from "./keys.ts";
import { nameIn, type Request } from "./request.ts";

export interface SeenRequest {
  /** The request as the person reads it, with its present status. */
  readonly request: Request;
  /** A newer revision that is not shown yet. */
  readonly newer: { readonly revision: number; readonly show: () => void } | undefined;
  readonly decision: Decision;
  readonly canDecide: boolean;
  readonly isOpen: boolean;
  /** The agent that the request is about. */
  readonly agent: string | null;
  readonly requester: string;
}

/**
 * A new revision never replaces the one that the person reads. It waits until the person asks for it. A, R and X arm a
 * decision.
 */
export function useSeen(newest: Request): SeenRequest {
  const [shown, setShown] = useState(newest);
  const hasChanged = newest.payloadHash !== shown.payloadHash;
  // The status and the possible actions are not part of the request itself. They are always the newest.
  const request = hasChanged
    ? {
        ...newest,
        payload: shown.payload,
        payloadHash: shown.payloadHash,
        revision: shown.revision,
        changes: shown.changes,
      }
    : newest;
  useEffect(() => {
    if (newest.payloadHash === shown.payloadHash) setShown(newest);
  }, [newest, shown]);
  const { heldUp } = request.changes;
  const possible = request.abilities.filter(({ yours }) => yours).map(({ name }) => name);
  const decision = useDecision(
    { id: request.id, payloadHash: request.payloadHash },
    possible,
    heldUp.filter(({ kind }) => kind === "outcome").length,
  );
  useKeys({
    a: () => decision.arm("approve"),
    r: () => decision.arm("revise"),
    x: () => decision.arm("reject"),
    // If a button or field has the focus, Enter is for that element.
    Enter: ({ target }) =>
      decision.armed === null ||
      (target instanceof Element && target.matches("a, button, input, textarea, select, summary"))
        ? false
        : void decision.send(decision.armed),
  });
  return {
    request,
    newer: hasChanged ? { revision: newest.revision, show: () => setShown(newest) } : undefined,
    decision,
    canDecide: (["approve", "revise", "reject"] as const).some(decision.can),
    isOpen: request.status === "pending" || request.status === "revision_requested",
    agent: nameIn(request),
    requester: request.requestedBy?.name ?? "the board",
  };
}

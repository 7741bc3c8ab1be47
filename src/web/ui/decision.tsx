import { type ReactNode, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { ops } from "virtual:operations";
import { useHere } from "../data/company.ts";
import { type Doing, useDo } from "../data/doing.ts";
import { Button } from "./buttons.tsx";
import { useDraft } from "./draft.ts";
import type { IconName } from "./icons.tsx";
import { decidedWords, type RequestChoice } from "./request.ts";
import { Refusal } from "./states.tsx";
import { toast } from "./toast.tsx";
import { useVerbs } from "./verbs.ts";

/**
 * The decision about a request: approve, request a revision, reject. A key arms one of them, and Enter sends it. The decision
 * is bound to the hash of what the person saw. So a request that changed meanwhile is refused, and the note stays.
 */
const verdicts = ["approve", "revise", "reject"] as const satisfies readonly RequestChoice[];

const looks: Record<
  RequestChoice,
  { text: string; hotkey: string; look: "solid" | "" | "ghost danger"; icon: IconName }
> = {
  approve: { text: "Approve", hotkey: "A", look: "solid", icon: "check" },
  revise: {
    text: "Request revision",
    hotkey: "R",
    look: "",
    icon: "edit",
  },
  reject: { text: "Reject", hotkey: "X", look: "ghost danger", icon: "cross" },
};

export interface Decision {
  readonly armed: RequestChoice | null;
  readonly arm: (verdict: RequestChoice | null) => void;
  readonly note: string;
  readonly setNote: (note: string) => void;
  readonly send: (verdict: RequestChoice) => Promise<void>;
  readonly isBusy: boolean;
  readonly refused: Doing<never, never>["refused"];
  readonly can: (verdict: RequestChoice) => boolean;
  readonly because: string | undefined;
  readonly noteRef: React.RefObject<HTMLTextAreaElement | null>;
}

/**
 * `possible` lists the operations that can be called now, from the `abilities` of the request. `heldUp` is the number of outcomes
 * that wait for it.
 */
export function useDecision(
  request: { readonly id: string; readonly payloadHash: string },
  possible: readonly string[],
  heldUp: number,
): Decision {
  const { cantDecide: because } = useHere();
  const [armed, setArmed] = useState<RequestChoice | null>(null);
  const [note, setNote] = useDraft(`note.${request.id}`);
  const noteRef = useRef<HTMLTextAreaElement>(null);
  const doing = {
    approve: useDo(ops.approve),
    revise: useDo(ops.requestRevision),
    reject: useDo(ops.reject),
  };
  const names = {
    approve: "approval.approve",
    revise: "approval.request_revision",
    reject: "approval.reject",
  };
  const can = (verdict: RequestChoice): boolean => possible.includes(names[verdict]);
  const arm = (verdict: RequestChoice | null): void => {
    if (verdict !== null && !can(verdict)) return;
    // The note takes the focus before the next key arrives: a letter typed early would otherwise arm another decision.
    flushSync(() => setArmed(verdict));
    if (verdict !== null) noteRef.current?.focus();
  };
  useVerbs(
    verdicts.filter(can).map((verdict) => ({
      text: `${looks[verdict].text} this request`,
      hotkey: looks[verdict].hotkey,
      because,
      run: () => arm(verdict),
    })),
  );
  return {
    armed,
    arm,
    note,
    setNote,
    isBusy: Object.values(doing).some(({ isBusy }) => isBusy),
    refused: Object.values(doing).find(({ refused }) => refused !== undefined)?.refused,
    can,
    because,
    noteRef,
    send: async (verdict) => {
      if (because !== undefined) return toast(because);
      for (const each of Object.values(doing)) each.forget();
      const decisionNote = note.trim() === "" ? undefined : note.trim();
      const done = await doing[verdict].run({ ...request, ...(decisionNote && { decisionNote }) });
      if (done === undefined) return;
      setNote("");
      setArmed(null);
      toast(decidedWords(done, verdict, heldUp));
    },
  };
}

/** The note field. Enter sends the armed decision; Shift and Enter begin a new line. */
export function DecisionNote({ of, label }: { of: Decision; label: string }): ReactNode {
  return (
    <label className="field note">
      <span className="lab">{label}</span>
      <textarea
        ref={of.noteRef}
        className="input"
        rows={2}
        maxLength={10_000}
        placeholder={
          of.armed === null || of.armed === "approve"
            ? "Optional when you approve"
            : "What should change, or why not"
        }
        value={of.note}
        onChange={({ target }) => of.setNote(target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.shiftKey && of.armed !== null) {
            event.preventDefault();
            void of.send(of.armed);
          }
          if (event.key === "Escape") {
            event.preventDefault();
            event.stopPropagation();
            of.arm(null);
            event.currentTarget.closest<HTMLElement>("[tabindex]")?.focus();
          }
        }}
      />
    </label>
  );
}

/** The three buttons. A click on approve sends it; the other two first ask for a note. */
export function DecisionButtons({
  of,
  consequences,
  big = false,
}: {
  of: Decision;
  consequences?: Readonly<Record<RequestChoice, string>>;
  big?: boolean;
}): ReactNode {
  return (
    <>
      {verdicts.filter(of.can).map((verdict) => {
        const { text, hotkey, look, icon } = looks[verdict];
        const isArmed = of.armed === verdict;
        return (
          <div key={verdict} className="verdict">
            <Button
              look={isArmed && look === "" ? "" : big && look === "ghost danger" ? "danger" : look}
              big={big}
              {...(big && { icon })}
              hotkey={isArmed ? "↵" : hotkey}
              className={isArmed ? "armed" : ""}
              because={of.because}
              disabled={of.isBusy}
              onClick={() => {
                if (verdict === "approve" || isArmed) void of.send(verdict);
                else of.arm(verdict);
              }}
            >
              {isArmed && verdict !== "approve" ? `Send: ${text.toLowerCase()}` : text}
            </Button>
            {consequences && <small>{consequences[verdict]}</small>}
          </div>
        );
      })}
    </>
  );
}

export function DecisionRefusal({ of }: { of: Decision }): ReactNode {
  return <Refusal of={of.refused} />;
}

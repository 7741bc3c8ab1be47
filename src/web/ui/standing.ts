import type { MarkName } from "./marks.ts";

export const outcomeStatusWords = {
  open: "Open",
  submitted: "Waiting for verification",
  completed: "Completed",
  closed: "Closed",
} as const;

export const movementWords = {
  moving: "Moving",
  scheduled: "Scheduled",
  waiting: "Waiting for a person",
  stuck: "Stuck",
} as const;

export const unowned = "unassigned";

interface ShownState {
  readonly mark: MarkName;
  readonly label: string;
}

const movements: Readonly<Record<keyof typeof movementWords, MarkName>> = {
  moving: "live",
  scheduled: "wait",
  waiting: "pending",
  stuck: "stop",
};

/** The state of an outcome, as a mark: its status or, while it is open, the answer of `why`. */
export function standingOf(
  status: keyof typeof outcomeStatusWords,
  state?: keyof typeof movementWords,
  isBlocked = false,
): ShownState {
  if (status === "completed") return { mark: "done", label: outcomeStatusWords.completed };
  if (status === "closed") return { mark: "closed", label: outcomeStatusWords.closed };
  if (state !== undefined && status === "open")
    return {
      mark: movements[state],
      label: !isBlocked
        ? movementWords[state]
        : state === "stuck"
          ? "Blocked"
          : `Blocked: ${movementWords[state].toLowerCase()}`,
    };
  if (status === "submitted") return { mark: "submitted", label: outcomeStatusWords.submitted };
  return isBlocked ? { mark: "pause", label: "Blocked" } : { mark: "idle", label: outcomeStatusWords.open };
}

import type { Sandbox } from "../contract/installation.ts";
import type { Position } from "../contract/roster.ts";
import { conflict, refused } from "../contract/refusal.ts";
import { plural } from "../contract/phrases.ts";

export const deepCheckLost = () =>
  conflict(
    "Another deep check was started, or the daemon was restarted.",
    "Start again: `agency audit verify --deep`.",
  );

/** What `why` and the organization chart say. An outcome is named by its title, an agent by its name. */

/** Ends the answer about an agent without open work. The simulator recognizes it. */
export const nothingToDo = "It has nothing to do.";

/** An agent that starts by itself once it has work. The simulator recognizes it. */
export const isIdle = "is idle";
export const whenItStarts = "A session starts when it has work and a place is free.";

export const outcomeStep = (title: string, status: string): string => `"${title}" is ${status}`;

export const inACircle = (title: string): string =>
  `Several outcomes wait for each other in a circle. One of them is "${title}".`;

export const lookedEnough = (most: number): string =>
  `There are more outcomes below. The check stopped after ${most}.`;

export const dependsOnClosed = (title: string, on: { title: string; id: string }): string =>
  `"${title}" depends on "${on.title}" (${on.id}), which was closed and will not be completed. Change what "${title}" depends on, or reopen "${on.title}".`;

export const mandateBelow = (title: string, child: { title: string; id: string }): string =>
  `"${title}" can't be completed while the mandate "${child.title}" (${child.id}) is below it. The mandate ends when the board terminates its agent.`;

export const waitsUnseen = (title: string): string =>
  `"${title}" may wait for outcomes that you can't read. Ask your manager.`;

export const standing = (title: string): string => `"${title}" is permanent, and nothing below it is open.`;

export const unassignedYet = "Unassigned: no agent is responsible for it yet.";
export const boardCanAssign = "The board can delegate or close it.";

export const blockedUntil = (title: string, until: number, reason: string): string =>
  `"${title}" is blocked until ${iso(until)}: ${reason}`;

export const blocked = (title: string, reason: string, isEscalated: boolean): string =>
  `"${title}" is blocked: ${reason}. ${
    isEscalated
      ? "A VERDICT of the agent that was asked settles it. The agent that delegated it, or the board, can also complete, close or unblock it"
      : "The responsible agent, or the one that delegated it, can unblock it"
  } (update_outcome with blocked: null).`;

export const boardDecides = "the board decides";
export const waitsForBoard = (title: string): string =>
  `"${title}" is submitted. The board must accept it or send it back.`;
export const waitsForVerdict = (title: string): string => `"${title}" is submitted and needs a verdict.`;
export const noMessageAboutIt = "The verifier has no message that would start a session. Send it one.";

export const workIsStuck = "Its work is stuck.";

export const isMissing = "is not an agent of this company";
export const hasLeftWork = "has left the company, and its manager should have taken over its work";
export const isPending = (approval: string | undefined, isRevision: boolean): string =>
  `is not hired yet: ${approval === undefined ? "its approval" : `approval ${approval}`} ${isRevision ? "must be revised and resubmitted" : "is waiting for the board"}`;
export const isPaused = "is paused";
export const whoCanResume = "Its manager or the board can resume it.";
export const brainMissing = (brain: string): string => `uses the brain ${brain}, which is not installed`;
export const giveAnotherBrain = "The board can give it another brain.";
export const needsSandbox = (brain: string): string =>
  `can't start: the brain ${brain} runs programs, and this machine has no sandbox for them`;
export const howToSandbox = ({ says, remedy }: Sandbox): string =>
  `${says} ${remedy} To run programs without a sandbox, restart the daemon with \`agency up --allow-unsandboxed\`.`;
export const isPerson = "is a person, who works from the inbox";
export const isAtWork = "is at work";
export const startsLater = (at: number): string =>
  `starts again at ${iso(at)}, because its last sessions made no progress`;
export const cannotStart = (why: string): string => `can't start: ${why}`;

export const budgetReserved = (budget: string): string =>
  `the rest of ${budget} is reserved for running sessions`;
export const budgetUsedUp = (
  budget: string,
  { spent, given, limit }: { spent: string; given: string; limit: string },
): string => `${budget} is used up (spent ${spent}, given to reports ${given}, limit ${limit})`;
export const raiseRequested = (approval: string): string => `approval ${approval} asks the board to raise it`;
export const raiseDecided = (approval: string, status: string, note: string): string =>
  `approval ${approval} to raise it was ${status}${note === "" ? "" : ` (${note})`}`;
export const nextMonthAt = (at: number): string => `the next month begins at ${iso(at)}`;
export const boardCanRaise = "the board can raise it";

const iso = (time: number): string => new Date(time).toISOString();

/** What an agent in the organization chart is doing or waiting for. */
export function positionText(
  position: Omit<Position, "says">,
  isHuman: boolean,
  approval: string | undefined,
): string {
  const { working, workable, blocked: held, submitted, inbox, status } = position;
  if (status === "pending_approval") return `needs approval ${approval ?? ""}`.trimEnd();
  const waits = [
    ...(inbox > 0 ? [plural(inbox, "message")] : []),
    ...(held > 0 ? [`${held} blocked`] : []),
    ...(submitted > 0 ? [`${submitted} waiting for a verdict`] : []),
  ];
  const also = waits.length === 0 ? "" : ` (${waits.join(", ")})`;
  if (working !== null) return `working${working.on === null ? "" : ` on "${working.on}"`}${also}`;
  if (status === "paused") return `paused${also}`;
  if (isHuman && (workable > 0 || inbox > 0)) return `a person, ${plural(workable, "outcome")} to do${also}`;
  if (workable > 0) return `about to start, ${plural(workable, "outcome")} to do${also}`;
  return waits.length === 0 ? "nothing to do" : `waiting: ${waits.join(", ")}`;
}

export const boardHasLedger = () =>
  refused(
    "The board has no audit log, but it can read the events of the whole company.",
    "Call GET /api/companies/:id/events, or run `agency audit events`.",
  );

export const lacksSecrets = (names: readonly string[]): string =>
  `can't start: the ${names.length === 1 ? "secret" : "secrets"} ${names.join(", ")} of its brain ${names.length === 1 ? "is" : "are"} missing`;

export const setSecrets = (names: readonly string[]): string =>
  names.map((name) => `Set it: agency secrets set ${name}`).join(". ") + ".";

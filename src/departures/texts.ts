import { conflict, forbidden, refused, type Refusal } from "../contract/refusal.ts";
import { onOneLine } from "../contract/visible-text.ts";

/** All texts about agents that pause, retire, leave or are reclaimed. */
interface Named {
  readonly name: string;
  readonly status: string;
}

interface Titled {
  readonly id: string;
  readonly title: string;
}

export const alreadyPaused = ({ name }: Named): Refusal =>
  conflict(
    `${name} is already paused.`,
    `Resume it when it should work again: agency agents resume ${name}.`,
  );

export const pausedByBoard = ({ name }: Named): Refusal =>
  forbidden(
    `The board paused ${name}, so only the board can resume it.`,
    "Tell your manager, or the board if you report to it, why the agent should work again: send_message.",
  );

export const notPaused = ({ name, status }: Named): Refusal =>
  conflict(`${name} is ${status}, not paused.`, "There is nothing to resume.");

export const notWakeable = ({ name, status }: Named): Refusal =>
  refused(
    `${name} is ${status} and can't be woken.`,
    "Resume the agent (agency agents resume), or approve its hire (agency approve).",
  );

export const openDelegations = (name: string, open: readonly Titled[]): Refusal =>
  refused(
    `${name} still waits for ${open.length} delegated outcome${open.length === 1 ? "" : "s"}: ${open
      .slice(0, 5)
      .map(({ id, title }) => `"${title.slice(0, 60)}" (${id})`)
      .join(", ")}.`,
    "Wait until they end, or take them back: reclaim_outcome.",
  );

export const agentGone = "its agent has left";
export const outcomeEnded = "its outcome ended";
export const hasLeftNote = (name: string): string => `${name} has left`;
export const managerChanged = (name: string): string => `The manager has left. ${name} takes its place.`;
export const noLongerWaits = (id: string, why: string): string => `no longer depends on ${id}: ${why}`;
export const waitsForApproval = (name: string): string => `waiting for the approval of ${name}`;
export const notYourReportAnyMore = (name: string): string => `${name} doesn't report to you`;
export const doesNotCome = (name: string, why: string): string => `${name} was not hired: ${onOneLine(why)}`;

export const workReturned = (why: string, outcomes: readonly Titled[]): string =>
  [
    `${why}. The work that was planned for this agent is back with you. Do the work yourself or delegate it:`,
    ...outcomes.map(({ id, title }) => `- "${title}" (kb://${id})`),
  ].join("\n");

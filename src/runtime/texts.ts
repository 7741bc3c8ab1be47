import type { Trouble } from "../brains/brain.ts";
import { plural } from "../contract/phrases.ts";
import { onOneLine } from "../contract/visible-text.ts";
import { refused, type Refusal } from "../contract/refusal.ts";

/** What sessions say: why they ended, and what managers hear when they get stuck. */
export const onlySessionsSummarize = (): Refusal =>
  refused(
    "Only a session can submit a summary.",
    "With an agent's key, write a knowledge file instead: create_file.",
  );

/** With the result of a tool call. */
export const unreadNotice = (count: number): string =>
  `You have ${plural(count, "unread message")}. Call read_inbox when you finish the current outcome.`;

export const mustStop = (time: string, reason: string): string =>
  `This session is stopped at ${time}, because ${reason}. Save your state document, submit your summary (submit_summary) and stop now. Another session starts if there is work.`;

/** Reasons for the end of a session, as they are shown in lists and in the agent's log. */
export const endReasons = {
  replaced: "replaced by a newer session",
  otherServers: "the MCP servers it may use have changed",
  notStarted: (why: string): string => `could not be started: ${why}`,
  processGone: "its process disappeared",
  nodeSilent: "its node stopped answering",
  daemonRestarted: "the daemon was restarted",
  daemonStopped: "the daemon stopped",
  nodeStops: "the daemon is stopping",
};

/** The log entry of a session without a summary. */
export function withoutSummary(
  reason: string,
  exitCode: number | null,
  calls: readonly { readonly operation: string; readonly count: number }[],
  files: readonly string[],
): string {
  const end = `This session left no summary. Ended: ${reason}${exitCode === null ? "" : ` (exit ${exitCode})`}.`;
  const deeds = [
    ...calls.map(({ operation, count }) => `- ${operation} × ${count}`),
    ...files.map((id) => `- changed kb://${id}`),
  ];
  return deeds.length === 0 ? `${end} It changed nothing.` : [end, ...deeds].join("\n");
}

/** To the board. */
export const brainWaits = ({ says, until, cause }: Pick<Trouble, "says" | "until" | "cause">): string => {
  const waits = `${says} The agents that use it wait, and continue by themselves when it works.`;
  if (until === null) return waits;
  const mend =
    cause === "signed_out"
      ? "Sign in with the program on the daemon's machine, or give the agents the key that it asks for (agency secrets set, agency agents update)."
      : "Check that the program starts on the daemon's machine.";
  return `${waits} ${mend} Agency tries again at ${new Date(until).toISOString()}, then after longer and longer waits of up to an hour. To try at once: agency agents wakeup <agent>.`;
};

/** A blocked reason: a clause without a full stop, because other texts continue it. */
export const noProgress = (sessions: number, name: string, failure?: string): string =>
  `${sessions} sessions of ${name} in a row made no progress${
    failure === undefined ? "" : ` (the last one: ${onOneLine(failure).slice(0, 300)})`
  }`;

/** To the manager. */
export const outcomeStalled = (
  outcome: { readonly id: string; readonly title: string },
  reason: string,
  sessionId: string,
): string =>
  `"${outcome.title}" (kb://${outcome.id}) is blocked: ${reason}. The last one was session ${sessionId}. Find out what went wrong. Then unblock the outcome (update_outcome with blocked: null), change it, or reclaim it.`;

/** To the manager, at most once a day for each agent. */
export const ownWorkHeld = (
  agent: { readonly id: string; readonly name: string },
  outcome: { readonly id: string; readonly title: string },
  sessions: number,
): string =>
  `${agent.name} worked only on what it gave itself: its last ${sessions} sessions brought no work of others closer. So "${outcome.title}" (kb://${outcome.id}) is blocked, and so is what it gives itself next. Find out what it is doing (agency logs ${agent.id}), then unblock what it should continue with, or close it. Work and messages from others still reach ${agent.name}.`;

export const inboxStalled = (
  inbox: { readonly id: string; readonly agent: string },
  reason: string,
  sessionId: string,
  messages: number,
): string =>
  `The inbox of ${inbox.agent} (kb://${inbox.id}) is blocked: ${reason}, with ${plural(messages, "message")} in it. The last one was session ${sessionId}. Find out what went wrong. The next message to ${inbox.agent} unblocks the inbox.`;

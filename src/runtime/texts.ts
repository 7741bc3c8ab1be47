import type { Trouble } from "../brains/brain.ts";
import { plural } from "../contract/phrases.ts";
import { onOneLine } from "../contract/visible-text.ts";
import { refused, type Refusal } from "../contract/refusal.ts";

/** All texts about sessions: why they ended, and what managers read when their reports get stuck. */
export const onlySessionsSummarize = (): Refusal =>
  refused(
    "Only a session can submit a summary.",
    "With an agent's key, write a knowledge file instead: create_file.",
  );

/** Added to the result of a tool call. */
export const unreadNotice = (count: number): string =>
  `You have ${plural(count, "unread message")}. Call read_inbox when you finish the current outcome.`;

export const mustStop = (time: string, reason: string): string =>
  `This session is stopped at ${time}, because ${reason}. Save your state document, submit your summary (submit_summary) and stop now. Another session starts if there is work.`;

/** Reasons for the end of a session, as lists and the agent's log show them. */
export const endReasons = {
  replaced: "replaced by a newer session",
  otherServers: "the MCP servers it may use have changed",
  notStarted: (why: string): string => `could not be started: ${why}`,
  nodeFailed: (why: string): string => `its node could not start it: ${why}`,
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
  const waits = `${says} Agents with this brain wait, and continue when it works again.`;
  if (until === null) return waits;
  const mend =
    cause === "signed_out"
      ? "Sign in with the program on the daemon's machine, or give the agents the key that it asks for (agency secrets set, agency agents update)."
      : "Check that the program starts on the daemon's machine.";
  return `${waits} ${mend} Agency tries again at ${new Date(until).toISOString()}, then after longer and longer waits of up to an hour. To try now: agency agents wakeup <agent>.`;
};

/** To the board. */
export const nodeCannotStart = (node: string, why: string): string =>
  `The node "${node}" could not start a session: ${onOneLine(why).slice(0, 300)}. No agent is blamed for it. The node starts no sessions for now, and tries again after longer and longer waits of up to 10 minutes. Other nodes start the sessions meanwhile. agency nodes shows which nodes can't start sessions. To try at once: agency agents wakeup <agent>.`;

/** A blocked reason. It is a clause without a full stop, because other texts continue it. */
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
  `In its last ${sessions} sessions ${agent.name} worked only on outcomes it created itself, and nothing that others assigned advanced. "${outcome.title}" (kb://${outcome.id}) is blocked, and so are new outcomes ${agent.name} creates. See agency logs ${agent.id}, then unblock or close them. Work and messages from others still reach ${agent.name}.`;

export const inboxStalled = (
  inbox: { readonly id: string; readonly agent: string },
  reason: string,
  sessionId: string,
  messages: number,
): string =>
  `The inbox of ${inbox.agent} (kb://${inbox.id}) is blocked: ${reason}, with ${plural(messages, "message")} in it. The last one was session ${sessionId}. Find out what went wrong. The next message to ${inbox.agent} unblocks the inbox.`;

/** To the manager and the board, at most once a day for each sign. */
export const mayBeOverloaded = (
  agent: { readonly id: string; readonly name: string; readonly role: string },
  says: string,
  could: string,
): string =>
  [
    `${agent.name} (${agent.role}) may be overloaded. ${says}`,
    "",
    `You could: ${could}`,
    "",
    `This is only a suggestion, sent at most once a day. Nothing was changed. Agent id: ${agent.id}.`,
  ].join("\n");

/** Each sign of overload, and what would help against it. */
export const overload = {
  longSessions: (sessions: number, minutes: number, limit: number) => ({
    says: `Its last ${sessions === 1 ? "session" : `${sessions} sessions`} took ${plural(minutes, "minute")}${sessions === 1 ? "" : " together"} (setting growthSessionMinutes: ${limit} each).`,
    could:
      "split its work into smaller outcomes, ask it to delegate parts to a report, or hire a report for it.",
  }),
  /** `most` is set if the company runs as many sessions as it may. */
  waitingWork: (outcomes: number, minutes: number, limit: number, most: number | null) => ({
    says: `It has ${plural(outcomes, "workable outcome")} that waited for at least ${plural(minutes, "minute")} (setting growthWaitingOutcomes: ${limit}).`,
    could: `hire a report for it, give some of the outcomes to another agent, or close those no longer needed.${most === null ? "" : ` The company also runs ${plural(most, "session")}, the maximum. The board can raise the setting maxSessions.`}`,
  }),
  fullInbox: (messages: number, minutes: number, limit: number) => ({
    says: `Its inbox holds ${plural(messages, "message")}, the oldest for ${plural(minutes, "minute")} (setting growthInboxMessages: ${limit}).`,
    could: "give part of its work to another agent, hire a report for it, or send it fewer messages.",
  }),
};

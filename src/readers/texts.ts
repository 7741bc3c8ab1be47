import { shown } from "../contract/visible-text.ts";
import type { Sandbox } from "../contract/installation.ts";
import type { Position } from "../contract/roster.ts";
import { conflict, forbidden, refused } from "../contract/refusal.ts";
import { plural } from "../contract/phrases.ts";

export const deepCheckLost = () =>
  conflict(
    "Another deep check was started, or the daemon was restarted.",
    "Start again: `agency audit verify --deep`.",
  );

/** Texts of `why` and the organization chart. They name an outcome by its title and an agent by its name. */

/** The end of the answer about an agent without open work. The simulator recognizes it. */
export const nothingToDo = "It has nothing to do.";

/** The state of an agent that starts by itself once it has work. The simulator recognizes it. */
export const isIdle = "is idle";
export const whenItStarts = "A session starts when it has work and a place is free.";

export const noNodeHasRoom = "can't start yet: every node that can run it has as many sessions as it may run";
export const howToMakeRoom =
  "It starts when a session ends. For more room, start another node, or start one with a higher --node-sessions. `agency nodes` shows them.";
export const nodesFail = "can't start yet: the nodes that can run it could not start their last sessions";
export const howToMendNodes =
  "Agency tries again by itself, after longer and longer waits. `agency nodes` says what is wrong with each node. To try at once: agency agents wakeup <agent>.";
export const noNodeStarts = "can't start: no node starts sessions";
export const startANode = "Start one without --no-agents: agency up";
export const onNoNode = "No node has it.";

export const outcomeStep = (title: string, status: string): string => `"${title}" is ${status}`;

export const inACircle = (title: string): string =>
  `Several outcomes wait for each other in a circle. One of them is "${title}".`;

export const lookedEnough = (most: number): string =>
  `There are more outcomes below. The check stopped after ${most}.`;

export const dependsOnClosed = (title: string, on: string): string =>
  `"${title}" depends on "${on}", which was closed and will not be completed. Change what "${title}" depends on, or reopen "${on}".`;

export const mandateBelow = (title: string, child: string): string =>
  `"${title}" can't be completed while the mandate "${child}" is below it. The mandate ends when the board terminates its agent.`;

export const waitsUnseen = (title: string): string =>
  `"${title}" may wait for outcomes that you can't read. Ask your manager.`;

export const standing = (title: string): string => `"${title}" is permanent, and nothing below it is open.`;

export const unassignedYet = "Unassigned: no agent is responsible for it yet.";
export const boardCanAssign = "The board can delegate or close it.";

export const blockedUntil = (title: string, until: number, reason: string): string =>
  `"${title}" is blocked until ${iso(until)}: ${reason}`;

/** An agent reads which tool helps. A person reads what to do, in the words of the dashboard and the commands. */
export const blocked = (title: string, reason: string, isEscalated: boolean, isPerson: boolean): string =>
  `"${title}" is blocked: ${reason.replace(/[.!?]+$/, "")}. ${
    isEscalated
      ? `The manager that was asked, or the board, ${isPerson ? "decides about it" : "settles it with decide_outcome"}`
      : `The responsible agent, ${isPerson ? "the one that delegated it, or the board can unblock it" : "or the one that delegated it, can unblock it (update_outcome with blocked: null)"}`
  }.`;

export const theBoard = "the board";
export const boardDecides = "the board decides";
export const waitsForBoard = (title: string): string =>
  `"${title}" is submitted. The board must accept it or send it back.`;
export const waitsForVerdict = (title: string): string => `"${title}" is submitted and needs a verdict.`;
export const noMessageAboutIt =
  "The verifier has no message that would start a session. Send the verifier a message.";

export const workIsStuck = "Its work is stuck.";

export const isMissing = "is not an agent of this company";
export const hasLeftWork = "has left the company, and its manager should have taken over its work";
export const isPending = (isRevision: boolean): string =>
  `is not hired yet: its approval ${isRevision ? "must be revised and resubmitted" : "is waiting for the board"}`;
export const boardRevises = "The board can resubmit or reject it.";
export const isPaused = "is paused";
export const isPausedFor = (reason: string | null): string =>
  reason === null ? isPaused : `${isPaused}: ${reason.replace(/[.\s]+$/, "")}`;
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
interface BudgetFigures {
  readonly spent: string;
  readonly given: string;
  readonly limit: string;
}
const figuresIn = ({ spent, given, limit }: BudgetFigures): string =>
  `spent ${spent}, given to reports ${given}, limit ${limit}`;
export const budgetUsedUp = (budget: string, figures: BudgetFigures): string =>
  `${budget} is used up (${figuresIn(figures)})`;
export const budgetCoversNoCall = (budget: string, figures: BudgetFigures): string =>
  `${budget} has too little left for a call of its model (${figuresIn(figures)})`;
export const raiseRequested = "the board is asked to raise it";
export const raiseDecided = (status: string, note: string): string =>
  `the request to raise it was ${status}${note === "" ? "" : ` (${note})`}`;
export const nextMonthAt = (at: number): string => `the next month begins at ${iso(at)}`;
export const boardCanRaise = "the board can raise it";

const iso = (time: number): string => new Date(time).toISOString();

/** The present activity of an agent in the organization chart. */
export function positionText(
  position: Pick<Position, "working" | "workable" | "blocked" | "submitted" | "inbox" | "status"> & {
    /** True if the inbox is blocked and no time ends the block. */
    readonly isStuck: boolean;
  },
  isHuman: boolean,
): string {
  const { working, workable, blocked: held, submitted, inbox, status, isStuck } = position;
  if (status === "pending_approval") return "needs approval";
  const others = held - (isStuck ? 1 : 0);
  const waits = [
    ...(inbox > 0 ? [plural(inbox, "message")] : []),
    ...(others > 0 ? [`${others} blocked`] : []),
    ...(submitted > 0 ? [`${submitted} submitted`] : []),
  ];
  const also = waits.length === 0 ? "" : ` (${waits.join(", ")})`;
  if (working !== null) return `working${working.on === null ? "" : ` on "${working.on}"`}${also}`;
  if (status === "paused") return `paused${also}`;
  if (isHuman && (workable > 0 || inbox > 0)) return `a person, ${plural(workable, "outcome")} to do${also}`;
  if (workable > 0) return `about to start, ${plural(workable, "outcome")} to do${also}`;
  return waits.length === 0 ? "nothing to do" : `${isStuck ? "stuck" : "waiting"}: ${waits.join(", ")}`;
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

export const cannotThink = (brain: string): string => `can't start: its brain ${brain} can't be used`;
export const triedAgain = (at: number): string => `Agency tries again at ${iso(at)}.`;
export const thinksLater = (brain: string, until: number): string =>
  `starts after ${iso(until)}, because its brain ${brain} has to wait`;

/** Texts of the attention list. */
export const needsDecision = {
  pending: "The request takes effect only if the board approves it.",
  revision: "The board sent its own request back for a revision. Resubmit or reject it.",
  orphaned:
    "The board sent the request back for a revision, but its requester has left. Resubmit or reject it.",
};
/** The request comes from the person who looks, or from a position of theirs. */
export const decidedByOthers = {
  pending: "The request comes from a position that you hold, so another board person has to decide it.",
  revision:
    "The board sent back a request that you made, and its position has ended. Resubmit it for another board person to decide, or cancel it.",
};
export const inboxOf = (name: string | null): string => `The inbox of ${name ?? departedAgent}`;
export const notAnswered = "The message is in the board's inbox and not acknowledged.";
export const notAnsweredByYou = "The message is in your inbox and not acknowledged.";
export const revisionOfYours = "The board asked you to revise the request. Resubmit or cancel it.";
export const waitsForYou = (title: string): string => `"${title}" is yours, and nothing else holds it up.`;
export const costsTooMuch = (title: string): string => `"${title}" has reached its cost limit`;
export const onlyPeopleAttend = () =>
  forbidden(
    "The attention list is for people.",
    "Call my_outcomes and read_inbox to see what waits for you.",
  );
export const departedAgent = "an agent that has left";
export const wantsRight = (agent: string, level: string, resource: string): string =>
  `${agent} asks for the right to ${level} ${resource}`;
export const notDeliveredTo = (to: string, description: string): string =>
  `Not delivered to ${to}: ${description}`;

export const budgetStops = (figures: BudgetFigures, isUsedUp: boolean, paused: number): string =>
  `${isUsedUp ? "It is used up" : "It has too little left for a call of a model"}: ${figuresIn(figures)}. ${plural(paused, "agent")} paused because of it.`;
export const budgetNearlyUsed = (
  { spent, limit }: { spent: string; limit: string },
  percent: number,
): string => `${percent} % is spent: ${spent} of ${limit}. Agents are paused when it is used up.`;

/** Notes in the attention list that need no decision. */
export const notes = {
  budget: (budget: string, { spent, limit }: { spent: string; limit: string }, percent: number): string =>
    `${percent} % of ${budget} is spent: ${spent} of ${limit}.`,
  growth: {
    long_sessions: (agent: string) => `${agent} may be overloaded: its sessions take long.`,
    waiting_work: (agent: string) => `${agent} may be overloaded: its outcomes wait for long.`,
    full_inbox: (agent: string) => `${agent} may be overloaded: its inbox is full.`,
  },
  openOutcomes: (agent: string, open: number, most: number): string =>
    `${agent} has ${plural(open, "open outcome")}. The limit is ${most} (setting maxOpenOutcomes).`,
  agents: (count: number, most: number): string =>
    `The company has ${plural(count, "agent")}. Agents can't hire above ${most} (setting maxAgents).`,
  sessions: (running: number, most: number): string =>
    most === 0
      ? "No session starts: the setting maxSessions is 0."
      : `${plural(running, "session")} ${running === 1 ? "runs" : "run"}. The limit is ${most} (setting maxSessions), so the next starts when one ends.`,
} as const;

export const agentStands = (name: string, status: string): string => `${name} is ${status}`;
export const brainFails = {
  sandbox: () => "Programs can't be isolated on this machine",
  brain: (type: string) => `The brain ${type} can't be used`,
  secret: (name: string) => `The secret ${name} is missing`,
};

/** The reason why nothing moves in a company. Null if the company is active. */
export const companyStopped = (company: {
  readonly state: string;
  readonly name: string;
  readonly reason: string | null;
}): string | null =>
  company.state === "active"
    ? null
    : company.state === "archived"
      ? `${company.name} is archived. Take it out of the archive: agency companies unarchive "${company.name}".`
      : `${company.name} is frozen${company.reason === null ? "" : ` (${company.reason})`}. No agent works until the board thaws it: agency thaw.`;

/** Details that tell search results apart. */
export const foundDetail = {
  agent: (role: string, status: string): string =>
    status === "idle" ? role : `${role}, ${status.replace("_", " ")}`,
  outcome: (status: string, owner: string | null): string => `${status}, ${owner ?? "unassigned"}`,
  file: (kind: string): string => kind,
  message: (of: { from_system: number; from_name: string | null; to_name: string | null }): string =>
    `${of.from_system === 1 ? "Agency" : (of.from_name ?? theBoard)} to ${of.to_name ?? theBoard}`,
  approval: (status: string): string => status.replace("_", " "),
  session: (of: { started_at: number; ended_at: number | null }): string =>
    `session, ${of.ended_at === null ? "running since" : "started"} ${new Date(of.started_at).toISOString().slice(0, 16).replace("T", " ")}`,
};

export const foundSession = (of: { agent: string; outcome: string | null }): string =>
  of.outcome === null ? `Session of ${of.agent}` : `Session of ${of.agent}: ${of.outcome}`;

/** A quotation of a server, which must not pass for a text of Agency. */
export const serverFails = (server: {
  readonly name: string;
  readonly says: string;
  readonly missing: readonly string[];
  readonly isSignedOut: boolean;
}): string =>
  `The MCP server ${server.name} does not work: ${server.isSignedOut || server.missing.length > 0 ? server.says : JSON.stringify(shown(server.says))}`;

export const serverStands = (name: string): string => `The MCP server ${name} does not work`;

export const toolsOfServerChanged = (name: string): string =>
  `The MCP server ${name} describes some tools differently`;

export const toolsChanged = (name: string, tools: readonly string[]): string =>
  `Since the board last tested ${name}, it has changed the description of ${tools.join(", ")}. Agents see the earlier text until you test the server again: agency servers test ${name}`;

export const unpublishedCommits = (
  name: string,
  kept: { id: string; repo: string; branch: string; commits: number },
): string =>
  `A session of ${name} ended with ${plural(kept.commits, "commit")} on the branch ${kept.branch} of ${kept.repo} that were not published. They are kept in repos/bundles/${kept.id}.bundle, and the next clone of ${name} has them.`;

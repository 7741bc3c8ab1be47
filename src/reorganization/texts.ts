import { plural } from "../contract/phrases.ts";
import { conflict, forbidden, invalid, limited, refused, type Refusal } from "../contract/refusal.ts";

/** All texts about reorganizations, except the sentences about single moves in moves.ts and effects.ts. */
interface Named {
  readonly id: string;
  readonly name: string;
}

export const alreadyReports = (agent: Named, manager: Named): Refusal =>
  conflict(`${agent.name} already reports to ${manager.name}.`, "There is nothing to move.");

export const cannotReportBelow = (agent: Named, manager: Named): Refusal =>
  refused(
    agent.id === manager.id
      ? `${agent.name} can't report to itself.`
      : `${agent.name} can't report to ${manager.name}, who works below ${agent.name}.`,
    agent.id === manager.id
      ? "Choose another manager."
      : `Choose another manager, or first move ${manager.name} out of ${agent.name}'s team.`,
  );

export const mandateCircle = (agent: Named, manager: Named): Refusal =>
  refused(
    `${agent.name} can't report to ${manager.name}: ${manager.name}'s mandate would then depend on itself.`,
    `Remove the dependency between the work of ${agent.name} and ${manager.name} first (update_outcome with dependsOn).`,
  );

export const notMergeable = (agent: Named, into: Named): Refusal =>
  refused(
    agent.id === into.id
      ? `${into.name} can't be merged into itself.`
      : `${agent.name} and ${into.name} report to different managers.`,
    "Merge agents with the same manager. Move one of them first (move_report).",
  );

export const agentsOrCount = (): Refusal =>
  invalid(
    "Shrinking needs either `agents` or `to`.",
    "Name the agents that leave, or the number that stays.",
  );

export const notBelowYou = (member: Named, isYou: boolean): Refusal =>
  forbidden(
    isYou ? "You can't move yourself." : `${member.name} doesn't work below you.`,
    "You can reorganize the agents below you. Ask your manager for anything else.",
  );

export const notMovable = (member: Named & { readonly status: string }): Refusal =>
  refused(
    `${member.name} is ${member.status} and can't be moved.`,
    member.status === "pending_approval"
      ? "Decide on its approval first. A revision of the hire can name another manager."
      : "Choose an active agent.",
  );

export const rootStays = (): Refusal =>
  refused(
    "The root agent can't be moved or removed, because it reports to the board.",
    "Pause the root agent, change its role, or give its position to another brain or a person (hand_over).",
  );

export const notAReport = (report: Named, manager: Named): Refusal =>
  refused(
    `${report.name} doesn't report to ${manager.name}.`,
    `Name direct reports of ${manager.name}, or move ${report.name} there first (move_report).`,
  );

export const namedTwice = (): Refusal =>
  invalid("The change names an agent or an outcome twice.", "Name each of them once.");

export const notItsWork = (agent: Named, outcome: { readonly id: string; readonly title: string }): Refusal =>
  refused(
    `"${outcome.title}" (${outcome.id}) is not open work of ${agent.name}.`,
    `Name open outcomes that ${agent.name} is responsible for. Its mandate and its inbox stay with it.`,
  );

export const newcomerNeedsHiring = (): Refusal =>
  forbidden(
    "This change hires an agent, and you don't have the right to hire.",
    'Use an existing agent, or ask your manager: request_permission {"resource":"org:hire","reason":"…"}.',
  );

export const hireFirst = (): Refusal =>
  refused(
    "New agents need the board's approval in this company, and a pending agent can't have reports.",
    "Hire the agent with hire_agent. After its approval, move reports to it (move_report).",
  );

export const brainNeedsHiring = (agent: string): Refusal =>
  forbidden(
    `This change chooses another brain for ${agent}, and you don't have the right to hire.`,
    "If the agent is your direct report, propose the brain to the board with change_agent.",
  );

export const proposeBrain = (agent: string): Refusal =>
  refused(
    `The board decides in this company which brains agents get, so you can't choose another one for ${agent}.`,
    "Propose the brain with change_agent. You can hand the position over to a person: adapterType human.",
  );

export const alreadyUndone = (): Refusal =>
  conflict("This reorganization is already undone.", "To make the change again, plan and apply it again.");

export const planOutdated = (hash: string): Refusal =>
  conflict(
    "The organization has changed since the plan was made, so the change would move other things now.",
    "Plan the change again, check it, and apply it with the new hash.",
    { hash },
  );

export const notUndoable = (reasons: readonly string[]): Refusal =>
  conflict(
    `This can't be undone, because in the meantime ${reasons.slice(0, 10).join("; ")}${reasons.length > 10 ? `; and ${reasons.length - 10} more` : ""}.`,
    "Undo the later changes first, or plan a new change.",
  );

/** Open requests of create_agent count as agents, as for every limit of agents. */
export const tooManyBack = (more: number, count: number, most: number): Refusal =>
  limited(
    `${plural(more, "agent")} would come back, and the company has ${count} of the ${most} that agents can hire. Pending agents and requests count.`,
    `Ask the board: it can undo this, or raise the limit with agency companies update --max-agents ${count + more}.`,
  );

export const keyEnds = (label: string, agent: string): string =>
  `The API key "${label}" of ${agent} is revoked. Undoing does not make it valid again.`;

export const keysStayRevoked = (agent: string): string =>
  `The earlier API keys of ${agent} stay revoked. Create a new key: agency agents key "${agent}"`;

export const reasons = {
  workMoved: "its work moved to another agent",
  layerRemoved: "its layer was removed",
  mergedInto: (name: string): string => `merged into ${name}`,
  handedOver: "its position was handed over",
  handedBack: "its position was handed back",
  byBoard: "terminated by the board",
  byManager: "terminated by its manager",
  undone: "the reorganization that created it was undone",
};

export const movesForBoard = (title: string, lines: readonly string[]): string =>
  [`Reorganized: ${title}.`, "", ...lines].join("\n");

export const movesForAgent = (title: string, lines: readonly string[]): string =>
  [`The organization has changed: ${title}. What changes for you:`, "", ...lines].join("\n");

export const news = {
  newReport: (name: string): string => `- ${name} now reports to you.`,
  newWork: (title: string, id: string): string => `- You are now responsible for "${title}" (kb://${id}).`,
  newPosition: "- You now hold this position. It has no open work.",
  verify: (title: string, id: string): string => `- "${title}" (kb://${id}) is submitted. Verify it.`,
  noLongerWaits: (title: string, id: string): string =>
    `- "${title}" (kb://${id}) no longer waits for an outcome that has ended.`,
  rightEnded: (resource: string): string => `- Your right on ${resource} has ended.`,
};

export const undoneNote = "a reorganization was undone";
export const movedAway = (name: string, manager: string): string => `${name} reports to ${manager} now`;

/** "Ada is split: Second editor takes part of its work". */
export const splitSummary = (name: string, others: readonly string[]): string =>
  `${name} is split: ${others.join(", ")} ${others.length === 1 ? "takes" : "take"} part of its work`;

/** Texts of the organization. */
export const stateWords = {
  working: "working",
  idle: "idle",
  paused: "paused",
  blocked: "blocked",
  pending: "pending approval",
} as const;
export const worksAlone = (name: string): string => `${name} works alone. Give ${name} a goal, or hire.`;
export const openPeople = "Who can decide";
export const menuHint = "Move or reorganize, Shift M";
export const whoGoverns = "the people who govern";
export const giveGoal = (name: string): string => `Give ${name} a goal`;
export const hireLabel = "Hire an agent";
export const mapOf = (count: number): string =>
  `Map of ${count === 1 ? "1 agent" : `${count} agents`}. The outline shows the same as rows.`;
export const arrives = "would report here";
export const leaves = "moves away";
export const nothingChanged = "nothing has changed yet";
export const canUndo = "You can undo the change until one of the things it moved has changed again.";
export const moveTitle = (agent: string, to: string, from: string): string =>
  `${agent} reports to ${to} instead of ${from}`;
export const removeTitle = (agent: string): string => `${agent} leaves, and its reports move up`;
export const fireTitle = (agent: string): string => `${agent} leaves the company`;
export const mergeTitle = (agents: string, into: string): string => `${into} takes over from ${agents}`;
export const handOverTitle = (agent: string, brain: string): string =>
  brain === "human" ? `A person takes the position of ${agent}` : `${agent} gets the brain ${brain}`;
export const insertTitle = (name: string, boss: string): string => `${name} becomes a manager below ${boss}`;
export const splitTitle = (agent: string, into: string): string => `${agent} shares its work with ${into}`;
export const shrinkTitle = "The company gets smaller";
export const reorganizeTitle = (name: string): string => `Reorganize ${name}`;
export const kindWords = {
  move_report: "Move",
  insert_layer: "Insert a manager",
  remove_layer: "Remove the layer",
  split: "Split",
  merge: "Merge",
  hand_over: "Hand over",
  fire: "Fire",
} as const;
export const kindSays = {
  move_report: "The agent gets another manager. Everyone below it moves with it.",
  insert_layer: "A new manager is hired above the agent.",
  remove_layer: "The agent leaves, and its reports move up to its manager.",
  split: "A new agent is hired beside the agent and takes over some of its reports.",
  merge: "The agent leaves, and a colleague takes over its reports and outcomes.",
  hand_over: "Another brain or a person takes the position, with everything that belongs to it.",
  fire: "The agent leaves. Its reports and outcomes go to its manager.",
} as const;
export const newManager = "New manager";
export const mergeInto = "Who takes over";
export const takesReports = "Reports that the new agent takes over";
export const alsoMoves = "Colleagues that also move below the new manager";
export const findAgent = "Find an agent";
export const findHint = "Key: /. Enter goes to the next one.";
export const moreAgents = (count: number): string => `and ${count} more. Type more letters to find them.`;
export const noneFound = "No agent has this name.";
export const noReorganizations = "The organization has not been changed yet.";
export const noReorganizationsHint = "Drag an agent to another card on the map, or press Shift M on it.";
export const readOnlyPast = "Earlier states of the organization are not shown here yet. You see the present.";

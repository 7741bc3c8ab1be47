import { counted } from "../../ui/figures.tsx";

/** Texts of an agent's page. */
export const hasNoOutcomes = (name: string): string => `${name} has no outcomes.`;
export const hadNoSessions = (name: string): string => `${name} has had no sessions.`;
export const whenItWorks = (name: string): string =>
  `A session starts when ${name} gets a message or an outcome to work on.`;
export const writeTo = (name: string): string => `Message ${name}`;
export const pageIsRecord = "This page is now a record.";
export const tookOver = (outcomes: number): string =>
  `has its reports, files and mail${outcomes === 0 ? "." : `, and took over ${counted(outcomes, "outcome")}:`}`;
export const agentHasLeft = "This agent has left.";
export const agentChanged = "This agent was changed elsewhere while you wrote. Your text is still here.";
export const setupWords = {
  name: "Name",
  role: "Role",
  title: "Title",
  capabilities: "Capabilities",
  prompt: "Prompt",
  adapterType: "Type of the brain",
  adapterConfig: "Configuration of the brain",
  model: "Model",
  effort: "Effort",
} as const;
export const fieldIsNow = (field: string, value: string): string =>
  value === "" ? `${field} is now empty.` : `${field} is now: ${value}`;

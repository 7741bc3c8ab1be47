/** Texts of Activity. */
export const noActivity = "Nothing matches these filters.";
export const noActivityHint = "Every change, every read of a file and every refusal is listed here.";
export const chainWhole = (events: string): string => `All ${events} entries were verified.`;
export const chainBroken = "The record was changed.";
export const spread = (count: number, from: string, to: string): string =>
  `The ${count} shown entries between ${from} and ${to}`;
export const dragRange = "Drag to choose a time range.";
export const allTimes = "All times";
export const nounWords = {
  agent: "Agents",
  approval: "Approvals",
  outcome: "Outcomes",
  goal: "Goals",
  mail: "Mail",
  knowledge: "Knowledge",
  permission: "Rights",
  session: "Sessions",
  company: "Company",
  person: "People",
  reorganization: "Reorganizations",
  budget: "Budgets",
  brain: "Brains",
  provider: "Model providers",
  mcp_server: "MCP servers",
  secret: "Secrets",
  repo: "Repositories",
  skill: "Skills",
  net: "Connections to hosts",
} as const;
export const gap = (span: string): string => `${span} without an entry`;
export const showEntry = (seq: string): string => `Show entry #${seq}`;
export const showEntries = (count: number): string => `Show these ${count} entries`;
export const dataIsCut = (count: string): string =>
  `Only the beginning of ${count} characters is shown. The command "agency audit events --json" prints all of it.`;

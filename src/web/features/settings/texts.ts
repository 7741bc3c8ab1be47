/** Texts of Settings. */
export const tabs = {
  company: "Company",
  advanced: "Advanced",
  brains: "Brains",
  servers: "MCP servers",
  secrets: "Secrets",
  repos: "Repositories",
  people: "People",
  browsers: "Browsers",
} as const;
export type Tab = keyof typeof tabs;

export const requireApproval = "Require board approval for new agent hires";
export const requireApprovalHint =
  "On: an agent that another agent hires waits until the board approves it. Off: it can work immediately.";

/** The labels of the settings. The server explains each setting (company.settings). */
export const settingLabels: Readonly<Record<string, string>> = {
  maxAgents: "Maximum number of agents",
  maxSessions: "Sessions at the same time",
  maxOpenOutcomes: "Open outcomes of one agent",
  maxDelegations: "Parts of one outcome",
  maxDelegationDepth: "Depth of delegation",
  maxSessionMemoryMb: "Memory of one session, in MB",
  maxSessionDiskMb: "Disk space of one session, in MB",
  maxSessionProcesses: "Processes of one session",
  messageRetentionDays: "Keep message texts, in days",
  defaultAdapterType: "Brain of new agents",
  allowedAdapterTypes: "Brains that agents may hire with",
  chatLLMProvider: "Brain for create_agent",
  chatLLMModel: "Model for create_agent",
  approvalExpirySeconds: "Seconds to decide about a create_agent request",
  growthSessionMinutes: "Suggest a hire: minutes of a session",
  growthWaitingOutcomes: "Suggest a hire: waiting outcomes",
  growthInboxMessages: "Suggest a hire: messages in an inbox",
  growthWaitMinutes: "Suggest a hire: minutes of waiting",
  maxFileBytes: "Size of a knowledge file, in bytes",
  maxAgentBytes: "Storage of one agent, in bytes",
  maxCompanyBytes: "Storage of the company, in bytes",
};
/** The description of a setting for its field, where an empty field means null. */
export const settingHint = (description: string, initially: string): string =>
  `${description.replaceAll("Null:", "Empty:")}${initially === "" ? "" : ` Initially ${initially}.`}`;

export const saved = (what: string): string => `Saved: ${what}.`;
export const changedBy = (who: string): string => `Changed by ${who},`;
export const brainStates = {
  untested: "available, not tested",
  missing: "not available",
  works: "works",
  fails: "does not work",
  running: "testing",
} as const;
export const noServersYet = "No MCP servers yet.";
export const noServersHint = "An agent can use a server once it holds a right to that server.";
export const secretsForServer =
  "A program gets secrets as variables. A server with a URL gets them as headers of each request.";
export const noSecretsForServer = "Add a secret under Secrets first. Then you can choose it here.";
export const noSecrets = "No secrets yet.";
export const noSecretsHint =
  "The value of a secret is never shown again. Configurations refer to the secret by its name.";
export const linkOnce = "The link works once. Send it over a channel you trust.";

export const privateNetwork = {
  name: "privateNetwork",
  label: "Private network",
  hint: "Allow a host name that leads to an address of a private network, such as 10.1.2.3.",
  type: "switch",
  optional: true,
} as const;
export const mayBePrivate = ", may be in a private network";

export const noRepos = "No repositories yet.";
export const noReposHint = "Agents can clone a repository once they hold a right to it, such as repo:shop.";
export const addRepoSays =
  "Agency fetches the repository once. Agents clone from that mirror, and publish branches to it.";
export const repoUrlHint =
  "https://…, ssh://…, git@host:path, or a folder of this machine. Without a password.";
export const repoSecretHint =
  "Name of a secret with a token, user:password or private key. Without one, ssh uses the keys of the account that runs Agency.";
export const removeRepoSays = "The mirror is deleted, and all rights to it end. The origin stays as it is.";
export const emptyRepo = "Empty";
export const discardSays = "The bundle with these commits is deleted. They can't be restored.";
export const pushSays = "The commits reach the origin. A push never overwrites commits there.";
export const pushOntoHint = "Such as main. Empty: the branch keeps its name, for a pull request.";
export const diffIsCut = "Only the beginning of the diff is shown. Clone the repository to see all of it.";
export const notText = "not a text";
export const settingIsNow = (value: string): string =>
  value === ""
    ? "This setting was emptied elsewhere while you wrote. Your text is still here."
    : `This setting was changed elsewhere while you wrote, to: ${value}. Your text is still here.`;

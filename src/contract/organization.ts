import { z } from "zod";
import { Budget, BudgetChange, MonthlyBudget, SessionBudget } from "./budgets.ts";
import { mcpServers, operation } from "./operation.ts";
import { LevelName, ResourceName } from "./resources.ts";
import { AgentRef, CompanyId, Id, Name, nextCursor, Page, text } from "./words.ts";

/** Companies, agents and their keys. */

const AdapterType = z
  .string()
  .min(1)
  .max(60)
  .regex(/^[a-z0-9_]+$/, "a brain's type, such as rehearsal");

export const efforts = ["low", "medium", "high", "xhigh", "max"] as const;

/** What a new agent is made of, whoever makes it. */
export const hireShape = {
  name: Name,
  role: Name,
  title: Name.optional(),
  capabilities: text(4000).optional().describe("What it can do, in words."),
  prompt: text(50_000).optional().describe("Added to the system prompt of its sessions."),
  adapterType: AdapterType.optional().describe("Which brain; default the company's."),
  adapterConfig: z.record(z.string(), z.unknown()).optional().describe("The brain's configuration."),
  model: text(100).min(1).optional().describe("Which model, where the brain has a choice."),
  effort: z.enum(efforts).optional().describe("How hard it thinks, where the brain has a choice."),
  budget: Budget.optional().describe("What it may spend in a month."),
};

/** Rights a hire begins with, handed on by its boss. */
export const hireGrants = z
  .array(z.strictObject({ resource: ResourceName, level: LevelName.optional() }))
  .max(50)
  .optional()
  .describe("Rights it begins with; never more than its boss holds.");

const Threshold = z.number().int().min(1).max(100_000).nullable();

export const Settings = z.strictObject({
  maxSessions: z
    .number()
    .int()
    .min(0)
    .max(1000)
    .describe("At most this many sessions at once, shared fairly."),
  messageRetentionDays: z
    .number()
    .int()
    .min(1)
    .max(36_500)
    .describe("The text of an acknowledged message is dropped after this many days; the record stays."),
  defaultAdapterType: AdapterType.describe("The brain of agents that are made without one."),
  allowedAdapterTypes: z
    .array(AdapterType)
    .max(50)
    .describe("The brains an agent may hire with; the board may use any."),
  maxFileBytes: z
    .number()
    .int()
    .min(1)
    .max(100 * 1024 * 1024)
    .describe("The largest knowledge file, in bytes."),
  requireBoardApprovalForNewAgents: z.boolean().describe("Whether a hire waits until the board approves it."),
  maxAgents: z
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .nullable()
    .describe("Agents hire no further from here on; null: 16 where nobody approves hires, else no limit."),
  defaultAdapterConfig: z
    .record(z.string(), z.unknown())
    .describe("The configuration of the default brain, for agents that are made without one."),
  chatLLMProvider: AdapterType.nullable().describe(
    "The brain of agents made by create_agent; null: the default one.",
  ),
  chatLLMModel: text(100).min(1).nullable().describe("The model of agents made by create_agent."),
  approvalExpirySeconds: z
    .number()
    .int()
    .min(1)
    .max(10 * 365 * 86_400)
    .describe("A create_agent that nobody decided is denied after this long."),
  maxDelegations: z
    .number()
    .int()
    .min(0)
    .max(1000)
    .describe("An agent hands out at most this many parts of one outcome."),
  maxDelegationDepth: z
    .number()
    .int()
    .min(0)
    .max(1000)
    .describe("Work is handed on at most this many times, from one agent to the next."),
  maxOpenOutcomes: z
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .describe("An agent makes no further outcomes while it answers for this many live ones."),
  growthSessionMinutes: Threshold.describe(
    "Suggest help for an agent whose last three sessions took this long on average; null: never.",
  ),
  growthWaitingOutcomes: Threshold.describe(
    "Suggest help for an agent with this many outcomes that wait for it; null: never.",
  ),
  growthInboxMessages: Threshold.describe(
    "Suggest help for an agent with this many messages in its inbox; null: never.",
  ),
  growthWaitMinutes: z
    .number()
    .int()
    .min(1)
    .max(100_000)
    .describe("How long outcomes and messages lie before they count for these suggestions."),
  monthlyBudget: MonthlyBudget,
  sessionBudget: SessionBudget,
});
export type Settings = z.infer<typeof Settings>;

export const Company = z.object({
  id: z.string(),
  name: z.string(),
  settings: Settings,
  rootAgentId: z.string(),
  rootOutcomeId: z.string(),
  createdAt: z.string(),
});

export const createCompany = operation({
  name: "company.create",
  summary: "Make a company with its root agent and the perpetual outcome it serves.",
  input: z.strictObject({ name: Name }),
  output: Company,
  effect: "write",
  within: "installation",
  needs: "board",
  http: { method: "POST", path: "/api/companies" },
  cli: { command: "companies create", args: ["name"] },
});

export const listCompanies = operation({
  name: "company.list",
  summary: "The companies on this installation; an agent sees its own.",
  input: z.strictObject({ ...Page }),
  output: z.object({ companies: z.array(Company), nextCursor }),
  effect: "read",
  within: "installation",
  needs: "member",
  http: { method: "GET", path: "/api/companies" },
  cli: { command: "companies list" },
});

export const viewCompany = operation({
  name: "company.view",
  summary: "A company and its settings.",
  input: z.strictObject({ companyId: CompanyId }),
  output: Company,
  effect: "read",
  within: "company",
  needs: "member",
  http: { method: "GET", path: "/api/companies/:companyId" },
  cli: { command: "companies view" },
});

export const updateCompany = operation({
  name: "company.update",
  summary: "Rename a company or change its settings.",
  input: z.strictObject({ companyId: CompanyId, name: Name.optional(), ...Settings.partial().shape }),
  output: Company,
  effect: "write",
  within: "company",
  needs: "board",
  http: { method: "PATCH", path: "/api/companies/:companyId" },
  cli: { command: "companies update" },
});

export const agentStatuses = ["pending_approval", "idle", "running", "paused", "terminated"] as const;

export const Agent = z.object({
  id: z.string(),
  name: z.string(),
  slug: z.string(),
  role: z.string(),
  title: z.string().nullable(),
  status: z.enum(agentStatuses),
  boss: AgentRef.nullable().describe("Null: the board is its boss."),
  mandateId: z.string(),
  generation: z.number(),
  createdAt: z.string(),
});
export type Agent = z.infer<typeof Agent>;

export const AgentDetail = Agent.extend({
  capabilities: z.string().nullable().describe("What it says it can do, in its own words."),
  adapterType: z.string(),
  stateFileId: z.string(),
  logFileId: z.string().nullable(),
  reports: z.array(AgentRef),
  reviews: z
    .object({ pass: z.number(), rework: z.number(), escalated: z.number(), unreadable: z.number() })
    .describe("How often its work was accepted, sent back, escalated, or judged in words nobody could read."),
});

export const createAgent = operation({
  name: "agent.create",
  summary: "The board makes an agent with a standing mandate, below the root agent unless it says otherwise.",
  input: z.strictObject({
    companyId: CompanyId,
    ...hireShape,
    reportsTo: Id.optional().describe("The boss; default the root agent."),
    mandate: text(20_000).optional().describe("What it is for; becomes its standing outcome."),
    grants: hireGrants,
  }),
  output: AgentDetail,
  effect: "write",
  within: "company",
  needs: "board",
  http: { method: "POST", path: "/api/companies/:companyId/agents" },
  cli: { command: "agents create", args: ["name"] },
});

export const listAgents = operation({
  name: "agent.list",
  summary: "The agents of the company: name, role, title, status, boss.",
  input: z.strictObject({ companyId: CompanyId, status: z.enum(agentStatuses).optional(), ...Page }),
  output: z.object({ agents: z.array(Agent), nextCursor }),
  effect: "read",
  within: "company",
  needs: "member",
  http: { method: "GET", path: "/api/companies/:companyId/agents" },
  cli: { command: "agents list" },
});

export const viewAgent = operation({
  name: "agent.view",
  summary: "One agent.",
  input: z.strictObject({ id: Id }),
  output: AgentDetail,
  effect: "read",
  within: { agent: "id" },
  needs: "member",
  http: { method: "GET", path: "/api/agents/:id" },
  cli: { command: "agents view", args: ["id"] },
});

export const updateAgent = operation({
  name: "agent.update",
  summary: "Rename an agent or change its role, title or description.",
  input: z.strictObject({
    id: Id,
    name: Name.optional(),
    role: Name.optional(),
    title: Name.nullable().optional(),
    capabilities: text(4000).nullable().optional(),
    prompt: text(50_000).nullable().optional(),
    adapterType: AdapterType.optional(),
    adapterConfig: z.record(z.string(), z.unknown()).optional(),
    budget: BudgetChange.nullable()
      .optional()
      .describe("What it may spend in a month; null: nothing of its own."),
  }),
  output: AgentDetail,
  effect: "write",
  within: { agent: "id" },
  needs: "board",
  http: { method: "PATCH", path: "/api/agents/:id" },
  cli: { command: "agents update", args: ["id"] },
});

export const pauseAgent = operation({
  name: "agent.pause",
  summary: "Stop an agent's session and start none until it is resumed. Its boss or the board.",
  input: z.strictObject({ id: Id, reason: text(2000).min(1).optional() }),
  output: AgentDetail,
  effect: "write",
  within: { agent: "id" },
  needs: "member",
  http: { method: "POST", path: "/api/agents/:id/pause" },
  mcp: { server: "org", tool: "pause_agent" },
  cli: { command: "agents pause", args: ["id"] },
});

export const resumeAgent = operation({
  name: "agent.resume",
  summary: "Let a paused agent work again. Its boss or the board.",
  input: z.strictObject({ id: Id }),
  output: AgentDetail,
  effect: "write",
  within: { agent: "id" },
  needs: "member",
  http: { method: "POST", path: "/api/agents/:id/resume" },
  mcp: { server: "org", tool: "resume_agent" },
  cli: { command: "agents resume", args: ["id"] },
});

export const wakeAgent = operation({
  name: "agent.wakeup",
  summary: "Look now whether an agent has work, without waiting out its back-off.",
  input: z.strictObject({ id: Id }),
  output: AgentDetail,
  effect: "write",
  within: { agent: "id" },
  needs: "board",
  http: { method: "POST", path: "/api/agents/:id/wakeup" },
  cli: { command: "agents wakeup", args: ["id"] },
});

export const terminateAgent = operation({
  name: "agent.terminate",
  summary:
    "End an agent: its keys and rights end at once, its reports and open work go to its boss, its documents stay.",
  input: z.strictObject({ id: Id, reason: text(2000).min(1).optional() }),
  output: AgentDetail,
  effect: "write",
  within: { agent: "id" },
  needs: "board",
  http: { method: "POST", path: "/api/agents/:id/terminate" },
  cli: { command: "agents terminate", args: ["id"] },
});

export const createKey = operation({
  name: "agent.create_key",
  summary: "Make an API key with which a program acts as this agent. It is shown once.",
  input: z.strictObject({ id: Id, label: Name.optional() }),
  output: z.object({
    id: z.string(),
    agentId: z.string(),
    label: z.string(),
    key: z.string(),
    createdAt: z.string(),
  }),
  effect: "write",
  within: { agent: "id" },
  needs: "board",
  http: { method: "POST", path: "/api/agents/:id/keys" },
  shownOnce: ["key"],
  cli: { command: "agents key", args: ["id"] },
});

const Key = z.object({
  id: z.string(),
  label: z.string(),
  createdAt: z.string(),
  revokedAt: z.string().nullable(),
});

export const listKeys = operation({
  name: "agent.list_keys",
  summary: "The keys of an agent, without the secrets.",
  input: z.strictObject({ id: Id }),
  output: z.object({ keys: z.array(Key) }),
  effect: "read",
  within: { agent: "id" },
  needs: "board",
  http: { method: "GET", path: "/api/agents/:id/keys" },
  cli: { command: "agents keys", args: ["id"] },
});

export const revokeKey = operation({
  name: "agent.revoke_key",
  summary: "Revoke a key. It stops working at once.",
  input: z.strictObject({ id: Id, keyId: Id }),
  output: Key,
  effect: "write",
  within: { agent: "id" },
  needs: "board",
  http: { method: "DELETE", path: "/api/agents/:id/keys/:keyId" },
  cli: { command: "agents revoke-key", args: ["id", "keyId"] },
});

const McpServerEntry = z.object({
  name: z.string(),
  config: z.record(z.string(), z.unknown()),
  createdAt: z.string(),
});
const ServerName = z
  .string()
  .max(60)
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]*$/, "letters, digits, - and _")
  .refine((name) => !mcpServers.some((base) => base === name), "this is the name of a base server");

export const putMcpServer = operation({
  name: "mcp_server.put",
  summary: "Make another MCP server known to the company; agents get it by a grant of mcp:<name>.",
  input: z.strictObject({
    companyId: CompanyId,
    name: ServerName,
    config: z
      .union([
        z.strictObject({ type: z.literal("http"), url: z.url({ protocol: /^https?$/ }) }),
        z.strictObject({
          command: z.string().min(1).max(4096),
          args: z.array(z.string().max(4096)).max(100).optional(),
        }),
      ])
      .describe('Where it is: {"type":"http","url":…} or {"command":…,"args":[…]}. Never a secret.'),
  }),
  output: McpServerEntry,
  effect: "write",
  within: "company",
  needs: "board",
  http: { method: "POST", path: "/api/companies/:companyId/mcp-servers" },
  cli: { command: "companies add-mcp", args: ["name"] },
});

export const listMcpServers = operation({
  name: "mcp_server.list",
  summary: "The MCP servers the company knows.",
  input: z.strictObject({ companyId: CompanyId }),
  output: z.object({ servers: z.array(McpServerEntry), nextCursor }),
  effect: "read",
  within: "company",
  needs: "board",
  http: { method: "GET", path: "/api/companies/:companyId/mcp-servers" },
  cli: { command: "companies mcp" },
});

export const removeMcpServer = operation({
  name: "mcp_server.remove",
  summary: "Forget an MCP server; new sessions start without it.",
  input: z.strictObject({ companyId: CompanyId, name: ServerName }),
  output: McpServerEntry,
  effect: "write",
  within: "company",
  needs: "board",
  http: { method: "DELETE", path: "/api/companies/:companyId/mcp-servers/:name" },
  cli: { command: "companies remove-mcp", args: ["name"] },
});

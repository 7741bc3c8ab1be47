import { z } from "zod";
import { MonthlyBudget, SessionBudget } from "./budgets.ts";
import { mcpServers, operation } from "./operation.ts";
import { AdapterType, CompanyId, Name, nextCursor, Page, text } from "./words.ts";

/** Companies, their settings and the MCP servers they know. */

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

import { z } from "zod";
import { MonthlyBudget, SessionBudget } from "./budgets.ts";
import { mcpServers, operation } from "./operation.ts";
import { AdapterType, CompanyId, count, Data, Name, nextCursor, Page, text } from "./words.ts";

/** Companies, their settings and their MCP servers. */

const Threshold = count(1, 100_000).nullable();

/** Below this, no limit on storage is ever reached. */
export const leastStorage = 1024 * 1024;
const Storage = count(leastStorage, Number.MAX_SAFE_INTEGER);

export const Settings = z.strictObject({
  maxSessions: count(0, 1000).describe(
    "Maximum number of sessions at the same time, shared fairly among agents. 0 stops all of them.",
  ),
  maxSessionProcesses: count(16, 100_000).describe("Maximum number of processes and threads of one session."),
  maxSessionMemoryMb: count(64, 1_000_000).describe(
    "Maximum memory of one session, in MB. A session that uses more is ended.",
  ),
  maxSessionDiskMb: count(1, 1_000_000).describe(
    "Maximum size of the files in one session's workspace, in MB. A session that uses more is ended.",
  ),
  messageRetentionDays: count(1, 36_500).describe(
    "The text of an acknowledged message is deleted after this many days; the record of it stays.",
  ),
  defaultAdapterType: AdapterType.describe("Type of brain for agents created without one."),
  allowedAdapterTypes: z
    .array(AdapterType)
    .max(50)
    .describe("Types of brain that agents may hire with. The board may use any."),
  maxFileBytes: count(1, 100 * 1024 * 1024).describe("Size limit of a knowledge file, in bytes."),
  maxAgentBytes: Storage.describe(
    "Maximum size of all versions and messages that one agent wrote, in bytes.",
  ),
  maxCompanyBytes: Storage.describe("Maximum size of all versions and messages of the company, in bytes."),
  requireBoardApprovalForNewAgents: z
    .boolean()
    .describe("Whether an agent that another agent hires waits until the board approves it."),
  maxAgents: count(1, 1_000_000)
    .nullable()
    .describe(
      "Agents can't hire above this headcount. Null: 16 if hires need no approval, otherwise no limit.",
    ),
  defaultAdapterConfig: Data.describe(
    "Configuration of the default brain, for agents created without one, as JSON.",
  ),
  chatLLMProvider: AdapterType.nullable().describe(
    "Type of brain for agents created with create_agent. Null: the default brain.",
  ),
  chatLLMModel: text(100)
    .min(1)
    .nullable()
    .describe("Model for agents created with create_agent. Null: the brain's own default."),
  approvalExpirySeconds: count(1, 10 * 365 * 86_400).describe(
    "A create_agent request is denied if it is still undecided after this many seconds.",
  ),
  maxDelegations: count(0, 1000).describe(
    "Maximum number of parts of one outcome that an agent can delegate.",
  ),
  maxDelegationDepth: count(0, 1000).describe(
    "How many times work can be delegated further, from one agent to the next.",
  ),
  maxOpenOutcomes: count(1, 1_000_000).describe(
    "Maximum number of open and submitted outcomes that one agent can be responsible for.",
  ),
  growthSessionMinutes: Threshold.describe(
    "Suggest a hire when an agent's last three sessions took this many minutes on average. Null: never.",
  ),
  growthWaitingOutcomes: Threshold.describe(
    "Suggest a hire when this many outcomes are waiting for an agent. Null: never.",
  ),
  growthInboxMessages: Threshold.describe(
    "Suggest a hire when this many messages are in an agent's inbox. Null: never.",
  ),
  growthWaitMinutes: count(1, 100_000).describe(
    "Outcomes and messages count for these suggestions after waiting this many minutes.",
  ),
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

const CompanyName = Name.describe("Name of the company, 1 to 64 characters.");

export const createCompany = operation("company.create", "POST /api/companies", {
  summary: "Create a company with a root agent and the perpetual outcome it serves.",
  input: z.strictObject({ name: CompanyName }),
  output: Company,
  within: "installation",
  cli: { command: "companies create <name>", example: "Bakery" },
});

export const listCompanies = operation("company.list", "GET /api/companies", {
  summary: "List the companies of this installation. An agent sees only its own.",
  lists: "company",
  input: z.strictObject({ ...Page }),
  output: z.object({ companies: z.array(Company), nextCursor }),
  within: "installation",
  needs: "member",
  cli: { command: "companies list" },
});

export const viewCompany = operation("company.view", "GET /api/companies/:companyId", {
  summary: "Show a company and its settings.",
  input: z.strictObject({ companyId: CompanyId }),
  output: Company,
  needs: "member",
  cli: { command: "companies view", example: "--company Bakery" },
});

export const updateCompany = operation("company.update", "PATCH /api/companies/:companyId", {
  summary: "Rename a company or change its settings. Settings you leave out stay as they are.",
  input: z.strictObject({
    companyId: CompanyId,
    name: CompanyName.optional().describe("New name, 1 to 64 characters. Default: unchanged."),
    ...Settings.partial().shape,
  }),
  output: Company,
  cli: { command: "companies update", example: "--max-sessions 8" },
});

const McpServerEntry = z.object({
  name: z.string(),
  config: Data,
  createdAt: z.string(),
});
const ServerName = z
  .string()
  .max(60)
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9_-]*$/,
    "letters, digits, hyphens and underscores, starting with a letter or digit",
  )
  .refine(
    (name) => !mcpServers.some((base) => base === name),
    `a name other than those of the built-in servers (${mcpServers.join(", ")})`,
  )
  .describe(
    "Name of the server: up to 60 letters, digits, hyphens and underscores. Agents use it as `mcp:<name>`.",
  );

export const putMcpServer = operation("mcp_server.put", "POST /api/companies/:companyId/mcp-servers", {
  summary: "Add an MCP server to the company, or replace its configuration.",
  guidance: "An agent can use the server once it holds a grant for `mcp:<name>`.",
  input: z.strictObject({
    companyId: CompanyId,
    name: ServerName,
    config: z
      .union(
        [
          z.strictObject({
            type: z.literal("http").describe("A server that is reached over HTTP."),
            url: z.url({ protocol: /^https?$/, error: "an http or https URL" }).describe("Its URL."),
          }),
          z.strictObject({
            command: text(4096).min(1).describe("The program to start."),
            args: z.array(text(4096)).max(100).optional().describe("Its arguments. Default: none."),
          }),
        ],
        '{"type":"http","url":"https://…"} or {"command":"npx","args":["…"]}',
      )
      .describe(
        'How to reach it: {"type":"http","url":"https://…"} or {"command":"npx","args":["…"]}. Don\'t put secrets here.',
      ),
  }),
  output: McpServerEntry,
  cli: {
    command: "companies add-mcp <name>",
    example: `calendar --config '{"type":"http","url":"https://example.com/mcp"}'`,
  },
});

export const listMcpServers = operation("mcp_server.list", "GET /api/companies/:companyId/mcp-servers", {
  summary: "List the MCP servers of the company.",
  input: z.strictObject({ companyId: CompanyId }),
  output: z.object({ servers: z.array(McpServerEntry), nextCursor }),
  cli: { command: "companies mcp" },
});

export const removeMcpServer = operation(
  "mcp_server.remove",
  "DELETE /api/companies/:companyId/mcp-servers/:name",
  {
    summary: "Remove an MCP server from the company. Sessions that start later don't have it.",
    input: z.strictObject({ companyId: CompanyId, name: ServerName }),
    output: McpServerEntry,
    cli: { command: "companies remove-mcp <name>", example: "calendar" },
  },
);

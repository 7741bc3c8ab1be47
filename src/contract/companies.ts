import { z } from "zod";
import { MonthlyBudget, OutcomeLimit, SessionBudget } from "./budgets.ts";
import { Health } from "./attention.ts";
import { operation } from "./operation.ts";
import { AdapterType, CompanyId, count, Data, Flag, Name, nextCursor, Page, text } from "./words.ts";

/** Companies, their settings and their MCP servers. */

const Threshold = count(1, 100_000).nullable();

/** The lowest possible limit on storage. A company that stores less needs no check. */
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
    "The text of an acknowledged message is deleted after this many days. The record of the message stays.",
  ),
  defaultAdapterType: AdapterType.describe("Type of brain for agents created without one."),
  allowedAdapterTypes: z
    .array(AdapterType)
    .max(50)
    .describe("Types of brain that agents may hire with. The board may use any."),
  maxFileBytes: count(1, 100 * 1024 * 1024).describe("Size limit of a knowledge file, in bytes."),
  maxAgentBytes: Storage.describe(
    "Maximum size of all versions, messages and commits that one agent wrote, in bytes.",
  ),
  maxCompanyBytes: Storage.describe(
    "Maximum size of all versions, messages and commits of the company, in bytes.",
  ),
  requireBoardApprovalForNewAgents: z
    .boolean()
    .describe("Whether an agent that another agent hires waits until the board approves it."),
  maxAgents: count(1, 1_000_000)
    .nullable()
    .describe(
      "Agents can't hire above this headcount, even if a person approves each hire. Pending agents count. Null: 16.",
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
    "Outcomes and messages count for these suggestions once they have waited this many minutes.",
  ),
  monthlyBudget: MonthlyBudget,
  sessionBudget: SessionBudget,
  maxOutcomeUsd: OutcomeLimit,
});
export type Settings = z.infer<typeof Settings>;

export const companyStates = ["active", "frozen", "archived"] as const;
export type CompanyState = (typeof companyStates)[number];

export const Company = z.object({
  id: z.string(),
  name: z.string(),
  slug: z.string().describe("The name as it can be typed: small letters, digits and hyphens."),
  state: z
    .enum(companyStates)
    .describe(
      "frozen: no session starts and agents change nothing. archived: frozen, and read only for everyone.",
    ),
  frozenAt: z.string().nullable(),
  frozenReason: z.string().nullable(),
  archivedAt: z.string().nullable(),
  settings: Settings,
  rootAgentId: z.string(),
  rootOutcomeId: z.string(),
  createdAt: z.string(),
});

export const ChosenBrain = z.object({
  type: z.string().describe("Type of brain that the root agent got."),
  says: z.string().describe("Reason for this brain, and how to choose another."),
});

const CompanyName = Name.describe("Name of the company, 1 to 64 characters.");

export const createCompany = operation("company.create", "POST /api/companies", {
  summary: "Create a company. It starts with a root agent and one outcome that never ends.",
  input: z.strictObject({ name: CompanyName }),
  output: Company.extend({ brain: ChosenBrain }),
  within: "installation",
  cli: { command: "companies create <name>", example: "Bakery" },
});

export const listCompanies = operation("company.list", "GET /api/companies", {
  summary: "List the companies of this installation. An agent sees only its own.",
  guidance: "Use it to find the id of a company. Returns the name, slug and state of each.",
  lists: "company",
  input: z.strictObject({
    archived: Flag.optional().describe("true also lists archived companies. Default false."),
    health: Flag.optional().describe(
      "true adds the number of open outcomes by state, and the number of items that need a person. Only people who see all companies get these numbers. Default false.",
    ),
    ...Page,
  }),
  output: z.object({
    companies: z.array(
      Company.extend({
        health: Health.optional(),
        attention: z
          .number()
          .optional()
          .describe("Items of the company's attention list that need a person now: its `pressing`."),
      }),
    ),
    nextCursor,
  }),
  heavy: ({ health }) => health === true || health === "true",
  within: "installation",
  needs: "member",
  mcp: { server: "org", tool: "list_companies", for: ["person"] },
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

export const describeSettings = operation("company.settings", "GET /api/settings", {
  summary: "Show what each setting of a company does, with its type, its limits and its default.",
  guidance: "Read the values with company.view and change them with company.update.",
  input: z.strictObject({}),
  output: z.object({
    schema: Data.describe("JSON Schema of the settings. `default` is what a new company starts with."),
  }),
  within: "installation",
});

const Chosen = z.strictObject({ companyId: CompanyId });

export const freezeCompany = operation("company.freeze", "POST /api/companies/:companyId/freeze", {
  summary: "Freeze a company, which stops all its sessions and starts none until it is thawed.",
  guidance:
    "Running sessions are ended. Agents can read but change nothing. Mail is still delivered, but starts no session. The board can still read, decide and change everything. To end the freeze, use company.thaw.",
  input: Chosen.extend({
    reason: text(1000)
      .min(1)
      .optional()
      .describe("Reason, up to 1,000 characters. Agents and people see it. Default: none."),
  }),
  output: Company,
  cli: { command: "freeze", example: '--reason "Checking the costs"' },
});

export const thawCompany = operation("company.thaw", "POST /api/companies/:companyId/thaw", {
  summary: "Thaw a frozen company, so its agents continue with their open work.",
  input: Chosen,
  output: Company,
  cli: { command: "thaw" },
});

export const archiveCompany = operation("company.archive", "POST /api/companies/:companyId/archive", {
  summary: "Archive a company, which freezes it, hides it in lists and makes it read only for everyone.",
  input: Chosen,
  output: Company,
  cli: { command: "companies archive <companyId>", example: "Bakery" },
});

export const unarchiveCompany = operation("company.unarchive", "POST /api/companies/:companyId/unarchive", {
  summary: "Take a company out of the archive. It stays frozen until it is thawed.",
  input: Chosen,
  output: Company,
  cli: { command: "companies unarchive <companyId>", example: "Bakery" },
});

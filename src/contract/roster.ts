import { z } from "zod";
import { operation } from "./operation.ts";
import { ChosenBrain, Company } from "./companies.ts";
import { Agent } from "./agents.ts";
import { CompanyId, Flag, hiddenInTools, Name, nextCursor, Page, text } from "./words.ts";

/** The roster, the org chart, and a whole company as files. */

const RosterEntry = Agent.extend({
  adapterType: z.string(),
  model: z.string().nullable(),
  effort: z.string().nullable(),
  leftAt: z.string().nullable().describe("When the agent left. Null while it is employed."),
});

export const listRoster = operation("org.roster", "GET /api/companies/:companyId/roster", {
  summary: "List the employed agents.",
  guidance: "Use it to find an agent's id.",
  lists: "agent",
  input: z.strictObject({
    companyId: CompanyId,
    departed: Flag.optional()
      .describe("true also lists agents that have left. Default false.")
      .register(hiddenInTools, {}),
    ...Page,
  }),
  output: z.object({ agents: z.array(RosterEntry), nextCursor }),
  needs: "member",
  mcp: { server: "org", tool: "list_roster" },
  cli: { command: "agents roster", example: "--departed" },
});

const Position = Agent.extend({
  depth: z.number().describe("Number of managers above the agent. The root agent has 0."),
  working: z
    .object({ session: z.string(), since: z.string(), on: z.string().nullable() })
    .nullable()
    .describe("The running session, and the title of the outcome it started with."),
  open: z.number().describe("Number of its outcomes that have not ended, without its mandate and its inbox."),
  workable: z.number().describe("Number of outcomes the agent could work on now."),
  blocked: z.number().describe("Number of its outcomes that are blocked, its inbox included."),
  submitted: z.number().describe("Number of its outcomes that wait for verification."),
  inbox: z.number().describe("Number of messages in its inbox."),
  adapterType: z.string(),
  isPerson: z.boolean().describe("True if a person works from this position."),
  approval: z
    .string()
    .nullable()
    .describe("Id of the open request about it: its hire, or a change that its manager proposed."),
  spentUsd: z
    .number()
    .nullable()
    .describe("Cost of the agent and all agents below it this month. Null if you can't see its work."),
  budgetUsd: z
    .number()
    .nullable()
    .describe("Its own monthly budget in US dollars. Null: it shares the budget above it."),
  says: z.string().describe("What the agent is doing or waiting for."),
});
export type Position = z.infer<typeof Position>;

export const viewOrg = operation("org.view", "GET /api/companies/:companyId/org", {
  summary: "Show the reporting lines, and the present activity of each agent.",
  guidance: "An agent sees the work only of itself and its direct reports.",
  input: z.strictObject({ companyId: CompanyId }),
  output: z.object({
    agents: z.array(Position),
    truncated: z.boolean(),
    stopped: z
      .string()
      .nullable()
      .describe("Why no agent works: the company is frozen or archived. Null if it is active."),
  }),
  needs: "member",
  cli: { command: "org" },
});

/** A file of a company's folder: company.json, agents/<name>.md, skills/<name>/SKILL.md, knowledge/<name>. */
export const CompanyFile = z.strictObject({
  path: text(600).describe("Path inside the folder, such as `agents/ada.md`."),
  content: z.string().describe("Content of the file."),
  encoding: z.enum(["utf8", "base64"]).optional().describe("Encoding of `content`. Default `utf8`."),
});
export type CompanyFile = z.infer<typeof CompanyFile>;

/** Limit for all files together. Each byte is searched for secrets, at about 4 MB per second. */
export const mostFileBytes = 16 * 1024 * 1024;

const mostFiles = 5000;

export const exportCompany = operation("company.export", "GET /api/companies/:companyId/export", {
  summary: "Export a company as files: agents, settings, skills and knowledge, without secrets.",
  input: z.strictObject({ companyId: CompanyId }),
  output: z.object({
    files: z.array(CompanyFile),
    redacted: z.array(z.string()).describe("Places where a secret was removed."),
    leftOut: z
      .array(z.string())
      .describe("Things that the files don't contain, because they have no meaning elsewhere."),
  }),
  effect: "record",
  heavy: () => true,
});

export const importCompany = operation("company.import", "POST /api/companies/import", {
  summary: "Create a company from files. If one file is wrong, nothing is created.",
  input: z.strictObject({
    name: Name.optional().describe(
      "Name of the company, 1 to 64 characters. Default: the name in company.json.",
    ),
    files: z
      .array(CompanyFile)
      .min(1)
      .max(mostFiles)
      .describe(
        "The files of an exported company, 1 to 5000. Definitions of agents (`agents/*.md`) are enough.",
      ),
    allowCommands: Flag.optional().describe(
      "true accepts brains and MCP servers that run commands on this machine. Read the files first. Default false.",
    ),
  }),
  output: z.object({
    company: Company,
    agents: z.number(),
    files: z.number().describe("Number of knowledge files."),
    notices: z.array(z.string()),
    brain: ChosenBrain.nullable().describe(
      "The brain of agents whose file names none. Null: company.json names one.",
    ),
  }),
  carriesFiles: mostFiles,
  heavy: () => true,
  within: "installation",
});

import { z } from "zod";
import { operation } from "./operation.ts";
import { Company } from "./companies.ts";
import { Agent } from "./agents.ts";
import { CompanyId, Flag, Name, nextCursor, Page, text } from "./words.ts";

/** The roster, the org chart, and a whole company as files. */

const RosterEntry = Agent.extend({
  adapterType: z.string(),
  model: z.string().nullable(),
  effort: z.string().nullable(),
  leftAt: z.string().nullable().describe("When the agent left. Null while it is employed."),
});

export const listRoster = operation("org.roster", "GET /api/companies/:companyId/roster", {
  summary: "List the agents that are employed.",
  guidance:
    "Returns each agent's id, name, slug, role, status, manager, brain and start date. Use it to find the id of an agent and, before you hire, to see whether someone already has the role. For prompts, rights and budgets, use view_configurations.",
  lists: "agent",
  input: z.strictObject({
    companyId: CompanyId,
    departed: Flag.optional().describe("true also lists agents that have left. Default false."),
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
  workable: z.number().describe("Number of outcomes the agent could work on now."),
  blocked: z.number().describe("Number of its outcomes that are blocked."),
  submitted: z.number().describe("Number of its outcomes that wait for verification."),
  inbox: z.number().describe("Number of messages in its inbox."),
  says: z.string().describe("What the agent is doing or waiting for."),
});
export type Position = z.infer<typeof Position>;

export const viewOrg = operation("org.view", "GET /api/companies/:companyId/org", {
  summary: "Show who reports to whom, and what each agent is doing or waiting for.",
  input: z.strictObject({ companyId: CompanyId }),
  output: z.object({ agents: z.array(Position), truncated: z.boolean() }),
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
      .describe("What the files don't contain, because it has no meaning elsewhere."),
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
  }),
  carriesFiles: mostFiles,
  heavy: () => true,
  within: "installation",
});

import { z } from "zod";
import { operation } from "./operation.ts";
import { Company } from "./companies.ts";
import { Agent } from "./agents.ts";
import { CompanyId, Flag, Name, nextCursor, Page, text } from "./words.ts";

/** Who is employed, who reports to whom, and a whole company as files. */

const RosterEntry = Agent.extend({
  adapterType: z.string(),
  model: z.string().nullable(),
  effort: z.string().nullable(),
  leftAt: z.string().nullable().describe("Null while it is employed."),
});

export const listRoster = operation({
  name: "org.roster",
  summary: "Everybody employed: name, role, boss, brain, status, since when; on demand also those who left.",
  input: z.strictObject({
    companyId: CompanyId,
    departed: Flag.optional().describe("Also those who left."),
    ...Page,
  }),
  output: z.object({ agents: z.array(RosterEntry), nextCursor }),
  effect: "read",
  within: "company",
  needs: "member",
  http: { method: "GET", path: "/api/companies/:companyId/roster" },
  mcp: { server: "org", tool: "list_roster" },
  cli: { command: "agents roster" },
});

const Position = Agent.extend({
  depth: z.number().describe("How many bosses are above it; the root agent has 0."),
  working: z
    .object({ session: z.string(), since: z.string(), on: z.string().nullable() })
    .nullable()
    .describe("Its session, and the title of the outcome that session began with."),
  workable: z.number().describe("Outcomes it could work on now."),
  blocked: z.number().describe("Outcomes it answers for that are blocked."),
  submitted: z.number().describe("Outcomes it handed in that wait for a verdict."),
  inbox: z.number().describe("Messages that wait for it."),
  says: z.string().describe("What it is doing or waiting for, in words."),
});
export type Position = z.infer<typeof Position>;

export const viewOrg = operation({
  name: "org.view",
  summary: "Who reports to whom, and what each is doing or waiting for; every boss before its reports.",
  input: z.strictObject({ companyId: CompanyId }),
  output: z.object({ agents: z.array(Position), truncated: z.boolean() }),
  effect: "read",
  within: "company",
  needs: "board",
  http: { method: "GET", path: "/api/companies/:companyId/org" },
});

/** A file of a company's folder: company.json, agents/<name>.md, skills/<name>/SKILL.md, knowledge/<name>. */
export const CompanyFile = z.strictObject({
  path: text(600),
  content: z.string(),
  encoding: z.enum(["utf8", "base64"]).optional().describe("Default utf8."),
});
export type CompanyFile = z.infer<typeof CompanyFile>;

/** Together. All of it is searched for secrets, at some 4 MB a second. */
export const mostFileBytes = 16 * 1024 * 1024;

export const exportCompany = operation({
  name: "company.export",
  summary: "The company as files: definitions of its agents, settings, skills, knowledge. Without secrets.",
  input: z.strictObject({ companyId: CompanyId }),
  output: z.object({
    files: z.array(CompanyFile),
    redacted: z.array(z.string()).describe("Where something secret was taken out."),
    leftOut: z.array(z.string()).describe("What means nothing elsewhere, and is not in the files."),
  }),
  effect: "record",
  within: "company",
  needs: "board",
  http: { method: "GET", path: "/api/companies/:companyId/export" },
});

export const importCompany = operation({
  name: "company.import",
  summary: "A new company from files, all of it or nothing; definitions of agents alone are enough.",
  input: z.strictObject({
    name: Name.optional().describe("Default what company.json says."),
    files: z.array(CompanyFile).min(1).max(5000),
    allowCommands: Flag.optional().describe(
      "Take over what runs commands on this machine: process brains, MCP servers. Read them first.",
    ),
  }),
  output: z.object({
    company: Company,
    agents: z.number(),
    files: z.number().describe("Knowledge files."),
    notices: z.array(z.string()),
  }),
  effect: "write",
  within: "installation",
  needs: "board",
  http: { method: "POST", path: "/api/companies/import" },
});

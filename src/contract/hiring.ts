import { z } from "zod";
import { Agent, AgentDetail } from "./agents.ts";
import { Approval } from "./approvals.ts";
import { Budget } from "./budgets.ts";
import { operation } from "./operation.ts";
import { LevelName, ResourceName } from "./resources.ts";
import { AdapterType, CompanyId, Id, Name, nextCursor, Page, text } from "./words.ts";

/** Hiring: what a new agent is made of, hiring it, and the configurations of the agents already hired. */

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

/** A hire as it was asked for, every key said: what an approval shows, and what runs afterwards. */
export const HireConfiguration = z.object({
  name: z.string(),
  role: z.string(),
  title: z.string().nullable(),
  reportsTo: z.string().nullable(),
  capabilities: z.string().nullable(),
  mandate: z.string(),
  prompt: z.string().nullable(),
  adapterType: z.string(),
  adapterConfig: z.record(z.string(), z.unknown()),
  model: z.string().nullable(),
  effort: z.string().nullable(),
  budget: Budget.nullable(),
  grants: z.array(z.object({ resource: ResourceName, level: LevelName })),
});
export type HireConfiguration = z.infer<typeof HireConfiguration>;

export const hireAgent = operation({
  name: "agent.hire",
  summary:
    "Hire an agent with a standing mandate. Where the company wants it, the agent is pending until the board approves.",
  input: z.strictObject({
    companyId: CompanyId,
    ...hireShape,
    reportsTo: Id.optional().describe(
      "Its boss: you, or somebody below you. Default you; of the board, the root.",
    ),
    mandate: text(20_000).optional().describe("What it is for; becomes its standing outcome."),
    grants: hireGrants,
  }),
  output: z.object({ agent: AgentDetail, approval: Approval.nullable() }),
  effect: "write",
  within: "company",
  needs: () => [{ on: "org:hire", level: "use" }],
  http: { method: "POST", path: "/api/companies/:companyId/agent-hires" },
  mcp: { server: "org", tool: "hire_agent" },
});

const Configuration = z.object({
  agent: Agent,
  configuration: z
    .record(z.string(), z.unknown())
    .describe("Name, role, boss, mandate, prompt, brain, rights, budget. Secrets are shown as [redacted]."),
  redactedPaths: z.array(z.string()),
});

export const listConfigurations = operation({
  name: "configuration.list",
  summary: "How the agents of the company are made, secrets redacted.",
  input: z.strictObject({ companyId: CompanyId, ...Page }),
  output: z.object({ configurations: z.array(Configuration), nextCursor }),
  effect: "read",
  within: "company",
  needs: "member",
  http: { method: "GET", path: "/api/companies/:companyId/agent-configurations" },
  mcp: { server: "org", tool: "view_configurations" },
  cli: { command: "agents configurations" },
});

export const viewConfiguration = operation({
  name: "configuration.view",
  summary: "How one agent is made, secrets redacted.",
  input: z.strictObject({ id: Id }),
  output: Configuration,
  effect: "read",
  within: { agent: "id" },
  needs: "member",
  http: { method: "GET", path: "/api/agents/:id/configuration" },
  cli: { command: "agents configuration", args: ["id"] },
});

export const brainIndex = operation({
  name: "brain.index",
  summary: "The installed brains and how to hire, as text.",
  input: z.strictObject({}),
  output: z.object({ text: z.string() }),
  effect: "read",
  within: "installation",
  needs: "member",
  http: { method: "GET", path: "/llms/agent-configuration.txt", as: "text" },
});

export const brainPage = operation({
  name: "brain.page",
  summary: "Which configuration a brain takes, as text.",
  input: z.strictObject({ adapterType: z.string().min(1).max(60) }),
  output: z.object({ text: z.string() }),
  effect: "read",
  within: "installation",
  needs: "member",
  http: { method: "GET", path: "/llms/agent-configuration/:adapterType.txt", as: "text" },
});

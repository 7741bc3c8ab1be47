import { z } from "zod";
import { operation } from "./operation.ts";
import { Agent, AgentDetail } from "./organization.ts";
import { CompanyId, Id, nextCursor, Page } from "./words.ts";

/** How agents are made, for whoever hires: the board, the root agent, holders of org:hire. */

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

export const setPermissions = operation({
  name: "agent.set_permissions",
  summary: "Let an agent hire, or no longer. The board or the root agent.",
  input: z.strictObject({ id: Id, canCreateAgents: z.boolean().describe("Whether it holds org:hire.") }),
  output: AgentDetail.extend({ permissions: z.object({ canCreateAgents: z.boolean() }) }),
  effect: "write",
  within: { agent: "id" },
  needs: "member",
  http: { method: "PATCH", path: "/api/agents/:id/permissions" },
  cli: { command: "agents permissions", args: ["id"] },
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

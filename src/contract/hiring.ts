import { z } from "zod";
import { Agent, AgentDetail } from "./agents.ts";
import { Approval } from "./approvals.ts";
import { Budget } from "./budgets.ts";
import { operation } from "./operation.ts";
import { LevelName, ResourceGrants, ResourceName } from "./resources.ts";
import { AdapterType, CompanyId, Data, idOf, Name, nextCursor, Page, text } from "./words.ts";

/** Hiring: what a new agent is made of, hiring it, and the configurations of the agents already hired. */

export const efforts = ["low", "medium", "high", "xhigh", "max"] as const;

/** What a new agent is made of, for every way of hiring. */
export const hireShape = {
  name: Name.describe("Name, 1 to 64 characters, unique in the company."),
  role: Name.describe("What the agent does, such as `Release engineer`; 1 to 64 characters."),
  title: Name.optional().describe("Job title shown beside the name. Default: none."),
  capabilities: text(4000).optional().describe("What the agent can do, for colleagues who read the roster."),
  prompt: text(50_000).optional().describe("Instructions that open the system prompt of its sessions."),
  adapterType: AdapterType.optional().describe("Type of brain, such as `rehearsal`. Default: the company's."),
  adapterConfig: Data.optional().describe(
    "Configuration of the brain. GET /llms/agent-configuration/<adapterType>.txt lists the keys.",
  ),
  model: text(100).min(1).optional().describe("Model, if the brain offers a choice."),
  effort: z.enum(efforts).optional().describe("Reasoning effort, if the brain offers a choice."),
  budget: Budget.optional().describe(
    "Monthly budget, taken from the manager's. Measures you leave out are shared with the manager.",
  ),
};

const Mandate = text(20_000)
  .optional()
  .describe("What the agent is responsible for. Becomes its standing outcome.");

/** Rights a hire starts with, passed on by its manager. */
export const hireGrants = ResourceGrants.optional().describe(
  "Rights the agent starts with. Its manager must hold each of them.",
);

/** A new agent with its mandate and its rights. */
export const positionShape = { ...hireShape, mandate: Mandate, grants: hireGrants };

export const createAgent = operation("agent.create", "POST /api/companies/:companyId/agents", {
  summary: "Create an agent without an approval.",
  guidance: "Only the board can. It takes the same arguments as a hire; the agent can work immediately.",
  input: z.strictObject({
    companyId: CompanyId,
    ...positionShape,
    reportsTo: idOf("agent").optional().describe("Id of its manager (UUID). Default: the root agent."),
  }),
  output: AgentDetail,
  cli: { command: "agents create <name>", example: 'Ada --role Editor --mandate "Edit every article."' },
});

/** A hire with every key filled in: what an approval shows, and what runs once it is approved. */
export const HireConfiguration = z.object({
  name: z.string(),
  role: z.string(),
  title: z.string().nullable(),
  reportsTo: z.string().nullable(),
  capabilities: z.string().nullable(),
  mandate: z.string(),
  prompt: z.string().nullable(),
  adapterType: z.string(),
  adapterConfig: Data,
  model: z.string().nullable(),
  effort: z.enum(efforts).nullable(),
  budget: Budget.nullable(),
  grants: z.array(z.object({ resource: ResourceName, level: LevelName })),
});
export type HireConfiguration = z.infer<typeof HireConfiguration>;

export const hireAgent = operation("agent.hire", "POST /api/companies/:companyId/agent-hires", {
  summary: "Hire an agent with a standing mandate.",
  guidance:
    'Needs the right `org:hire`. Use it for a lasting position; for one outcome use delegate_outcome with `hire`, and to divide work use plan_work. Returns `agent` and `approval`. With an approval, the agent is `pending_approval` and can do nothing until the board approves it; the decision arrives by mail, so don\'t hire again. Example: {"name": "Kim", "role": "Tester", "mandate": "Every release is tested."}.',
  input: z.strictObject({
    companyId: CompanyId,
    ...positionShape,
    reportsTo: idOf("agent")
      .optional()
      .describe(
        "Id of its manager: you or an agent below you. Defaults to you, or to the root agent when the board hires.",
      ),
  }),
  output: z.object({ agent: AgentDetail, approval: Approval.nullable() }),
  needs: () => [{ on: "org:hire", level: "use" }],
  mcp: { server: "org", tool: "hire_agent" },
});

const Configuration = z.object({
  agent: Agent,
  configuration: Data.describe(
    "Name, role, manager, mandate, prompt, brain, rights and budget. Secrets are shown as [redacted].",
  ),
  redactedPaths: z.array(z.string()).describe("Where a secret was hidden."),
});

export const listConfigurations = operation(
  "configuration.list",
  "GET /api/companies/:companyId/agent-configurations",
  {
    summary: "List how the agents of the company are configured, without secrets.",
    guidance:
      "Use it before hire_agent to copy what works: each entry has an agent's mandate, prompt, brain, rights and budget. Only the board, the root agent and holders of `org:hire` can call it. For names and roles alone, use list_roster.",
    input: z.strictObject({ companyId: CompanyId, ...Page }),
    output: z.object({ configurations: z.array(Configuration), nextCursor }),
    needs: "member",
    mcp: { server: "org", tool: "view_configurations" },
    cli: { command: "agents configurations" },
  },
);

export const viewConfiguration = operation("configuration.view", "GET /api/agents/:id/configuration", {
  summary: "Show how one agent is configured, without secrets.",
  input: z.strictObject({ id: idOf("agent") }),
  output: Configuration,
  needs: "member",
  cli: { command: "agents configuration <id>", example: "ada" },
});

export const brainIndex = operation("brain.index", "GET /llms/agent-configuration.txt", {
  summary: "List the installed brains and explain how to hire, as plain text.",
  input: z.strictObject({}),
  output: z.object({ text: z.string() }),
  within: "installation",
  needs: "member",
  as: "text",
});

export const brainPage = operation("brain.page", "GET /llms/agent-configuration/:adapterType.txt", {
  summary: "Explain which configuration a brain takes, as plain text.",
  input: z.strictObject({
    adapterType: z.string().min(1).max(60).describe("Type of the brain, such as `rehearsal`."),
  }),
  output: z.object({ text: z.string() }),
  within: "installation",
  needs: "member",
  as: "text",
});

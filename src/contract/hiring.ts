import { z } from "zod";
import { Agent, AgentDetail, efforts } from "./agents.ts";
import { Approval } from "./approvals.ts";
import { Budget, BudgetChange } from "./budgets.ts";
import { PersonOf } from "./people.ts";
import { operation } from "./operation.ts";
import { LevelName, ResourceGrants, ResourceName } from "./resources.ts";
import {
  AdapterType,
  CompanyId,
  Data,
  hiddenInSessions,
  Id,
  idOf,
  Name,
  nextCursor,
  Page,
  shownInTools,
  text,
} from "./words.ts";

/** Hiring: the configuration of a new agent, the hire itself, and the configurations of agents already hired. */

/** The settings of a new agent, for every way of hiring. */
export const hireShape = {
  name: Name.describe("Name, unique in the company."),
  role: Name.describe("Role, such as `Release engineer`."),
  title: Name.optional().describe("Job title. Default: none.").register(hiddenInSessions, {}),
  capabilities: text(4000)
    .optional()
    .describe("Description of what the agent can do. Default: none.")
    .register(hiddenInSessions, {}),
  prompt: text(50_000).optional().describe("Instructions on how the agent works. Default: none."),
  adapterType: AdapterType.optional().describe("Type of brain. Default: the company's."),
  adapterConfig: Data.optional().describe(
    "Configuration of the brain, as JSON. Copy one from view_configurations. Default: the company's.",
  ),
  model: text(100).min(1).optional().describe("Name of the model. Default: the default of the brain."),
  effort: z.enum(efforts).optional().describe("How hard the model thinks: low to max. Default: the brain's."),
  budget: Budget.optional().describe(
    "Monthly `usd`, `tokens` or `sessions`, taken from the manager's budget. Default: it shares that budget.",
  ),
};

const Mandate = text(20_000)
  .optional()
  .describe("The agent's responsibility, and how to measure its success. Default: none.");

/** The rights that a hire starts with. Its manager passes them on. */
export const hireGrants = ResourceGrants.optional().describe(
  "Rights to start with, in the form of delegate_outcome. The manager must hold them.",
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
    person: PersonOf.optional().describe(
      "Id or name of the person who works from this position. The brain must be `human`.",
    ),
  }),
  output: AgentDetail,
  cli: { command: "agents create <name>", example: 'Ada --role Editor --mandate "Edit every article."' },
});

/** A hire with every key filled in. An approval shows it, and the approved agent runs with it. */
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
    "Use it for a lasting position. For one outcome, use delegate_outcome with `hire`. If the answer has an `approval`, the agent starts once a person approves the hire.",
  input: z.strictObject({
    companyId: CompanyId,
    ...positionShape,
    reportsTo: idOf("agent")
      .optional()
      .describe(
        "UUID of its manager: an agent below you. Default: you, or the root agent if the board hires.",
      )
      .register(shownInTools, { description: "UUID of a manager below you. Default: you." }),
  }),
  output: z.object({ agent: AgentDetail, approval: Approval.nullable() }),
  needs: () => [{ on: "org:hire", level: "use" }],
  mcp: { server: "org", tool: "hire_agent", for: ["hirer"] },
});

/** The changes that a manager can propose for a report. Like a hire, but null removes a value. */
export const proposalShape = {
  prompt: hireShape.prompt.unwrap().nullable().optional().describe("New instructions."),
  adapterType: AdapterType.optional().describe("Type of brain."),
  adapterConfig: Data.optional().describe(
    "New configuration of the brain. A value sent as [redacted] stays.",
  ),
  model: hireShape.model
    .unwrap()
    .nullable()
    .optional()
    .describe("Name of the new model. Null: the default of the brain."),
  effort: hireShape.effort.unwrap().nullable().optional().describe("Reasoning effort. Null: the default."),
  budget: BudgetChange.optional().describe(
    "Monthly `usd`, `tokens` or `sessions`, taken from your budget. Null removes one.",
  ),
};

const ChangeReason = text(2000)
  .refine((reason) => reason.trim() !== "", "a reason with at least one visible character")
  .describe("Why. The board reads it.");

/** The keys that a revision of such a proposal may contain. */
export const ProposalRevision = z.strictObject({ ...proposalShape, reason: ChangeReason }).partial();

export const changeAgent = operation("agent.propose_change", "POST /api/agents/:agent/changes", {
  summary: "Propose a change of a direct report's prompt, brain, model, effort or budget.",
  guidance:
    "Use it when a report needs other instructions, another brain or another budget. A person decides, and the decision arrives by mail.",
  input: z.strictObject({
    agent: text(100).min(1).describe("UUID or slug of your direct report."),
    reason: ChangeReason,
    ...proposalShape,
  }),
  output: Approval,
  within: { agent: "agent" },
  needs: "member",
  mcp: { server: "org", tool: "change_agent", for: ["manager"] },
  cli: { command: "agents propose <agent>", example: 'ada --reason "It is slow." --effort low' },
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
    guidance: "Use it before hire_agent, to copy a configuration. For names and roles, use list_roster.",
    input: z.strictObject({ companyId: CompanyId, ...Page }),
    output: z.object({ configurations: z.array(Configuration), nextCursor }),
    needs: "member",
    mcp: { server: "org", tool: "view_configurations", for: ["hirer", "root"] },
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

const BrainTest = z.object({
  status: z.enum(["running", "works", "fails"]),
  companyId: z.string(),
  type: z.string(),
  test: z.string().describe("Id of the test."),
  provider: z.string().nullable().describe("The provider that was asked. Null: none."),
  model: z.string().nullable(),
  tokens: z.number().describe("Tokens read and written."),
  costUsd: z.number(),
  milliseconds: z.number().describe("Time from the question to the end of the answer."),
  says: z.string().describe("What was found."),
  remedy: z.string().describe("What to do if it fails."),
});
export type BrainTest = z.infer<typeof BrainTest>;

export const listBrains = operation("brain.list", "GET /api/brains", {
  summary: "List the brains, and whether each one could work now.",
  guidance:
    "Only the board, the root agent and holders of `org:hire` can. `available` is true if its program, its provider with the key, and a sandbox are there. `says` names what was found, or what is missing and the next step. A brain that the root agent or the company uses is checked with that configuration. `schema` is the JSON Schema of its configuration, which a hire gives as `adapterConfig`.",
  input: z.strictObject({
    companyId: Id.optional().describe(
      "Company whose providers, keys and configurations count. Default: your company, or the only one. With several companies, only the keys count that the daemon was given at its start.",
    ),
  }),
  output: z.object({
    brains: z.array(
      z.object({
        type: z.string(),
        available: z.boolean(),
        version: z.string().nullable(),
        says: z.string(),
        runsPrograms: z.boolean().describe("True if its sessions need a sandbox."),
        schema: Data,
        documentation: z.string().describe("Markdown."),
      }),
    ),
  }),
  // The operation starts programs to ask for their versions.
  heavy: () => true,
  within: "installation",
  needs: "member",
  cli: { command: "brains list" },
});

export const testBrain = operation("brain.test", "POST /api/companies/:companyId/brains/:type/test", {
  summary: "Check whether a brain works: run it as a session runs, with one small question to its model.",
  guidance:
    "It starts the program of a session in the same sandbox and asks its model through the company's provider. The cost is booked for the root agent. Tool calls are refused, and only Agency is reachable. For `process`, the command must end with exit code 0. The call waits up to 90 seconds for the answer.",
  input: z.strictObject({
    companyId: CompanyId,
    type: AdapterType.describe("Type of brain, such as `claude_local`."),
    adapterConfig: Data.optional().describe(
      "Configuration of the brain, as JSON. Default: that of the root agent if it has this brain, otherwise the brain's defaults.",
    ),
    model: text(100)
      .min(1)
      .optional()
      .describe("Model to ask. Default: the root agent's if it has this brain, otherwise the provider's."),
    test: Id.optional().describe("Id of a running test, to wait for it again."),
  }),
  output: BrainTest,
  waits: {
    seconds: () => 90,
    again: (output) => {
      const { status, companyId, type, test } = BrainTest.parse(output);
      return status === "running" ? { companyId, type, test } : null;
    },
  },
  cli: { command: "brains test <type>", example: "claude_local" },
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

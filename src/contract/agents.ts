import { z } from "zod";
import { By, PersonRef } from "./actors.ts";
import { BudgetChange, BudgetLine, Cost } from "./budgets.ts";
import { PersonOf } from "./people.ts";
import { operation } from "./operation.ts";
import {
  AdapterType,
  AgentRef,
  CompanyId,
  Data,
  idOf,
  inAll,
  Name,
  nextCursor,
  Page,
  Reason,
  Reference,
  text,
} from "./words.ts";

/** Agents and their keys. */

export const efforts = ["low", "medium", "high", "xhigh", "max"] as const;

export const agentStatuses = ["pending_approval", "idle", "running", "paused", "terminated"] as const;

export const Agent = z.object({
  id: z.string(),
  name: z.string(),
  slug: z.string(),
  role: z.string(),
  title: z.string().nullable(),
  status: z.enum(agentStatuses),
  boss: AgentRef.nullable().describe("The agent's manager. Null: the board."),
  mandateId: z.string(),
  generation: z.number(),
  createdAt: z.string(),
});
export type Agent = z.infer<typeof Agent>;

export const AgentDetail = Agent.extend({
  capabilities: z.string().nullable().describe("What the agent can do, as described when it was hired."),
  adapterType: z.string(),
  autoReply: z
    .boolean()
    .describe("True if the last output of a session answers the message that started the session."),
  nextAgent: z
    .string()
    .nullable()
    .describe("For an agent made with create_agent: the agent it answers, or `human`. Otherwise null."),
  person: PersonRef.nullable().describe(
    "The person who works from this position. Agents see this only of themselves and their direct reports.",
  ),
  stateFileId: z.string(),
  logFileId: z.string().nullable(),
  reports: z.array(AgentRef),
  reviews: z
    .object({ pass: z.number(), rework: z.number(), escalated: z.number(), unreadable: z.number() })
    .nullable()
    .describe(
      "How often this agent's work passed review, was sent back, was escalated, or got a verdict that could not be read. Agents see this only of themselves and their direct reports.",
    ),
});

/** Everything about one agent. An agent sees `null` in most places, except for itself and its direct reports. */
const AgentPage = AgentDetail.extend({
  model: z.string().nullable(),
  effort: z.enum(efforts).nullable(),
  says: z.string().describe("What the agent is doing or waiting for. Empty if you don't look at its work."),
  permissions: z.object({ canCreateAgents: z.boolean().describe("Whether it may hire.") }).nullable(),
  budget: z
    .array(BudgetLine)
    .nullable()
    .describe("Its own monthly budget with what is spent and left. Empty: it shares the budget above it."),
  cost: z
    .object({ month: z.string(), own: Cost, total: Cost.describe("With all agents below it.") })
    .nullable()
    .describe("What it spent this month."),
  work: z
    .object({
      open: z.number().describe("Outcomes that have not ended, without its mandate and its inbox."),
      workable: z.number().describe("Outcomes it could work on now."),
      blocked: z.number().describe("Outcomes that are blocked, its inbox included."),
      submitted: z.number().describe("Outcomes that wait for verification."),
      inbox: z.number().nullable().describe("Messages in its inbox. Agents see only their own."),
    })
    .nullable(),
  session: z
    .object({ id: z.string(), since: z.string(), outcome: Reference.nullable() })
    .nullable()
    .describe("The session that runs now."),
  paused: z
    .object({ reason: z.string().nullable(), since: z.string(), by: By })
    .nullable()
    .describe("Reason and time of the pause. Null if the agent is not paused."),
  approval: Reference.nullable().describe(
    "The open request about it: its hire, or a change that its manager proposed.",
  ),
  left: z
    .object({
      at: z.string(),
      successor: AgentRef.nullable().describe(
        "The agent that took over its work, or the nearest manager above that is still employed.",
      ),
      reason: z.string().nullable().describe("Only people see it."),
      tookOver: z
        .array(Reference)
        .describe("The outcomes that the successor took over, at most 100. Only people see them."),
    })
    .nullable()
    .describe(
      "Time and reason of its departure, and the agents that took over its work. Null while it is employed.",
    ),
});

const agentId = idOf("agent");
const reportId = idOf("agent").describe("UUID of your direct report.");

export const listAgents = operation("agent.list", "GET /api/companies/:companyId/agents", {
  summary: "List the agents of a company.",
  lists: "agent",
  input: z.strictObject({
    companyId: CompanyId,
    status: z
      .enum(agentStatuses)
      .optional()
      .describe("Only agents with this status. Default: all, terminated agents included."),
    ...Page,
  }),
  output: z.object({ agents: z.array(Agent), count: inAll, nextCursor }),
  needs: "member",
  cli: { command: "agents list", example: "--status running" },
});

export const viewAgent = operation("agent.view", "GET /api/agents/:id", {
  summary: "Show an agent: role, manager, reports, brain, work, session, budget, costs and reviews.",
  input: z.strictObject({ id: agentId }),
  output: AgentPage,
  needs: "member",
  cli: { command: "agents view <id>", example: "ada" },
});

export const updateAgent = operation("agent.update", "PATCH /api/agents/:id", {
  summary: "Change an agent's name, role, mandate, prompt, brain, model, budget or replies.",
  guidance:
    "Only the board can do this. The event records each changed field before and after. A running session is asked to stop, and is stopped after 60 seconds. The next one starts with the new settings. Managers propose changes of their reports with change_agent.",
  input: z.strictObject({
    id: agentId,
    name: Name.optional().describe(
      "New name, 1 to 64 characters, unique in the company. Default: unchanged.",
    ),
    role: Name.optional().describe("New role, 1 to 64 characters. Default: unchanged."),
    title: Name.nullable()
      .optional()
      .describe("New job title, 1 to 64 characters. Null removes it. Default: unchanged."),
    capabilities: text(4000)
      .nullable()
      .optional()
      .describe("What the agent can do, up to 4,000 characters. Null removes it. Default: unchanged."),
    prompt: text(50_000)
      .nullable()
      .optional()
      .describe(
        "Instructions at the end of the agent's system prompt. Null removes them. Default: unchanged.",
      ),
    adapterType: AdapterType.optional().describe("Type of brain, such as `rehearsal`. Default: unchanged."),
    adapterConfig: Data.optional().describe(
      "New configuration of the brain, as JSON, instead of the old one. A value sent as [redacted] stays as it was. Default: unchanged.",
    ),
    model: text(100)
      .min(1)
      .nullable()
      .optional()
      .describe(
        "Name of the model, if the brain offers a choice. Null sets the brain's default. Default: unchanged.",
      ),
    effort: z
      .enum(efforts)
      .nullable()
      .optional()
      .describe("Reasoning effort. Null sets the brain's default. Default: unchanged."),
    mandate: text(20_000)
      .optional()
      .describe("Text of the mandate: the agent's responsibility. Default: unchanged."),
    autoReply: z
      .boolean()
      .optional()
      .describe(
        "Whether the last output of a session answers the message that started it. Default: unchanged.",
      ),
    nextAgent: text(100)
      .min(1)
      .optional()
      .describe(
        "For an agent made with create_agent: name, slug or id of the agent it answers, or `human`. The agent may then send mail there, and no longer to the former one. Default: unchanged.",
      ),
    person: PersonOf.nullable()
      .optional()
      .describe(
        "Id or name of the person who works from this position. The brain must be `human`. Null makes it vacant. Default: unchanged.",
      ),
    budget: BudgetChange.nullable()
      .optional()
      .describe(
        'Monthly budget, such as {"usd": 5}. Null removes it, and the agent shares the budget above it. Default: unchanged.',
      ),
  }),
  output: AgentDetail,
  cli: { command: "agents update <id>", example: 'ada --role "Senior editor"' },
});

export const pauseAgent = operation("agent.pause", "POST /api/agents/:id/pause", {
  summary: "Pause an agent. Its running session ends and no new one starts.",
  guidance: "To stop one piece of work, use reclaim_outcome.",
  input: z.strictObject({ id: reportId, reason: Reason }),
  output: AgentDetail,
  needs: "member",
  mcp: { server: "org", tool: "pause_agent", for: ["manager"] },
  cli: { command: "agents pause <id>", example: 'ada --reason "Budget review"' },
});

export const resumeAgent = operation("agent.resume", "POST /api/agents/:id/resume", {
  summary: "Resume a paused agent.",
  guidance: "Use it once the reason for the pause is gone. New sessions start when the agent has work.",
  input: z.strictObject({ id: reportId }),
  output: AgentDetail,
  needs: "member",
  mcp: { server: "org", tool: "resume_agent", for: ["manager"] },
  cli: { command: "agents resume <id>", example: "ada" },
});

export const wakeAgent = operation("agent.wakeup", "POST /api/agents/:id/wakeup", {
  summary: "Check now whether an agent has work, without waiting for its next retry.",
  input: z.strictObject({ id: agentId }),
  output: AgentDetail,
  cli: { command: "agents wakeup <id>", example: "ada" },
});

export const terminateAgent = operation("agent.terminate", "POST /api/agents/:id/terminate", {
  summary:
    "Terminate an agent. Its manager takes over its reports and open work. Its keys and rights end, and its documents stay.",
  input: z.strictObject({ id: agentId, reason: Reason }),
  output: AgentDetail,
  cli: { command: "agents terminate <id>", example: 'ada --reason "The project is finished."' },
});

export const deleteAgent = operation("agent.delete", "DELETE /api/agents/:id", {
  summary: "Delete an agent whose hire was rejected or cancelled. The approval and its comments stay.",
  input: z.strictObject({ id: agentId }),
  output: z.object({ id: z.string(), name: z.string(), deleted: z.literal(true) }),
  cli: { command: "agents delete <id>", example: "<agent id>" },
});

export const setPermissions = operation("agent.set_permissions", "PATCH /api/agents/:id/permissions", {
  summary: "Allow or forbid an agent to hire. Only the board and the root agent can do this.",
  input: z.strictObject({
    id: agentId,
    canCreateAgents: z.boolean().describe("true grants the right `org:hire`, false revokes it."),
  }),
  output: AgentDetail.extend({ permissions: z.object({ canCreateAgents: z.boolean() }) }),
  needs: "member",
  cli: { command: "agents permissions <id>", example: "ada --can-create-agents" },
});

export const createKey = operation("agent.create_key", "POST /api/agents/:id/keys", {
  summary: "Create an API key with which a program can act as this agent. The key is shown once.",
  input: z.strictObject({
    id: agentId,
    label: Name.optional().describe("A label to recognize the key by, 1 to 64 characters. Default `key`."),
  }),
  output: z.object({
    id: z.string(),
    agentId: z.string(),
    label: z.string(),
    key: z.string(),
    createdAt: z.string(),
  }),
  shownOnce: ["key"],
  cli: { command: "agents key <id>", example: "ada --label laptop" },
});

const Key = z.object({
  id: z.string(),
  label: z.string(),
  createdAt: z.string(),
  revokedAt: z.string().nullable(),
});

export const listKeys = operation("agent.list_keys", "GET /api/agents/:id/keys", {
  summary: "List an agent's API keys, without the secrets.",
  lists: "key",
  input: z.strictObject({ id: agentId }),
  output: z.object({ keys: z.array(Key) }),
  cli: { command: "agents keys <id>", example: "ada" },
});

export const revokeKey = operation("agent.revoke_key", "DELETE /api/agents/:id/keys/:keyId", {
  summary: "Revoke an API key. It stops working immediately.",
  input: z.strictObject({ id: agentId, keyId: idOf("key") }),
  output: Key,
  cli: { command: "agents revoke-key <id> <keyId>", example: "ada <key id>" },
});

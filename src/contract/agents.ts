import { z } from "zod";
import { BudgetChange } from "./budgets.ts";
import { operation } from "./operation.ts";
import {
  AdapterType,
  AgentRef,
  CompanyId,
  Data,
  idOf,
  Name,
  nextCursor,
  Page,
  Reason,
  text,
} from "./words.ts";

/** Agents and their keys. */

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

const agentId = idOf("agent");
const reportId = idOf("agent").describe("Id of the agent, your direct report (UUID).");

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
  output: z.object({ agents: z.array(Agent), nextCursor }),
  needs: "member",
  cli: { command: "agents list", example: "--status running" },
});

export const viewAgent = operation("agent.view", "GET /api/agents/:id", {
  summary: "Show an agent: role, manager, reports, brain, documents and reviews.",
  input: z.strictObject({ id: agentId }),
  output: AgentDetail,
  needs: "member",
  cli: { command: "agents view <id>", example: "ada" },
});

export const updateAgent = operation("agent.update", "PATCH /api/agents/:id", {
  summary: "Change an agent's name, role, title, description, prompt, brain or budget.",
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
        "Instructions that open the system prompt of its sessions. Null removes them. Default: unchanged.",
      ),
    adapterType: AdapterType.optional().describe("Type of brain, such as `rehearsal`. Default: unchanged."),
    adapterConfig: Data.optional().describe(
      "New configuration of the brain, as JSON; replaces the old one. Default: unchanged.",
    ),
    budget: BudgetChange.nullable()
      .optional()
      .describe('Monthly budget, such as {"usd": 5}. Null removes it: the agent shares the budget above it.'),
  }),
  output: AgentDetail,
  cli: { command: "agents update <id>", example: 'ada --role "Senior editor"' },
});

export const pauseAgent = operation("agent.pause", "POST /api/agents/:id/pause", {
  summary: "Pause an agent. Its running session ends and no new one starts.",
  guidance:
    "Managers use it for their direct reports; the board can use it for any agent. The agent keeps its work and its mail; resume_agent ends the pause. To stop only one piece of work, use reclaim_outcome.",
  input: z.strictObject({ id: reportId, reason: Reason }),
  output: AgentDetail,
  needs: "member",
  mcp: { server: "org", tool: "pause_agent" },
  cli: { command: "agents pause <id>", example: 'ada --reason "Budget review"' },
});

export const resumeAgent = operation("agent.resume", "POST /api/agents/:id/resume", {
  summary: "Resume a paused agent.",
  guidance:
    "Managers use it for their direct reports; the board can use it for any agent. The agent starts again as soon as it has work. The call is refused if the agent is not paused. Returns the agent.",
  input: z.strictObject({ id: reportId }),
  output: AgentDetail,
  needs: "member",
  mcp: { server: "org", tool: "resume_agent" },
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
    "Terminate an agent. Its reports and open work go to its manager, its keys and rights end, its documents stay.",
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
  summary: "Allow or forbid an agent to hire. Only the board and the root agent can.",
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

import { z } from "zod";
import { BudgetChange } from "./budgets.ts";
import { operation } from "./operation.ts";
import { AdapterType, AgentRef, CompanyId, Id, Name, nextCursor, Page, text } from "./words.ts";

/** Agents and their keys. */

export const agentStatuses = ["pending_approval", "idle", "running", "paused", "terminated"] as const;

export const Agent = z.object({
  id: z.string(),
  name: z.string(),
  slug: z.string(),
  role: z.string(),
  title: z.string().nullable(),
  status: z.enum(agentStatuses),
  boss: AgentRef.nullable().describe("Null: the board is its boss."),
  mandateId: z.string(),
  generation: z.number(),
  createdAt: z.string(),
});
export type Agent = z.infer<typeof Agent>;

export const AgentDetail = Agent.extend({
  capabilities: z.string().nullable().describe("What it says it can do, in its own words."),
  adapterType: z.string(),
  stateFileId: z.string(),
  logFileId: z.string().nullable(),
  reports: z.array(AgentRef),
  reviews: z
    .object({ pass: z.number(), rework: z.number(), escalated: z.number(), unreadable: z.number() })
    .describe("How often its work was accepted, sent back, escalated, or judged in words nobody could read."),
});

export const listAgents = operation({
  name: "agent.list",
  summary: "The agents of the company: name, role, title, status, boss.",
  input: z.strictObject({ companyId: CompanyId, status: z.enum(agentStatuses).optional(), ...Page }),
  output: z.object({ agents: z.array(Agent), nextCursor }),
  effect: "read",
  within: "company",
  needs: "member",
  http: { method: "GET", path: "/api/companies/:companyId/agents" },
  cli: { command: "agents list" },
});

export const viewAgent = operation({
  name: "agent.view",
  summary: "One agent.",
  input: z.strictObject({ id: Id }),
  output: AgentDetail,
  effect: "read",
  within: { agent: "id" },
  needs: "member",
  http: { method: "GET", path: "/api/agents/:id" },
  cli: { command: "agents view", args: ["id"] },
});

export const updateAgent = operation({
  name: "agent.update",
  summary: "Rename an agent or change its role, title or description.",
  input: z.strictObject({
    id: Id,
    name: Name.optional(),
    role: Name.optional(),
    title: Name.nullable().optional(),
    capabilities: text(4000).nullable().optional(),
    prompt: text(50_000).nullable().optional(),
    adapterType: AdapterType.optional(),
    adapterConfig: z.record(z.string(), z.unknown()).optional(),
    budget: BudgetChange.nullable()
      .optional()
      .describe("What it may spend in a month; null: nothing of its own."),
  }),
  output: AgentDetail,
  effect: "write",
  within: { agent: "id" },
  needs: "board",
  http: { method: "PATCH", path: "/api/agents/:id" },
  cli: { command: "agents update", args: ["id"] },
});

export const pauseAgent = operation({
  name: "agent.pause",
  summary: "Stop an agent's session and start none until it is resumed. Its boss or the board.",
  input: z.strictObject({ id: Id, reason: text(2000).min(1).optional() }),
  output: AgentDetail,
  effect: "write",
  within: { agent: "id" },
  needs: "member",
  http: { method: "POST", path: "/api/agents/:id/pause" },
  mcp: { server: "org", tool: "pause_agent" },
  cli: { command: "agents pause", args: ["id"] },
});

export const resumeAgent = operation({
  name: "agent.resume",
  summary: "Let a paused agent work again. Its boss or the board.",
  input: z.strictObject({ id: Id }),
  output: AgentDetail,
  effect: "write",
  within: { agent: "id" },
  needs: "member",
  http: { method: "POST", path: "/api/agents/:id/resume" },
  mcp: { server: "org", tool: "resume_agent" },
  cli: { command: "agents resume", args: ["id"] },
});

export const wakeAgent = operation({
  name: "agent.wakeup",
  summary: "Look now whether an agent has work, without waiting out its back-off.",
  input: z.strictObject({ id: Id }),
  output: AgentDetail,
  effect: "write",
  within: { agent: "id" },
  needs: "board",
  http: { method: "POST", path: "/api/agents/:id/wakeup" },
  cli: { command: "agents wakeup", args: ["id"] },
});

export const terminateAgent = operation({
  name: "agent.terminate",
  summary:
    "End an agent: its keys and rights end at once, its reports and open work go to its boss, its documents stay.",
  input: z.strictObject({ id: Id, reason: text(2000).min(1).optional() }),
  output: AgentDetail,
  effect: "write",
  within: { agent: "id" },
  needs: "board",
  http: { method: "POST", path: "/api/agents/:id/terminate" },
  cli: { command: "agents terminate", args: ["id"] },
});

export const createKey = operation({
  name: "agent.create_key",
  summary: "Make an API key with which a program acts as this agent. It is shown once.",
  input: z.strictObject({ id: Id, label: Name.optional() }),
  output: z.object({
    id: z.string(),
    agentId: z.string(),
    label: z.string(),
    key: z.string(),
    createdAt: z.string(),
  }),
  effect: "write",
  within: { agent: "id" },
  needs: "board",
  http: { method: "POST", path: "/api/agents/:id/keys" },
  shownOnce: ["key"],
  cli: { command: "agents key", args: ["id"] },
});

const Key = z.object({
  id: z.string(),
  label: z.string(),
  createdAt: z.string(),
  revokedAt: z.string().nullable(),
});

export const listKeys = operation({
  name: "agent.list_keys",
  summary: "The keys of an agent, without the secrets.",
  input: z.strictObject({ id: Id }),
  output: z.object({ keys: z.array(Key) }),
  effect: "read",
  within: { agent: "id" },
  needs: "board",
  http: { method: "GET", path: "/api/agents/:id/keys" },
  cli: { command: "agents keys", args: ["id"] },
});

export const revokeKey = operation({
  name: "agent.revoke_key",
  summary: "Revoke a key. It stops working at once.",
  input: z.strictObject({ id: Id, keyId: Id }),
  output: Key,
  effect: "write",
  within: { agent: "id" },
  needs: "board",
  http: { method: "DELETE", path: "/api/agents/:id/keys/:keyId" },
  cli: { command: "agents revoke-key", args: ["id", "keyId"] },
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

export const deleteAgent = operation({
  name: "agent.delete",
  summary: "Delete an agent whose hire was not approved. The approval and its thread stay.",
  input: z.strictObject({ id: Id }),
  output: z.object({ id: z.string(), name: z.string(), deleted: z.literal(true) }),
  effect: "write",
  within: { agent: "id" },
  needs: "board",
  http: { method: "DELETE", path: "/api/agents/:id" },
  cli: { command: "agents delete", args: ["id"] },
});

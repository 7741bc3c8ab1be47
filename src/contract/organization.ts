import { z } from "zod";
import { operation } from "./operation.ts";
import { AgentRef, CompanyId, Id, Name, nextCursor, Page, text } from "./words.ts";

/** Companies, agents and their keys. */

export const Settings = z.strictObject({
  maxFileBytes: z
    .number()
    .int()
    .min(1)
    .max(100 * 1024 * 1024)
    .describe("The largest knowledge file, in bytes."),
});
export type Settings = z.infer<typeof Settings>;

const Company = z.object({
  id: z.string(),
  name: z.string(),
  settings: Settings,
  rootAgentId: z.string(),
  rootOutcomeId: z.string(),
  createdAt: z.string(),
});

export const createCompany = operation({
  name: "company.create",
  summary: "Make a company with its root agent and the perpetual outcome it serves.",
  input: z.strictObject({ name: Name }),
  output: Company,
  effect: "write",
  within: "installation",
  needs: "board",
  http: { method: "POST", path: "/api/companies" },
  cli: { command: "companies create", args: ["name"] },
});

export const listCompanies = operation({
  name: "company.list",
  summary: "The companies on this installation; an agent sees its own.",
  input: z.strictObject({ ...Page }),
  output: z.object({ companies: z.array(Company), nextCursor }),
  effect: "read",
  within: "installation",
  needs: "member",
  http: { method: "GET", path: "/api/companies" },
  cli: { command: "companies list" },
});

export const viewCompany = operation({
  name: "company.view",
  summary: "A company and its settings.",
  input: z.strictObject({ companyId: CompanyId }),
  output: Company,
  effect: "read",
  within: "company",
  needs: "member",
  http: { method: "GET", path: "/api/companies/:companyId" },
  cli: { command: "companies view" },
});

export const updateCompany = operation({
  name: "company.update",
  summary: "Rename a company or change its settings.",
  input: z.strictObject({ companyId: CompanyId, name: Name.optional(), ...Settings.partial().shape }),
  output: Company,
  effect: "write",
  within: "company",
  needs: "board",
  http: { method: "PATCH", path: "/api/companies/:companyId" },
  cli: { command: "companies update" },
});

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

const AgentDetail = Agent.extend({
  capabilities: z.string().nullable().describe("What it says it can do, in its own words."),
  stateFileId: z.string(),
  reports: z.array(AgentRef),
});

export const createAgent = operation({
  name: "agent.create",
  summary: "The board makes an agent with a standing mandate, below the root agent unless it says otherwise.",
  input: z.strictObject({
    companyId: CompanyId,
    name: Name,
    role: Name,
    title: Name.optional(),
    reportsTo: Id.optional().describe("The boss; default the root agent."),
    capabilities: text(4000).optional(),
    mandate: text(20_000).optional().describe("What it is for; becomes its standing outcome."),
  }),
  output: AgentDetail,
  effect: "write",
  within: "company",
  needs: "board",
  http: { method: "POST", path: "/api/companies/:companyId/agents" },
  cli: { command: "agents create", args: ["name"] },
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
  }),
  output: AgentDetail,
  effect: "write",
  within: { agent: "id" },
  needs: "board",
  http: { method: "PATCH", path: "/api/agents/:id" },
  cli: { command: "agents update", args: ["id"] },
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

import { z } from "zod";
import { operation } from "./operation.ts";
import { LevelName, ResourceName } from "./resources.ts";
import { AgentRef, CompanyId, Id, nextCursor, Page, text } from "./words.ts";

/** Why a grant exists: the board gave it, its holder made the thing, or a boss handed on what it holds. */
export const grantOrigins = ["board", "creation", "boss"] as const;

export const Grant = z.object({
  id: z.string(),
  to: AgentRef,
  by: AgentRef.nullable().describe("Null: the board, or the system for what the holder made itself."),
  origin: z.enum(grantOrigins),
  resource: z.string(),
  level: LevelName,
  scope: z
    .object({ id: z.string(), title: z.string(), status: z.string() })
    .describe("The outcome whose life it shares."),
  parent: z.string().nullable().describe("The grant it was handed on from."),
  stands: z.boolean().describe("Every link of its chain stands now."),
  createdAt: z.string(),
  revokedAt: z.string().nullable(),
});
export type Grant = z.infer<typeof Grant>;

const StructuralRight = z.object({ resource: z.string(), levels: z.array(z.string()), because: z.string() });

const PermissionRequest = z.object({
  id: z.string(),
  agent: AgentRef,
  resource: z.string(),
  level: LevelName,
  reason: z.string(),
  at: z.string(),
});

export const listPermissions = operation({
  name: "permission.list",
  summary:
    "Everything you may do: granted rights, rights that follow from your place, and what your reports ask for.",
  input: z.strictObject({ ...Page }),
  output: z.object({
    grants: z.array(Grant),
    structural: z.array(StructuralRight),
    requests: z.array(PermissionRequest).describe("Open requests of your direct reports."),
    nextCursor,
  }),
  effect: "read",
  within: "company",
  needs: "member",
  http: { method: "GET", path: "/api/permissions" },
  mcp: { server: "permissions", tool: "list_permissions" },
});

export const listAgentGrants = operation({
  name: "permission.of_agent",
  summary: "The grants an agent holds or held.",
  input: z.strictObject({ id: Id, ...Page }),
  output: z.object({ grants: z.array(Grant), structural: z.array(StructuralRight), nextCursor }),
  effect: "read",
  within: { agent: "id" },
  needs: "board",
  http: { method: "GET", path: "/api/agents/:id/grants" },
  cli: { command: "access list", args: ["id"] },
});

export const grantPermission = operation({
  name: "permission.grant",
  summary: "Grant a direct report a right you hold, or less of it, for the life of an outcome.",
  input: z.strictObject({
    companyId: CompanyId,
    to: text(100).min(1).describe("A direct report (the board: any agent): its id or slug."),
    resource: ResourceName,
    level: LevelName.optional().describe("Default: the least that is of use (read, send or use)."),
    outcome: Id.optional().describe(
      "The outcome whose life the grant shares; default the receiver's mandate.",
    ),
  }),
  output: Grant,
  effect: "write",
  within: "company",
  needs: "member",
  http: { method: "POST", path: "/api/companies/:companyId/grants" },
  mcp: { server: "permissions", tool: "grant_permission" },
  cli: { command: "access grant", args: ["to", "resource"] },
});

export const revokePermission = operation({
  name: "permission.revoke",
  summary: "Revoke a grant you gave, or give up one you hold. All that was handed on from it ends with it.",
  input: z.strictObject({ id: Id }),
  output: Grant,
  effect: "write",
  within: { grant: "id" },
  needs: "member",
  http: { method: "DELETE", path: "/api/grants/:id" },
  mcp: { server: "permissions", tool: "revoke_permission" },
  cli: { command: "access revoke", args: ["id"] },
});

export const requestPermission = operation({
  name: "permission.request",
  summary: "Ask your boss for a right you lack, with the reason.",
  input: z.strictObject({ resource: ResourceName, level: LevelName.optional(), reason: text(2000).min(1) }),
  output: PermissionRequest.extend({ status: z.enum(["open", "already_held"]) }),
  effect: "write",
  within: "company",
  needs: "member",
  http: { method: "POST", path: "/api/permissions/requests" },
  mcp: { server: "permissions", tool: "request_permission" },
});

export const listPermissionRequests = operation({
  name: "permission.requests",
  summary: "What agents of the company ask for and nobody has granted yet.",
  input: z.strictObject({ companyId: CompanyId, ...Page }),
  output: z.object({ requests: z.array(PermissionRequest), nextCursor }),
  effect: "read",
  within: "company",
  needs: "board",
  http: { method: "GET", path: "/api/companies/:companyId/permission-requests" },
  cli: { command: "access requests" },
});

const ChainLink = z.object({
  grant: z.string(),
  from: z.string().describe("Who gave it: an agent's name, or the board."),
  to: z.string(),
  level: LevelName,
  scope: z.object({ id: z.string(), title: z.string(), status: z.string() }),
  broken: z.string().nullable().describe("Why this link does not stand; null when it does."),
});

/** One operation that would flip the answer, as somebody could call it. */
const Fix = z.object({
  by: z.string().describe("Who can do it: an agent's id, or board."),
  operation: z.string(),
  input: z.record(z.string(), z.unknown()),
  says: z.string(),
});

export const explainAccess = operation({
  name: "permission.explain",
  summary:
    "Whether an agent may use a resource, through which chain, and the smallest change that would flip the answer.",
  input: z.strictObject({
    resource: ResourceName,
    level: LevelName.optional(),
    agent: text(100)
      .min(1)
      .optional()
      .describe("You (default) or a direct report; the board names any agent."),
    companyId: CompanyId,
  }),
  output: z.object({
    allowed: z.boolean(),
    agent: AgentRef,
    resource: z.string(),
    level: LevelName,
    held: LevelName.nullable().describe(
      "The level held now; null when the thing does not exist for the agent.",
    ),
    because: z.string(),
    chain: z
      .array(ChainLink)
      .describe("From the root grant down to the agent; empty for a structural right."),
    fix: z.array(Fix).describe("Do all of these, in order; empty when nothing can flip it."),
  }),
  effect: "read",
  within: { agent: "agent" },
  needs: "member",
  http: { method: "GET", path: "/api/access" },
  mcp: { server: "permissions", tool: "explain_access" },
  cli: { command: "access explain", args: ["agent", "resource"] },
});

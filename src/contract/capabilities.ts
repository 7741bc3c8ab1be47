import { z } from "zod";
import { operation } from "./operation.ts";
import { LevelArgument, LevelName, ResourceName } from "./resources.ts";
import { AgentRef, CompanyId, Data, idOf, nextCursor, Page, text } from "./words.ts";

/** Where a grant comes from: the board gave it, its holder created the thing, or a manager passed a right on. */
export const grantOrigins = ["board", "creation", "boss"] as const;

const Scope = z
  .object({ id: z.string(), title: z.string().nullable(), status: z.string().nullable() })
  .describe(
    "The outcome the grant belongs to. The grant ends when this outcome ends. Title and status are null if you can't read it.",
  );

export const Grant = z.object({
  id: z.string(),
  to: AgentRef,
  by: AgentRef.nullable().describe(
    "Null for the board, and for the system where the holder created the thing.",
  ),
  origin: z.enum(grantOrigins),
  resource: z.string(),
  level: LevelName,
  scope: Scope,
  parent: z.string().nullable().describe("The grant this one was passed on from."),
  stands: z.boolean().describe("Whether the grant is in force: every grant in its chain stands."),
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

export const listPermissions = operation("permission.list", "GET /api/permissions", {
  summary: "List your rights and the permission requests of your direct reports.",
  guidance:
    "Returns `grants` (rights you were given) and `structural` (rights that follow from your position, such as mail to your manager). `requests` is what your reports ask you for; answer with grant_permission. To find out why one call is refused, use explain_access.",
  lists: "grant",
  input: z.strictObject({ ...Page }),
  output: z.object({
    grants: z.array(Grant),
    structural: z.array(StructuralRight),
    requests: z.array(PermissionRequest).describe("Open requests of your direct reports."),
    nextCursor,
  }),
  needs: "member",
  mcp: { server: "permissions", tool: "list_permissions" },
});

export const listAgentGrants = operation("permission.of_agent", "GET /api/agents/:id/grants", {
  summary: "List the grants of an agent, past ones included, and the rights of its position.",
  lists: "grant",
  input: z.strictObject({ id: idOf("agent"), ...Page }),
  output: z.object({ grants: z.array(Grant), structural: z.array(StructuralRight), nextCursor }),
  cli: { command: "access list <id>", example: "ada" },
});

export const grantPermission = operation("permission.grant", "POST /api/companies/:companyId/grants", {
  summary: "Give a direct report a right that you hold.",
  guidance:
    'You can grant only what you hold yourself, at the same level or lower, and only to direct reports. The grant ends with its outcome, or when you revoke it. Returns the grant with its id. Example: {"to": "ada", "resource": "kb:<file id>", "level": "read"}.',
  input: z.strictObject({
    companyId: CompanyId,
    to: text(100).min(1).describe("Id or slug of your direct report. The board can name any agent."),
    resource: ResourceName,
    level: LevelArgument,
    outcome: idOf("outcome")
      .optional()
      .describe(
        "Id of the outcome the right is for (UUID). The grant ends with it. Default: the report's mandate.",
      ),
  }),
  output: Grant,
  needs: "member",
  mcp: { server: "permissions", tool: "grant_permission" },
  cli: { command: "access grant <to> <resource>", example: "ada kb:<file id> --level write" },
});

export const revokePermission = operation("permission.revoke", "DELETE /api/grants/:id", {
  summary: "Revoke a grant, with every grant that was passed on from it.",
  guidance:
    "Use it for a grant you gave, or to give up a grant you hold. It takes effect immediately. Find the id with list_permissions, or keep the one grant_permission returned. Returns the grant with `revokedAt` set.",
  input: z.strictObject({ id: idOf("grant") }),
  output: Grant,
  needs: "member",
  mcp: { server: "permissions", tool: "revoke_permission" },
  cli: { command: "access revoke <id>", example: "<grant id>" },
});

export const requestPermission = operation("permission.request", "POST /api/permissions/requests", {
  summary: "Ask your manager for a right you need.",
  guidance:
    'Use it when a call was refused for a missing right and your work depends on it. Your manager gets a message. Continue with other work: list_permissions shows the right once it is granted. Returns status `open`, or `already_held` if you have the right. Example: {"resource": "org:hire", "reason": "The release needs a tester."}.',
  input: z.strictObject({
    resource: ResourceName,
    level: LevelArgument,
    reason: text(2000).min(1).describe("Why you need it, up to 2,000 characters. Your manager reads this."),
  }),
  output: PermissionRequest.extend({ status: z.enum(["open", "already_held"]) }),
  needs: "member",
  mcp: { server: "permissions", tool: "request_permission" },
});

export const listPermissionRequests = operation(
  "permission.requests",
  "GET /api/companies/:companyId/permission-requests",
  {
    summary: "List the rights that agents have asked for and not been given yet.",
    input: z.strictObject({ companyId: CompanyId, ...Page }),
    output: z.object({ requests: z.array(PermissionRequest), nextCursor }),
    cli: { command: "access requests" },
  },
);

const ChainLink = z.object({
  grant: z.string(),
  from: z.string().describe("Who gave it: an agent's name, or the board."),
  to: z.string(),
  level: LevelName,
  scope: Scope,
  broken: z.string().nullable().describe("Why this grant is not in force. Null when it is."),
});

/** One call that would change the answer. */
const Fix = z.object({
  by: z.string().describe("Who can make the call: an agent's id, or board."),
  operation: z.string(),
  input: Data,
  says: z.string(),
});

export const explainAccess = operation("permission.explain", "GET /api/access", {
  summary: "Explain whether an agent may use a resource, and why.",
  guidance:
    'Use it after a refusal, for yourself or a direct report. Returns `allowed`, the chain of grants behind the answer, and `fix`: the smallest set of calls that would change it, with who can make them. Example: {"resource": "kb:<file id>", "level": "write"}.',
  input: z.strictObject({
    resource: ResourceName,
    level: LevelArgument,
    agent: text(100)
      .min(1)
      .optional()
      .describe("Id or slug of a direct report; the board can name any agent. Default: you."),
    companyId: CompanyId,
  }),
  output: z.object({
    allowed: z.boolean(),
    agent: AgentRef,
    resource: z.string(),
    level: LevelName,
    held: LevelName.nullable().describe("The level held now. Null: the thing does not exist for this agent."),
    because: z.string(),
    chain: z
      .array(ChainLink)
      .describe(
        "The grants from the first giver down to the agent. Empty for a right of the agent's position.",
      ),
    fix: z
      .array(Fix)
      .describe("Calls that would change the answer, all of them, in this order. Empty if none would."),
  }),
  within: { agent: "agent" },
  needs: "member",
  mcp: { server: "permissions", tool: "explain_access" },
  cli: { command: "access explain <agent> <resource>", example: "ada kb:<file id> --level write" },
});

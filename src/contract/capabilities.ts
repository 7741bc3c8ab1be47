import { z } from "zod";
import { operation } from "./operation.ts";
import { AnyLevel, LevelArgument, LevelName, ResourceName, sameAsRequested } from "./resources.ts";
import {
  AgentRef,
  CompanyId,
  Data,
  Flag,
  idOf,
  nextCursor,
  Page,
  Reference,
  said,
  shownInTools,
  text,
} from "./words.ts";

/** Where a grant comes from: the board gave it, its holder created the thing, or a manager passed a right on. */
export const grantOrigins = ["board", "creation", "boss"] as const;

const Scope = z
  .object({ id: z.string(), title: z.string().nullable(), status: z.string().nullable() })
  .describe(
    "The outcome the grant belongs to. The grant ends when this outcome ends. Title and status are null if you can't read the outcome.",
  );

export const Grant = z.object({
  id: z.string(),
  to: AgentRef,
  by: AgentRef.nullable().describe("Null if the board gave the grant, or if the holder created the thing."),
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

/** The source of a right to one version of a file. */
const Through = z.object({
  kind: z.enum(["outcome", "message"]),
  id: z.string().describe("Id of the outcome it was delivered with, or of the message it was sent in."),
});

const StructuralRight = z.object({
  resource: z.string(),
  levels: z.array(z.string()),
  because: z.string(),
  references: z.array(Reference).optional().describe("What `because` names, with ids."),
  version: z.number().optional().describe("Set if the right is only to this version of the file."),
  through: Through.optional(),
});
export type StructuralRight = z.infer<typeof StructuralRight>;

const PermissionRequest = z.object({
  id: z.string(),
  agent: AgentRef,
  resource: z.string(),
  level: LevelName,
  reason: z.string(),
  at: z.string(),
});

export const listPermissions = operation("permission.list", "GET /api/permissions", {
  summary: "List your rights, and the requests of your direct reports.",
  guidance: "Use it before you grant a right.",
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
  cli: { command: "access mine" },
});

export const listAgentGrants = operation("permission.of_agent", "GET /api/agents/:id/grants", {
  summary: "List the grants of an agent, past ones included, and the rights of its position.",
  lists: "grant",
  input: z.strictObject({
    id: idOf("agent"),
    stands: Flag.optional().describe(
      "true lists only grants that are in force, false only those that are not. Default: both.",
    ),
    ...Page,
  }),
  output: z.object({ grants: z.array(Grant), structural: z.array(StructuralRight), nextCursor }),
  cli: { command: "access list <id>", example: "ada" },
});

export const grantPermission = operation("permission.grant", "POST /api/companies/:companyId/grants", {
  summary: "Give a direct report a right that you hold.",
  guidance:
    "Use it when a report asks for a right, or needs one for its work. The grant ends with its outcome, or when you revoke it.",
  input: z.strictObject({
    companyId: CompanyId,
    to: text(100).min(1).describe("UUID or slug of your direct report."),
    ...sameAsRequested,
    outcome: idOf("outcome")
      .optional()
      .describe("UUID of the outcome that the grant ends with. Default: the report's mandate."),
  }),
  output: Grant,
  needs: "member",
  mcp: { server: "permissions", tool: "grant_permission", for: ["manager"] },
  cli: { command: "access grant <to> <resource>", example: "ada kb:<file id> --level write" },
});

export const revokePermission = operation("permission.revoke", "DELETE /api/grants/:id", {
  summary: "Revoke a grant, with every grant that was passed on from it.",
  guidance: "Use it for a grant that you gave, or to give up a grant that you hold.",
  input: z.strictObject({ id: idOf("grant") }),
  output: Grant,
  needs: "member",
  mcp: { server: "permissions", tool: "revoke_permission", for: ["manager"] },
  cli: { command: "access revoke <id>", example: "<grant id>" },
});

export const requestPermission = operation("permission.request", "POST /api/permissions/requests", {
  summary: "Ask your manager for a right you need.",
  guidance: "Use it when a call was refused.",
  input: z.strictObject({
    resource: ResourceName,
    level: LevelArgument,
    reason: said(2000).describe("Reason, for your manager."),
  }),
  output: PermissionRequest.extend({ status: z.enum(["open", "already_held"]) }),
  needs: "member",
  mcp: { server: "permissions", tool: "request_permission" },
  cli: { command: "access request <resource> <reason>", example: 'org:hire "The release needs a tester."' },
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

export const ChainLink = z.object({
  grant: z.string(),
  from: z
    .string()
    .describe("Who gave it: an agent's name, or board. The name in `to`, if that agent created the thing."),
  to: z.string(),
  level: LevelName,
  scope: Scope,
  broken: z.string().nullable().describe("Why this grant is not in force. Null if it is."),
});

/** One call that would change the answer. */
const Fix = z.object({
  by: z.string().describe("Who can make the call: an agent's id, or board."),
  operation: z.string(),
  input: Data,
  says: z.string(),
});

const Pinned = z
  .array(z.object({ version: z.number(), through: Through, because: z.string() }))
  .describe(
    "Set if the agent can read only some versions of the file: each, and the outcome or message it follows from.",
  );

const Chain = z
  .array(ChainLink)
  .describe("The grants from the first giver down to the agent. Empty for a right of the agent's position.");

export const listHolders = operation("permission.holders", "GET /api/access/holders", {
  summary: "List the agents that may use a resource, each with the chain of grants behind it.",
  input: z.strictObject({
    companyId: CompanyId,
    resource: ResourceName,
    level: LevelArgument,
    ...Page,
  }),
  output: z.object({
    resource: z.string(),
    level: LevelName,
    about: Reference.describe("What the resource names."),
    holders: z
      .array(
        z.object({
          agent: AgentRef,
          held: LevelName,
          because: z.string(),
          references: z.array(Reference).describe("What the explanation names, with ids."),
          chain: Chain,
          pinned: Pinned,
        }),
      )
      .describe("In the order of their names. People can use everything and are not listed."),
    nextCursor,
  }),
  heavy: () => true,
  cli: { command: "access holders <resource>", example: "kb:<file id> --level write" },
});

export const explainAccess = operation("permission.explain", "GET /api/access", {
  summary: "Explain whether an agent may use a resource, and why.",
  guidance: "Use it after a refusal. `fix` lists calls that help.",
  input: z.strictObject({
    ...sameAsRequested,
    level: AnyLevel.optional()
      .describe(
        "`read`, `write` or `drive` for outcome, `read` or `write` for kb, `read` or `push` for repo. Default: the lowest.",
      )
      .register(shownInTools, { type: "string", enum: undefined, description: "As for request_permission." }),
    agent: text(100).min(1).optional().describe("UUID or slug of a direct report. Default: you."),
    companyId: CompanyId,
  }),
  output: z.object({
    allowed: z.boolean(),
    agent: AgentRef,
    resource: z.string(),
    level: AnyLevel,
    held: LevelName.nullable().describe("The level held now. Null: the thing does not exist for this agent."),
    because: z.string().describe("The explanation. It names things by their titles."),
    references: z.array(Reference).describe("What the explanation names, with ids."),
    chain: Chain,
    pinned: Pinned,
    fix: z
      .array(Fix)
      .describe(
        "The calls that together would change the answer, in this order. Empty if none would, and always for `drive`.",
      ),
  }),
  within: { agent: "agent" },
  needs: "member",
  mcp: { server: "permissions", tool: "explain_access" },
  cli: { command: "access explain <agent> <resource>", example: "ada kb:<file id> --level write" },
});

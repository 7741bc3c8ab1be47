import { z } from "zod";
import { operation } from "./operation.ts";
import { CompanyId, Id, nextCursor, Page, whole } from "./words.ts";

/** Events: the record of every mutation, every reading of knowledge and every refusal. */

export const Event = z.object({
  seq: z.number(),
  companyId: z.string().nullable(),
  at: z.string(),
  actor: z.object({
    kind: z.enum(["board", "agent", "system"]),
    agentId: z.string().nullable(),
    sessionId: z.string().nullable(),
  }),
  operation: z.string(),
  subject: z.string().nullable(),
  data: z.record(z.string(), z.unknown()),
  previous: z.string(),
  hash: z.string(),
});
export type Event = z.infer<typeof Event>;

const After = whole(0).optional().describe("Only events after this sequence number.");

export const listEvents = operation({
  name: "event.list",
  summary: "The events of a company after a sequence number, oldest first.",
  input: z.strictObject({ companyId: CompanyId, after: After, limit: Page.limit }),
  output: z.object({ events: z.array(Event), nextCursor }),
  effect: "read",
  within: "company",
  needs: "board",
  http: { method: "GET", path: "/api/companies/:companyId/events" },
  cli: { command: "audit events" },
});

export const readAuditLog = operation({
  name: "event.mine",
  summary: "What you did, and what was done to you, newest first.",
  input: z.strictObject({ ...Page }),
  output: z.object({ events: z.array(Event), nextCursor }),
  effect: "read",
  within: "company",
  needs: "member",
  http: { method: "GET", path: "/api/audit" },
  mcp: { server: "audit", tool: "read_audit_log" },
});

export const listAgentEvents = operation({
  name: "event.of_agent",
  summary: "What an agent did, and what was done to it, newest first.",
  input: z.strictObject({ id: Id, ...Page }),
  output: z.object({ events: z.array(Event), nextCursor }),
  effect: "read",
  within: { agent: "id" },
  needs: "board",
  http: { method: "GET", path: "/api/agents/:id/audit" },
  cli: { command: "audit agent", args: ["id"] },
});

export const verifyLedger = operation({
  name: "event.verify",
  summary: "Recompute a stretch of the hash chain and name the first bad row.",
  input: z.strictObject({
    after: After,
    limit: whole(1, 50_000).optional().describe("At most this many rows in one call; default 10000."),
  }),
  output: z.object({
    ok: z.boolean(),
    checked: z.number(),
    last: z.number().describe("The last sequence number checked; pass as after to go on."),
    complete: z.boolean().describe("The end of the chain was reached."),
    head: z.string().describe("The hash of the last row checked."),
    firstBad: z.object({ seq: z.number(), why: z.string() }).nullable(),
  }),
  effect: "read",
  within: "installation",
  needs: "board",
  http: { method: "GET", path: "/api/events/verify" },
  cli: { command: "audit verify" },
});

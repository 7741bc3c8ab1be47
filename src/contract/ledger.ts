import { z } from "zod";
import { operation } from "./operation.ts";
import { CompanyId, Data, Flag, idOf, nextCursor, Page, whole } from "./words.ts";

/** The ledger of a company, or of the installation: one event for every change, every read of a knowledge file and every refusal. */

export const actorKinds = ["board", "agent", "system"] as const;

export const ActorRef = z.object({
  kind: z.enum(actorKinds),
  agentId: z.string().nullable(),
  sessionId: z.string().nullable(),
});

export const Event = z.object({
  seq: z.number(),
  companyId: z.string().nullable(),
  at: z.string(),
  actor: ActorRef,
  operation: z.string(),
  subject: z.string().nullable(),
  data: Data,
  previous: z.string(),
  hash: z.string(),
});
export type Event = z.infer<typeof Event>;

/** An event as an agent sees it. Numbers and hashes would tell what else happens in the company. */
const OwnEvent = Event.pick({ at: true, actor: true, operation: true, subject: true, data: true });

const LedgerProblem = z.object({
  companyId: z.string().nullable().describe("Null: the installation."),
  seq: z.number().nullable().describe("The first event that is wrong, or the last one that changed the row."),
  row: z
    .string()
    .nullable()
    .describe("The row that differs from the ledger, such as agents/<id>. Null: the ledger itself."),
  what: z.string(),
  intactUntil: z.string().nullable().describe("The time of the last event that is right. Null: unknown."),
  advice: z.string(),
});

const After = whole(0)
  .optional()
  .describe("Only events after this sequence number. Default 0: from the beginning.");

export const listEvents = operation("event.list", "GET /api/companies/:companyId/events", {
  summary: "List the events of a company, oldest first.",
  input: z.strictObject({ companyId: CompanyId, after: After, limit: Page.limit }),
  output: z.object({ events: z.array(Event), nextCursor }),
  cli: { command: "audit events", example: "--after 1200 --limit 50" },
});

export const readAuditLog = operation("event.mine", "GET /api/audit", {
  summary: "List what you did and what was done to you, newest first.",
  guidance:
    "Use it to check what earlier sessions of yours did, or when something changed that you did not change. Each event names the actor, the operation, the thing it was about and the time. For the history of one outcome or file, use view_outcome or view_access_log.",
  input: z.strictObject({ ...Page }),
  output: z.object({ events: z.array(OwnEvent), nextCursor }),
  needs: "member",
  mcp: { server: "audit", tool: "read_audit_log" },
});

export const listAgentEvents = operation("event.of_agent", "GET /api/agents/:id/audit", {
  summary: "List what an agent did and what was done to it, newest first.",
  input: z.strictObject({ id: idOf("agent"), ...Page }),
  output: z.object({ events: z.array(Event), nextCursor }),
  cli: { command: "audit agent <id>", example: "ada" },
});

export const verifyLedger = operation("event.verify", "GET /api/events/verify", {
  summary:
    "Verify the ledger of every company and of the installation against its hashes and its anchor, and name the first bad event of each. An answer covers a limited number of events; call again with nextCursor until it is null.",
  input: z.strictObject({
    cursor: Page.cursor,
    limit: whole(1, 50_000)
      .optional()
      .describe("Maximum number of events to check in one call. Default 10000."),
    deep: Flag.optional().describe("Also compare every stored row with what the ledger recorded."),
  }),
  output: z.object({
    ok: z.boolean(),
    checked: z.number().describe("How many events were checked."),
    rows: z.number().describe("How many rows were compared."),
    problems: z.array(LedgerProblem),
    nextCursor,
  }),
  heavy: () => true,
  within: "installation",
});

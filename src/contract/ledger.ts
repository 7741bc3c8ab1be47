import { z } from "zod";
import { operation } from "./operation.ts";
import { actorKinds, By } from "./actors.ts";
import {
  CompanyId,
  Data,
  Flag,
  Id,
  idOf,
  nextCursor,
  Page,
  Reference,
  text,
  Time,
  Title,
  whole,
} from "./words.ts";

/** The ledger of a company, or of the installation: one event for every change, every read of a knowledge file and every refusal. */

export const ActorRef = z.object({
  kind: z.enum(actorKinds),
  agentId: z.string().nullable(),
  sessionId: z.string().nullable(),
  personId: z
    .string()
    .nullable()
    .describe("The person who acted, for the board or from the position of the agent. Null: no person."),
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

/** An event as an agent sees it. Numbers and hashes would show what else happens in the company. */
const OwnEvent = Event.pick({ at: true, actor: true, operation: true, subject: true, data: true });

const LedgerProblem = z.object({
  companyId: z.string().nullable().describe("Null: the installation."),
  seq: z.number().nullable().describe("The first event that is wrong, or the last one that changed the row."),
  row: z
    .string()
    .nullable()
    .describe(
      "The row that differs from the ledger, such as agents/<id>, or the file whose stored content was changed: knowledge/<id>. Null: the ledger itself.",
    ),
  what: z.string(),
  intactUntil: z.string().nullable().describe("The time of the last event that is right. Null: unknown."),
  advice: z.string(),
});

/** An event with names instead of ids, as people read it. */
const ToldEvent = Event.extend({
  by: By,
  about: Reference.nullable().describe("The subject of the event. Null if it is not known."),
  says: z.string().describe("The event as a sentence."),
});
export type ToldEvent = z.infer<typeof ToldEvent>;

const Month = z
  .string()
  .regex(/^\d{4}-(0[1-9]|1[0-2])$/, "a month, such as 2030-01")
  .describe("The month, in UTC, such as `2030-01`.");

const RemovedMonth = z.object({
  month: z.string(),
  file: z.string().describe("The name of the file with the export."),
  removedAt: z.string(),
});
export type RemovedMonth = z.infer<typeof RemovedMonth>;

export const RemovedMonths = z
  .array(RemovedMonth)
  .describe(
    "The months in question whose events were exported and removed, except those that are still needed.",
  );

const After = whole(0)
  .optional()
  .describe("Only events after this sequence number. Default 0: from the beginning.");

export const listEvents = operation("event.list", "GET /api/companies/:companyId/events", {
  summary: "List the events of a company.",
  input: z.strictObject({
    companyId: CompanyId,
    order: z
      .enum(["oldest", "newest"])
      .default("oldest")
      .describe("Whether the oldest or the newest events come first. Default `oldest`."),
    after: After,
    actor: text(100)
      .min(1)
      .optional()
      .describe(
        "Only events by this agent or person (id, slug or name), or by `board` or `system`. Default: all.",
      ),
    operation: z
      .string()
      .max(100)
      .regex(
        /^[a-z_]+(\.[a-z_]+)?$/,
        "an operation such as outcome.close, or the first part of several: outcome",
      )
      .optional()
      .describe("Only this operation, such as `outcome.close`, or all of one noun, such as `outcome`."),
    subject: Id.optional().describe("Only events about the thing with this id (UUID)."),
    from: Time.optional().describe("Only events at or after this time, such as `2030-01-31T09:00:00Z`."),
    to: Time.optional().describe("Only events before this time."),
    refused: Flag.optional().describe(
      "true lists only refusals, false leaves them out. Default: refusals are listed with the rest.",
    ),
    ...Page,
  }),
  output: z.object({ events: z.array(ToldEvent), removed: RemovedMonths, nextCursor }),
  cli: { command: "audit events", example: "--order newest --actor ada --operation outcome" },
});

export const readAuditLog = operation("event.mine", "GET /api/audit", {
  summary: "List your actions and the changes made to you, newest first.",
  guidance: "Use it to recall earlier sessions.",
  input: z.strictObject({ ...Page }),
  output: z.object({ events: z.array(OwnEvent), nextCursor }),
  needs: "member",
  mcp: { server: "audit", tool: "read_audit_log" },
  cli: { command: "audit mine" },
});

export const listAgentEvents = operation("event.of_agent", "GET /api/agents/:id/audit", {
  summary: "List an agent's actions and the changes made to the agent, newest first.",
  input: z.strictObject({ id: idOf("agent"), ...Page }),
  output: z.object({ events: z.array(ToldEvent), removed: RemovedMonths, nextCursor }),
  cli: { command: "audit agent <id>", example: "ada" },
});

export const verifyLedger = operation("event.verify", "GET /api/events/verify", {
  summary:
    "Verify the ledger of every company and of the installation against its hashes and its anchor, and name the first bad event of each. An answer covers a limited number of events. Call again with nextCursor until it is null.",
  input: z.strictObject({
    cursor: Page.cursor,
    limit: whole(1, 50_000)
      .optional()
      .describe("Maximum number of events to check in one call. Default 10000."),
    deep: Flag.optional().describe(
      "true also compares every stored row with the ledger, and the content of every file with its hash. Default false.",
    ),
  }),
  output: z.object({
    ok: z.boolean(),
    checked: z.number().describe("Number of events that were checked."),
    rows: z.number().describe("Number of rows that were compared."),
    problems: z.array(LedgerProblem),
    nextCursor,
  }),
  heavy: () => true,
  within: "installation",
});

export const exportEvents = operation("event.export", "GET /api/companies/:companyId/events/months/:month", {
  summary:
    "Export the events of a month that is over, with everything their hashes cover. `agency audit export` writes them to a file.",
  input: z.strictObject({ companyId: CompanyId, month: Month, cursor: Page.cursor }),
  output: z.object({
    companyId: z.string(),
    month: z.string(),
    first: z.number().describe("The number of the first event."),
    last: z.number().describe("The number of the last event."),
    previous: z.string().describe("The hash that the first event continues."),
    hash: z.string().describe("The hash of the last event."),
    seal: z.string().describe("A keyed hash of all of the above."),
    lines: z.array(z.string()).describe("The events of this page, each as JSON."),
    nextCursor,
  }),
  heavy: () => true,
});

export const removeEvents = operation(
  "event.remove",
  "POST /api/companies/:companyId/events/months/:month/remove",
  {
    summary:
      "Remove the oldest events of an exported month. The record can still be verified without them, because their last hash and the newest digest of each row are kept. Events of open work stay.",
    input: z.strictObject({
      companyId: CompanyId,
      month: Month,
      until: whole(1).describe(
        "The number of the last event to remove. At most 2,000 are removed by one call.",
      ),
      digest: z
        .string()
        .regex(/^[0-9a-f]{64}$/, "a SHA-256 in hexadecimal")
        .describe("The SHA-256 of the exported lines from the oldest event to this one, joined by newlines."),
      fileName: Title.refine(
        (name) => !/[/\\]/.test(name),
        "the name of a file, without its folder",
      ).describe("The name of the file with the export, for people who look for these events later."),
    }),
    output: z.object({
      removed: z.number(),
      kept: z.number().describe("Events that stay, because open work needs them."),
    }),
    heavy: () => true,
  },
);

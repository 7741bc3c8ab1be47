import { z } from "zod";
import { operation } from "./operation.ts";
import { CompanyId, count, Data, idOf, nextCursor, Page, Reference } from "./words.ts";

/**
 * Everything that waits for a person, or for the position that a person holds, in one list. The list is derived from the rows
 * at each call and never stored.
 */

export const attentionKinds = [
  "approval",
  "question",
  "verdict",
  "permission",
  "stall",
  "budget",
  "brain",
  "server",
  "mail",
] as const;
export type AttentionKind = (typeof attentionKinds)[number];

/** A call that settles an item or a request. */
export const Ability = z.object({
  name: z.string().describe("The operation, such as approval.approve."),
  method: z.string(),
  path: z.string(),
  body: Data.optional().describe("The input to send."),
  asks: z
    .array(z.string())
    .describe("Inputs that you have to add, such as a reason. A dot leads to a part: `budget.usd`."),
  command: z.string().nullable().describe("The same call on the command line."),
});
export type Ability = z.infer<typeof Ability>;

const AttentionItem = z.object({
  kind: z.enum(attentionKinds),
  subject: Reference.describe("The thing to decide or to fix."),
  title: z.string(),
  reason: z.string().describe("Why the item needs a person."),
  by: Reference.nullable().describe("The agent or person that asks. Null if the system noticed the item."),
  since: z.string(),
  expires: z.string().nullable().describe("Time at which the item is decided without a person. Null: never."),
  holdsUp: z
    .object({ count: z.number(), outcomes: z.array(Reference) })
    .describe("Open outcomes that wait for it. The list has the first 5; counting ends at 1,000."),
  facts: Data.describe("Further figures and names, by kind."),
  abilities: z.array(Ability).describe("Calls that settle the item."),
});
export type AttentionItem = z.infer<typeof AttentionItem>;

export const Health = z
  .object({
    moving: count(0, Number.MAX_SAFE_INTEGER),
    scheduled: count(0, Number.MAX_SAFE_INTEGER),
    waitingForYou: count(0, Number.MAX_SAFE_INTEGER),
    stuck: count(0, Number.MAX_SAFE_INTEGER),
  })
  .describe(
    "Every open or submitted outcome, counted once, as `why` sees it: at work or about to be; waiting for a time; waiting for a decision of yours; or without a live path.",
  );
export type Health = z.infer<typeof Health>;

const noteKinds = ["budget", "growth", "limit"] as const;
const AttentionNote = z.object({
  kind: z.enum(noteKinds),
  subject: Reference.describe("The agent or company that it is about."),
  says: z.string().describe("One sentence."),
});
export type AttentionNote = z.infer<typeof AttentionNote>;

export const viewAttention = operation("attention.view", "GET /api/companies/:companyId/attention", {
  summary: "List everything that needs a person, and count the open outcomes by state.",
  guidance:
    "The board sees the whole company. A person who works from a position sees the items of that position, and counts of the outcomes it owns, delegated or decides about. Agents can't call this tool.",
  input: z.strictObject({
    companyId: CompanyId,
    kind: z.enum(attentionKinds).optional().describe("Only items of this kind. Default: all."),
    outcome: idOf("outcome")
      .optional()
      .describe(
        "Only items that hold up this outcome (UUID), or that were asked for during work on it or below it. Default: all.",
      ),
    ...Page,
  }),
  output: z.object({
    items: z
      .array(AttentionItem)
      .describe("Those that hold up most outcomes first, then those that expire first, then the oldest."),
    nextCursor,
    counts: z.record(z.enum(attentionKinds), z.number()).describe("All items by kind, listed or not."),
    total: z.number(),
    pressing: z
      .number()
      .describe(
        "Number of items that need a person now. Budgets that are nearly used up don't count: they are also in `notes`.",
      ),
    health: Health,
    next: z
      .string()
      .nullable()
      .describe(
        "The earliest time that a scheduled outcome of `health` waits for. Null if none waits for a time.",
      ),
    notes: z
      .array(AttentionNote)
      .describe(
        "Notes that need no decision: budgets of which 80 % are spent, signs of the last day that an agent is overloaded, and limits that are nearly reached. From a position: of itself and its direct reports.",
      ),
  }),
  needs: "member",
  mcp: { server: "org", tool: "view_attention", for: ["person"] },
  cli: { command: "attention", example: "--kind approval" },
});

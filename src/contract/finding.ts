import { z } from "zod";
import { Health } from "./attention.ts";
import { operation } from "./operation.ts";
import { outcomeKinds, outcomeStatuses } from "./outcomes.ts";
import { WhyAnswer } from "./why.ts";
import { AgentRef, CompanyId, Flag, idOf, Reference, text, whole } from "./words.ts";

/** Answers about a whole company at once: the graph of its outcomes, its counts, and a search. */

export const viewGraph = operation("outcome.graph", "GET /api/companies/:companyId/outcomes/graph", {
  summary: "Show the outcomes of a company as a graph of parents, children and dependencies.",
  input: z.strictObject({
    companyId: CompanyId,
    live: Flag.optional().describe("true shows only open and submitted outcomes. Default false: all."),
    limit: whole(1, 20_000)
      .optional()
      .describe("Maximum number of outcomes in the answer, the newest. Default 5000."),
  }),
  output: z.object({
    outcomes: z.array(
      z.object({
        id: z.string(),
        title: z.string(),
        status: z.enum(outcomeStatuses),
        kind: z.enum(outcomeKinds),
        blocked: z.boolean(),
        responsible: AgentRef.nullable(),
        createdAt: z.string(),
      }),
    ),
    edges: z
      .array(z.object({ parent: z.string(), child: z.string() }))
      .describe("Ids of a child (how) and its parent (why). Both are in the list."),
    dependencies: z
      .array(z.object({ outcome: z.string(), dependsOn: z.string() }))
      .describe("Ids of an outcome and of one that it depends on. Both are in the list."),
    truncated: z.boolean().describe("True if there are more outcomes."),
  }),
  cli: { command: "outcomes graph", example: "--live" },
});

const mostAsked = 100;
const agentOrOutcome = idOf("agent or outcome");

export const whyMany = operation("why.many", "GET /api/why", {
  summary: "Explain why each of up to 100 agents and outcomes of a company is or isn't moving.",
  input: z.strictObject({
    ids: z
      .union([
        z.array(agentOrOutcome),
        z
          .string()
          .transform((list) => list.split(","))
          .pipe(z.array(agentOrOutcome)),
      ])
      .pipe(z.array(agentOrOutcome).min(1).max(mostAsked))
      .describe("Ids of agents or outcomes of one company (1 to 100 UUIDs, in a URL separated by commas)."),
  }),
  output: z.object({
    answers: z.array(WhyAnswer).describe("In the order of the ids."),
    missing: z.array(z.string()).describe("The ids of things that don't exist or that you can't ask about."),
  }),
  heavy: () => true,
  within: { "agent or outcome": "ids" },
  needs: "member",
});

export const viewCounts = operation("company.counts", "GET /api/companies/:companyId/counts", {
  summary: "Count a company's attention items, mail, approvals, agents, outcomes and files.",
  input: z.strictObject({ companyId: CompanyId }),
  output: z.object({
    attention: z.number().describe("Items of the attention list that need a person now: its `pressing`."),
    mail: z.number().describe("Messages in the board's inbox that are not acknowledged."),
    approvals: z.number().describe("Requests that wait for a decision."),
    agents: z.object({
      employed: z.number().describe("All agents that have not left, pending ones included."),
      running: z.number(),
      paused: z.number(),
      pending: z.number(),
    }),
    outcomes: z.object({
      open: z.number(),
      submitted: z.number(),
      blocked: z.number(),
      all: z.number().describe("Ended ones included."),
    }),
    files: z.number().describe("Knowledge files of the ordinary kind."),
    health: Health,
    working: z
      .array(
        z.object({
          agent: AgentRef,
          session: z.string(),
          since: z.string(),
          on: z.string().nullable().describe("Title of the outcome that the session started with."),
        }),
      )
      .describe("The sessions that run now, the newest 5."),
  }),
  heavy: () => true,
  cli: { command: "counts" },
});

export const foundKinds = ["agent", "outcome", "file", "session", "message", "approval", "person"] as const;
export type FoundKind = (typeof foundKinds)[number];

const Found = Reference.extend({
  id: z.string(),
  title: z.string(),
  detail: z.string().describe("A detail that tells it apart, such as a role, a status or an owner."),
});
export type Found = z.infer<typeof Found>;

export const search = operation("search", "GET /api/search", {
  summary: "Find agents, outcomes, files, sessions, messages, approvals and people by words in their names.",
  guidance:
    "The search compares names, titles, roles and the first lines of messages. Only people find sessions and people. To search the content of files, use search_files.",
  input: z.strictObject({
    companyId: CompanyId,
    q: text(500)
      .min(1)
      .describe(
        "Words to look for, such as `voice gu`. All must occur, each also as the beginning of a word.",
      ),
    kind: z.enum(foundKinds).optional().describe("Only things of this kind. Default: all kinds."),
    limit: whole(1, 50).optional().describe("Maximum number of things of each kind. Default 8."),
  }),
  output: z.object({
    groups: z
      .array(
        z.object({
          kind: z.enum(foundKinds),
          found: z.array(Found),
          truncated: z.boolean().describe("True if more of this kind match."),
        }),
      )
      .describe("One group for each kind with a thing that you may see."),
  }),
  needs: "member",
  cli: { command: "search <q>", example: '"voice gu"' },
});

/** The letter of a short id, such as `O` in `O41`, and the thing it names. */
export const shortLetters = {
  A: "approval",
  F: "file",
  G: "grant",
  M: "message",
  O: "outcome",
  R: "reorganization",
  S: "session",
} as const;

export const listShortIds = operation("short_id.list", "GET /api/short-ids", {
  summary: "Translate between ids and the short ids that people read and type.",
  guidance:
    "Agents and companies have a slug instead. A short id belongs to one thing for good. Agents never see short ids, because a number tells how many things there are.",
  input: z.strictObject({
    ids: z
      .union([z.array(text(40)), text(8000).transform((list) => list.split(","))])
      .pipe(z.array(text(40).min(1)).min(1).max(200))
      .describe("1 to 200 UUIDs or short ids such as `O41`, in a URL separated by commas."),
  }),
  output: z.object({
    found: z.array(
      z.object({
        id: z.string(),
        short: z.string(),
        kind: z.enum(["agent", "company", ...Object.values(shortLetters)]),
        companyId: z.string(),
      }),
    ),
  }),
  within: "installation",
});

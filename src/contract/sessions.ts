import { z } from "zod";
import { Use } from "./budgets.ts";
import { operation } from "./operation.ts";
import {
  AgentRef,
  CompanyId,
  Flag,
  hiddenInTools,
  idOf,
  inAll,
  nextCursor,
  Page,
  Reference,
  text,
  whole,
} from "./words.ts";

/** Sessions, their transcripts and their summaries. */

export const TranscriptEntry = z.object({
  at: z.string(),
  kind: z
    .enum(["text", "tool", "result", "error", "output", "usage"])
    .describe(
      "text: the agent's words. tool: a call. result: what the call returned. output: printed as it is. usage: tokens of one answer of the model.",
    ),
  tool: z.string().optional(),
  text: z.string(),
  hidden: z
    .literal(true)
    .optional()
    .describe("The result is left out, because it shows something you can't read."),
});
export type TranscriptEntry = z.infer<typeof TranscriptEntry>;

const PlacedEntry = TranscriptEntry.extend({
  place: z.number().describe("Where it begins: `after` with this number reads from this entry on."),
});
export type PlacedEntry = z.infer<typeof PlacedEntry>;

/** Why a session ended by itself, as its brain judges (brains/brain.ts). */
export const endCauses = ["done", "failed", "missing", "signed_out", "overloaded", "out_of_context"] as const;
export type EndCause = (typeof endCauses)[number];

export const sessionEnds = ["running", "done", "failed", "stopped"] as const;
export type EndKind = (typeof sessionEnds)[number];
const endMeanings =
  "running: not ended. done: it worked or submitted a summary. failed: it ended with an error or did nothing. stopped: something else ended it.";

const filter = {
  outcome: idOf("outcome")
    .optional()
    .describe("Only sessions that were started for this outcome (UUID).")
    .register(hiddenInTools, {}),
  end: z
    .enum(sessionEnds)
    .optional()
    .describe(`Only sessions that ended like this. ${endMeanings}`)
    .register(hiddenInTools, {}),
};

const Session = z.object({
  id: z.string(),
  agent: AgentRef,
  epoch: z.number(),
  startedAt: z.string(),
  endedAt: z.string().nullable(),
  endReason: z.string().nullable(),
  exitCode: z.number().nullable(),
  end: z.enum(sessionEnds).describe(endMeanings),
  outcome: Reference.nullable().describe("The outcome it was started for, and that its costs count for."),
  summarized: z.boolean().describe("True if the session submitted its own summary."),
  summary: z.string().nullable().describe("Its summary. Lists show the first 500 characters."),
  lastLine: z.string().nullable().describe("The last line that it printed, up to 300 characters."),
  tail: z
    .array(z.string())
    .describe("The last 6 lines of a session that runs, oldest first. Empty if it has ended."),
  toolCalls: z
    .number()
    .nullable()
    .describe("How often it called a tool. Null if that is not known: its process was lost."),
  promptVersion: z.string().nullable(),
  usage: Use.extend({
    consultants: Use.optional().describe("The part used by sub-agents, if there were any."),
  }),
});

export const listSessions = operation("session.list", "GET /api/companies/:companyId/sessions", {
  summary:
    "List the sessions of a company, newest first. An agent sees its own and those of its direct reports.",
  lists: "session",
  input: z.strictObject({
    companyId: CompanyId,
    live: Flag.optional().describe("true lists only running sessions. Default false: all sessions."),
    text: text(500)
      .optional()
      .describe(
        "Only sessions whose agent and outcome have all these words, or words that begin with them. From a position, only the words of the agent count.",
      ),
    ...filter,
    ...Page,
  }),
  output: z.object({ sessions: z.array(Session), count: inAll, nextCursor }),
  needs: "member",
  cli: { command: "sessions list", example: "--end failed" },
});

export const listAgentSessions = operation("session.of_agent", "GET /api/agents/:id/sessions", {
  summary: "List the sessions of an agent, newest first.",
  guidance:
    "You can list your own sessions and those of direct reports. To see what a session did, use read_transcript.",
  input: z.strictObject({ id: idOf("agent"), ...filter, ...Page }),
  output: z.object({ sessions: z.array(Session), count: inAll, nextCursor }),
  needs: "member",
  mcp: { server: "audit", tool: "list_sessions", for: ["manager"] },
  cli: { command: "agents sessions <id>", example: "ada" },
});

const ModelUse = z.object({
  provider: z.string(),
  model: z.string(),
  calls: z.number(),
  inputTokens: z.number().describe("Without the tokens read from a cache or written to it."),
  outputTokens: z.number(),
  cacheReadTokens: z.number(),
  cacheWriteTokens: z.number(),
  costUsd: z.number(),
});
export type ModelUse = z.infer<typeof ModelUse>;

export const viewSession = operation("session.view", "GET /api/sessions/:id", {
  summary: "Show a session and the briefing it started with.",
  input: z.strictObject({ id: idOf("session") }),
  output: Session.extend({
    briefing: z.string().nullable().describe("Only for people."),
    assignment: z.string().nullable().describe("The task given to a brain without tools."),
    models: z.array(ModelUse).describe("Its usage of each model."),
  }),
  needs: "member",
  cli: { command: "sessions view <id>", example: "<session id>" },
});

export const viewTranscript = operation("session.transcript", "GET /api/sessions/:id/transcript", {
  summary: "Show the transcript of a session: its words, calls and results.",
  guidance:
    "Use it to find out why work went wrong. You can read your own sessions and those of direct reports.",
  input: z.strictObject({
    id: idOf("session"),
    after: whole(0, 1e12).optional().describe("`next` of the last answer. Default: the newest entries."),
  }),
  output: z.object({
    id: z.string(),
    transcript: z.string().describe("The entries as text."),
    entries: z.array(PlacedEntry),
    next: z.number().describe("Where the next part begins."),
    truncated: z.boolean().describe("True if there are earlier entries."),
  }),
  effect: "record",
  needs: "member",
  mcp: { server: "audit", tool: "read_transcript", for: ["manager"] },
  cli: { command: "sessions transcript <id>", example: "<session id>" },
});

export const submitSummary = operation("session.submit_summary", "POST /api/summary", {
  summary: "Submit a summary and end your session.",
  guidance: "Make it your last call, after updating your state document.",
  input: z.strictObject({
    summary: text(20_000).min(1).describe("What you did, why, and what is left to do."),
  }),
  output: z.object({ sessionId: z.string(), logFileId: z.string() }),
  needs: "member",
  mcp: { server: "audit", tool: "submit_summary" },
});

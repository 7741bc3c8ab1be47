import { z } from "zod";
import { Use } from "./budgets.ts";
import { operation } from "./operation.ts";
import { AgentRef, CompanyId, Flag, idOf, nextCursor, Page, text } from "./words.ts";

/** Sessions and what they leave behind. */

const Session = z.object({
  id: z.string(),
  agent: AgentRef,
  epoch: z.number(),
  startedAt: z.string(),
  endedAt: z.string().nullable(),
  endReason: z.string().nullable(),
  exitCode: z.number().nullable(),
  summarized: z.boolean().describe("True if the session submitted its own summary."),
  promptVersion: z.string().nullable(),
  usage: Use.extend({
    consultants: Use.optional().describe("The part used by sub-agents, if there were any."),
  }),
});

export const listSessions = operation("session.list", "GET /api/companies/:companyId/sessions", {
  summary: "List the sessions of a company, newest first.",
  lists: "session",
  input: z.strictObject({
    companyId: CompanyId,
    live: Flag.optional().describe("true lists only running sessions. Default false: all sessions."),
    ...Page,
  }),
  output: z.object({ sessions: z.array(Session), nextCursor }),
  cli: { command: "sessions list", example: "--live" },
});

export const listAgentSessions = operation("session.of_agent", "GET /api/agents/:id/sessions", {
  summary: "List the sessions of an agent, newest first.",
  input: z.strictObject({ id: idOf("agent"), ...Page }),
  output: z.object({ sessions: z.array(Session), nextCursor }),
  cli: { command: "agents sessions <id>", example: "ada" },
});

export const viewSession = operation("session.view", "GET /api/sessions/:id", {
  summary: "Show a session and the briefing it started with.",
  input: z.strictObject({ id: idOf("session") }),
  output: Session.extend({
    briefing: z.string().nullable(),
    assignment: z.string().nullable().describe("What a brain without tools was told to do."),
  }),
  cli: { command: "sessions view <id>", example: "<session id>" },
});

export const viewTranscript = operation("session.transcript", "GET /api/sessions/:id/transcript", {
  summary: "Show what a session printed.",
  input: z.strictObject({ id: idOf("session") }),
  output: z.object({ id: z.string(), transcript: z.string(), truncated: z.boolean() }),
  cli: { command: "sessions transcript <id>", example: "<session id>" },
});

export const submitSummary = operation("session.submit_summary", "POST /api/summary", {
  summary: "Submit the summary of your session, which ends the session.",
  guidance:
    "Call it last, after you have updated your state document and finished or blocked your outcomes. The summary is appended to your log, which your later sessions can read. Make no other call afterwards: the session is stopped. Returns the id of the log file.",
  input: z.strictObject({
    summary: text(20_000)
      .min(1)
      .describe("What you did and why, and what is left to do; Markdown, up to 20,000 characters."),
  }),
  output: z.object({ sessionId: z.string(), logFileId: z.string() }),
  needs: "member",
  mcp: { server: "audit", tool: "submit_summary" },
});

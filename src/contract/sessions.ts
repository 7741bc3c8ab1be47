import { z } from "zod";
import { Use } from "./budgets.ts";
import { operation } from "./operation.ts";
import { AgentRef, CompanyId, idOf, nextCursor, Page, text } from "./words.ts";

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

export const listSessions = operation({
  name: "session.list",
  summary: "List the sessions of a company, newest first.",
  lists: "session",
  input: z.strictObject({
    companyId: CompanyId,
    live: z
      .stringbool()
      .or(z.boolean())
      .optional()
      .describe("true lists only running sessions. Default false: all sessions."),
    ...Page,
  }),
  output: z.object({ sessions: z.array(Session), nextCursor }),
  access: { effect: "read", within: "company", needs: "board" },
  http: { method: "GET", path: "/api/companies/:companyId/sessions" },
  cli: { command: "sessions list", example: "--live" },
});

export const listAgentSessions = operation({
  name: "session.of_agent",
  summary: "List the sessions of an agent, newest first.",
  input: z.strictObject({ id: idOf("agent"), ...Page }),
  output: z.object({ sessions: z.array(Session), nextCursor }),
  access: { effect: "read", within: { agent: "id" }, needs: "board" },
  http: { method: "GET", path: "/api/agents/:id/sessions" },
  cli: { command: "agents sessions", args: ["id"], example: "ada" },
});

export const viewSession = operation({
  name: "session.view",
  summary: "Show a session and the briefing it started with.",
  input: z.strictObject({ id: idOf("session") }),
  output: Session.extend({
    briefing: z.string().nullable(),
    assignment: z.string().nullable().describe("What a brain without tools was told to do."),
  }),
  access: { effect: "read", within: { session: "id" }, needs: "board" },
  http: { method: "GET", path: "/api/sessions/:id" },
  cli: { command: "sessions view", args: ["id"], example: "<session id>" },
});

export const viewTranscript = operation({
  name: "session.transcript",
  summary: "Show what a session printed.",
  input: z.strictObject({ id: idOf("session") }),
  output: z.object({ id: z.string(), transcript: z.string(), truncated: z.boolean() }),
  access: { effect: "read", within: { session: "id" }, needs: "board" },
  http: { method: "GET", path: "/api/sessions/:id/transcript" },
  cli: { command: "sessions transcript", args: ["id"], example: "<session id>" },
});

export const submitSummary = operation({
  name: "session.submit_summary",
  summary: "Submit the summary of your session, which ends the session.",
  guidance:
    "Call it last, after you have updated your state document and finished or blocked your outcomes. The summary is appended to your log, which your later sessions can read. Make no other call afterwards: the session is stopped. Returns the id of the log file.",
  input: z.strictObject({
    summary: text(20_000)
      .min(1)
      .describe("What you did and why, and what is left to do; Markdown, up to 20,000 characters."),
  }),
  output: z.object({ sessionId: z.string(), logFileId: z.string() }),
  access: { effect: "write", within: "company", needs: "member" },
  http: { method: "POST", path: "/api/summary" },
  mcp: { server: "audit", tool: "submit_summary" },
});

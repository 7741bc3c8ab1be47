import { z } from "zod";
import { Use } from "./budgets.ts";
import { operation } from "./operation.ts";
import { AgentRef, CompanyId, Id, nextCursor, Page, text } from "./words.ts";

/** Sessions and what they leave behind. */

const Session = z.object({
  id: z.string(),
  agent: AgentRef,
  epoch: z.number(),
  startedAt: z.string(),
  endedAt: z.string().nullable(),
  endReason: z.string().nullable(),
  exitCode: z.number().nullable(),
  summarized: z.boolean().describe("The session handed in its own summary."),
  promptVersion: z.string().nullable(),
  usage: Use.extend({ consultants: Use.optional().describe("The part that sub-agents used, if any did.") }),
});

export const listSessions = operation({
  name: "session.list",
  summary: "The sessions of a company, newest first; or only those that live.",
  input: z.strictObject({ companyId: CompanyId, live: z.stringbool().or(z.boolean()).optional(), ...Page }),
  output: z.object({ sessions: z.array(Session), nextCursor }),
  effect: "read",
  within: "company",
  needs: "board",
  http: { method: "GET", path: "/api/companies/:companyId/sessions" },
  cli: { command: "sessions list" },
});

export const listAgentSessions = operation({
  name: "session.of_agent",
  summary: "The sessions of an agent, newest first.",
  input: z.strictObject({ id: Id, ...Page }),
  output: z.object({ sessions: z.array(Session), nextCursor }),
  effect: "read",
  within: { agent: "id" },
  needs: "board",
  http: { method: "GET", path: "/api/agents/:id/sessions" },
  cli: { command: "agents sessions", args: ["id"] },
});

export const viewSession = operation({
  name: "session.view",
  summary: "One session, with the briefing it got.",
  input: z.strictObject({ id: Id }),
  output: Session.extend({
    briefing: z.string().nullable(),
    assignment: z.string().nullable().describe("What a brain without tools was told of its work."),
  }),
  effect: "read",
  within: { session: "id" },
  needs: "board",
  http: { method: "GET", path: "/api/sessions/:id" },
  cli: { command: "sessions view", args: ["id"] },
});

export const viewTranscript = operation({
  name: "session.transcript",
  summary: "What a session printed.",
  input: z.strictObject({ id: Id }),
  output: z.object({ id: z.string(), transcript: z.string(), truncated: z.boolean() }),
  effect: "read",
  within: { session: "id" },
  needs: "board",
  http: { method: "GET", path: "/api/sessions/:id/transcript" },
  cli: { command: "sessions transcript", args: ["id"] },
});

export const submitSummary = operation({
  name: "session.submit_summary",
  summary: "Hand in what you did and why, for the log. It is the last thing a session does: it ends then.",
  input: z.strictObject({ summary: text(20_000).min(1) }),
  output: z.object({ sessionId: z.string(), logFileId: z.string() }),
  effect: "write",
  within: "company",
  needs: "member",
  http: { method: "POST", path: "/api/summary" },
  mcp: { server: "audit", tool: "submit_summary" },
});

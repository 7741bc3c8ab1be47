import { z } from "zod";
import { operation } from "./operation.ts";
import { CompanyId, Id, nextCursor, Page, text, Time } from "./words.ts";

/** Messages: knowledge files put into inboxes. Sending never waits for an answer. */

const Party = z.object({
  kind: z.enum(["agent", "board", "system"]),
  id: z.string().nullable(),
  name: z.string(),
});

export const Message = z.object({
  id: z.string(),
  from: Party,
  to: Party,
  file: z.string().describe("The knowledge file that is the message; you may read it."),
  body: z
    .string()
    .nullable()
    .describe("Its text, when it is text of at most 64 kB; otherwise read the file."),
  sentAt: z.string(),
  deliverAt: z.string(),
  deliveredAt: z.string().nullable(),
  readAt: z.string().nullable(),
  acknowledgedAt: z.string().nullable(),
  result: z.string().nullable().describe("What became of it, in the receiver's words."),
  failure: z.string().nullable().describe("Why it was not delivered."),
});
export type Message = z.infer<typeof Message>;

const To = text(100).min(1).describe("An agent's id or slug, boss, self or board.");
const content = {
  file: Id.optional().describe("A knowledge file to send; or write a body."),
  body: text(200_000).min(1).optional().describe("The text; it becomes a knowledge file."),
};

export const sendMessage = operation({
  name: "mail.send",
  summary:
    "Send a message to your boss, a direct report or an approved target; you are never blocked waiting for a reply.",
  input: z.strictObject({
    companyId: CompanyId,
    to: To.optional().describe("Required, but for the board: the root agent."),
    ...content,
  }),
  output: Message,
  effect: "write",
  within: "company",
  needs: "member",
  http: { method: "POST", path: "/api/companies/:companyId/messages" },
  mcp: { server: "mail", tool: "send_message" },
  cli: { command: "send", args: ["body"] },
});

export const sendDeferredMessage = operation({
  name: "mail.send_deferred",
  summary:
    "Send a message that is delivered later, to yourself as a reminder or to anybody you may write to.",
  input: z.strictObject({ companyId: CompanyId, to: To, ...content, deliverAt: Time }),
  output: Message,
  effect: "write",
  within: "company",
  needs: "member",
  http: { method: "POST", path: "/api/companies/:companyId/deferred-messages" },
  mcp: { server: "mail", tool: "send_deferred_message" },
  cli: { command: "mail defer", args: ["to", "body"] },
});

const inboxOutput = z.object({
  messages: z.array(Message),
  waiting: z.number().describe("How many messages wait in this inbox in all."),
  nextCursor,
});

export const readInbox = operation({
  name: "mail.read_inbox",
  summary: "Your messages, oldest first. Each stays until you acknowledge it.",
  input: z.strictObject({ limit: Page.limit }),
  output: inboxOutput,
  effect: "record",
  within: "company",
  needs: "member",
  http: { method: "GET", path: "/api/inbox" },
  mcp: { server: "mail", tool: "read_inbox" },
});

export const acknowledgeMessage = operation({
  name: "mail.acknowledge",
  summary: "Say what became of a message (an outcome, a note); it leaves the inbox.",
  input: z.strictObject({ id: Id, result: text(2000).optional() }),
  output: Message,
  effect: "write",
  within: { message: "id" },
  needs: "member",
  http: { method: "POST", path: "/api/messages/:id/acknowledge" },
  mcp: { server: "mail", tool: "acknowledge_message" },
  cli: { command: "mail acknowledge", args: ["id", "result"] },
});

export const viewMessage = operation({
  name: "mail.view",
  summary: "One message you sent or got: whether it was delivered, read, acknowledged.",
  input: z.strictObject({ id: Id }),
  output: Message,
  effect: "read",
  within: { message: "id" },
  needs: "member",
  http: { method: "GET", path: "/api/messages/:id" },
  mcp: { server: "mail", tool: "view_message" },
  cli: { command: "mail view", args: ["id"] },
});

export const listSent = operation({
  name: "mail.sent",
  summary: "The messages you sent, newest first, with their receipts.",
  input: z.strictObject({ companyId: CompanyId, ...Page }),
  output: z.object({ messages: z.array(Message), nextCursor }),
  effect: "read",
  within: "company",
  needs: "member",
  http: { method: "GET", path: "/api/companies/:companyId/sent" },
  mcp: { server: "mail", tool: "list_sent" },
  cli: { command: "mail sent" },
});

export const boardInbox = operation({
  name: "mail.board_inbox",
  summary: "The board's own messages that wait, oldest first; with all, also those already acknowledged.",
  input: z.strictObject({ companyId: CompanyId, all: z.stringbool().or(z.boolean()).optional(), ...Page }),
  output: inboxOutput,
  effect: "read",
  within: "company",
  needs: "board",
  http: { method: "GET", path: "/api/companies/:companyId/inbox" },
  cli: { command: "inbox" },
});

export const agentInbox = operation({
  name: "mail.of_agent",
  summary: "What waits in an agent's inbox, oldest first.",
  input: z.strictObject({ id: Id, ...Page }),
  output: inboxOutput,
  effect: "read",
  within: { agent: "id" },
  needs: "board",
  http: { method: "GET", path: "/api/agents/:id/inbox" },
  cli: { command: "agents inbox", args: ["id"] },
});

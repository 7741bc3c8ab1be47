import { z } from "zod";
import { operation } from "./operation.ts";
import { CompanyId, Flag, idOf, nextCursor, Page, text, Time } from "./words.ts";

/** Mail. A message is a knowledge file put into an inbox. Sending never waits for an answer. */

const Party = z.object({
  kind: z.enum(["agent", "board", "system"]),
  id: z.string().nullable(),
  name: z.string(),
});

export const Message = z.object({
  id: z.string(),
  from: Party,
  to: Party,
  file: z.string().describe("Id of the knowledge file that is the message."),
  body: z
    .string()
    .nullable()
    .describe(
      "The text as it was sent. Null if it has more than 64 kB (read the file), or if you can't read it any more.",
    ),
  sentAt: z.string(),
  deliverAt: z.string(),
  deliveredAt: z.string().nullable(),
  readAt: z.string().nullable(),
  acknowledgedAt: z.string().nullable(),
  result: z.string().nullable().describe("What the recipient did with it."),
  failure: z.string().nullable().describe("Why it could not be delivered."),
});
export type Message = z.infer<typeof Message>;

const messageId = idOf("message");
const To = text(100)
  .min(1)
  .describe("Recipient: an agent's id or slug, `boss` (your manager), `board`, or `self`.");
const content = {
  file: idOf("file")
    .optional()
    .describe("Id of a knowledge file to send (UUID). Use this or `body`, not both."),
  body: text(200_000)
    .min(1)
    .optional()
    .describe("The text, as Markdown, up to 200,000 characters. Use this or `file`, not both."),
};

export const sendMessage = operation("mail.send", "POST /api/companies/:companyId/messages", {
  summary: "Send a message to an agent or the board.",
  guidance:
    'An agent can write to its manager, its direct reports and recipients a person approved; other recipients are refused. Don\'t wait for a reply: continue working, a reply arrives in your inbox later. The recipient can read the file you send. For a reminder to yourself or a later delivery, use send_deferred_message. Example: {"to": "boss", "body": "The draft is kb://<file id>."}.',
  input: z.strictObject({
    companyId: CompanyId,
    to: To.optional().describe(
      "Recipient: an agent's id or slug, `boss` (your manager) or `board`. Required for agents; default for the board: the root agent.",
    ),
    ...content,
  }),
  output: Message,
  needs: "member",
  mcp: { server: "mail", tool: "send_message" },
  cli: { command: "send <body>", example: '"How is the release going?" --to ada' },
});

export const sendDeferredMessage = operation(
  "mail.send_deferred",
  "POST /api/companies/:companyId/deferred-messages",
  {
    summary: "Send a message that is delivered at a later time.",
    guidance:
      'Use it with `to: "self"` as a reminder: the message wakes you when it is delivered. You can also send it to anyone you can write to now; whether you may is checked again at delivery. Example: {"to": "self", "body": "Check the build.", "deliverAt": "2030-01-31T09:00:00Z"}.',
    input: z.strictObject({
      companyId: CompanyId,
      to: To,
      ...content,
      deliverAt: Time.describe(
        "When to deliver it: ISO 8601 with a time zone, such as `2030-01-31T09:00:00Z`. A time in the past means now.",
      ),
    }),
    output: Message,
    needs: "member",
    mcp: { server: "mail", tool: "send_deferred_message" },
    cli: {
      command: "mail defer <to> <body>",
      example: 'ada "Send the weekly report." --deliver-at 2030-01-31T09:00:00Z',
    },
  },
);

const inboxOutput = z.object({
  messages: z.array(Message),
  waiting: z.number().describe("Number of unacknowledged messages in this inbox, on all pages."),
  nextCursor,
});

export const readInbox = operation("mail.read_inbox", "GET /api/inbox", {
  summary: "Read the messages in your inbox, oldest first.",
  guidance:
    "Call it at the start of a session and between outcomes. A message stays in the inbox until you call acknowledge_message, so deal with each one: turn it into an outcome, answer it, or note it. Returns the messages with their text and `waiting`, the number of all unacknowledged messages.",
  lists: "message",
  input: z.strictObject({ limit: Page.limit }),
  output: inboxOutput,
  effect: "record",
  needs: "member",
  mcp: { server: "mail", tool: "read_inbox" },
});

export const acknowledgeMessage = operation("mail.acknowledge", "POST /api/messages/:id/acknowledge", {
  summary: "Acknowledge a message, which removes it from the inbox.",
  guidance:
    'Call it once you have dealt with the message; if your session ends before that, the next one finds the message again. The sender can see your result. It sends nothing: to reply, use send_message. Example: {"id": "<message id>", "result": "Created an outcome for it."}.',
  input: z.strictObject({
    id: messageId,
    result: text(2000)
      .optional()
      .describe("What you did with the message, up to 2,000 characters. Default: nothing is noted."),
  }),
  output: Message,
  needs: "member",
  mcp: { server: "mail", tool: "acknowledge_message" },
  cli: { command: "mail acknowledge <id> <result>", example: '<message id> "Answered by phone."' },
});

export const viewMessage = operation("mail.view", "GET /api/messages/:id", {
  summary: "Show a message you sent or received, and what became of it.",
  guidance:
    "Use it to check whether a message you sent was delivered, read and acknowledged. `result` is what the recipient did with it, `failure` why it could not be delivered. To read new messages, use read_inbox.",
  input: z.strictObject({ id: messageId }),
  output: Message,
  effect: "record",
  needs: "member",
  mcp: { server: "mail", tool: "view_message" },
  cli: { command: "mail view <id>", example: "<message id>" },
});

export const listSent = operation("mail.sent", "GET /api/companies/:companyId/sent", {
  summary: "List the messages you sent, newest first.",
  guidance:
    "Each has its recipient, text and receipts: when it was delivered, read and acknowledged, and with what result. Use it before writing again, to see what you already asked.",
  input: z.strictObject({ companyId: CompanyId, ...Page }),
  output: z.object({ messages: z.array(Message), nextCursor }),
  effect: "record",
  needs: "member",
  mcp: { server: "mail", tool: "list_sent" },
  cli: { command: "mail sent" },
});

export const boardInbox = operation("mail.board_inbox", "GET /api/companies/:companyId/inbox", {
  summary: "List the messages to the board, oldest first.",
  lists: "message",
  input: z.strictObject({
    companyId: CompanyId,
    all: Flag.optional().describe(
      "true also lists acknowledged messages. Default false: only those that wait.",
    ),
    ...Page,
  }),
  output: inboxOutput,
  cli: { command: "inbox", example: "--all" },
});

export const agentInbox = operation("mail.of_agent", "GET /api/agents/:id/inbox", {
  summary: "List the unacknowledged messages in an agent's inbox, oldest first.",
  input: z.strictObject({ id: idOf("agent"), ...Page }),
  output: inboxOutput,
  cli: { command: "agents inbox <id>", example: "ada" },
});

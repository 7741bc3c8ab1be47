import { z } from "zod";
import { operation } from "./operation.ts";
import { UnreadableLink } from "./outcomes.ts";
import {
  CompanyId,
  Flag,
  hiddenInSessions,
  hiddenInTools,
  idOf,
  nextCursor,
  Page,
  PageSize,
  shownInTools,
  text,
  Time,
} from "./words.ts";

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
  failure: z
    .string()
    .nullable()
    .describe("Why it was not delivered. Null if it was, or if it is not due yet."),
  cancelledAt: z.string().nullable(),
  files: z
    .array(
      z.object({
        id: z.string(),
        version: z.number(),
        description: z.string(),
        linked: z
          .boolean()
          .describe("True if the text links to it. False if the sender named it in `files`."),
      }),
    )
    .describe("The files that came with it and that you can read, at the version that was sent."),
  inReplyTo: z.string().nullable().describe("Id of the message that it answers."),
  answers: z.array(z.string()).describe("Ids of the messages that answer it, as far as you may see them."),
});
export type Message = z.infer<typeof Message>;

const Sent = Message.extend({
  unreadable: z
    .array(UnreadableLink)
    .describe("kb:// links in it that the recipient can't open, and how to share them. Usually empty."),
});

const messageId = idOf("message");
const content = {
  file: idOf("file").optional().describe("UUID of a file, instead of `body`.").register(hiddenInSessions, {}),
  body: text(200_000)
    .min(1)
    .optional()
    .describe("The text, as Markdown.")
    .register(shownInTools, { description: "Markdown." }),
  files: z.array(idOf("file")).max(20).optional().describe("UUIDs of files to attach."),
  inReplyTo: messageId.optional().describe("UUID of the message you answer."),
};

export const sendMessage = operation("mail.send", "POST /api/companies/:companyId/messages", {
  summary: "Send a message to an agent or the board.",
  guidance: "You can write to your manager and direct reports, and answer others once.",
  input: z.strictObject({
    companyId: CompanyId,
    to: text(100)
      .min(1)
      .optional()
      .describe("UUID or slug of an agent, `boss` or `board`. Default: the sender of `inReplyTo`."),
    ...content,
  }),
  output: Sent,
  needs: "member",
  mcp: { server: "mail", tool: "send_message" },
  cli: { command: "send <body>", example: '"How is the release going?" --to ada bob' },
});

export const sendDeferredMessage = operation(
  "mail.send_deferred",
  "POST /api/companies/:companyId/deferred-messages",
  {
    summary: "Send a message that is delivered later.",
    guidance: "Send it to `self` as a reminder: its arrival starts a session.",
    input: z.strictObject({
      companyId: CompanyId,
      to: text(100)
        .min(1)
        .describe("UUID or slug of an agent, `boss`, `board` or `self`.")
        .register(shownInTools, { description: "As for send_message, or `self`." }),
      ...content,
      files: content.files.describe("UUIDs of files to attach.").register(hiddenInSessions, {}),
      inReplyTo: content.inReplyTo.describe("UUID of the message you answer.").register(hiddenInTools, {}),
      deliverAt: Time.describe("Time, such as `2030-01-31T09:00:00Z`."),
    }),
    output: Sent,
    needs: "member",
    mcp: { server: "mail", tool: "send_deferred_message" },
    cli: {
      command: "mail defer <to> <body>",
      example: 'ada "Send the weekly report." --deliver-at 2030-01-31T09:00:00Z',
    },
  },
);

export const cancelMessage = operation("mail.cancel", "POST /api/messages/:id/cancel", {
  summary: "Cancel a deferred message before its delivery.",
  guidance: "The recipient is not told.",
  input: z.strictObject({ id: messageId }),
  output: Message,
  needs: "member",
  mcp: { server: "mail", tool: "cancel_message" },
  cli: { command: "mail cancel <id>", example: "<message id>" },
});

const inboxOutput = z.object({
  messages: z.array(Message),
  waiting: z.number().describe("Number of unacknowledged messages in this inbox, on all pages."),
  nextCursor,
});

export const readInbox = operation("mail.read_inbox", "GET /api/inbox", {
  summary: "Read the messages in your inbox, oldest first.",
  guidance: "Messages stay until you acknowledge them.",
  lists: "message",
  input: z.strictObject({
    limit: PageSize.describe("Page size. Default 100.").register(hiddenInSessions, {}),
  }),
  output: inboxOutput,
  effect: "record",
  needs: "member",
  mcp: { server: "mail", tool: "read_inbox" },
});

export const acknowledgeMessage = operation("mail.acknowledge", "POST /api/messages/:id/acknowledge", {
  summary: "Acknowledge a message that you have dealt with.",
  guidance: "It leaves your inbox.",
  input: z.strictObject({
    id: messageId,
    result: text(2000).optional().describe("What you did with it, for its sender."),
  }),
  output: Message,
  needs: "member",
  mcp: { server: "mail", tool: "acknowledge_message" },
  cli: { command: "mail acknowledge <id> <result>", example: '<message id> "Answered by phone."' },
});

export const viewMessage = operation("mail.view", "GET /api/messages/:id", {
  summary: "Show a message you sent or received.",
  guidance:
    "Use it to check whether your message was delivered, read and acknowledged. `result` says what the recipient did with it.",
  input: z.strictObject({ id: messageId }),
  output: Message,
  effect: "record",
  needs: "member",
  mcp: { server: "mail", tool: "view_message", for: [] },
  cli: { command: "mail view <id>", example: "<message id>" },
});

export const listSent = operation("mail.sent", "GET /api/companies/:companyId/sent", {
  summary: "List the messages you sent, newest first.",
  guidance:
    "Use it to follow up on your messages. Each entry says when the message was delivered, read and acknowledged.",
  input: z.strictObject({
    companyId: CompanyId,
    deferred: Flag.optional()
      .describe("true lists only messages that are not due yet. Default false.")
      .register(hiddenInTools, {}),
    ...Page,
  }),
  output: z.object({ messages: z.array(Message), nextCursor }),
  effect: "record",
  needs: "member",
  mcp: { server: "mail", tool: "list_sent", for: [] },
  cli: { command: "mail sent", example: "--deferred" },
});

const mailboxOf = text(100)
  .min(1)
  .optional()
  .describe("For the board: UUID or slug of the agent whose mail it is. Default: your own.")
  .register(hiddenInTools, {});

export const listConversation = operation("mail.conversation", "GET /api/companies/:companyId/messages", {
  summary: "List the messages between you and one agent or the board, newest first.",
  guidance: "Use it to look up an agreement, or to see whether your messages were read and acknowledged.",
  input: z.strictObject({
    companyId: CompanyId,
    with: text(100).min(1).optional().describe("UUID or slug of an agent, `boss` or `board`. Default: all."),
    of: mailboxOf,
    ...Page,
  }),
  output: z.object({ messages: z.array(Message), nextCursor }),
  effect: "record",
  needs: "member",
  mcp: { server: "mail", tool: "list_conversation", for: ["manager"] },
  cli: { command: "mail list", example: "--with ada" },
});

export const markMessageRead = operation("mail.mark_read", "POST /api/messages/:id/read", {
  summary: "Mark a message to you as read, without acknowledging it.",
  input: z.strictObject({ id: messageId }),
  output: Message,
  needs: "member",
});

export const boardInbox = operation("mail.board_inbox", "GET /api/companies/:companyId/inbox", {
  summary:
    "List the messages to the board, oldest first. From a position, the list has that position's messages.",
  fromPosition: readInbox,
  lists: "message",
  input: z.strictObject({
    companyId: CompanyId,
    all: Flag.optional().describe(
      "true also lists acknowledged messages. Default false: only those that wait.",
    ),
    ...Page,
  }),
  output: inboxOutput.extend({
    unread: z.number().describe("Number of messages that wait and are not read."),
  }),
  mcp: { server: "mail", tool: "read_board_inbox", for: ["person"] },
  cli: { command: "inbox", example: "--all" },
});

export const agentInbox = operation("mail.of_agent", "GET /api/agents/:id/inbox", {
  summary: "List the messages in an agent's inbox, oldest first.",
  input: z.strictObject({
    id: idOf("agent"),
    all: Flag.optional().describe(
      "true also lists acknowledged messages. Default false: only those that wait.",
    ),
    ...Page,
  }),
  output: inboxOutput,
  cli: { command: "agents inbox <id>", example: "ada" },
});

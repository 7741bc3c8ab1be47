import { quoteBlock } from "../contract/phrases.ts";
import { conflict, forbidden, invalid, limited, type Refusal, refused } from "../contract/refusal.ts";

/** All texts of this folder about messages. `who` is the name of an agent, or "the board". */
export const inboxIsForAgents = (): Refusal =>
  refused("Only agents can call read_inbox.", "The board reads its inbox with agency inbox.");

export const alreadyAcknowledged = (id: string): Refusal =>
  conflict(`Message ${id} is already acknowledged.`, "read_inbox lists the messages that are waiting.");

export const changedSinceRead = (id: string): Refusal =>
  conflict(
    `Message ${id} has changed since you read it.`,
    "Call read_inbox to see what changed, then acknowledge it.",
  );

export const deferToYourself = (): Refusal =>
  refused("You can send yourself only a deferred message.", "Add `deliverAt`: send_deferred_message.");

export const boardToItself = (): Refusal =>
  invalid("The board can't write to itself.", "Name an agent in `to`.");

export const getsNoMail = ({ name, status }: { readonly name: string; readonly status: string }): Refusal =>
  refused(`${name} is ${status} and can't get mail.`, "Write to an active agent: list_roster.");

export const fileOrBody = (): Refusal =>
  invalid(
    "Send exactly one of `file` and `body`.",
    "`body` is the text itself. `file` is the id of a knowledge file that you can read.",
  );

export const noReceiver = (): Refusal =>
  invalid("The receiver is missing.", 'Add `to`: an agent, "boss", "board" or "self".');

export const onlyReceiverAcknowledges = (): Refusal =>
  refused(
    "Only the receiver of a message can acknowledge it.",
    "Wait for the agent, or write to it: agency send.",
  );

export const tooManyUnanswered = (who: string, count: number): Refusal =>
  limited(
    `${who} has ${count} messages from you that are not acknowledged, the maximum.`,
    "Wait until some are acknowledged, and combine what you have to say into one message.",
  );

export const noRoute = (who: string): Refusal =>
  forbidden(
    `You have no mail route to ${who}.`,
    "Write to your manager (to: boss), who can pass the message on. You can also write to a direct report or to yourself, and answer an unanswered message.",
  );

export const notAnswerable = (who: string): Refusal =>
  forbidden(
    `You have no mail route to ${who}, and you can't answer this message again.`,
    "Without a mail route you can answer each message once, and you can't answer an answer. Write to your manager (to: boss).",
  );

export const notTheirMessage = (id: string, who: string): Refusal =>
  invalid(
    `Message ${id} was not written to you by ${who}.`,
    "inReplyTo is the id of a message that the recipient wrote to you. list_conversation shows them.",
  );

export const onlyOwnMail = (): Refusal => forbidden("You can read only your own mail.", "Leave out `of`.");

export const alreadyDelivered = (who: string, at: string): Refusal =>
  conflict(
    `This message was delivered to ${who} at ${at}, so it can't be cancelled.`,
    "Write to the recipient again if something has changed: send_message.",
  );

export const alreadyFailed = (why: string): Refusal =>
  conflict(`This message was not delivered: ${why}.`, "You don't have to do anything.");

export const onlySenderCancels = (): Refusal =>
  refused(
    "Only the sender of a message or the board can cancel it.",
    "Acknowledge it instead: acknowledge_message.",
  );

/** To the sender, about a link in its message. */
export const linkUnreadable = (who: string, id: string, canOpen: boolean): string =>
  canOpen
    ? `${who} can't open kb://${id}. To share it, send it along: send_message with "files": ["${id}"].`
    : `${who} can't open kb://${id} through this message. You can't open it either, or it was deleted. Check the id.`;

export const cancelledBy = (who: string): string => `${who} cancelled it`;

/** To the sender of a deferred message. */
export const cancelledByBoard = (fileId: string, who: string): string =>
  `The board cancelled your deferred message to ${who} (kb://${fileId}). It was not delivered.`;

/** Reasons why a deferred message fails. They are clauses, which notDelivered() continues. */
export const receiverIs = (who: string | undefined, status: string | undefined): string =>
  `${who ?? "the receiver"} is ${status ?? "no longer in the company"}`;
export const senderIs = (status: string | undefined): string =>
  `the sender is ${status ?? "no longer in the company"}`;
export const routeEnded = (sender: string, who: string): string =>
  `${sender} has no mail route to ${who} any more`;

export const notDelivered = (fileId: string, why: string, words: string | null): string =>
  `Your deferred message (kb://${fileId}) was due now, but it was not delivered: ${why}.${
    words === null ? "" : `\n\nYour text:\n${quoteBlock(words)}`
  }`;

export const inboxTitle = "Process inbox";
export const inboxDescription =
  "Read each message (read_inbox). Create outcomes or notes for what it asks. Then acknowledge it with the result (acknowledge_message).";

/** Recorded with the text of a notice that was not delivered. */
export const inboxFull = (most: number): string => `the inbox already has ${most} unacknowledged messages`;

/** To the board. */
export const limitReached = (who: string, agentId: string, message: string): string =>
  `${who} (${agentId}) has reached a limit: ${message}\n\nYou get at most one such notice a day. Run agency audit events to see everything that was refused.`;

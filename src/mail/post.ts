import { sql } from "kysely";
import { answerable } from "../capabilities/answers.ts";
import { isActive, memberById, memberName, membersAhead } from "../capabilities/members.ts";
import { holds } from "../capabilities/rights.ts";
import type { Writing } from "../dispatch/context.ts";
import { type Actor, agentActor, append, system } from "../events/ledger.ts";
import { addVersion, fileById, insertFile } from "../knowledge/table.ts";
import { excerpt } from "../outcomes/results.ts";
import { type Enclosed, enclose, keepEnclosures } from "./enclosures.ts";
import { inboxAhead, openInbox } from "./inbox.ts";
import { endPause } from "../outcomes/table.ts";
import { type Db, query } from "../store/query.ts";
import type { NewRow } from "../store/schema.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { insertMessage, isOfPerson, markDelivered, markFailed, type MessageRow } from "./table.ts";
import * as texts from "./texts.ts";

/**
 * Posting and delivering. A message:
 *
 *   sent ──at once, or when it is due──▶ delivered ──read_inbox──▶ read ──acknowledge──▶ acknowledged
 *     ├──when due, the sender has no mail route any more──▶ failed (the text goes back to the sender, with the reason)
 *     └──before it is due, the sender or the board cancels it──▶ cancelled
 *
 * The sender's route to the receiver is checked when the message is sent and again when it is delivered. Without a route, an
 * agent may answer a message it got (capabilities/answers.ts). Delivery makes
 * sure that the receiver has exactly one open inbox outcome (inbox.ts). That outcome is workable, so the scheduler starts the
 * receiver.
 */
export interface Letter {
  readonly id?: string;
  /** The sender; null for the board. Messages of the system need no route. */
  readonly from: string | null;
  readonly bySystem?: boolean;
  /** The receiver; null for the board. */
  readonly to: string | null;
  /** The id of an existing file, or the text of a new one. */
  readonly content:
    | { readonly fileId: string; readonly version: number }
    | { readonly fileId?: string; readonly text: string };
  /** Default: now. */
  readonly deliverAt?: number;
  /** For an automatic reply: its number in the chain of replies, counted from 1. */
  readonly autoTurn?: number;
  readonly inReplyTo?: string | null;
  /** True if the sender has no mail route and uses its right to answer the message in `inReplyTo`. */
  readonly byAnswer?: boolean;
  /** The enclosed files. Default: the files that the sender wrote and the text links to. */
  readonly enclosed?: Enclosed;
  /** Why the message is not sent. Only its author can then see it. */
  readonly failure?: string;
  /** The subject of a notice, and what has changed (notices.ts). */
  readonly topic?: string;
  readonly changes?: string;
}

/** Returns the row, without its number. */
export async function post(
  { tx, companyId, newId }: Pick<Writing, "tx" | "companyId" | "newId">,
  letter: Letter,
): Promise<MessageRow> {
  const { id = newId(), content, deliverAt = tx.now } = letter;
  const fileId = content.fileId ?? newId();
  if (letter.from !== null && letter.bySystem !== true) await demandPatience(tx, letter.from, letter.to);
  if ("text" in content)
    await insertFile(tx, {
      id: fileId,
      companyId,
      kind: "message",
      description: firstLine(content.text),
      mediaType: "text/markdown",
      ownerId: null,
      content: Buffer.from(content.text),
      author: authorOf(letter),
    });
  const row: NewRow<"messages"> = {
    id,
    company_id: companyId,
    file_id: fileId,
    version: "text" in content ? 1 : content.version,
    from_id: letter.from,
    from_system: letter.bySystem === true ? 1 : 0,
    to_id: letter.to,
    sent_at: tx.now,
    deliver_at: Math.max(deliverAt, tx.now),
    delivered_at: null,
    read_at: null,
    acknowledged_at: null,
    result: null,
    failure: letter.failure ?? null,
    cancelled_at: null,
    auto_turn: letter.autoTurn ?? 0,
    in_reply_to: letter.inReplyTo ?? null,
    by_answer: letter.byAnswer === true ? 1 : 0,
    topic: letter.topic ?? null,
    changes: letter.changes ?? null,
  };
  const isDue = row.failure === null && row.deliver_at <= tx.now;
  const broken = isDue ? await brokenRoute(tx, row) : null;
  if (isDue && broken === null) row.delivered_at = tx.now;
  await insertMessage(tx, row);
  const links = "text" in content && letter.bySystem !== true ? Buffer.from(content.text) : none;
  await keepEnclosures(
    tx,
    row,
    letter.enclosed ?? (await enclose({ tx, companyId, from: letter.from }, links)),
  );
  if (broken !== null) {
    row.failure = broken;
    await fail(tx, row, broken, newId);
  } else if (isDue) await arrive(tx, row, newId);
  return { ...row, num: 0 };
}

const none = new Uint8Array();

/** Announces to the store that a message from and to these agents (null: the board or the system) will be posted. */
export function postAhead(tx: ReadTx, from: string | null, to: string | null): void {
  membersAhead(tx, from, to);
  if (to !== null) inboxAhead(tx, to);
  if (from !== null) tx.ahead(unansweredBy(to), { from, to: to ?? "", limit: mostUnanswered });
}

/** Gives a waiting notice a new text. It counts as delivered again, and is unread again. */
export async function renew(
  tx: Tx,
  message: MessageRow,
  text: string,
  changes: string,
  newId: () => string,
): Promise<void> {
  const file = await fileById(tx, message.file_id);
  if (file === undefined) throw new Error(`message ${message.id} has no file`);
  const description = firstLine(text);
  const { version } = await addVersion(tx, file, {
    content: Buffer.from(text),
    description,
    author: system,
  });
  await tx.run(setText, { id: message.id, version, changes, now: tx.now });
  await tx.run(markDelivered, { id: message.id, now: tx.now });
  const data = { message: message.id, file: message.file_id, version };
  append(tx, { ...eventOf(message), operation: "mail.renew", data });
  if (message.to_id !== null) await openInbox(tx, message.company_id, message.to_id, newId);
}

const setText = query((db, p: { id: string; version: number; changes: string; now: number }) =>
  db
    .updateTable("messages")
    .set({ version: p.version, changes: p.changes, sent_at: p.now, deliver_at: p.now, read_at: null })
    .where("id", "=", p.id),
);

/**
 * Limits the unacknowledged messages of one sender. So no sender can fill an inbox, not even its own with deferred messages.
 */
async function demandPatience(tx: ReadTx, from: string, to: string | null): Promise<void> {
  const waiting = await tx.all(unansweredBy(to), { from, to: to ?? "", limit: mostUnanswered });
  if (waiting.length < mostUnanswered) return;
  throw texts.tooManyUnanswered(await memberName(tx, to), waiting.length);
}

const mostUnanswered = 100;

/** The condition on the column repeats the one in the index. It shows that the mail of other receivers does not matter. */
const unansweredBy = (to: string | null) => (to === null ? unansweredByBoard : unansweredByAgent);
const unansweredByAgent = query((db, p: { from: string; to: string; limit: number }) =>
  unanswered(db, p).where("to_id", "=", p.to),
);
const unansweredByBoard = query((db, p: { from: string; to: string; limit: number }) => unanswered(db, p));
const unanswered = (db: Db, p: { from: string; to: string; limit: number }) =>
  db
    .selectFrom("messages")
    .select("id")
    .where("from_id", "=", p.from)
    .where(sql<string>`coalesce(to_id, '')`, "=", p.to)
    .where("acknowledged_at", "is", null)
    .where("failure", "is", null)
    .limit(p.limit);

/** Puts the message into the inbox if the sender still has a route, and marks it failed otherwise. */
export async function deliver(tx: Tx, message: NewRow<"messages">, newId: () => string): Promise<void> {
  const broken = await brokenRoute(tx, message);
  if (broken !== null) return fail(tx, message, broken, newId);
  await tx.run(markDelivered, { id: message.id, now: tx.now });
  await arrive(tx, message, newId);
}

async function fail(tx: Tx, message: NewRow<"messages">, why: string, newId: () => string): Promise<void> {
  await tx.run(markFailed, { id: message.id, failure: why });
  append(tx, { ...eventOf(message), operation: "mail.fail", data: { message: message.id, why } });
  await tellSender(tx, message, why, newId);
}

/** The effects of a message that has arrived in the inbox. */
async function arrive(tx: Tx, message: NewRow<"messages">, newId: () => string): Promise<void> {
  append(tx, {
    ...eventOf(message),
    operation: "mail.deliver",
    data: { message: message.id, file: message.file_id },
  });
  if (message.to_id === null) return;
  const isOwn = message.from_id === message.to_id && message.from_system === 0;
  await openInbox(tx, message.company_id, message.to_id, newId, isOwn);
  if (await isOfPerson(tx, message)) await endPause(tx, message.to_id);
}

/** Returns the text of a failed deferred message to its sender alone. */
async function tellSender(
  tx: Tx,
  message: NewRow<"messages">,
  why: string,
  newId: () => string,
): Promise<void> {
  const { company_id: companyId, from_id: sender, file_id: fileId } = message;
  if (message.from_system === 1) return;
  const member = await memberById(tx, sender);
  if (sender !== null && (member === undefined || !isActive(member))) return;
  const file = await fileById(tx, fileId);
  const words =
    file?.kind === "message" && file.deleted_at === null
      ? Buffer.from(await tx.blobs.read(fileId, file.hash)).toString("utf8")
      : null;
  const text = texts.notDelivered(fileId, why, words === null ? null : excerpt(words, fileId));
  await post({ tx, companyId, newId }, { from: null, bySystem: true, to: sender, content: { text } });
}

/** The reason why the sender may not write to the receiver now. Null if it may. */
export async function brokenRoute(tx: ReadTx, message: NewRow<"messages">): Promise<string | null> {
  const receiver = message.to_id === null ? null : await memberById(tx, message.to_id);
  if (receiver === undefined || (receiver !== null && !isActive(receiver)))
    return texts.receiverIs(receiver?.name, receiver?.status);
  if (message.from_id === null || message.from_system === 1) return null;
  const sender = await memberById(tx, message.from_id);
  if (sender === undefined || !isActive(sender)) return texts.senderIs(sender?.status);
  // The right to answer a message lasts as long as both agents are employed.
  if (message.by_answer === 1) return null;
  const route = message.to_id === null ? ("mail:board" as const) : (`mail:${message.to_id}` as const);
  return (await holds(tx, sender.id, route, "send"))
    ? null
    : texts.routeEnded(sender.name, receiver?.name ?? "the board");
}

/** How an agent may write to a receiver (null: the board): by a mail route, or as an answer to a message. */
export type Way = { readonly by: "route" } | { readonly by: "answer"; readonly inReplyTo: string };

/**
 * Undefined if the agent may not write. `inReplyTo` names the message to answer. Without it, the last unanswered message is
 * meant.
 */
export async function wayTo(
  tx: ReadTx,
  senderId: string,
  toId: string | null,
  inReplyTo?: string,
): Promise<Way | undefined> {
  const route = toId === null ? ("mail:board" as const) : (`mail:${toId}` as const);
  if (await holds(tx, senderId, route, "send")) return { by: "route" };
  const message = await answerable(tx, senderId, toId, inReplyTo);
  return message === undefined ? undefined : { by: "answer", inReplyTo: message };
}

function eventOf(message: NewRow<"messages">) {
  return { companyId: message.company_id, actor: system, subject: message.to_id ?? message.company_id };
}

function authorOf(letter: Letter): Actor {
  if (letter.bySystem === true) return system;
  return letter.from === null
    ? { kind: "board", agentId: null, sessionId: null, personId: null }
    : agentActor(letter.from);
}

function firstLine(body: string): string {
  const line = body.split("\n").find((candidate) => candidate.trim() !== "") ?? "Message";
  const said = line.trim();
  return `Message: ${said.length > 120 ? `${said.slice(0, 119)}…` : said}`.toWellFormed();
}

import { sql } from "kysely";
import type { Message } from "../contract/mail.ts";
import { notFound } from "../contract/refusal.ts";
import { memberById, membersAhead } from "../capabilities/members.ts";
import type { Viewer } from "../capabilities/visible.ts";
import { inUse } from "../dispatch/company-settings.ts";
import { encodeContent } from "../knowledge/content.ts";
import { contentFor, type Reader } from "../knowledge/showing.ts";
import { enclosuresOf } from "./enclosures.ts";
import { insertion } from "../store/inserts.ts";
import { counting, type Db, numbered, query, selection, updating } from "../store/query.ts";
import { agentRow } from "../store/row-by-id.ts";
import type { NewRow, Row } from "../store/schema.ts";
import type { ReadTx, Tx } from "../store/store.ts";

export type MessageRow = Row<"messages">;

export const anyMessage = selection("messages", ["id"]);

export async function messageById(tx: ReadTx, id: string): Promise<MessageRow> {
  const row = await tx.first(anyMessage, { id });
  if (row === undefined) throw notFound("message", id);
  return row;
}

export async function insertMessage(tx: Tx, row: NewRow<"messages">): Promise<void> {
  await tx.run(insertRow, row);
}

/** Whether a person wrote the message, for the board or from a position. */
export async function isOfPerson(
  tx: ReadTx,
  { from_id, from_system }: Pick<MessageRow, "from_id" | "from_system">,
): Promise<boolean> {
  if (from_system === 1) return false;
  return from_id === null || (await tx.first(agentRow, { id: from_id }))?.brain_type === "human";
}

/** A part of what an agent (null: the board) received: the messages after this number. */
export type InboxPage = {
  readonly companyId: string;
  readonly toId: string | null;
  readonly after: number;
  readonly limit: number;
};

/** The unacknowledged messages, oldest first. */
export const waitingFor = (tx: ReadTx, inbox: InboxPage): Promise<MessageRow[]> => {
  const { companyId: company_id, toId: to_id, ...page } = inbox;
  return to_id === null
    ? tx.all(waitingForBoard, { company_id, ...page })
    : tx.all(waitingForAgent, { company_id, to_id, ...page });
};

/** All messages, oldest first. */
export function receivedBy(tx: ReadTx, { companyId, toId, after, limit }: InboxPage): Promise<MessageRow[]> {
  const delivered = sql`delivered_at is not null`;
  const received = { company_id: companyId, to_id: toId };
  return tx.all(numbered("messages", received, "oldest first", after, limit, delivered), {});
}

/** Announces to the store that the first page of such a list will be read. */
export const waitingAhead = (tx: ReadTx, companyId: string, toId: string, limit: number): void =>
  tx.ahead(waitingForAgent, { company_id: companyId, to_id: toId, after: 0, limit });

/**
 * Whether at least this many messages wait for an agent (null: the board). The query looks for the message at that position and
 * reads no other.
 */
export async function isInboxFull(
  tx: ReadTx,
  companyId: string,
  toId: string | null,
  most: number,
): Promise<boolean> {
  const skipped = { companyId, skipped: most - 1 };
  const last = await (toId === null
    ? tx.first(waitingBehindForBoard, skipped)
    : tx.first(waitingBehindForAgent, { ...skipped, toId }));
  return last !== undefined;
}

/** Announces to the store that the inbox of an agent will be checked for room. */
export const fullAhead = (tx: ReadTx, companyId: string, toId: string, most: number): void =>
  tx.ahead(waitingBehindForAgent, { companyId, toId, skipped: most - 1 });

export async function countWaiting(tx: ReadTx, companyId: string, toId: string | null): Promise<number> {
  const inbox = { company_id: companyId, to_id: toId ?? "" };
  return (await tx.first(toId === null ? countForBoard : countForAgent, inbox))?.count ?? 0;
}

/** How many messages wait for an agent apart from this one. */
export async function countOthers(tx: ReadTx, companyId: string, toId: string, id: string): Promise<number> {
  return (await tx.first(countBeside, { company_id: companyId, to_id: toId, id }))?.count ?? 0;
}

export const othersAhead = (tx: ReadTx, companyId: string, toId: string, id: string): void =>
  tx.ahead(countBeside, { company_id: companyId, to_id: toId, id });

/** The number of delivered messages that read_inbox has not returned yet. */
export async function countUnread(tx: ReadTx, agentId: string): Promise<number> {
  return (await tx.first(unreadOf, { to_id: agentId }))?.count ?? 0;
}

export async function countUnreadOfBoard(tx: ReadTx, companyId: string): Promise<number> {
  return (await tx.first(unreadOfBoard, { company_id: companyId }))?.count ?? 0;
}

/**
 * The mail between `mine` and `other` in both directions, newest first. Null is the board. Without `other`: all mail of `mine`,
 * including notices of the system. Only the sender can see a message that is not delivered.
 */
export function mailBetween(
  tx: ReadTx,
  companyId: string,
  sides: { readonly mine: string | null; readonly other?: string | null },
  before: number,
  limit: number,
): Promise<MessageRow[]> {
  const { mine, other } = sides;
  const is = (column: "from_id" | "to_id", id: string | null) =>
    id === null ? sql<boolean>`${sql.ref(column)} is null` : sql<boolean>`${sql.ref(column)} = ${id}`;
  const written = sql<boolean>`from_system = 0`;
  const to = other === undefined ? sql<boolean>`1 = 1` : is("to_id", other);
  const from =
    other === undefined ? sql<boolean>`1 = 1` : sql<boolean>`${is("from_id", other)} and ${written}`;
  const exchanged = sql`((${is("from_id", mine)} and ${written} and ${to})
    or (${is("to_id", mine)} and delivered_at is not null and ${from}))`;
  return tx.all(
    numbered("messages", { company_id: companyId }, "newest first", before, limit, exchanged),
    {},
  );
}

/**
 * Spelled as in the index of due mail. A message that was meant for immediate delivery, but can't be delivered yet, does not
 * count as deferred.
 */
const waitsForItsTime = sql<boolean>`delivered_at is null and failure is null and deliver_at > sent_at`;

export function sentBy(
  tx: ReadTx,
  companyId: string,
  fromId: string | null,
  before: number,
  limit: number,
  isDeferred: boolean,
): Promise<MessageRow[]> {
  const sent = { company_id: companyId, from_id: fromId, from_system: 0 } as const;
  const deferred = isDeferred && waitsForItsTime;
  return tx.all(numbered("messages", sent, "newest first", before, limit, deferred), {});
}

/** Mail that waits for its time. In an archived company it waits until the company is active again. */
export const undelivered = sql`delivered_at is null and failure is null and ${inUse("messages")}`;

export const markDelivered = query((db, p: { id: string; now: number }) =>
  db.updateTable("messages").set({ delivered_at: p.now }).where("id", "=", p.id),
);
export const markFailed = query((db, p: { id: string; failure: string }) =>
  db.updateTable("messages").set({ failure: p.failure }).where("id", "=", p.id),
);
export const markCancelled = updating("messages", ["failure", "cancelled_at"], ["id"]);
/** Marks a message as read. The receiver is repeated in the condition, which shows that the mail of others does not change. */
export async function markRead(
  tx: Tx,
  { id, to_id: to }: { readonly id: string; readonly to_id: string | null },
): Promise<void> {
  if (to === null) await tx.run(readByBoard, { id, now: tx.now });
  else await tx.run(readByAgent, { id, to, now: tx.now });
}

export async function markAcknowledged(
  tx: Tx,
  message: MessageRow,
  result: string | null,
): Promise<MessageRow> {
  const { id, to_id: to } = message;
  if (to === null) await tx.run(acknowledgeByBoard, { id, result, now: tx.now });
  else await tx.run(acknowledgeByAgent, { id, to, result, now: tx.now });
  return { ...message, acknowledged_at: tx.now, result, read_at: message.read_at ?? tx.now };
}

const reading = (db: Db, p: { id: string; now: number }) =>
  db.updateTable("messages").set({ read_at: p.now }).where("id", "=", p.id).where("read_at", "is", null);
const readByBoard = query(reading);
const readByAgent = query((db, p: { id: string; to: string; now: number }) =>
  reading(db, p).where("to_id", "=", p.to),
);

const acknowledging = (db: Db, p: { id: string; result: string | null; now: number }) =>
  db
    .updateTable("messages")
    .set({ acknowledged_at: p.now, result: p.result, read_at: sql<number>`coalesce(read_at, ${p.now})` })
    .where("id", "=", p.id);
const acknowledgeByBoard = query(acknowledging);
const acknowledgeByAgent = query((db, p: { id: string; to: string; result: string | null; now: number }) =>
  acknowledging(db, p).where("to_id", "=", p.to),
);

const bodyLimit = 64 * 1024;

/** The body is the sent version. It is null for a reader that may not, or may no longer, read that version. */
export async function presentMessage(reader: Reader, row: MessageRow): Promise<Message> {
  return (await shownWith(reader, row))(row);
}

/**
 * Reads the parts of a message that are shown, and presents them after a change that does not touch its text, files and
 * answers.
 */
export async function shownWith(
  reader: Reader,
  row: MessageRow,
): Promise<(changed: MessageRow) => Promise<Message>> {
  const { tx } = reader;
  membersAhead(tx, row.from_id, row.to_id);
  // All queries at once, because on PostgreSQL each wait costs a round trip.
  const [sent, files, answers] = await Promise.all([
    contentFor(reader, row.file_id, row.version, bodyLimit),
    enclosuresOf(tx, reader.actor, row.id),
    answersTo(reader, row.id),
  ]);
  return (changed) => present(tx, changed, { content: sent?.content, files, answers });
}

/** A message whose sender has just written its text. It has no answers yet. */
export async function presentNew(
  tx: ReadTx,
  actor: Viewer,
  row: MessageRow,
  written: Uint8Array,
  encloses: boolean,
): Promise<Message> {
  const files = encloses ? await enclosuresOf(tx, actor, row.id) : [];
  const content = written.byteLength > bodyLimit ? undefined : written;
  return present(tx, row, { content, files, answers: [] });
}

async function present(
  tx: ReadTx,
  row: MessageRow,
  shown: { content: Uint8Array | undefined; files: Message["files"]; answers: string[] },
): Promise<Message> {
  const [from, to] = await Promise.all([party(tx, row.from_id), party(tx, row.to_id)]);
  const encoded = shown.content === undefined ? undefined : encodeContent(shown.content);
  return {
    id: row.id,
    from: row.from_system === 1 ? { kind: "system", id: null, name: "Agency" } : from,
    to,
    file: row.file_id,
    body: encoded?.encoding === "utf8" ? encoded.content : null,
    sentAt: iso(row.sent_at),
    deliverAt: iso(row.deliver_at),
    deliveredAt: orNull(row.delivered_at),
    readAt: orNull(row.read_at),
    acknowledgedAt: orNull(row.acknowledged_at),
    result: row.result,
    failure: row.failure,
    cancelledAt: orNull(row.cancelled_at),
    files: shown.files,
    inReplyTo: row.in_reply_to,
    answers: shown.answers,
  };
}

/** An agent sees the answers it wrote and those it got. */
async function answersTo({ tx, actor: { agentId } }: Reader, id: string): Promise<string[]> {
  const answers = await tx.all(answersOf, { in_reply_to: id });
  return answers
    .filter((row) => agentId === null || row.from_id === agentId || isReceived(row, agentId))
    .map((row) => row.id);
}

const answersOf = selection("messages", ["in_reply_to"], sql`and failure is null order by num limit 100`);

/** A message that is not delivered yet does not exist for its receiver. */
export const isReceived = (row: MessageRow, by: string | null): boolean =>
  row.to_id === by && row.delivered_at !== null;

async function party(tx: ReadTx, agentId: string | null): Promise<Message["to"]> {
  if (agentId === null) return { kind: "board", id: null, name: "the board" };
  return { kind: "agent", id: agentId, name: (await memberById(tx, agentId))?.name ?? "" };
}

const iso = (time: number): string => new Date(time).toISOString();
const orNull = (time: number | null): string | null => (time === null ? null : iso(time));

const isWaiting = sql`delivered_at is not null and acknowledged_at is null`;
const inOrder = (p: Pick<InboxPage, "after" | "limit">) =>
  sql`and ${isWaiting} and num > ${p.after} order by num limit ${p.limit}`;
const waitingForAgent = selection("messages", ["company_id", "to_id"], inOrder);
const waitingForBoard = selection(
  "messages",
  ["company_id"],
  (p: Pick<InboxPage, "after" | "limit">) => sql`and to_id is null ${inOrder(p)}`,
);

const waitingBehind = (db: Db, p: { companyId: string; skipped: number }) =>
  db
    .selectFrom("messages")
    .select("id")
    .where("company_id", "=", p.companyId)
    .where("delivered_at", "is not", null)
    .where("acknowledged_at", "is", null)
    .limit(1)
    .offset(p.skipped);
const waitingBehindForBoard = query((db, p: { companyId: string; skipped: number }) =>
  waitingBehind(db, p).where("to_id", "is", null),
);
const waitingBehindForAgent = query((db, p: { companyId: string; toId: string; skipped: number }) =>
  waitingBehind(db, p).where("to_id", "=", p.toId),
);

const insertRow = insertion("messages");

const countForAgent = counting("messages", ["company_id", "to_id"], sql`and ${isWaiting}`);
const countForBoard = counting("messages", ["company_id"], sql`and to_id is null and ${isWaiting}`);
const countBeside = counting(
  "messages",
  ["company_id", "to_id"],
  (p: { id: string }) => sql`and ${isWaiting} and id <> ${p.id}`,
);
const unreadOf = counting("messages", ["to_id"], sql`and ${isWaiting} and read_at is null`);
const unreadOfBoard = counting(
  "messages",
  ["company_id"],
  sql`and to_id is null and ${isWaiting} and read_at is null`,
);

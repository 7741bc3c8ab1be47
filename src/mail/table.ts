import { sql } from "kysely";
import type { Message } from "../contract/mail.ts";
import { notFound } from "../contract/refusal.ts";
import { encodeContent } from "../knowledge/content.ts";
import { contentFor, type Reader } from "../knowledge/showing.ts";
import { dynamic, insertion, query } from "../store/query.ts";
import type { NewRow, Row } from "../store/schema.ts";
import type { ReadTx, Tx } from "../store/store.ts";

export type MessageRow = Row<"messages">;

export const anyMessage = query((db, p: { id: string }) =>
  db.selectFrom("messages").selectAll().where("id", "=", p.id),
);

export async function messageById(tx: ReadTx, id: string): Promise<MessageRow> {
  const row = await tx.first(anyMessage, { id });
  if (row === undefined) throw notFound("message", id);
  return row;
}

export async function insertMessage(tx: Tx, row: NewRow<"messages">): Promise<void> {
  await tx.run(insertRow, row);
}

/** The unacknowledged messages of an agent (null: the board), oldest first. */
export function waitingFor(
  tx: ReadTx,
  companyId: string,
  toId: string | null,
  after: number,
  limit: number,
): Promise<MessageRow[]> {
  return toId === null
    ? tx.all(waitingForBoard, { companyId, after, limit })
    : tx.all(waitingForAgent, { companyId, toId, after, limit });
}

export async function countWaiting(tx: ReadTx, companyId: string, toId: string | null): Promise<number> {
  const row = await tx.first(toId === null ? countForBoard : countForAgent, { companyId, toId: toId ?? "" });
  return row?.count ?? 0;
}

/** Delivered, and not yet returned by read_inbox. */
export async function countUnread(tx: ReadTx, agentId: string): Promise<number> {
  return (await tx.first(unreadOf, { agentId }))?.count ?? 0;
}

/** Everything the board got, oldest first. */
export const allForBoard = query((db, p: { companyId: string; after: number; limit: number }) =>
  db
    .selectFrom("messages")
    .selectAll()
    .where("company_id", "=", p.companyId)
    .where("to_id", "is", null)
    .where("delivered_at", "is not", null)
    .where("num", ">", p.after)
    .orderBy("num")
    .limit(p.limit),
);

export function sentBy(
  tx: ReadTx,
  companyId: string,
  fromId: string | null,
  before: number,
  limit: number,
): Promise<MessageRow[]> {
  return tx.all(
    dynamic((db) =>
      db
        .selectFrom("messages")
        .selectAll()
        .where("company_id", "=", companyId)
        .where("from_id", fromId === null ? "is" : "=", fromId)
        .where("from_system", "=", 0)
        .where("num", "<", before)
        .orderBy("num", "desc")
        .limit(limit),
    ),
    {},
  );
}

export const dueMessages = query((db, p: { now: number; limit: number }) =>
  db
    .selectFrom("messages")
    .select(["id", "company_id"])
    .where("delivered_at", "is", null)
    .where("failure", "is", null)
    .where("deliver_at", "<=", p.now)
    .orderBy("deliver_at")
    .limit(p.limit),
);

export const nextDue = query((db, _: Record<never, never>) =>
  db
    .selectFrom("messages")
    .select("deliver_at")
    .where("delivered_at", "is", null)
    .where("failure", "is", null)
    .orderBy("deliver_at")
    .limit(1),
);

export const markDelivered = query((db, p: { id: string; now: number }) =>
  db.updateTable("messages").set({ delivered_at: p.now }).where("id", "=", p.id),
);
export const markFailed = query((db, p: { id: string; failure: string }) =>
  db.updateTable("messages").set({ failure: p.failure }).where("id", "=", p.id),
);
export const markRead = query((db, p: { id: string; now: number }) =>
  db.updateTable("messages").set({ read_at: p.now }).where("id", "=", p.id).where("read_at", "is", null),
);
export const markAcknowledged = query((db, p: { id: string; result: string | null; now: number }) =>
  db
    .updateTable("messages")
    .set({ acknowledged_at: p.now, result: p.result, read_at: sql<number>`coalesce(read_at, ${p.now})` })
    .where("id", "=", p.id),
);

const bodyLimit = 64 * 1024;

/** The body is the version that was sent. It is null for a reader that may not, or may no longer, read that version. */
export async function presentMessage(reader: Reader, row: MessageRow): Promise<Message> {
  const { tx } = reader;
  const sent = await contentFor(reader, row.file_id, row.version, bodyLimit);
  const encoded = sent === undefined ? undefined : encodeContent(sent.content);
  return {
    id: row.id,
    from: row.from_system === 1 ? { kind: "system", id: null, name: "Agency" } : await party(tx, row.from_id),
    to: await party(tx, row.to_id),
    file: row.file_id,
    body: encoded?.encoding === "utf8" ? encoded.content : null,
    sentAt: iso(row.sent_at),
    deliverAt: iso(row.deliver_at),
    deliveredAt: orNull(row.delivered_at),
    readAt: orNull(row.read_at),
    acknowledgedAt: orNull(row.acknowledged_at),
    result: row.result,
    failure: row.failure,
  };
}

async function party(tx: ReadTx, agentId: string | null): Promise<Message["to"]> {
  if (agentId === null) return { kind: "board", id: null, name: "the board" };
  return { kind: "agent", id: agentId, name: (await tx.first(nameOf, { id: agentId }))?.name ?? "" };
}

const iso = (time: number): string => new Date(time).toISOString();
const orNull = (time: number | null): string | null => (time === null ? null : iso(time));

const nameOf = query((db, p: { id: string }) =>
  db.selectFrom("agents").select("name").where("id", "=", p.id),
);

const waitingForBoard = query((db, p: { companyId: string; after: number; limit: number }) =>
  db
    .selectFrom("messages")
    .selectAll()
    .where("company_id", "=", p.companyId)
    .where("to_id", "is", null)
    .where("delivered_at", "is not", null)
    .where("acknowledged_at", "is", null)
    .where("num", ">", p.after)
    .orderBy("num")
    .limit(p.limit),
);
const waitingForAgent = query((db, p: { companyId: string; toId: string; after: number; limit: number }) =>
  db
    .selectFrom("messages")
    .selectAll()
    .where("company_id", "=", p.companyId)
    .where("to_id", "=", p.toId)
    .where("delivered_at", "is not", null)
    .where("acknowledged_at", "is", null)
    .where("num", ">", p.after)
    .orderBy("num")
    .limit(p.limit),
);

const countForBoard = query((db, p: { companyId: string; toId: string }) =>
  db
    .selectFrom("messages")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("company_id", "=", p.companyId)
    .where("to_id", "is", null)
    .where("delivered_at", "is not", null)
    .where("acknowledged_at", "is", null),
);
const countForAgent = query((db, p: { companyId: string; toId: string }) =>
  db
    .selectFrom("messages")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("company_id", "=", p.companyId)
    .where("to_id", "=", p.toId)
    .where("delivered_at", "is not", null)
    .where("acknowledged_at", "is", null),
);

const insertRow = insertion("messages");

const unreadOf = query((db, p: { agentId: string }) =>
  db
    .selectFrom("messages")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("to_id", "=", p.agentId)
    .where("delivered_at", "is not", null)
    .where("acknowledged_at", "is", null)
    .where("read_at", "is", null),
);

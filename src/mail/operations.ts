import * as contract from "../contract/mail.ts";
import { notFound } from "../contract/refusal.ts";
import { type Call, guarded } from "../dispatch/guarded.ts";
import type { CallContext, Writing } from "../dispatch/context.ts";
import { findMember, isActive, type Member, memberById, rootAgentOf } from "../capabilities/members.ts";
import { cursorRow, defaultPage, pageAfter } from "../dispatch/page.ts";
import { visibleVersions } from "../capabilities/visible.ts";
import { append, system } from "../events/ledger.ts";
import { fileById } from "../knowledge/table.ts";
import { fileDeleted } from "../knowledge/texts.ts";
import { query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { demandRoute, type Letter, post, settleInbox } from "./post.ts";
import {
  allForBoard,
  anyMessage,
  countWaiting,
  markAcknowledged,
  markRead,
  messageById,
  type MessageRow,
  presentMessage,
  sentBy,
  waitingFor,
} from "./table.ts";
import * as texts from "./texts.ts";

const onSend = guarded(contract.sendMessage, (call) => send(call, call.input.to, null));

const onSendDeferred = guarded(contract.sendDeferredMessage, (call) =>
  send(call, call.input.to, Date.parse(call.input.deliverAt)),
);

const onReadInbox = guarded(contract.readInbox, async (call) => {
  const { tx, actor } = call;
  if (actor.agentId === null) throw texts.inboxIsForAgents();
  const page = await inboxPage(call, actor.agentId, call.input);
  for (const { id } of page.messages) await tx.run(markRead, { id, now: tx.now });
  return page;
});

const onAcknowledge = guarded(contract.acknowledgeMessage, async (call) => {
  const { tx, actor, input } = call;
  const message = await messageById(tx, input.id);
  await demandReceiver(tx, actor.agentId, message);
  if (message.delivered_at === null) throw notFound("message", input.id);
  if (message.acknowledged_at !== null) throw texts.alreadyAcknowledged(message.id);
  await acknowledge(call, message, input.result ?? null);
  return presentMessage(call, await messageById(tx, message.id));
});

export async function acknowledge(call: Writing, message: MessageRow, result: string | null): Promise<void> {
  const { tx, companyId } = call;
  await tx.run(markAcknowledged, { id: message.id, result, now: tx.now });
  await call.record(message.to_id ?? companyId, { message: message.id, result }, "mail.acknowledge");
  if (message.to_id !== null) await settleInbox(tx, companyId, message.to_id);
}

const onView = guarded(contract.viewMessage, async (call) => {
  const { actor, input } = call;
  const message = await messageById(call.tx, input.id);
  const mine =
    message.from_id === actor.agentId || (message.to_id === actor.agentId && message.delivered_at !== null);
  if (actor.agentId !== null && !mine) throw notFound("message", input.id);
  return presentMessage(call, message);
});

const onSent = guarded(contract.listSent, async (call) => {
  const { tx, actor, companyId, input } = call;
  const limit = input.limit ?? defaultPage;
  const last = await cursorRow(input.cursor, (id) => listed(call, id, "from_id", actor.agentId));
  const before = last?.num ?? Number.MAX_SAFE_INTEGER;
  return presentPage(call, await sentBy(tx, companyId, actor.agentId, before, limit + 1), limit);
});

const onBoardInbox = guarded(contract.boardInbox, async (call) => {
  const { tx, companyId, input } = call;
  if (input.all !== true) return inboxPage(call, null, input);
  const limit = input.limit ?? defaultPage;
  const last = await cursorRow(input.cursor, (id) => listed(call, id, "to_id", null));
  const rows = await tx.all(allForBoard, { companyId, after: last?.num ?? 0, limit: limit + 1 });
  return { ...(await presentPage(call, rows, limit)), waiting: await countWaiting(tx, companyId, null) };
});

const onAgentInbox = guarded(contract.agentInbox, (call) => inboxPage(call, call.input.id, call.input));

export const mailHandlers = [
  onSend,
  onSendDeferred,
  onReadInbox,
  onAcknowledge,
  onView,
  onSent,
  onBoardInbox,
  onAgentInbox,
];

/**
 * Sends a notice of the system to an agent or, for null, to the board. A notice that an automatic reply caused counts as a
 * turn of that chain of replies (autoTurn). Otherwise two agents could keep each other busy for ever through notices.
 */
export async function notify(call: Writing, to: string | null, text: string, autoTurn = 0): Promise<void> {
  const { tx, companyId } = call;
  const id = call.newId();
  // A receiver that left so many messages unacknowledged would not read another. The notice is only recorded.
  if ((await waitingFor(tx, companyId, to, 0, mostWaiting)).length === mostWaiting) {
    const data = {
      message: id,
      why: texts.inboxFull(mostWaiting),
      text: text.slice(0, 500).toWellFormed(),
    };
    append(tx, { companyId, actor: system, operation: "mail.drop", subject: to ?? companyId, data });
    return;
  }
  await post(call, { id, from: null, bySystem: true, to, autoTurn, content: { text } });
}

const mostWaiting = 1000;

async function send(
  call: Call<{ file?: string | undefined; body?: string | undefined }>,
  reference: string | undefined,
  later: number | null,
): Promise<contract.Message> {
  const { tx, actor, companyId, input } = call;
  const deliverAt = later ?? tx.now;
  const sender = actor.agentId === null ? null : await memberById(tx, actor.agentId);
  const to = await receiverOf(tx, companyId, sender ?? null, reference);
  if (later === null && to !== null && to.id === actor.agentId) throw texts.deferToYourself();
  if (sender !== null && sender !== undefined) await demandRoute(tx, sender, to);
  else if (to === null) throw texts.boardToItself();
  // A route to an inactive agent may still exist, but a message to it would wait unread or fail on delivery.
  if (to !== null && !isActive(to)) throw texts.getsNoMail(to);
  const content = await contentOf(call, input);
  const letter = { id: call.newId(), from: actor.agentId, to: to?.id ?? null, content, deliverAt };
  // Recorded before delivery, because post() records the delivery and the ledger must show the two in order.
  await call.record(letter.to ?? companyId, { message: letter.id, file: content.fileId, deliverAt });
  // The sender has just written or named the content, so showing it again is not logged as a reading.
  const quietly = { ...call, record: async (): Promise<void> => undefined };
  return presentMessage(quietly, await post(call, letter));
}

async function contentOf(
  call: Writing,
  input: { file?: string | undefined; body?: string | undefined },
): Promise<Letter["content"]> {
  if ((input.file === undefined) === (input.body === undefined)) throw texts.fileOrBody();
  if (input.body !== undefined) return { fileId: call.newId(), text: input.body };
  const id = input.file ?? "";
  const file = await fileById(call.tx, id);
  const versions = await visibleVersions(call.tx, call.actor, id);
  if (file === undefined || file.company_id !== call.companyId || versions.length === 0)
    throw notFound("file", id);
  if (file.deleted_at !== null) throw fileDeleted(file);
  return { fileId: id, version: versions === "all" ? file.version : Math.max(...versions) };
}

async function receiverOf(
  tx: ReadTx,
  companyId: string,
  sender: Member | null,
  reference: string | undefined,
): Promise<Member | null> {
  const word = reference?.trim().replace(/^@/, "").toLowerCase();
  if (word === undefined) {
    if (sender !== null) throw texts.noReceiver();
    return findMember(tx, companyId, (await rootAgentOf(tx, companyId)) ?? "");
  }
  if (word === "board" || word === "human") return null;
  if (word === "self" && sender !== null) return sender;
  if (word === "boss" && sender !== null)
    return sender.boss_id === null ? null : findMember(tx, companyId, sender.boss_id);
  return findMember(tx, companyId, word);
}

/** Only the receiver may acknowledge a message. The board may do so for itself and for an agent that is a person. */
async function demandReceiver(tx: ReadTx, agentId: string | null, message: MessageRow): Promise<void> {
  if (message.to_id === agentId) return;
  const receiver = message.to_id === null ? undefined : await tx.first(brainOf, { id: message.to_id });
  if (agentId === null && receiver?.brain_type === "human") return;
  if (agentId !== null) throw notFound("message", message.id);
  throw texts.onlyReceiverAcknowledges();
}

async function inboxPage(
  call: CallContext,
  toId: string | null,
  input: { limit?: number | undefined; cursor?: string | undefined },
) {
  const { tx, companyId } = call;
  const limit = input.limit ?? defaultPage;
  const last = await cursorRow(input.cursor, (id) => listed(call, id, "to_id", toId));
  const rows = await waitingFor(tx, companyId, toId, last?.num ?? 0, limit + 1);
  return { ...(await presentPage(call, rows, limit)), waiting: await countWaiting(tx, companyId, toId) };
}

/** A message of the list that a cursor comes from. */
async function listed(
  { tx, companyId }: CallContext,
  id: string,
  end: "from_id" | "to_id",
  party: string | null,
): Promise<MessageRow | undefined> {
  const row = await tx.first(anyMessage, { id });
  return row?.company_id === companyId &&
    row[end] === party &&
    (end === "from_id" || row.delivered_at !== null)
    ? row
    : undefined;
}

async function presentPage(call: CallContext, rows: MessageRow[], limit: number) {
  const { page, nextCursor } = pageAfter(rows, limit, (row) => row.id);
  const messages = [];
  for (const row of page) messages.push(await presentMessage(call, row));
  return { messages, nextCursor };
}

const brainOf = query((db, p: { id: string }) =>
  db.selectFrom("agents").select("brain_type").where("id", "=", p.id),
);

import { z } from "zod";
import * as contract from "../contract/mail.ts";
import { nameKey } from "../contract/names.ts";
import type { UnreadableLink } from "../contract/outcomes.ts";
import { notFound } from "../contract/refusal.ts";
import { type Call, guarded } from "../dispatch/guarded.ts";
import type { CallContext, Writing } from "../dispatch/context.ts";
import type { KnownHome } from "../dispatch/homes.ts";
import {
  findMember,
  isActive,
  type Member,
  memberById,
  memberName,
  membersAhead,
  rootAgentOf,
} from "../capabilities/members.ts";
import { mailRightAhead } from "../capabilities/rights.ts";
import { cursorRow, defaultPage, pageAfter } from "../dispatch/page.ts";
import { storageAhead, versionAt } from "../knowledge/table.ts";
import type { ReadTx } from "../store/store.ts";
import { agentRow } from "../store/row-by-id.ts";
import { enclose, unreadableIn, versionToSend } from "./enclosures.ts";
import { notify } from "./notices.ts";
import { completeInbox, inboxAhead, inboxScopeAhead } from "./inbox.ts";
import { type Letter, post, postAhead, wayTo } from "./post.ts";
import {
  anyMessage,
  countOthers,
  countUnreadOfBoard,
  countWaiting,
  isReceived,
  mailBetween,
  markAcknowledged,
  markCancelled,
  markRead,
  messageById,
  type MessageRow,
  othersAhead,
  presentMessage,
  presentNew,
  receivedBy,
  sentBy,
  shownWith,
  waitingAhead,
  waitingFor,
} from "./table.ts";
import * as texts from "./texts.ts";

const onSend = guarded(contract.sendMessage, (call) => send(call, call.input.to, null), sendAhead);

const onSendDeferred = guarded(
  contract.sendDeferredMessage,
  (call) => send(call, call.input.to, Date.parse(call.input.deliverAt)),
  sendAhead,
);

const onReadInbox = guarded(
  contract.readInbox,
  async (call) => {
    const { tx, actor } = call;
    if (actor.agentId === null) throw texts.inboxIsForAgents();
    const page = await inboxPage(call, actor.agentId, call.input);
    for (const { id } of page.messages) await markRead(tx, { id, to_id: actor.agentId });
    return page;
  },
  (tx, { limit = defaultPage }, { companyId, agentId }) => {
    if (agentId !== null) waitingAhead(tx, companyId, agentId, limit + 1);
  },
);

const onAcknowledge = guarded(contract.acknowledgeMessage, acknowledgeOne, (tx, { id }, home) => {
  if (home.agentId === null) return;
  inboxAhead(tx, home.agentId);
  othersAhead(tx, home.companyId, home.agentId, id);
});

async function acknowledgeOne(call: Call<{ id: string; result?: string | undefined }>) {
  const { tx, actor, input } = call;
  const message = await messageById(tx, input.id);
  await demandReceiver(tx, actor.agentId, message);
  if (message.delivered_at === null && message.failure === null) throw notFound("message", input.id);
  if (message.acknowledged_at !== null) throw texts.alreadyAcknowledged(message.id);
  // The receiver has read only an earlier text of this notice. Acknowledging it now would lose the last change.
  if (message.topic !== null && message.version > 1 && message.read_at === null && actor.agentId !== null)
    throw texts.changedSinceRead(message.id);
  if (message.to_id !== null) await inboxScopeAhead(tx, message.to_id);
  const present = await shownWith(call, message);
  return present(await acknowledge(call, message, input.result ?? null));
}

export async function acknowledge(
  call: Writing,
  message: MessageRow,
  result: string | null,
): Promise<MessageRow> {
  const { tx, companyId } = call;
  const { id, to_id: receiver } = message;
  if (receiver !== null) inboxAhead(tx, receiver);
  const isLast = receiver !== null && (await countOthers(tx, companyId, receiver, id)) === 0;
  const saved = await markAcknowledged(tx, message, result);
  await call.record(receiver ?? companyId, { message: id, result }, "mail.acknowledge");
  if (isLast) await completeInbox(tx, companyId, receiver);
  return saved;
}

/**
 * A message that its receiver views counts as read. It does not if the board views the mail of an agent, or if a viewer, who only
 * watches, views the mail of the board.
 */
const onView = guarded(contract.viewMessage, async (call) => {
  const { tx, actor, caller, input } = call;
  const message = await messageById(tx, input.id);
  const isMine = isReceived(message, actor.agentId);
  if (actor.agentId !== null && message.from_id !== actor.agentId && !isMine)
    throw notFound("message", input.id);
  if (isMine && caller.person?.role !== "viewer") await markRead(tx, message);
  return presentMessage(call, await messageById(tx, message.id));
});

const onMarkRead = guarded(contract.markMessageRead, async (call) => {
  const { tx, actor, input } = call;
  const message = await messageById(tx, input.id);
  await demandReceiver(tx, actor.agentId, message);
  if (message.delivered_at === null) throw notFound("message", input.id);
  await markRead(tx, message);
  await call.record(message.to_id ?? call.companyId, { message: message.id });
  return presentMessage(call, await messageById(tx, message.id));
});

/** Delivery and cancelling hold the lock of the company, so exactly one of them happens. */
const onCancel = guarded(contract.cancelMessage, async (call) => {
  const { tx, actor, companyId, input } = call;
  const message = await messageById(tx, input.id);
  if (actor.agentId !== null && message.from_id !== actor.agentId)
    throw isReceived(message, actor.agentId) ? texts.onlySenderCancels() : notFound("message", input.id);
  const to = await memberName(tx, message.to_id, "the board");
  if (message.delivered_at !== null)
    throw texts.alreadyDelivered(to, new Date(message.delivered_at).toISOString());
  if (message.failure !== null) throw texts.alreadyFailed(message.failure);
  const by = await memberName(tx, actor.agentId, "the board");
  await tx.run(markCancelled, { id: message.id, failure: texts.cancelledBy(by), cancelled_at: tx.now });
  await call.record(message.to_id ?? companyId, { message: message.id, from: message.from_id });
  if (message.from_id !== null && message.from_id !== actor.agentId)
    await notify(call, message.from_id, texts.cancelledByBoard(message.file_id, to));
  return presentMessage(call, await messageById(tx, message.id));
});

const onConversation = guarded(contract.listConversation, async (call) => {
  const { tx, companyId, input } = call;
  const mine = await mailboxOf(call, input.of);
  const me = mine === null ? null : ((await memberById(tx, mine)) ?? null);
  const other = input.with === undefined ? undefined : await receiverOf(tx, companyId, me, input.with);
  const sides = { mine, ...(other === undefined ? {} : { other: other?.id ?? null }) };
  const limit = input.limit ?? defaultPage;
  const last = await cursorRow(input.cursor, async (id) => {
    const row = await tx.first(anyMessage, { id });
    return row?.company_id === companyId && (row.from_id === mine || isReceived(row, mine)) ? row : undefined;
  });
  const rows = await mailBetween(tx, companyId, sides, last?.num ?? Number.MAX_SAFE_INTEGER, limit + 1);
  return presentPage(call, rows, limit);
});

const onSent = guarded(contract.listSent, async (call) => {
  const { tx, actor, companyId, input } = call;
  const limit = input.limit ?? defaultPage;
  const last = await cursorRow(input.cursor, (id) => listed(call, id, "from_id", actor.agentId));
  const before = last?.num ?? Number.MAX_SAFE_INTEGER;
  return presentPage(
    call,
    await sentBy(tx, companyId, actor.agentId, before, limit + 1, input.deferred === true),
    limit,
  );
});

const onBoardInbox = guarded(contract.boardInbox, async (call) => ({
  ...(await inboxPage(call, null, call.input)),
  unread: await countUnreadOfBoard(call.tx, call.companyId),
}));

const onAgentInbox = guarded(contract.agentInbox, (call) => inboxPage(call, call.input.id, call.input));

export const mailHandlers = [
  onSend,
  onSendDeferred,
  onReadInbox,
  onAcknowledge,
  onView,
  onMarkRead,
  onCancel,
  onSent,
  onConversation,
  onBoardInbox,
  onAgentInbox,
];

async function send(
  call: Call<{
    file?: string | undefined;
    body?: string | undefined;
    files?: string[] | undefined;
    inReplyTo?: string | undefined;
  }>,
  reference: string | undefined,
  later: number | null,
): Promise<contract.Message & { unreadable: UnreadableLink[] }> {
  const { tx, actor, companyId, input } = call;
  const deliverAt = later ?? tx.now;
  const sender = actor.agentId === null ? null : await memberById(tx, actor.agentId);
  const asked = input.inReplyTo === undefined ? undefined : await answeredBy(call, input.inReplyTo);
  const to =
    reference === undefined && asked !== undefined
      ? ((await memberById(tx, asked.from_id)) ?? null)
      : await receiverOf(tx, companyId, sender ?? null, reference);
  if (later === null && to !== null && to.id === actor.agentId) throw texts.deferToYourself();
  const who = to?.name ?? "the board";
  if (asked !== undefined && (asked.from_id !== (to?.id ?? null) || asked.from_system === 1))
    throw texts.notTheirMessage(asked.id, who);
  if (actor.agentId === null && to === null) throw texts.boardToItself();
  postAhead(tx, actor.agentId, to?.id ?? null);
  const way = actor.agentId === null ? undefined : await wayTo(tx, actor.agentId, to?.id ?? null, asked?.id);
  if (actor.agentId !== null && way === undefined)
    throw asked === undefined ? texts.noRoute(who) : texts.notAnswerable(who);
  // The route to an inactive agent may still exist, but a message to it would wait unread or fail on delivery.
  if (to !== null && !isActive(to)) throw texts.getsNoMail(to);
  const sending = { tx, companyId, from: actor.agentId };
  const { content, bytes } = await contentOf(call, input);
  const enclosed = await enclose(sending, bytes, input.files);
  const byAnswer = way?.by === "answer";
  const inReplyTo = way?.by === "answer" ? way.inReplyTo : (asked?.id ?? null);
  const letter = {
    id: call.newId(),
    from: actor.agentId,
    to: to?.id ?? null,
    content,
    deliverAt,
    inReplyTo,
    byAnswer,
    enclosed,
  };
  // Recorded before delivery, because post() records the delivery and the ledger must show the two in order.
  const facts = { message: letter.id, file: content.fileId, deliverAt };
  await call.record(letter.to ?? companyId, {
    ...facts,
    ...(inReplyTo === null ? {} : { inReplyTo, byAnswer }),
    ...(enclosed.size === 0
      ? {}
      : { files: Object.fromEntries([...enclosed].map(([id, { version }]) => [id, version])) }),
  });
  const unreadable = await unreadableIn(sending, bytes, to, enclosed);
  const sent = await post(call, letter);
  if ("text" in content)
    return { ...(await presentNew(tx, actor, sent, bytes, enclosed.size > 0)), unreadable };
  // The sender has just written the content, so showing it again is not recorded as a reading.
  const quietly = { ...call, record: async (): Promise<void> => undefined };
  return { ...(await presentMessage(quietly, sent)), unreadable };
}

/** Announces all reads of a message whose receiver is named by id, as agents do. */
function sendAhead(tx: ReadTx, { to }: { to?: string | undefined }, home: KnownHome): void {
  const { companyId, agentId } = home;
  storageAhead(tx, companyId, agentId);
  const id = to === undefined ? null : nameKey(to.trim());
  membersAhead(tx, agentId, id);
  if (id === null || !isId(id)) return;
  postAhead(tx, agentId, id);
  if (agentId !== null) mailRightAhead(tx, agentId, id);
}

const isId = (text: string): boolean => z.uuid().safeParse(text).success;

/** The message that the caller answers. Only its receiver can answer it. */
async function answeredBy({ tx, actor, companyId }: CallContext, id: string): Promise<MessageRow> {
  const message = await tx.first(anyMessage, { id });
  if (message?.company_id !== companyId || !isReceived(message, actor.agentId)) throw notFound("message", id);
  return message;
}

/** The agent whose mail the caller reads. People may read all mail. */
async function mailboxOf({ tx, actor, companyId }: CallContext, of: string | undefined) {
  if (of === undefined) return actor.agentId;
  const member = ["board", "human"].includes(of.toLowerCase()) ? null : await findMember(tx, companyId, of);
  if (actor.agentId !== null && member?.id !== actor.agentId) throw texts.onlyOwnMail();
  return member?.id ?? null;
}

async function contentOf(
  call: Writing,
  input: { file?: string | undefined; body?: string | undefined },
): Promise<{ content: Letter["content"] & { fileId: string }; bytes: Uint8Array }> {
  if ((input.file === undefined) === (input.body === undefined)) throw texts.fileOrBody();
  if (input.body !== undefined)
    return { content: { fileId: call.newId(), text: input.body }, bytes: Buffer.from(input.body) };
  const { tx, companyId, actor } = call;
  const id = input.file ?? "";
  const version = await versionToSend({ tx, companyId, from: actor.agentId }, id);
  const at = await tx.first(versionAt, { id, version });
  const isShort = at !== undefined && at.size <= mostSearched;
  const bytes = isShort ? await tx.blobs.read(id, at.hash) : new Uint8Array();
  return { content: { fileId: id, version }, bytes };
}

/** In a larger file, links are not searched for. */
const mostSearched = 1024 * 1024;

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

/**
 * Only the receiver can acknowledge a message. The board can do so for itself and for an agent that is a person. A message that
 * could not be delivered has no receiver, so its sender acknowledges it.
 */
async function demandReceiver(tx: ReadTx, agentId: string | null, message: MessageRow): Promise<void> {
  const isReturned = message.failure !== null && message.from_system === 0;
  if ((isReturned ? message.from_id : message.to_id) === agentId) return;
  const receiver = message.to_id === null ? undefined : await tx.first(agentRow, { id: message.to_id });
  if (agentId === null && receiver?.brain_type === "human") return;
  if (agentId !== null) throw notFound("message", message.id);
  throw texts.onlyReceiverAcknowledges();
}

async function inboxPage(
  call: CallContext,
  toId: string | null,
  input: { limit?: number | undefined; cursor?: string | undefined; all?: boolean | undefined },
) {
  const { tx, companyId } = call;
  const limit = input.limit ?? defaultPage;
  const last = await cursorRow(input.cursor, (id) => listed(call, id, "to_id", toId));
  const list = input.all === true ? receivedBy : waitingFor;
  const rows = await list(tx, { companyId, toId, after: last?.num ?? 0, limit: limit + 1 });
  const page = await presentPage(call, rows, limit);
  const isWhole = input.all !== true && last === undefined && rows.length <= limit;
  return { ...page, waiting: isWhole ? rows.length : await countWaiting(tx, companyId, toId) };
}

/** The message of the list that a cursor names. */
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

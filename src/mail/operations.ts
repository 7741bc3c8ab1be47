import * as contract from "../contract/mail.ts";
import { notFound, Refusal } from "../contract/refusal.ts";
import { type Call, guarded } from "../dispatch/guarded.ts";
import type { Writing } from "../dispatch/context.ts";
import { findMember, isActive, type Member, memberById, rootAgentOf } from "../capabilities/members.ts";
import { defaultPage, numberCursor, pageAfter } from "../dispatch/page.ts";
import { holds } from "../capabilities/rights.ts";
import { append, system } from "../events/ledger.ts";
import { fileById } from "../knowledge/table.ts";
import { query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { demandRoute, type Letter, post, settleInbox } from "./post.ts";
import {
  allForBoard,
  countWaiting,
  markAcknowledged,
  markRead,
  messageById,
  type MessageRow,
  presentMessage,
  sentBy,
  waitingFor,
} from "./table.ts";

const onSend = guarded(contract.sendMessage, (call) => send(call, call.input.to, null));

const onSendDeferred = guarded(contract.sendDeferredMessage, (call) =>
  send(call, call.input.to, Date.parse(call.input.deliverAt)),
);

const onReadInbox = guarded(contract.readInbox, async ({ tx, actor, companyId, input }) => {
  if (actor.agentId === null)
    throw new Refusal("refused", "The board's inbox belongs to a company.", "GET /api/companies/:id/inbox.");
  const page = await inboxPage(tx, companyId, actor.agentId, input);
  for (const { id } of page.messages) await tx.run(markRead, { id, now: tx.now });
  return page;
});

const onAcknowledge = guarded(contract.acknowledgeMessage, async (call) => {
  const { tx, actor, companyId, input } = call;
  const message = await messageById(tx, input.id);
  await demandReceiver(tx, actor.agentId, message);
  if (message.delivered_at === null) throw notFound("message", input.id);
  if (message.acknowledged_at !== null)
    throw new Refusal(
      "conflict",
      "This message is already acknowledged.",
      "Read the inbox for those that wait.",
    );
  await tx.run(markAcknowledged, { id: message.id, result: input.result ?? null, now: tx.now });
  await call.record(message.to_id ?? companyId, { message: message.id, result: input.result ?? null });
  if (message.to_id !== null) await settleInbox(tx, companyId, message.to_id);
  return presentMessage(tx, await messageById(tx, message.id));
});

const onView = guarded(contract.viewMessage, async ({ tx, actor, input }) => {
  const message = await messageById(tx, input.id);
  const mine =
    message.from_id === actor.agentId || (message.to_id === actor.agentId && message.delivered_at !== null);
  if (actor.agentId !== null && !mine) throw notFound("message", input.id);
  return presentMessage(tx, message);
});

const onSent = guarded(contract.listSent, async ({ tx, actor, companyId, input }) => {
  const limit = input.limit ?? defaultPage;
  const before = numberCursor(input.cursor, Number.MAX_SAFE_INTEGER);
  return presentPage(tx, await sentBy(tx, companyId, actor.agentId, before, limit + 1), limit);
});

const onBoardInbox = guarded(contract.boardInbox, async ({ tx, companyId, input }) => {
  if (input.all !== true) return inboxPage(tx, companyId, null, input);
  const limit = input.limit ?? defaultPage;
  const rows = await tx.all(allForBoard, { companyId, after: numberCursor(input.cursor), limit: limit + 1 });
  return { ...(await presentPage(tx, rows, limit)), waiting: await countWaiting(tx, companyId, null) };
});

const onAgentInbox = guarded(contract.agentInbox, ({ tx, companyId, input }) =>
  inboxPage(tx, companyId, input.id, input),
);

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
 * A message of the system's own, to an agent or (null) the board. What automatic replies gave rise to counts as one of them
 * (autoTurn): otherwise two agents could go on for ever by way of its notices.
 */
export async function notify(call: Writing, to: string | null, text: string, autoTurn = 0): Promise<void> {
  const { tx, companyId } = call;
  const id = call.newId();
  // Whoever has left so many lying there reads no further one; it is on record all the same.
  if ((await waitingFor(tx, companyId, to, 0, mostWaiting)).length === mostWaiting) {
    const data = {
      message: id,
      why: `${mostWaiting} messages wait`,
      text: text.slice(0, 500).toWellFormed(),
    };
    await append(tx, { companyId, actor: system, operation: "mail.drop", subject: to ?? companyId, data });
    return;
  }
  const letter = { id, companyId, from: null, bySystem: true, to, deliverAt: tx.now, autoTurn };
  await post(call.tx, { ...letter, content: { fileId: call.newId(), text } }, call.newId);
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
  if (later === null && to !== null && to.id === actor.agentId)
    throw new Refusal(
      "refused",
      "A message to yourself now is a thought.",
      "Give it a time: send_deferred_message.",
    );
  if (sender !== null && sender !== undefined) await demandRoute(tx, sender, to);
  else if (to === null) throw new Refusal("invalid", "The board does not write to itself.", "Name an agent.");
  // Also where a route to it stands: it would lie there, or fail on delivery.
  if (to !== null && !isActive(to))
    throw new Refusal("refused", `${to.name} is ${to.status} and gets no mail.`, "Write to an active agent.");
  const letter: Letter = {
    id: call.newId(),
    companyId,
    from: actor.agentId,
    to: to?.id ?? null,
    content: await contentOf(call, input),
    deliverAt,
  };
  // On record before it is delivered, so that the record reads in the order things happened.
  await call.record(letter.to ?? companyId, { message: letter.id, file: letter.content.fileId, deliverAt });
  return presentMessage(tx, await post(tx, letter, call.newId));
}

async function contentOf(
  call: Writing,
  input: { file?: string | undefined; body?: string | undefined },
): Promise<Letter["content"]> {
  if ((input.file === undefined) === (input.body === undefined))
    throw new Refusal(
      "invalid",
      "Send either file or body.",
      "body is the text itself; file is a knowledge file you can read.",
    );
  if (input.body !== undefined) return { fileId: call.newId(), text: input.body };
  const id = input.file ?? "";
  const file = await fileById(call.tx, id);
  const readable =
    call.actor.agentId === null || (await holds(call.tx, call.actor.agentId, `kb:${id}`, "read"));
  if (file === undefined || file.company_id !== call.companyId || !readable) throw notFound("file", id);
  if (file.deleted_at !== null)
    throw new Refusal("gone", `The file ${id} was deleted.`, "Send another file.");
  return { fileId: id };
}

async function receiverOf(
  tx: ReadTx,
  companyId: string,
  sender: Member | null,
  reference: string | undefined,
): Promise<Member | null> {
  const word = reference?.trim().replace(/^@/, "").toLowerCase();
  if (word === undefined) {
    if (sender !== null) throw new Refusal("invalid", "To whom?", "Name the receiver: to.");
    return findMember(tx, companyId, (await rootAgentOf(tx, companyId)) ?? "");
  }
  if (word === "board" || word === "human") return null;
  if (word === "self" && sender !== null) return sender;
  if (word === "boss" && sender !== null)
    return sender.boss_id === null ? null : findMember(tx, companyId, sender.boss_id);
  return findMember(tx, companyId, word);
}

/** Who may say what became of a message: its receiver; the board for itself and for a position that a person holds. */
async function demandReceiver(tx: ReadTx, agentId: string | null, message: MessageRow): Promise<void> {
  if (message.to_id === agentId) return;
  const receiver = message.to_id === null ? undefined : await tx.first(brainOf, { id: message.to_id });
  if (agentId === null && receiver?.brain_type === "human") return;
  if (agentId !== null) throw notFound("message", message.id);
  throw new Refusal(
    "refused",
    "Only the receiver acknowledges a message.",
    "Wait for the agent, or write to it.",
  );
}

async function inboxPage(
  tx: ReadTx,
  companyId: string,
  toId: string | null,
  input: { limit?: number | undefined; cursor?: string | undefined },
) {
  const limit = input.limit ?? defaultPage;
  const rows = await waitingFor(tx, companyId, toId, numberCursor(input.cursor), limit + 1);
  return { ...(await presentPage(tx, rows, limit)), waiting: await countWaiting(tx, companyId, toId) };
}

async function presentPage(tx: ReadTx, rows: MessageRow[], limit: number) {
  const { page, nextCursor } = pageAfter(rows, limit, (row) => String(row.num));
  const messages = [];
  for (const row of page) messages.push(await presentMessage(tx, row));
  return { messages, nextCursor };
}

const brainOf = query((db, p: { id: string }) =>
  db.selectFrom("agents").select("brain_type").where("id", "=", p.id),
);

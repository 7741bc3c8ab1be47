import { sql } from "kysely";
import type { FieldChanges } from "../contract/outcomes.ts";
import type { Writing } from "../dispatch/context.ts";
import type { OutcomeRow } from "../outcomes/outcome.ts";
import { isActive, memberById, memberName } from "../capabilities/members.ts";
import { query } from "../store/query.ts";
import { tables } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";
import { append, system } from "../events/ledger.ts";
import { post, postAhead, renew } from "./post.ts";
import { fullAhead, isInboxFull } from "./table.ts";
import { inboxFull, limitReached } from "./texts.ts";

/**
 * Sends a notice of the system to an agent or, for null, to the board. A notice that an automatic reply caused counts as a
 * turn of that chain of replies (autoTurn). Otherwise two agents could keep each other busy for ever through notices.
 */
export async function notify(call: Writing, to: string | null, text: string, autoTurn = 0): Promise<void> {
  const { tx, companyId } = call;
  const id = call.newId();
  postAhead(tx, null, to);
  // A receiver with so many unacknowledged messages would not read another. The notice is only recorded.
  if (await isInboxFull(tx, companyId, to, mostWaiting)) {
    const data = {
      message: id,
      why: inboxFull(mostWaiting),
      text: text.slice(0, 500).toWellFormed(),
    };
    append(tx, { companyId, actor: system, operation: "mail.drop", subject: to ?? companyId, data });
    return;
  }
  await post(call, { id, from: null, bySystem: true, to, autoTurn, content: { text } });
}

/** Announces to the store that an agent will get a notice. */
export function noticeAhead({ tx, companyId }: Pick<Writing, "tx" | "companyId">, to: string): void {
  postAhead(tx, null, to);
  fullAhead(tx, companyId, to, mostWaiting);
}

const mostWaiting = 1000;

/** Notices about things that may happen again and again. */

/**
 * Sends the latest state of an outcome. Until the receiver has acknowledged a notice, a later one about the same subject
 * replaces it and is unread again. So a flood of changes fills no inbox, and the last state always arrives: unlike notify(),
 * this is never dropped.
 */
export async function tellAbout(
  call: Writing,
  notice: {
    readonly topic: string;
    /** Null means the board. */
    readonly to: string | null;
    readonly changes?: FieldChanges;
    /** Called with everything that changed since the receiver last read the notice. */
    readonly text: (changes: FieldChanges) => string;
  },
): Promise<void> {
  const { tx, companyId, newId } = call;
  const { topic, to } = notice;
  const receiver = await memberById(tx, to);
  if (to !== null && (receiver === undefined || !isActive(receiver))) return;
  const waiting = await tx.first(waitingAbout, { companyId, topic, to: to ?? "" });
  const unread = waiting?.read_at === null ? (tables.messages.changes.parse(waiting.changes) ?? {}) : {};
  const changes: FieldChanges = { ...unread };
  for (const [field, { before, after }] of Object.entries(notice.changes ?? {}))
    changes[field] = { before: unread[field] === undefined ? before : unread[field].before, after };
  const text = notice.text(changes);
  const stored = JSON.stringify(changes);
  if (waiting !== undefined) return renew(tx, waiting, text, stored, newId);
  await post(call, { from: null, bySystem: true, to, content: { text }, topic, changes: stored });
}

/**
 * Tells the owner about a change, unless the owner made it. `text` gets the name of the actor, and all changes that the owner
 * has not read.
 */
export async function tellOwner(
  call: Writing,
  outcome: Pick<OutcomeRow, "id" | "responsible_id">,
  text: (who: string, changes: FieldChanges) => string,
  changes: FieldChanges = {},
): Promise<void> {
  const { tx, actor } = call;
  const { id, responsible_id: to } = outcome;
  if (to === null || to === actor.agentId) return;
  const who = await memberName(tx, actor.agentId);
  await tellAbout(call, { topic: `change:${id}`, to, changes, text: (all) => text(who, all) });
}

const waitingAbout = query((db, p: { companyId: string; topic: string; to: string }) =>
  db
    .selectFrom("messages")
    .selectAll()
    .where("topic", "=", p.topic)
    .where("company_id", "=", p.companyId)
    .where(sql<string>`coalesce(to_id, '')`, "=", p.to)
    .where("acknowledged_at", "is", null)
    .where("failure", "is", null)
    .where("delivered_at", "is not", null)
    .limit(1),
);

/** Further notices about the same subject are sent at most once a day. */
const day = 24 * 3600 * 1000;

export async function tellOnce(
  call: Writing,
  what: { readonly about: string; readonly kind: string; readonly to: string | null; readonly text: string },
): Promise<boolean> {
  const { tx, companyId } = call;
  const { about, kind } = what;
  if (await wasTold(tx, companyId, what)) return false;
  await tx.run(remember, { companyId, about, kind, now: tx.now });
  await notify(call, what.to, what.text);
  return true;
}

/** Whether this notice was sent within the last day. */
export async function wasTold(
  tx: ReadTx,
  companyId: string,
  { about, kind }: { readonly about: string; readonly kind: string },
): Promise<boolean> {
  const told = await tx.first(toldAt, { companyId, about, kind });
  return told !== undefined && told.told_at > tx.now - day;
}

/**
 * Tells the board that an agent reached a limit that keeps an organization from running away. The board gets one notice a day
 * for the whole company, because an agent out of control usually hits many limits at once.
 */
export async function tellOfLimit(
  call: Writing,
  agentId: string,
  refusal: { readonly message: string },
): Promise<void> {
  const text = limitReached(await memberName(call.tx, agentId), agentId, refusal.message);
  await tellOnce(call, { about: call.companyId, kind: "limit", to: null, text });
}

const toldAt = query((db, p: { companyId: string; about: string; kind: string }) =>
  db
    .selectFrom("notices")
    .select("told_at")
    .where("company_id", "=", p.companyId)
    .where("about", "=", p.about)
    .where("kind", "=", p.kind),
);

const remember = query((db, p: { companyId: string; about: string; kind: string; now: number }) =>
  db
    .insertInto("notices")
    .values({ company_id: p.companyId, about: p.about, kind: p.kind, told_at: p.now })
    .onConflict((conflict) =>
      conflict.columns(["company_id", "about", "kind"]).doUpdateSet({ told_at: p.now }),
    ),
);

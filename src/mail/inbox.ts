import { sql } from "kysely";
import { type Member, memberById } from "../capabilities/members.ts";
import { scopeAhead, shiftScope } from "../capabilities/table.ts";
import type { Writing } from "../dispatch/context.ts";
import { append, system } from "../events/ledger.ts";
import { recordChange, outcomeFields } from "../outcomes/history.ts";
import { insertOutcome, saveOutcome } from "../outcomes/table.ts";
import { query, selection } from "../store/query.ts";
import type { Row } from "../store/schema.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { countWaiting } from "./table.ts";
import * as texts from "./texts.ts";

/**
 * The inbox outcome of an agent: the work of reading its mail. It is open exactly while messages wait for the agent.
 *
 *   (none) ──a message arrives──▶ open ──the last one is acknowledged──▶ completed
 *                                  └──the stall guard──▶ blocked ──a message from another arrives──▶ open
 */

/** Announces to the store that the inbox of an agent will be opened or completed. */
export const inboxAhead = (tx: ReadTx, agentId: string): void =>
  tx.ahead(openInboxOf, { responsible_id: agentId });

/** Announces the same, and the rights that end with the inbox. */
export async function inboxScopeAhead(tx: ReadTx, agentId: string): Promise<void> {
  const inbox = await tx.first(openInboxOf, { responsible_id: agentId });
  if (inbox !== undefined) scopeAhead(tx, inbox.id);
}

/** Makes sure that the agent has an open inbox. `isOwn`: only for a message from the agent itself. */
export async function openInbox(
  tx: Tx,
  companyId: string,
  agentId: string,
  newId: () => string,
  isOwn = false,
): Promise<void> {
  const agent = await memberById(tx, agentId);
  if (agent === undefined) return;
  const open = await tx.first(openInboxOf, { responsible_id: agentId });
  if (open !== undefined) return isOwn ? undefined : unblock(tx, companyId, open);
  const id = newId();
  await insertOutcome(
    tx,
    {
      id,
      company_id: companyId,
      kind: "inbox",
      title: texts.inboxTitle,
      description: texts.inboxDescription,
      responsible_id: agentId,
      urgent: 1,
      important: 1,
      parents: [agent.mandate_id],
    },
    system,
  );
  append(tx, {
    companyId,
    actor: system,
    operation: "outcome.create",
    subject: id,
    data: { title: texts.inboxTitle },
  });
}

/**
 * Unblocks the inbox. The stall guard (runtime/progress.ts) may have blocked it after failed sessions. Its agent is not started
 * while it is blocked, and no other agent can change it. So the next message from another agent or person unblocks it: to try
 * again, write to the agent.
 */
async function unblock(tx: Tx, companyId: string, inbox: Row<"outcomes">): Promise<void> {
  if (inbox.blocked_reason === null) return;
  const before = await outcomeFields(tx, inbox);
  const free = { blocked_reason: null, blocked_until: null, blocked_on: null, stalls: 0 };
  await saveOutcome(tx, { ...inbox, ...free }, system);
  const record: Writing["record"] = async (subject, data, operation = "") =>
    append(tx, { companyId, actor: system, operation, subject, data });
  await recordChange({ tx, record }, inbox.id, before, { note: "new mail" });
}

/** Completes the inbox, because no message is waiting any more. */
export async function completeInbox(tx: Tx, companyId: string, agentId: string): Promise<void> {
  const inbox = await tx.first(openInboxOf, { responsible_id: agentId });
  if (inbox === undefined) return;
  await shiftScope(tx, inbox.id, 1);
  await tx.run(completeOutcome, { id: inbox.id, owner: agentId, now: tx.now });
  append(tx, {
    companyId,
    actor: system,
    operation: "outcome.complete",
    subject: inbox.id,
    data: { note: "the inbox is empty" },
  });
}

/**
 * The messages that wait for a leaving agent go to its successor, except those the successor wrote itself. Deferred messages
 * to or from the leaving agent stay as they are and fail when they are due.
 */
export async function inheritMail(
  tx: Tx,
  from: Pick<Member, "id" | "company_id">,
  to: string,
  newId: () => string,
): Promise<void> {
  if ((await tx.count(readdress, { from: from.id, to, companyId: from.company_id })) > 0)
    await openInbox(tx, from.company_id, to, newId);
}

/** Opens or completes the inbox outcome after messages were moved: it is open exactly while messages wait. */
export async function balanceInbox(
  tx: Tx,
  companyId: string,
  agentId: string,
  newId: () => string,
): Promise<void> {
  if ((await countWaiting(tx, companyId, agentId)) === 0) return completeInbox(tx, companyId, agentId);
  if ((await tx.first(openInboxOf, { responsible_id: agentId })) === undefined)
    await openInbox(tx, companyId, agentId, newId);
}

const readdress = query((db, p: { from: string; to: string; companyId: string }) =>
  db
    .updateTable("messages")
    .set({ to_id: p.to })
    .where("to_id", "=", p.from)
    .where("company_id", "=", p.companyId)
    .where("delivered_at", "is not", null)
    .where("acknowledged_at", "is", null)
    .where((eb) => eb.or([eb("from_id", "is", null), eb("from_id", "<>", p.to)])),
);

/** The index outcomes_inbox has the same conditions. An agent may have thousands of other outcomes. */
const openInboxOf = selection(
  "outcomes",
  ["responsible_id"],
  sql`and status in ('open', 'submitted') and kind = 'inbox'`,
);

/** Only marks the file stale. Most of these files are never read, and every first message starts a new one. */
const completeOutcome = query((db, p: { id: string; owner: string; now: number }) =>
  db
    .updateTable("outcomes")
    .set({
      status: "completed",
      blocked_reason: null,
      blocked_until: null,
      blocked_on: null,
      stale: 1,
      updated_at: p.now,
    })
    .where("id", "=", p.id)
    .where("responsible_id", "=", p.owner),
);

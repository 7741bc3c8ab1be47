import { sql } from "kysely";
import { writeIn } from "../dispatch/context.ts";
import { authenticate } from "../dispatch/identity.ts";
import { Refusal } from "../contract/refusal.ts";
import { append } from "../events/ledger.ts";
import { contentFor } from "../knowledge/showing.ts";
import { countUnread, markRead, messageById } from "../mail/table.ts";
import { excerpt } from "../outcomes/results.ts";
import { selection } from "../store/query.ts";
import type { Store } from "../store/store.ts";
import { sessionById } from "./sessions.ts";
import { mustStop, unreadNotice } from "./texts.ts";

/**
 * Notices added to the result of a tool call: that the session has to stop, what changed in its work, and how many other
 * messages are unread. A change that was shown in full counts as read; its notice stays in the inbox. A refused call changes
 * nothing, so its answer only counts the changes.
 */
export async function noticesFor(
  store: Store,
  newId: () => string,
  token: string | undefined,
  wasRefused = false,
): Promise<string[]> {
  const found = await store.read(async (tx) => {
    // The call itself may have ended the session.
    const caller = await authenticate(tx, token).catch((error: unknown) => {
      if (error instanceof Refusal) return undefined;
      throw error;
    });
    const agentId = caller?.actor.agentId ?? null;
    if (caller === undefined || agentId === null || caller.companyId === null) return undefined;
    const { sessionId } = caller.actor;
    const session = sessionId === null ? undefined : await sessionById(tx, sessionId);
    const unread = await countUnread(tx, agentId);
    const changes = unread === 0 || wasRefused ? [] : await tx.all(unreadChanges, { to_id: agentId });
    return { actor: caller.actor, companyId: caller.companyId, session, unread, changes };
  });
  if (found === undefined) return [];
  const { actor, companyId, session, unread, changes } = found;
  const told: string[] = [];
  if (session !== undefined && session.end_by !== null)
    told.push(mustStop(new Date(session.end_by).toISOString(), session.end_by_reason ?? ""));
  if (changes.length > 0)
    await writeIn(store, companyId, newId, async ({ tx }) => {
      for (const { id } of changes) {
        const message = await messageById(tx, id);
        if (message.read_at !== null || message.acknowledged_at !== null) continue;
        const reader = {
          tx,
          actor,
          record: async (subject: string | null, data: Readonly<Record<string, unknown>>, operation = "") =>
            append(tx, { companyId, actor, operation, subject, data }),
        };
        const sent = await contentFor(reader, message.file_id, message.version);
        if (sent === undefined) continue;
        await markRead(tx, message);
        told.push(excerpt(Buffer.from(sent.content).toString("utf8"), sent.file_id, 4096));
      }
    });
  const others = unread - changes.length;
  if (others > 0) told.push(unreadNotice(others));
  return told;
}

const unreadChanges = selection(
  "messages",
  ["to_id"],
  sql`and topic is not null and delivered_at is not null and acknowledged_at is null and read_at is null
    order by num limit 5`,
);

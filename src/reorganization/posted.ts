import type { Move } from "../contract/reorganization.ts";
import { memberById } from "../capabilities/members.ts";
import { brokenRoute } from "../mail/post.ts";
import type { MessageRow } from "../mail/table.ts";
import { dynamic } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";

/** Deferred messages to or from these agents that would be delivered as things stand. */
export async function onTheirWay(tx: ReadTx, agents: readonly string[]): Promise<MessageRow[]> {
  if (agents.length === 0) return [];
  const rows: MessageRow[] = await tx.all(
    dynamic((db) =>
      db
        .selectFrom("messages")
        .selectAll()
        .where("delivered_at", "is", null)
        .where("failure", "is", null)
        .where((eb) => eb.or([eb("to_id", "in", agents), eb("from_id", "in", agents)]))
        .orderBy("deliver_at")
        .orderBy("num"),
    ),
    {},
  );
  const coming: MessageRow[] = [];
  for (const row of rows) if ((await brokenRoute(tx, row)) === null) coming.push(row);
  return coming;
}

/** The messages among them that can no longer be delivered after the change. */
export async function lost(tx: ReadTx, posted: readonly MessageRow[]): Promise<Move[]> {
  const moves: Move[] = [];
  const nameOf = async (id: string | null): Promise<string> =>
    id === null ? "the board" : ((await memberById(tx, id))?.name ?? "no one");
  for (const message of posted) {
    if ((await brokenRoute(tx, message)) === null) continue;
    const what = `A message from ${await nameOf(message.from_id)}, due ${new Date(message.deliver_at).toISOString()}, goes to`;
    moves.push({ kind: "mail", id: message.id, what, from: await nameOf(message.to_id), to: null });
  }
  return moves;
}

import { sql } from "kysely";
import { textQuery } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";

/**
 * The right to answer. An agent that got a message may answer its writer once, even without a mail route to that writer. A
 * message that was sent by this right gives no such right itself. So an answer never opens a conversation. Notices of the
 * system can't be answered.
 */
export async function answerable(
  tx: ReadTx,
  agentId: string,
  /** Null means the board. */
  writerId: string | null,
  /** Only this message, if it is given. */
  messageId = "",
): Promise<string | undefined> {
  return (await tx.first(unanswered, { agentId, writerId: writerId ?? "", messageId }))?.id;
}

/** The writers an agent may answer without a mail route, for its list of rights. */
export async function answerableWriters(tx: ReadTx, agentId: string): Promise<(string | null)[]> {
  return (await tx.all(writers, { agentId })).map(({ writer }) => writer);
}

const answerableTo = (agentId: string) => sql`m.to_id = ${agentId} and m.from_system = 0
  and m.delivered_at is not null and m.by_answer = 0 and coalesce(m.from_id, '') <> ${agentId}
  and not exists (select 1 from messages a where a.in_reply_to = m.id and a.from_id = ${agentId}
    and a.failure is null)`;

const unanswered = textQuery(
  (p: { agentId: string; writerId: string; messageId: string }) =>
    sql<{ id: string }>`select m.id from messages m where ${answerableTo(p.agentId)}
      and coalesce(m.from_id, '') = ${p.writerId} and (${p.messageId} = '' or m.id = ${p.messageId})
      order by m.num desc limit 1`,
);

const writers = textQuery(
  (p: { agentId: string }) =>
    sql<{ writer: string | null }>`select distinct m.from_id as writer from messages m
      left join agents w on w.id = m.from_id
      where ${answerableTo(p.agentId)} and coalesce(w.status, 'idle') in ('idle', 'paused')
      order by m.from_id limit 100`,
);

import { append, system } from "../events/ledger.ts";
import { fileById, tombstone } from "../knowledge/table.ts";
import { query } from "../store/query.ts";
import type { Tx } from "../store/store.ts";

/**
 * Deletes the text of messages that were acknowledged before a given time. The message itself (sender, times, result) and the
 * ledger stay. Only files that were created for a message are deleted, never a knowledge file that was sent.
 */
export async function compactMail(tx: Tx, companyId: string, before: number, limit: number): Promise<number> {
  const old = await tx.all(longDone, { companyId, before, limit });
  for (const { file_id } of old) {
    const file = await fileById(tx, file_id);
    if (file === undefined || file.deleted_at !== null) continue;
    await tombstone(tx, file);
    append(tx, {
      companyId,
      actor: system,
      operation: "mail.compact",
      subject: file_id,
      data: { version: file.version },
    });
  }
  return old.length;
}

const longDone = query((db, p: { companyId: string; before: number; limit: number }) =>
  db
    .selectFrom("messages as m")
    .innerJoin("files as f", "f.id", "m.file_id")
    .select("m.file_id")
    .where("m.company_id", "=", p.companyId)
    .where("m.acknowledged_at", "<", p.before)
    .where("f.kind", "=", "message")
    .where("f.deleted_at", "is", null)
    // The same file may have been sent on in another message. The file stays until that message is old enough too.
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom("messages as other")
            .select("other.id")
            .whereRef("other.file_id", "=", "m.file_id")
            .where("other.failure", "is", null)
            .where((e) =>
              e.or([e("other.acknowledged_at", "is", null), e("other.acknowledged_at", ">=", p.before)]),
            ),
        ),
      ),
    )
    .orderBy("m.acknowledged_at")
    .limit(p.limit),
);

import { sql } from "kysely";
import type { Reference } from "../contract/words.ts";
import { titleOf } from "../approvals/texts.ts";
import { redactText } from "../redaction/redact.ts";
import { dynamic } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";

/**
 * The names of things by id, in two queries however many there are. Only for people: no right is checked. An agent and its
 * mandate have the same id, so an id can have several names.
 */
export async function namesOf(
  tx: ReadTx,
  ids: readonly (string | null)[],
): Promise<ReadonlyMap<string, readonly Reference[]>> {
  const wanted = [...new Set(ids)].filter((id) => id !== null);
  const among = sql.join([...wanted, ""]);
  const text = sql<{ kind: string; id: string; title: string }>`
    select 'agent' as kind, id, name as title from agents where id in (${among})
    union all select 'outcome', id, title from outcomes where id in (${among})
    union all select 'file', id, description from files where kind <> 'outcome' and id in (${among})
    union all select 'message', m.id, f.description from messages m join files f on f.id = m.file_id
      where m.id in (${among})
    union all select 'person', id, name from people where id in (${among})
    union all select 'company', id, name from companies where id in (${among})
    union all select 'reorganization', id, summary from reorganizations where id in (${among})`;
  const rows = await tx.all(
    dynamic((db) => ({ compile: () => text.compile(db) }), []),
    {},
  );
  const approvals = await tx.all(
    dynamic((db) =>
      db
        .selectFrom("approvals")
        .select(["id", "type", "payload"])
        .where("id", "in", [...wanted, ""]),
    ),
    {},
  );
  const found = [
    ...rows,
    ...approvals.map((row) => ({ kind: "approval", id: row.id, title: titleOf(row) })),
  ].map((one): Reference => ({
    ...one,
    title: redactText(one.title.replace(/^Message: /, "")),
  }));
  return Map.groupBy(found, ({ id }) => id ?? "");
}

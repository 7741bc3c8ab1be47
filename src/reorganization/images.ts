import { type RawBuilder, sql } from "kysely";
import type { Value } from "../store/columns.ts";
import { dynamic } from "../store/query.ts";
import { imagedNames, type ImagedTable, rowKeys } from "../store/schema.ts";
import type { ReadTx, Tx } from "../store/store.ts";

/**
 * The rows around some agents before and after a change, and the difference between the two. Only the changed columns of a
 * row are kept. Undoing restores just those, whatever else has happened to the row.
 */
export type Image = Readonly<Record<string, Value>>;
export type Images = { readonly [table in ImagedTable]: Map<string, Image> };

/** One changed row: `before` is null for a new row, `after` for a deleted one. Otherwise both hold the changed columns. */
export interface Difference {
  readonly table: ImagedTable;
  readonly key: Image;
  readonly before: Image | null;
  readonly after: Image | null;
}

export const textOf = (table: ImagedTable, row: Image): string =>
  rowKeys[table].map((column) => row[column]).join(" ");

/** All rows that moving or ending these agents can touch. */
export async function imagesAround(tx: ReadTx, agents: readonly string[]): Promise<Images> {
  const live = sql`status in ('open', 'submitted')`;
  const own = listOf(agents);
  const outcomes = await rowsOf(
    tx,
    sql<Image>`select * from outcomes where responsible_id in (${own}) and (${live} or kind <> 'inbox')
      union select * from outcomes where delegated_by in (${own})
      union select * from outcomes where for_agent_id in (${own})`,
  );
  const outcomeIds = listOf(outcomes.map(({ id }) => String(id)));
  const halted = sql`select agent_id from budget_pauses
    where company_id in (select company_id from agents where id in (${own}))`;
  const mandates = sql`select mandate_id from agents where id in (${own})`;
  return {
    agents: mapOf(
      "agents",
      await rowsOf(
        tx,
        // A freed budget can resume agents elsewhere that a budget had paused.
        sql`select * from agents where id in (${own}) or boss_id in (${own}) or id in (${halted})`,
      ),
    ),
    outcomes: mapOf("outcomes", outcomes),
    edges: mapOf(
      "edges",
      await rowsOf(
        tx,
        sql`select * from edges where child_id in (${outcomeIds})
          or child_id in (select child_id from edges where parent_id in (${mandates}))`,
      ),
    ),
    dependencies: mapOf(
      "dependencies",
      await rowsOf(tx, sql`select * from dependencies where depends_on_id in (${outcomeIds})`),
    ),
    grants: mapOf(
      "grants",
      await rowsOf(
        tx,
        sql`with recursive around(id) as (
            select id from grants where grantee_id in (${own}) or scope_id in (${outcomeIds})
            union select g.id from grants g join around a on g.parent_id = a.id)
          select g.* from grants g join around a on a.id = g.id`,
      ),
    ),
    approvals: mapOf(
      "approvals",
      await rowsOf(
        tx,
        sql`select * from approvals where status in ('pending', 'revision_requested')
          and (requested_by in (${own})
            or agent_id in (select id from agents where id in (${own}) or boss_id in (${own})))`,
      ),
    ),
    permission_requests: mapOf(
      "permission_requests",
      await rowsOf(
        tx,
        sql`select * from permission_requests where answered_at is null and agent_id in (${own})`,
      ),
    ),
    // Session tokens are left out: they end with their session, and undoing restores no session.
    credentials: mapOf(
      "credentials",
      await rowsOf(
        tx,
        sql`select * from credentials where revoked_at is null and kind = 'key' and agent_id in (${own})`,
      ),
    ),
    messages: mapOf(
      "messages",
      await rowsOf(
        tx,
        sql`select * from messages where to_id in (${own}) and delivered_at is not null and acknowledged_at is null`,
      ),
    ),
    budgets: mapOf("budgets", await rowsOf(tx, sql`select * from budgets where agent_id in (${own})`)),
    budget_pauses: mapOf(
      "budget_pauses",
      await rowsOf(
        tx,
        sql`select * from budget_pauses where agent_id in (${own}) or agent_id in (${halted})`,
      ),
    ),
    charges: mapOf("charges", await rowsOf(tx, sql`select * from charges where pool_id in (${own})`)),
  };
}

/** Compares the images with the present rows. `made` are new agents, whose rows are all new. */
export async function differences(
  tx: ReadTx,
  before: Images,
  agents: readonly string[],
  made: readonly string[],
): Promise<Difference[]> {
  const around = await imagesAround(tx, [...agents, ...made]);
  const found: Difference[] = [];
  for (const table of imagedNames) {
    for (const [text, was] of before[table]) {
      const key = keyOf(table, was);
      const is = around[table].get(text) ?? (await rowAt(tx, table, key));
      if (is === undefined) found.push({ table, key, before: was, after: null });
      else {
        const changed = Object.keys(was).filter((column) => was[column] !== is[column]);
        if (changed.length > 0)
          found.push({ table, key, before: only(was, changed), after: only(is, changed) });
      }
    }
    for (const [text, is] of around[table])
      if (!before[table].has(text)) found.push({ table, key: keyOf(table, is), before: null, after: is });
  }
  return found;
}

export async function rowAt(tx: ReadTx, table: ImagedTable, key: Image): Promise<Image | undefined> {
  return (await rowsOf(tx, sql`select * from ${sql.table(table)} where ${at(key)}`))[0];
}

export async function setColumns(tx: Tx, table: ImagedTable, key: Image, columns: Image): Promise<void> {
  const set = Object.entries(columns).map(([column, value]) => sql`${sql.ref(column)} = ${value}`);
  if (set.length > 0)
    await tx.run(statement(sql`update ${sql.table(table)} set ${sql.join(set)} where ${at(key)}`), {});
}

export async function insertRow(tx: Tx, table: ImagedTable, row: Image): Promise<void> {
  const columns = Object.keys(row);
  await tx.run(
    statement(
      sql`insert into ${sql.table(table)} (${sql.join(columns.map((column) => sql.ref(column)))})
        values (${sql.join(columns.map((column) => sql`${row[column] ?? null}`))}) on conflict do nothing`,
    ),
    {},
  );
}

export async function deleteLink(tx: Tx, table: "edges" | "dependencies", key: Image): Promise<void> {
  await tx.run(statement(sql`delete from ${sql.table(table)} where ${at(key)}`), {});
}

const at = (key: Image) =>
  sql.join(
    Object.entries(key).map(([column, value]) => sql`${sql.ref(column)} = ${value}`),
    sql` and `,
  );

/** SQL has no empty list, so an empty one becomes a list with an id that does not exist. */
const listOf = (ids: readonly string[]) => sql.join(ids.length === 0 ? [""] : ids);

const mapOf = (table: ImagedTable, rows: readonly Image[]): Map<string, Image> =>
  new Map(
    rows.map((row): [string, Image] => [textOf(table, row), row]).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );

const keyOf = (table: ImagedTable, row: Image): Image => only(row, rowKeys[table]);

function only(row: Image, columns: readonly string[]): Image {
  return Object.fromEntries(columns.map((column) => [column, row[column] ?? null]));
}

const rowsOf = (tx: ReadTx, text: RawBuilder<Image>): Promise<Image[]> => tx.all(statement(text), {});

function statement(text: RawBuilder<Image>) {
  return dynamic((db) => ({ compile: () => text.compile(db) }));
}

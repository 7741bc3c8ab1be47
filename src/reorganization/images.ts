import { type RawBuilder, sql } from "kysely";
import { statusIsLive } from "../outcomes/outcome.ts";
import type { Value } from "../store/columns.ts";
import { dynamic } from "../store/query.ts";
import { imagedNames, type ImagedTable, rowKeys } from "../store/row-keys.ts";
import type { ReadTx, Tx } from "../store/store.ts";

/**
 * The rows around some agents before and after a change, and the difference between the two. Of a row, only the changed columns
 * are kept. Undoing restores just those, whatever else has happened to the row.
 */
export type Image = Readonly<Record<string, Value>>;
export type Images = { readonly [table in ImagedTable]: Map<string, Image> };

/** One changed row. `before` is null for a new row, `after` for a deleted one. Otherwise both hold the changed columns. */
export interface Difference {
  readonly table: ImagedTable;
  readonly key: Image;
  readonly before: Image | null;
  readonly after: Image | null;
}

const textOf = (table: ImagedTable, row: Image): string =>
  rowKeys[table].map((column) => row[column]).join(" ");

/** A value of a stored row as text. */
export function textIn(value: Value | undefined): string {
  return typeof value === "string" ? value : String(value ?? "");
}

/** All rows that moving or ending these agents can touch. */
export async function imagesAround(tx: ReadTx, agents: readonly string[]): Promise<Images> {
  const own = listOf(agents);
  const read = async (table: ImagedTable, where: RawBuilder<unknown>): Promise<Map<string, Image>> =>
    mapOf(table, await rowsOf(tx, sql`select * from ${sql.table(table)} where ${where}`));
  const outcomes = mapOf(
    "outcomes",
    await rowsOf(
      tx,
      sql`select * from outcomes where responsible_id in (${own}) and (${statusIsLive} or kind <> 'inbox')
        union select * from outcomes where delegated_by in (${own})
        union select * from outcomes where for_agent_id in (${own})`,
    ),
  );
  const outcomeIds = listOf([...outcomes.keys()]);
  const halted = sql`select agent_id from budget_pauses
    where company_id in (select company_id from agents where id in (${own}))`;
  const mandates = sql`select mandate_id from agents where id in (${own})`;
  const openApproval = sql`status in ('pending', 'revision_requested')`;
  return {
    // A freed budget can resume agents elsewhere that it had paused.
    agents: await read("agents", sql`id in (${own}) or boss_id in (${own}) or id in (${halted})`),
    outcomes,
    edges: await read(
      "edges",
      sql`child_id in (${outcomeIds})
        or child_id in (select child_id from edges where parent_id in (${mandates}))`,
    ),
    dependencies: await read("dependencies", sql`depends_on_id in (${outcomeIds})`),
    grants: await read(
      "grants",
      sql`id in (with recursive around(id) as (
            select id from grants where grantee_id in (${own}) or scope_id in (${outcomeIds})
            union select g.id from grants g join around a on g.parent_id = a.id)
          select id from around)`,
    ),
    approvals: await read(
      "approvals",
      sql`${openApproval} and (requested_by in (${own})
        or agent_id in (select id from agents where id in (${own}) or boss_id in (${own})))`,
    ),
    permission_requests: await read("permission_requests", sql`answered_at is null and agent_id in (${own})`),
    // Session tokens are left out: they end with their session, and undoing restores no session.
    credentials: await read("credentials", sql`revoked_at is null and kind = 'key' and agent_id in (${own})`),
    messages: await read(
      "messages",
      sql`to_id in (${own}) and delivered_at is not null and acknowledged_at is null`,
    ),
    budgets: await read("budgets", sql`agent_id in (${own})`),
    budget_pauses: await read("budget_pauses", sql`agent_id in (${own}) or agent_id in (${halted})`),
    charges: await read("charges", sql`pool_id in (${own})`),
  };
}

/** Compares the images with the present rows. `made` lists new agents, whose rows are all new. */
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
  return withoutNotices(found);
}

/** If an inbox was opened only to announce the change to its agent, it is not part of the change. */
function withoutNotices(found: readonly Difference[]): Difference[] {
  const inboxes = new Set(
    found
      .filter(
        ({ table, before, after }) => table === "outcomes" && before === null && after?.["kind"] === "inbox",
      )
      .map(({ key }) => key["id"]),
  );
  return found.filter(
    ({ table, key }) =>
      !inboxes.has(table === "outcomes" ? key["id"] : table === "edges" ? key["child_id"] : undefined),
  );
}

export async function rowAt(tx: ReadTx, table: ImagedTable, key: Image): Promise<Image | undefined> {
  return (await rowsOf(tx, sql`select * from ${sql.table(table)} where ${at(key)}`))[0];
}

export async function setColumns(tx: Tx, table: ImagedTable, key: Image, columns: Image): Promise<void> {
  if (Object.keys(columns).length === 0) return;
  await tx.run(
    statement(sql`update ${sql.table(table)} set ${equal(columns, sql`, `)} where ${at(key)}`),
    {},
  );
}

export async function insertRow(tx: Tx, table: ImagedTable, row: Image): Promise<void> {
  const columns = sql.join(Object.keys(row).map((column) => sql.ref(column)));
  const text = sql<Image>`insert into ${sql.table(table)} (${columns}) values (${sql.join(Object.values(row))})`;
  await tx.run(statement(sql`${text} on conflict do nothing`), {});
}

export async function deleteRow(tx: Tx, table: ImagedTable, key: Image): Promise<void> {
  await tx.run(statement(sql`delete from ${sql.table(table)} where ${at(key)}`), {});
}

const at = (key: Image) => equal(key, sql` and `);

const equal = (columns: Image, separator: RawBuilder<unknown>) =>
  sql.join(
    Object.entries(columns).map(([column, value]) => sql`${sql.ref(column)} = ${value}`),
    separator,
  );

/** SQL has no empty list, so an empty list becomes one with an id that does not exist. */
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

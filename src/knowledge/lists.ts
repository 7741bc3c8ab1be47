import { type RawBuilder, sql } from "kysely";
import { noRight, ranks } from "../contract/resources.ts";
import { type Dialect, dynamic, query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { effectiveRank } from "../capabilities/rights.ts";
import { isKnown, readableFiles } from "../capabilities/visible.ts";
import { cursorRow, pageAfter } from "../dispatch/page.ts";
import { fileById, type FileRow } from "./table.ts";
import { wordsOf } from "./content.ts";

/** Which files an actor sees, and what it may do with each. */
export interface ListFilter {
  readonly companyId: string;
  /** Null: the board, which sees every file of the company. */
  readonly agentId: string | null;
  readonly leastRank: number;
  readonly query: string | undefined;
  readonly kind: FileRow["kind"] | undefined;
  readonly cursor: string | undefined;
  readonly limit: number;
}

type Ranked = FileRow & { rank: number };

export async function listFor(
  tx: ReadTx,
  filter: ListFilter,
): Promise<{ page: Ranked[]; nextCursor: string | null }> {
  const words = filter.query === undefined ? [] : wordsOf(filter.query);
  if (filter.query !== undefined && words.length === 0) return { page: [], nextCursor: null };
  const { agentId, companyId, limit } = filter;
  const last = await cursorRow(filter.cursor, async (id) => {
    const file = await fileById(tx, id);
    return file?.company_id === companyId && (await isKnown(tx, filter, `kb:${id}`)) ? file : undefined;
  });
  let after = last?.num ?? 0;
  const found: Ranked[] = [];
  for (;;) {
    const rows = await tx.all(someFiles(tx.dialect, filter, words, after), {});
    for (const { sure, most, ...row } of rows) {
      const rank =
        agentId === null
          ? rankOfBoard(row)
          : sure >= most
            ? sure
            : await effectiveRank(tx, agentId, `kb:${row.id}`);
      if (rank >= filter.leastRank) found.push({ ...row, rank });
    }
    // Files that turned out to be out of sight don't count, so the page is filled from those that follow.
    if (rows.length <= limit || found.length > limit) return pageAfter(found, limit, ({ id }) => id);
    after = rows.at(-1)?.num ?? after;
  }
}

/** The board may write every file except those that only the system writes. */
export function rankOfBoard(file: Pick<FileRow, "kind">): number {
  return ["outcome", "log", "result", "skill"].includes(file.kind) ? ranks.read : ranks.write;
}

function someFiles(dialect: Dialect, filter: ListFilter, words: readonly string[], after: number) {
  const { agentId, companyId } = filter;
  // `sure` needs no further look. A higher `most` rests on the position of a giver.
  const rights =
    agentId === null
      ? sql`(select id, 0 as sure, 0 as most from files where company_id = ${companyId})`
      : sql`(select id, max(case when unsure = 0 then level else ${sql.lit(noRight)} end) as sure, max(level) as most from (
          select substr(resource, 4) as id, level, structural as unsure from grants
            where grantee_id = ${agentId} and resource >= 'kb:' and resource < 'kb;' and broken = 0
          union all select id, case when kind = 'log' then 1 else 2 end, 0 from files where owner_id = ${agentId}
          union all select id, 1, 0 from outcomes
            where responsible_id = ${agentId} and status in ('open', 'submitted')
          union all select m.file_id, 1, 0 from messages m join files f on f.id = m.file_id
            where m.to_id = ${agentId} and m.delivered_at is not null and f.kind = 'message'
          union all select file_id, 1, 0 from skill_files where company_id = ${companyId}) as r group by id)`;
  return dynamic((db) => {
    let files = db
      .selectFrom("files as f")
      .innerJoin(rights.$castTo<{ id: string; sure: number; most: number }>().as("r"), "r.id", "f.id")
      .selectAll("f")
      .select(["r.sure", "r.most"])
      .where("f.company_id", "=", companyId)
      .where("f.deleted_at", "is", null)
      .where("f.num", ">", after);
    if (agentId !== null) files = files.where("r.most", ">=", filter.leastRank);
    if (filter.kind !== undefined) files = files.where("f.kind", "=", filter.kind);
    // Messages are read in the inbox. An agent sees them here only if it asks for their kind.
    else if (agentId !== null) files = files.where("f.kind", "<>", "message");
    if (words.length > 0) files = files.where(describedBy(dialect, words));
    return files.orderBy("f.num").limit(filter.limit + 1);
  });
}

/**
 * The files with all of these words that the agent may read, those whose description has the words first, then the newest.
 * Scores that come from the whole index, such as bm25, would tell how often a word occurs in files that the agent cannot
 * read, so there are none. The bodies of the files are not read for the order.
 */
export async function matches(
  tx: ReadTx,
  companyId: string,
  agentId: string | null,
  words: readonly string[],
  limit: number,
): Promise<Ranked[]> {
  const found: Ranked[] = [];
  const step = limit + 1;
  for (let offset = 0; ; offset += step) {
    const rows = await tx.all(matching(tx.dialect, { companyId, agentId, words, offset, limit: step }), {});
    for (const row of rows) {
      const rank = agentId === null ? rankOfBoard(row) : await effectiveRank(tx, agentId, `kb:${row.id}`);
      if (rank >= ranks.read) found.push({ ...row, rank });
    }
    if (rows.length < step || found.length > limit) return found;
  }
}

function matching(
  dialect: Dialect,
  p: { companyId: string; agentId: string | null; words: readonly string[]; offset: number; limit: number },
) {
  const { companyId, agentId, words } = p;
  return dynamic((db) => {
    let files = db
      .selectFrom("files as f")
      .selectAll("f")
      .where("f.company_id", "=", companyId)
      .where("f.deleted_at", "is", null)
      .where(indexed(dialect, words));
    if (agentId !== null) files = files.where(sql<boolean>`f.id in (${readableFiles(agentId, companyId)})`);
    return files
      .orderBy(describedBy(dialect, words), "desc")
      .orderBy("f.updated_at", "desc")
      .orderBy("f.num", "desc")
      .limit(p.limit)
      .offset(p.offset);
  });
}

const indexed = (dialect: Dialect, words: readonly string[]): RawBuilder<boolean> =>
  dialect === "sqlite"
    ? sql<boolean>`f.num in (select rowid from search where search match ${fts5(words)})`
    : sql<boolean>`f.num in (select rowid from search where words @@ to_tsquery('simple', ${tsquery(words)}))`;

const describedBy = (dialect: Dialect, words: readonly string[]): RawBuilder<boolean> =>
  dialect === "sqlite"
    ? sql<boolean>`f.num in (select rowid from search where search match ${`description : (${fts5(words)})`})`
    : sql<boolean>`f.num in (select rowid from search where described @@ to_tsquery('simple', ${tsquery(words)}))`;

/** Words are letters and digits only (wordsOf), so they can't contain query syntax. Each word matches as a prefix. */
const fts5 = (words: readonly string[]): string => words.map((word) => `"${word}"*`).join(" AND ");
const tsquery = (words: readonly string[]): string => words.map((word) => `'${word}':*`).join(" & ");

/** The part of a text in which the excerpt is looked for. */
export const indexedText = query((db, p: { num: number }) => ({
  compile: () =>
    sql<{ body: string }>`select substr(body, 1, 20000) as body from search where rowid = ${p.num}`.compile(
      db,
    ),
}));

import { type RawBuilder, sql } from "kysely";
import { noRight, ranks } from "../contract/resources.ts";
import { type Dialect, dynamic, query } from "../store/query.ts";
import { entryQuery, hasWords, wordsOf } from "../store/search-words.ts";
import type { ReadTx } from "../store/store.ts";
import { effectiveRank } from "../capabilities/rights.ts";
import { maybePinned, type Pin, pinsOf, pinsOn } from "../capabilities/pinned.ts";
import { departedBelow, reportsBelow } from "../capabilities/structure.ts";
import { isKnown, readableFiles, visibleVersions } from "../capabilities/visible.ts";
import { countOf, cursorRow, pageAfter } from "../dispatch/page.ts";
import { fileById, type FileRow, versionAt } from "./table.ts";
import { searchableText } from "./content.ts";

/** Which files an actor can see, and what the actor may do with each. */
export interface ListFilter {
  readonly companyId: string;
  /** Null means the board, which sees every file of the company. */
  readonly agentId: string | null;
  readonly leastRank: number;
  readonly query: string | undefined;
  readonly kind: FileRow["kind"] | undefined;
  readonly order: "oldest" | "newest";
  readonly cursor: string | undefined;
  readonly limit: number;
}

/** A pinned file is shown as the newest version that the actor may read. Nothing in it comes from a later version. */
export type Ranked = FileRow & { rank: number; pinned: boolean };

export async function listFor(
  tx: ReadTx,
  filter: ListFilter,
): Promise<{ page: Ranked[]; nextCursor: string | null }> {
  const words = filter.query === undefined ? [] : wordsOf(filter.query);
  if (filter.query !== undefined && words.length === 0) return { page: [], nextCursor: null };
  const { agentId, companyId, limit } = filter;
  const last = await cursorRow(filter.cursor, async (id) => {
    const file = await fileById(tx, id);
    if (file?.company_id !== companyId) return undefined;
    const isListed =
      (await isKnown(tx, filter, `kb:${id}`)) || (await visibleVersions(tx, filter, id)).length > 0;
    return isListed ? file : undefined;
  });
  let after = last?.num ?? (filter.order === "oldest" ? 0 : Number.MAX_SAFE_INTEGER);
  const found: Ranked[] = [];
  for (;;) {
    const rows = await tx.all(someFiles(tx.dialect, filter, words, after), {});
    for (const { sure, most, described, ...row } of rows) {
      const rank =
        agentId === null
          ? rankOfBoard(row)
          : sure >= most
            ? sure
            : await effectiveRank(tx, agentId, `kb:${row.id}`);
      const [pin] = agentId === null || rank >= ranks.read ? [] : await pinsOn(tx, agentId, row.id);
      const pinned = pin === undefined ? undefined : await pinnedRow(tx, row, pin);
      // The index has only the newest version of a file, so earlier versions are compared here.
      if (pinned !== undefined && hasWords(pinned.description, words)) found.push(pinned);
      else if (pinned === undefined && rank >= filter.leastRank && described === 1)
        found.push({ ...row, rank, pinned: false });
    }
    // Files that turn out to be hidden don't count, so the page is filled with the files after them.
    if (rows.length <= limit || found.length > limit) return pageAfter(found, limit, ({ id }) => id);
    after = rows.at(-1)?.num ?? after;
  }
}

/**
 * The number of files on all pages of the board's list. An agent's list has no such number, because each file would have to be
 * checked.
 */
export async function countForBoard(
  tx: ReadTx,
  { companyId, query: asked, kind }: Pick<ListFilter, "companyId" | "query" | "kind">,
): Promise<number> {
  const words = asked === undefined ? [] : wordsOf(asked);
  if (asked !== undefined && words.length === 0) return 0;
  const isNamed =
    words.length === 0
      ? sql``
      : sql`and id in (select f.id from files f where ${describedBy(tx.dialect, words)})`;
  return countOf(tx, "files", { company_id: companyId, kind }, sql`deleted_at is null ${isNamed}`);
}

/** The file, as the version of it that was delivered or sent to the agent. */
async function pinnedRow(tx: ReadTx, file: FileRow, pin: Pin): Promise<Ranked | undefined> {
  const at = await tx.first(versionAt, { id: file.id, version: pin.version });
  if (at === undefined) return undefined;
  const { version, hash, size, description, created_at: updated_at } = at;
  return { ...file, version, hash, size, description, updated_at, rank: ranks.read, pinned: true };
}

/** The board may write every file except those that only the system writes. */
export function rankOfBoard(file: Pick<FileRow, "kind">): number {
  return ["outcome", "log", "result", "skill"].includes(file.kind) ? ranks.read : ranks.write;
}

function someFiles(dialect: Dialect, filter: ListFilter, words: readonly string[], after: number) {
  const { agentId, companyId } = filter;
  // `sure` needs no further check. If `most` is higher, it rests on the position of a giver.
  const rights =
    agentId === null
      ? sql`(select id, 0 as sure, 0 as most from files where company_id = ${companyId})`
      : sql`(select id, max(case when unsure = 0 then level else ${sql.lit(noRight)} end) as sure, max(level) as most from (
          select substr(resource, 4) as id, level, structural as unsure from grants
            where grantee_id = ${agentId} and resource >= 'kb:' and resource < 'kb;' and broken = 0
          union all select id, case when kind = 'log' then 1 else 2 end, 0 from files where owner_id = ${agentId}
          union all select id, 1, 0 from files where owner_id in (${departedBelow(agentId)})
            or owner_id in (${reportsBelow(agentId)})
          union all select substr(resource, 4), 2, 0 from grants where grantee_id in (${departedBelow(agentId)})
            and resource >= 'kb:' and resource < 'kb;' and origin = 'creation' and revoked_at is null
          union all select id, 1, 1 from (${maybePinned(agentId)}) as p
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
      .select(
        words.length === 0
          ? sql<number>`1`.as("described")
          : sql<number>`case when ${describedBy(dialect, words)} then 1 else 0 end`.as("described"),
      )
      .where("f.company_id", "=", companyId)
      .where("f.deleted_at", "is", null)
      .where("f.num", filter.order === "oldest" ? ">" : "<", after);
    if (agentId !== null) files = files.where("r.most", ">=", filter.leastRank);
    if (filter.kind !== undefined) files = files.where("f.kind", "=", filter.kind);
    // Messages are read in the inbox. An agent sees them here only if it asks for this kind of file.
    else if (agentId !== null) files = files.where("f.kind", "<>", "message");
    // A pinned version may have had another description.
    if (words.length > 0)
      files = files.where(sql<boolean>`(${describedBy(dialect, words)} or r.sure < r.most)`);
    return files.orderBy("f.num", filter.order === "oldest" ? "asc" : "desc").limit(filter.limit + 1);
  });
}

interface Wanted {
  readonly kinds?: readonly FileRow["kind"][];
  /** Present if the description contains the words. */
  readonly described?: true;
}

/** A file that was found, with its text if the index does not have the text. */
type Found = Ranked & { readonly described: number; readonly text?: string };

/**
 * The files with all of these words that the agent may read. Files whose description has the words come first, then the newest.
 * There are no scores: scores such as bm25 come from the whole index, and would show how often a word occurs in files that the
 * agent can't read.
 */
export async function matches(
  tx: ReadTx,
  companyId: string,
  agentId: string | null,
  words: readonly string[],
  limit: number,
  only: Wanted = {},
): Promise<Found[]> {
  const found = await indexedMatches(tx, { companyId, agentId, words, only }, limit);
  const pinned = agentId === null ? [] : await pinnedMatches(tx, agentId, words);
  const isWanted = ({ kind, described }: Found) =>
    (only.kinds === undefined || only.kinds.includes(kind)) && (only.described !== true || described === 1);
  return [...found, ...pinned.filter(isWanted)]
    .toSorted((a, b) => b.described - a.described || b.updated_at - a.updated_at || b.num - a.num)
    .slice(0, limit + 1);
}

const mostPinned = 100;
const mostPinnedBytes = 1024 * 1024;

/**
 * The versions that were delivered or sent to the agent: of each file the newest one. They are compared without the index, even
 * if the version is the file's newest. Otherwise the answer would tell that a later version was written. Of a version with more
 * than 1 MB, only the description is compared.
 */
async function pinnedMatches(tx: ReadTx, agentId: string, words: readonly string[]): Promise<Found[]> {
  const found: Found[] = [];
  for (const [id, [pin]] of Map.groupBy(await pinsOf(tx, agentId, mostPinned), ({ fileId }) => fileId)) {
    const file = await fileById(tx, id);
    const row = file === undefined || pin === undefined ? undefined : await pinnedRow(tx, file, pin);
    if (row === undefined) continue;
    const text = row.size > mostPinnedBytes ? "" : searchableText(await tx.blobs.read(id, row.hash));
    if (hasWords(`${row.description}\n${text}`, words))
      found.push({ ...row, text, described: hasWords(row.description, words) ? 1 : 0 });
  }
  return found;
}

async function indexedMatches(
  tx: ReadTx,
  wanted: Omit<Parameters<typeof matching>[1], "offset" | "limit">,
  limit: number,
): Promise<Found[]> {
  const { agentId } = wanted;
  const found: Found[] = [];
  const step = limit + 1;
  for (let offset = 0; ; offset += step) {
    const rows = await tx.all(matching(tx.dialect, { ...wanted, offset, limit: step }), {});
    for (const row of rows) {
      const rank = agentId === null ? rankOfBoard(row) : await effectiveRank(tx, agentId, `kb:${row.id}`);
      if (rank >= ranks.read) found.push({ ...row, rank, pinned: false });
    }
    if (rows.length < step || found.length > limit) return found;
  }
}

function matching(
  dialect: Dialect,
  p: {
    companyId: string;
    agentId: string | null;
    words: readonly string[];
    only: Wanted;
    offset: number;
    limit: number;
  },
) {
  const { companyId, agentId, words, only } = p;
  return dynamic((db) => {
    let files = db
      .selectFrom("files as f")
      .selectAll("f")
      .select(sql<number>`case when ${describedBy(dialect, words)} then 1 else 0 end`.as("described"))
      .where("f.company_id", "=", companyId)
      .where("f.deleted_at", "is", null)
      .where(only.described === true ? describedBy(dialect, words) : indexed(dialect, words));
    if (only.kinds !== undefined) files = files.where("f.kind", "in", only.kinds);
    if (agentId !== null) files = files.where(sql<boolean>`f.id in (${readableFiles(agentId, companyId)})`);
    return files
      .orderBy("described", "desc")
      .orderBy("f.updated_at", "desc")
      .orderBy("f.num", "desc")
      .limit(p.limit)
      .offset(p.offset);
  });
}

const indexed = (dialect: Dialect, words: readonly string[]): RawBuilder<boolean> =>
  dialect === "sqlite"
    ? sql<boolean>`f.num in (select rowid from search where search match ${fts5(words)})`
    : inIndex(words, "anywhere");

/** The files `f` whose description has all of these words. */
export const describedBy = (dialect: Dialect, words: readonly string[]): RawBuilder<boolean> =>
  dialect === "sqlite"
    ? sql<boolean>`f.num in (select rowid from search where search match ${`description : (${fts5(words)})`})`
    : inIndex(words, "description");

/** Words are letters and digits only (wordsOf), so they can't contain query syntax. Each word matches as a prefix. */
const fts5 = (words: readonly string[]): string => words.map((word) => `"${word}"*`).join(" AND ");
const inIndex = (words: readonly string[], where: "anywhere" | "description"): RawBuilder<boolean> =>
  sql<boolean>`f.num in (select rowid from search where words @@ ${entryQuery(words, where)}::tsquery)`;

/** The part of a text from which the excerpt is taken. */
export const indexedText = query((db, p: { num: number }) => ({
  compile: () =>
    sql<{ body: string }>`select substr(body, 1, 20000) as body from search where rowid = ${p.num}`.compile(
      db,
    ),
}));

import { type RawBuilder, sql } from "kysely";
import { noRight, ranks } from "../contract/resources.ts";
import { dynamic, type Dialect } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { effectiveRank } from "../capabilities/rights.ts";
import { pageAfter } from "../dispatch/page.ts";
import type { FileRow } from "./table.ts";
import { wordsOf } from "./content.ts";

/** Which files an actor sees, and what it may do with each. */
export interface ListFilter {
  readonly companyId: string;
  /** Null: the board, which sees every file of the company. */
  readonly agentId: string | null;
  readonly leastRank: number;
  readonly query: string | undefined;
  readonly kind: FileRow["kind"] | undefined;
  readonly after: number;
  readonly limit: number;
}

export interface Listed {
  readonly page: (FileRow & { rank: number })[];
  readonly nextCursor: string | null;
}

export async function listFor(tx: ReadTx, filter: ListFilter): Promise<Listed> {
  const words = filter.query === undefined ? [] : wordsOf(filter.query);
  if (filter.query !== undefined && words.length === 0) return { page: [], nextCursor: null };
  const { agentId } = filter;
  if (agentId === null) {
    const rows = await tx.all(
      dynamic((db) => {
        let files = db
          .selectFrom("files")
          .selectAll()
          .where("company_id", "=", filter.companyId)
          .where("deleted_at", "is", null)
          .where("num", ">", filter.after);
        if (filter.kind !== undefined) files = files.where("kind", "=", filter.kind);
        if (words.length > 0) files = files.where(describedBy(tx.dialect, words));
        return files.orderBy("num").limit(filter.limit + 1);
      }),
      {},
    );
    const { page, nextCursor } = pageAfter(rows, filter.limit, (row) => String(row.num));
    return { page: page.map((row) => ({ ...row, rank: rankOfBoard(row) })), nextCursor };
  }

  const rows = await tx.all(
    dynamic((db) => {
      const granted = db
        .selectFrom("grants")
        .select([sql<string>`substr(resource, 4)`.as("id"), "level", "structural"])
        .where("grantee_id", "=", agentId)
        .where(sql<boolean>`resource >= 'kb:' and resource < 'kb;'`)
        .where("broken", "=", 0);
      const owned = db
        .selectFrom("files")
        .select([
          "id",
          sql<number>`case when kind = 'log' then ${sql.lit(ranks.read)} else ${sql.lit(ranks.write)} end`.as(
            "level",
          ),
          sql<0>`0`.as("structural"),
        ])
        .where("owner_id", "=", agentId);
      const driven = db
        .selectFrom("outcomes")
        .select(["id", sql<number>`${sql.lit(ranks.read)}`.as("level"), sql<0>`0`.as("structural")])
        .where("responsible_id", "=", agentId)
        .where("status", "in", ["open", "submitted"]);
      const mailed = db
        .selectFrom("messages")
        .select([
          "file_id as id",
          sql<number>`${sql.lit(ranks.read)}`.as("level"),
          sql<0>`0`.as("structural"),
        ])
        .where("to_id", "=", agentId)
        .where("delivered_at", "is not", null);
      const skills = db
        .selectFrom("skill_files")
        .select([
          "file_id as id",
          sql<number>`${sql.lit(ranks.read)}`.as("level"),
          sql<0>`0`.as("structural"),
        ])
        .where("company_id", "=", filter.companyId);
      let files = db
        .selectFrom(granted.unionAll(owned).unionAll(driven).unionAll(mailed).unionAll(skills).as("r"))
        .innerJoin("files as f", "f.id", "r.id")
        .selectAll("f")
        .select([
          // `sure` needs no further look. A higher `most` rests on a giver's position, which is checked below.
          sql<number>`max(case when r.structural = 0 then r.level else ${sql.lit(noRight)} end)`.as("sure"),
          sql<number>`max(r.level)`.as("most"),
        ])
        .where("f.company_id", "=", filter.companyId)
        .where("f.deleted_at", "is", null)
        .where("f.num", ">", filter.after);
      // Messages are read in the inbox. They are listed here only if the caller asks for their kind.
      if (filter.kind === undefined) files = files.where("f.kind", "<>", "message");
      if (filter.kind !== undefined) files = files.where("f.kind", "=", filter.kind);
      if (words.length > 0) files = files.where(sql<boolean>`f.${describedBy(tx.dialect, words)}`);
      return files
        .groupBy("f.num")
        .having(sql<number>`max(r.level)`, ">=", filter.leastRank)
        .orderBy("f.num")
        .limit(filter.limit + 1);
    }),
    {},
  );
  const { page, nextCursor } = pageAfter(rows, filter.limit, (row) => String(row.num));
  const visible = [];
  for (const { sure, most, ...row } of page) {
    // A right that its giver had by position counts only while the giver still has that position.
    const rank = sure >= most ? sure : await effectiveRank(tx, agentId, `kb:${row.id}`);
    if (rank >= filter.leastRank) visible.push({ ...row, rank });
  }
  return { page: visible, nextCursor };
}

/** The board may write every file except those that only the system writes. */
export function rankOfBoard(file: Pick<FileRow, "kind">): number {
  return ["outcome", "log", "result", "skill"].includes(file.kind) ? ranks.read : ranks.write;
}

/** Best matches first. The caller must filter them by rights. */
export async function matches(
  tx: ReadTx,
  companyId: string,
  words: readonly string[],
  limit: number,
): Promise<(FileRow & { body: string })[]> {
  return tx.all(
    dynamic((db) => ({
      compile: () =>
        (tx.dialect === "sqlite"
          ? sql<FileRow & { body: string }>`select f.*, s.body from search s join files f on f.num = s.rowid
              where search match ${fts5(words)} and f.company_id = ${companyId} and f.deleted_at is null
              order by rank limit ${limit}`
          : sql<FileRow & { body: string }>`select f.*, s.body from search s join files f on f.num = s.rowid
              where s.words @@ to_tsquery('simple', ${tsquery(words)}) and f.company_id = ${companyId}
                and f.deleted_at is null
              order by ts_rank(s.words, to_tsquery('simple', ${tsquery(words)})) desc, f.num limit ${limit}`
        ).compile(db),
    })),
    {},
  );
}

function describedBy(dialect: Dialect, words: readonly string[]): RawBuilder<boolean> {
  return dialect === "sqlite"
    ? sql<boolean>`num in (select rowid from search where search match ${`description : (${fts5(words)})`})`
    : sql<boolean>`num in (select rowid from search where words_in(description) @@ to_tsquery('simple', ${tsquery(words)}))`;
}

/** Words are letters and digits only (wordsOf), so they can't contain query syntax. Each word matches as a prefix. */
const fts5 = (words: readonly string[]): string => words.map((word) => `"${word}"*`).join(" AND ");
const tsquery = (words: readonly string[]): string => words.map((word) => `'${word}':*`).join(" & ");

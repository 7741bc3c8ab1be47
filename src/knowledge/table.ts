import { hash as digest } from "node:crypto";
import { type RawBuilder, sql } from "kysely";
import { leastStorage } from "../contract/companies.ts";
import { settingsOf } from "../dispatch/company-settings.ts";
import type { Refusal } from "../contract/refusal.ts";
import type { Event } from "../contract/ledger.ts";
import { type Actor, presentActor } from "../events/ledger.ts";
import type { Value } from "../store/columns.ts";
import { insertion, laterInsertion, laterRow, laterSum } from "../store/inserts.ts";
import { type Dialect, query, selection, textQuery } from "../store/query.ts";
import { fileRow } from "../store/row-by-id.ts";
import type { Row } from "../store/schema.ts";
import { entryWords } from "../store/search-words.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { linksIn, searchableText } from "./content.ts";
import { storageFull } from "./texts.ts";

/** The rows of files and their versions. A file's row repeats the number, hash and size of its newest version. */
export type FileRow = Row<"files">;

export interface NewFile {
  readonly id: string;
  readonly companyId: string;
  readonly kind: FileRow["kind"];
  readonly description: string;
  readonly mediaType: string;
  readonly ownerId: string | null;
  readonly content: Uint8Array;
  readonly author: Actor;
}

export async function insertFile(tx: Tx, file: NewFile): Promise<{ version: number; hash: string }> {
  const hash = digest("sha256", file.content);
  await tx.run(insertRow, {
    id: file.id,
    company_id: file.companyId,
    kind: file.kind,
    description: file.description,
    media_type: file.mediaType,
    version: 1,
    hash,
    size: file.content.byteLength,
    owner_id: file.ownerId,
    created_at: tx.now,
    updated_at: tx.now,
    deleted_at: null,
  });
  await countBytes(tx, file, file);
  await insertVersion(tx, { ...file, fileId: file.id, version: 1, hash });
  await tx.run(indexNew, { id: file.id, ...entryOf(tx, file.description, file.content) });
  await insertLinks(tx, file.companyId, file.id, file.content);
  return { version: 1, hash };
}

/** Adds the next version. The caller has checked the right to write and that `file` is still the newest version. */
export async function addVersion(
  tx: Tx,
  file: Pick<FileRow, "num" | "id" | "company_id" | "version" | "kind">,
  change: { content: Uint8Array; description: string; author: Actor },
): Promise<{ version: number; hash: string }> {
  const hash = digest("sha256", change.content);
  const version = file.version + 1;
  await insertVersion(tx, { ...change, fileId: file.id, version, hash });
  await countBytes(tx, { companyId: file.company_id, kind: file.kind }, change);
  await tx.run(updateRow, {
    id: file.id,
    version,
    hash,
    size: change.content.byteLength,
    description: change.description,
    now: tx.now,
  });
  await tx.run(indexAgain, { num: file.num, ...entryOf(tx, change.description, change.content) });
  await tx.run(dropLinks, { id: file.id });
  await insertLinks(tx, file.company_id, file.id, change.content);
  return { version, hash };
}

export async function tombstone(tx: Tx, file: Pick<FileRow, "num" | "id">): Promise<void> {
  await tx.run(markDeleted, { id: file.id, now: tx.now });
  await tx.run(unindex, { num: file.num });
  await tx.run(dropLinks, { id: file.id });
}

/** Writes the search entry of a file again, from its newest version. Removes it if the file was deleted. */
export async function reindex(tx: Tx, id: string): Promise<void> {
  const file = await fileById(tx, id);
  if (file === undefined) return;
  await tx.run(unindex, { num: file.num });
  if (file.deleted_at !== null) return;
  await tx.run(indexNew, { id, ...entryOf(tx, file.description, await tx.blobs.read(id, file.hash)) });
}

export async function fileById(tx: ReadTx, id: string): Promise<FileRow | undefined> {
  return tx.first(fileRow, { id });
}

/** Announces to the store that the row of a file will be read. */
export const fileAhead = (tx: ReadTx, id: string): void => tx.ahead(fileRow, { id });

export const versionAt = query((db, p: { id: string; version: number }) =>
  db.selectFrom("versions").selectAll().where("file_id", "=", p.id).where("version", "=", p.version),
);

/** The author of a version. */
export const versionWriter = (row: Row<"versions">): Event["actor"] =>
  presentActor({
    actor_kind: row.author_kind,
    agent_id: row.author_agent_id,
    session_id: row.author_session_id,
    person_id: row.author_person_id,
  });

export const versionsBefore = selection(
  "versions",
  ["file_id"],
  (p: { before: number; limit: number }) =>
    sql`and version < ${p.before} order by version desc limit ${p.limit}`,
);

async function insertVersion(
  tx: Tx,
  version: Pick<NewFile, "description" | "content" | "author"> & {
    fileId: string;
    version: number;
    hash: string;
  },
): Promise<void> {
  await tx.run(insertBlob, { file_id: version.fileId, hash: version.hash, content: version.content });
  await tx.run(insertVersionRow, {
    file_id: version.fileId,
    version: version.version,
    description: version.description,
    hash: version.hash,
    size: version.content.byteLength,
    author_kind: version.author.kind,
    author_agent_id: version.author.agentId,
    author_session_id: version.author.sessionId,
    author_person_id: version.author.personId,
    created_at: tx.now,
  });
}

/**
 * Adds a version to the sums of its company and its author. An author that has reached a limit can't write more content. Files
 * that the system writes, and files that record the state of work, always fit. The function writes first and only reads
 * afterwards, so it can run beside another statement.
 */
async function countBytes(
  tx: Tx,
  { companyId, kind }: Pick<NewFile, "companyId" | "kind">,
  { content, author }: Pick<NewFile, "content" | "author">,
): Promise<void> {
  const isLimited = author.kind !== "system" && limitedKinds.has(kind);
  await countStored(tx, { companyId, agentId: author.agentId, bytes: content.byteLength, isLimited });
}

/** Adds bytes to the sums of a company and of the agent that caused them. A negative number is for removed bytes. */
export async function countStored(
  tx: Tx,
  stored: { companyId: string; agentId: string | null; bytes: number; isLimited?: boolean },
): Promise<void> {
  const { companyId, agentId, bytes, isLimited = false } = stored;
  const sum = { company_id: companyId, bytes };
  const add = async (): Promise<void> => {
    await tx.run(addBytes, { ...sum, agent_id: "" });
    if (agentId !== null) await tx.run(addBytes, { ...sum, agent_id: agentId });
  };
  if (!isLimited) return add();
  // SQLite adds and returns the sums in one statement. On PostgreSQL a batch already knows its sums, so nothing waits.
  const sums = async (): Promise<readonly { agent_id: string; bytes: number }[]> => {
    if (tx.dialect === "sqlite")
      return tx.all(agentId === null ? addToOne : addToBoth, { ...sum, agent_id: agentId ?? "" });
    const ids = agentId === null ? [""] : ["", agentId];
    const before = await Promise.all(ids.map((id) => storedBytes(tx, companyId, id)));
    await add();
    return ids.map((agent_id, index) => ({ agent_id, bytes: (before[index] ?? 0) + bytes }));
  };
  const added = await sums();
  const sumOf = (id: string | null): number => added.find(({ agent_id }) => agent_id === id)?.bytes ?? 0;
  const [ofCompany, ofAgent] = [sumOf(""), sumOf(agentId)];
  if (ofCompany <= leastStorage) return;
  const { maxAgentBytes, maxCompanyBytes } = await settingsOf(tx, companyId);
  if (ofAgent > maxAgentBytes) throw storageFull("agent", ofAgent - bytes, maxAgentBytes);
  if (ofCompany > maxCompanyBytes) throw storageFull("company", ofCompany - bytes, maxCompanyBytes);
}

/** How many bytes an agent can still add, and the refusal if it adds more. */
export async function storageLeft(
  tx: ReadTx,
  companyId: string,
  agentId: string,
): Promise<{ bytes: number; full: Refusal }> {
  const { maxAgentBytes, maxCompanyBytes } = await settingsOf(tx, companyId);
  const ofAgent = await storedBytes(tx, companyId, agentId);
  const ofCompany = await storedBytes(tx, companyId, null);
  const [own, all] = [maxAgentBytes - ofAgent, maxCompanyBytes - ofCompany];
  return own < all
    ? { bytes: own, full: storageFull("agent", ofAgent, maxAgentBytes) }
    : { bytes: all, full: storageFull("company", ofCompany, maxCompanyBytes) };
}

const limitedKinds: ReadonlySet<FileRow["kind"]> = new Set(["file", "message", "state", "skill"]);

/** The bytes of all versions and commits of a company, or only of those that an agent wrote. */
export async function storedBytes(tx: ReadTx, companyId: string, agentId: string | null): Promise<number> {
  return (await tx.first(storageRow, { company_id: companyId, agent_id: agentId ?? "" }))?.bytes ?? 0;
}

/** Announces to the store that the sums of a company and of an agent will be needed. */
export function storageAhead(tx: ReadTx, companyId: string, agentId: string | null): void {
  for (const agent_id of agentId === null ? [""] : ["", agentId])
    tx.ahead(storageRow, { company_id: companyId, agent_id });
}

/** Counts the bytes again from the rows, for a company or for one of its agents. */
export async function recountBytes(tx: Tx, companyId: string, agentId: string | null): Promise<void> {
  const right = (await tx.first(keptBytes, { companyId, agentId: agentId ?? "" }))?.bytes ?? 0;
  const bytes = Number(right) - (await storedBytes(tx, companyId, agentId));
  await tx.run(addBytes, { company_id: companyId, agent_id: agentId ?? "", bytes });
}

const keptBytes = textQuery(
  (p: { companyId: string; agentId: string }) => sql<{ bytes: number | string | null }>`
    select sum(bytes) as bytes from (
      select v.size as bytes, f.company_id, v.author_agent_id as agent_id from versions v join files f on f.id = v.file_id
      union all select bytes, company_id, agent_id from repo_branches
      union all select bytes, company_id, agent_id from bundles where settled_at is null) kept
    where company_id = ${p.companyId} and (${p.agentId} = '' or agent_id = ${p.agentId})`,
);

const storageRow = selection("storage", ["company_id", "agent_id"]);

const addBytes = laterSum("storage", "bytes");

const onTop = sql`on conflict (company_id, agent_id) do update set bytes = storage.bytes + excluded.bytes`;

/** Adds to the sum of a company and to that of an agent, or to one of them, and returns the sums. */
const adding = (ofCompany: boolean) =>
  textQuery((p: { company_id: string; agent_id: string; bytes: number }) => {
    const values = [p.agent_id, ...(ofCompany ? [sql`''`] : [])].map(
      (agent) => sql`(${p.company_id}, ${agent}, ${p.bytes})`,
    );
    return sql<{ agent_id: string; bytes: number }>`insert into storage (company_id, agent_id, bytes)
      values ${sql.join(values)} ${onTop} returning agent_id, bytes`;
  });
const [addToOne, addToBoth] = [adding(false), adding(true)];

async function insertLinks(tx: Tx, companyId: string, fromId: string, content: Uint8Array): Promise<void> {
  for (const toId of linksIn(content))
    await tx.run(insertLink, { from_id: fromId, to_id: toId, company_id: companyId });
}

const insertRow = insertion("files");

const updateRow = query(
  (db, p: { id: string; version: number; hash: string; size: number; description: string; now: number }) =>
    db
      .updateTable("files")
      .set({ version: p.version, hash: p.hash, size: p.size, description: p.description, updated_at: p.now })
      .where("id", "=", p.id),
);

const markDeleted = query((db, p: { id: string; now: number }) =>
  db.updateTable("files").set({ deleted_at: p.now, updated_at: p.now }).where("id", "=", p.id),
);

const insertVersionRow = laterRow("versions");

const insertBlob = laterRow("blobs", sql`on conflict do nothing`);

const insertLink = insertion("links", sql`on conflict do nothing`);

const dropLinks = query((db, p: { id: string }) => db.deleteFrom("links").where("from_id", "=", p.id));

interface Entry extends Readonly<Record<string, Value>> {
  readonly description: string;
  readonly body: string;
  /** The words for search. SQLite makes them itself. */
  readonly words: string;
}

/** The search entry of a file. */
function entryOf(tx: ReadTx, description: string, content: Uint8Array): Entry {
  const entry = { description: description.normalize("NFC"), body: searchableText(content) };
  if (tx.dialect === "sqlite") return { ...entry, words: "" };
  const ahead = madeAhead.get(tx);
  if (ahead?.description === entry.description && ahead.body === entry.body) return ahead;
  return { ...entry, words: entryWords(entry.description, entry.body) };
}

/**
 * Makes the words of a text before the write takes its lock. This is the slowest computation of the write, and the company's
 * other writes would wait for it, on all nodes.
 */
export function entryAhead(tx: ReadTx, description: string, content: string): void {
  if (tx.dialect !== "sqlite") madeAhead.set(tx, entryOf(tx, description, Buffer.from(content)));
}

const madeAhead = new WeakMap<ReadTx, Entry>();

const cellsOf = (p: Entry, dialect: Dialect): Readonly<Record<string, RawBuilder<unknown>>> => ({
  description: sql`${p.description}`,
  body: sql`${p.body}`,
  ...(dialect === "sqlite" ? {} : { words: sql`array_to_tsvector(${p.words}::text[])` }),
});

const indexNew = laterInsertion("search", (p: Entry & { id: string }, dialect) => ({
  rowid: sql`(select num from files where id = ${p.id})`,
  ...cellsOf(p, dialect),
}));

const indexAgain = textQuery((p: Entry & { num: number }, dialect) => {
  const set = Object.entries(cellsOf(p, dialect)).map(([column, cell]) => sql`${sql.ref(column)} = ${cell}`);
  return sql<never>`update search set ${sql.join(set)} where rowid = ${p.num}`;
});

const unindex = query((db, p: { num: number }) => ({
  compile: () => sql`delete from search where rowid = ${p.num}`.compile(db),
}));

import { hash as digest } from "node:crypto";
import { sql } from "kysely";
import { leastStorage } from "../contract/companies.ts";
import { settingsOf } from "../dispatch/company-settings.ts";
import type { Actor } from "../events/ledger.ts";
import { insertion, query, selection } from "../store/query.ts";
import type { Row } from "../store/schema.ts";
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
  const row = await tx.first(insertRow, {
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
  await insertVersion(tx, { ...file, fileId: file.id, version: 1, hash });
  await countBytes(tx, file, file);
  await tx.run(indexNew, {
    num: row?.num ?? 0,
    description: file.description.normalize("NFC"),
    body: searchableText(file.content),
  });
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
  await tx.run(indexAgain, {
    num: file.num,
    description: change.description.normalize("NFC"),
    body: searchableText(change.content),
  });
  await tx.run(dropLinks, { id: file.id });
  await insertLinks(tx, file.company_id, file.id, change.content);
  return { version, hash };
}

export async function tombstone(tx: Tx, file: Pick<FileRow, "num" | "id">): Promise<void> {
  await tx.run(markDeleted, { id: file.id, now: tx.now });
  await tx.run(unindex, { num: file.num });
  await tx.run(dropLinks, { id: file.id });
}

/** Writes the search entry of a file again, from its newest version. A deleted file has none. */
export async function reindex(tx: Tx, id: string): Promise<void> {
  const file = await fileById(tx, id);
  if (file === undefined) return;
  await tx.run(unindex, { num: file.num });
  if (file.deleted_at !== null) return;
  await tx.run(indexNew, {
    num: file.num,
    description: file.description.normalize("NFC"),
    body: searchableText(await tx.blobs.read(id, file.hash)),
  });
}

export async function fileById(tx: ReadTx, id: string): Promise<FileRow | undefined> {
  return tx.first(byId, { id });
}

export const versionAt = query((db, p: { id: string; version: number }) =>
  db.selectFrom("versions").selectAll().where("file_id", "=", p.id).where("version", "=", p.version),
);

export const versionsBefore = query((db, p: { id: string; before: number; limit: number }) =>
  db
    .selectFrom("versions")
    .selectAll()
    .where("file_id", "=", p.id)
    .where("version", "<", p.before)
    .orderBy("version", "desc")
    .limit(p.limit),
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
    created_at: tx.now,
  });
}

/**
 * Adds a version to the sums of its company and its author. An author that has reached a limit can't write further content. What
 * the system writes always fits, and so does what records the state of work.
 */
async function countBytes(
  tx: Tx,
  { companyId, kind }: Pick<NewFile, "companyId" | "kind">,
  { content, author }: Pick<NewFile, "content" | "author">,
): Promise<void> {
  const add = async (agent_id: string): Promise<number> =>
    (await tx.first(addBytes, { company_id: companyId, agent_id, bytes: content.byteLength }))?.bytes ?? 0;
  const ofCompany = await add("");
  const ofAgent = author.agentId === null ? 0 : await add(author.agentId);
  if (author.kind === "system" || !limitedKinds.has(kind) || ofCompany <= leastStorage) return;
  const { maxAgentBytes, maxCompanyBytes } = await settingsOf(tx, companyId);
  if (ofAgent > maxAgentBytes) throw storageFull("agent", ofAgent - content.byteLength, maxAgentBytes);
  if (ofCompany > maxCompanyBytes)
    throw storageFull("company", ofCompany - content.byteLength, maxCompanyBytes);
}

const limitedKinds: ReadonlySet<FileRow["kind"]> = new Set(["file", "message", "state", "skill"]);

/** Bytes of all versions of a company, or of those that an agent wrote. */
export async function storedBytes(tx: ReadTx, companyId: string, agentId: string | null): Promise<number> {
  return (await tx.first(storageRow, { company_id: companyId, agent_id: agentId ?? "" }))?.bytes ?? 0;
}

const storageRow = selection("storage", ["company_id", "agent_id"]);

const addBytes = insertion(
  "storage",
  sql<{
    bytes: number;
  }>`on conflict (company_id, agent_id) do update set bytes = storage.bytes + excluded.bytes returning bytes`,
);

async function insertLinks(tx: Tx, companyId: string, fromId: string, content: Uint8Array): Promise<void> {
  for (const toId of linksIn(content))
    await tx.run(insertLink, { from_id: fromId, to_id: toId, company_id: companyId });
}

const byId = query((db, p: { id: string }) => db.selectFrom("files").selectAll().where("id", "=", p.id));

const insertRow = insertion("files", sql<{ num: number }>`returning num`);

const updateRow = query(
  (db, p: { id: string; version: number; hash: string; size: number; description: string; now: number }) =>
    db
      .updateTable("files")
      .set({ version: p.version, hash: p.hash, size: p.size, description: p.description, updated_at: p.now })
      .where("id", "=", p.id),
);

export const markDeleted = query((db, p: { id: string; now: number }) =>
  db.updateTable("files").set({ deleted_at: p.now, updated_at: p.now }).where("id", "=", p.id),
);

const insertVersionRow = insertion("versions");

const insertBlob = insertion("blobs", sql`on conflict do nothing`);

const insertLink = insertion("links", sql`on conflict do nothing`);

const dropLinks = query((db, p: { id: string }) => db.deleteFrom("links").where("from_id", "=", p.id));

const indexNew = query((db, p: { num: number; description: string; body: string }) => ({
  compile: () =>
    sql`insert into search (rowid, description, body) values (${p.num}, ${p.description}, ${p.body})`.compile(
      db,
    ),
}));

const indexAgain = query((db, p: { num: number; description: string; body: string }) => ({
  compile: () =>
    sql`update search set description = ${p.description}, body = ${p.body} where rowid = ${p.num}`.compile(
      db,
    ),
}));

const unindex = query((db, p: { num: number }) => ({
  compile: () => sql`delete from search where rowid = ${p.num}`.compile(db),
}));

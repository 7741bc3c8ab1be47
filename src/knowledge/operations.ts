import { isUtf8 } from "node:buffer";
import * as contract from "../contract/knowledge.ts";
import { notFound } from "../contract/refusal.ts";
import { levelAt, ranks } from "../contract/resources.ts";
import { parseData, presentActor } from "../events/ledger.ts";
import { accessesOf } from "../events/pages.ts";
import { removedSince } from "../events/removed.ts";
import { dynamic, query } from "../store/query.ts";
import { wordsOf } from "../store/search-words.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { giveCreator } from "../capabilities/grants.ts";
import { type Call, type Guarded, guarded } from "../dispatch/guarded.ts";
import { NotModified, tagOf } from "../dispatch/not-modified.ts";
import { memberById, membersAhead } from "../capabilities/members.ts";
import { cursorParts, defaultPage, numberCursor, pageAfter } from "../dispatch/page.ts";
import { includesVersion } from "../capabilities/pinned.ts";
import { isKnown, type Viewer, visibleVersions } from "../capabilities/visible.ts";
import { decodeContent, encodeContent, excerptOf } from "./content.ts";
import { countForBoard, indexedText, listFor, matches, type Ranked } from "./lists.ts";
import {
  addVersion,
  fileById,
  type FileRow,
  entryAhead,
  insertFile,
  versionWriter,
  storageAhead,
  tombstone,
  versionAt,
  versionsBefore,
} from "./table.ts";
import * as texts from "./texts.ts";
import { logRead } from "./showing.ts";
import { placeCopy, readFromWorkspace } from "./workspace.ts";

/** Updates a file whose content is derived, before it is read. outcomes/ provides this for the files of outcomes. */
export type Refresh = (tx: Tx, file: FileRow) => Promise<FileRow>;

export function knowledgeHandlers(refresh: Refresh): Guarded[] {
  const onCreate = guarded(
    contract.createFile,
    async (call) => {
      const { tx, actor, companyId, input } = call;
      const content = await contentOf(call);
      const id = call.newId();
      const saved = await insertFile(tx, {
        id,
        companyId,
        kind: "file",
        description: input.description,
        mediaType: input.mediaType ?? "text/markdown",
        ownerId: null,
        content,
        author: actor,
      });
      if (actor.agentId !== null) {
        const creator = await memberById(tx, actor.agentId);
        if (creator === undefined) throw notFound("agent", actor.agentId);
        await giveCreator(tx, { id: call.newId(), companyId, creator, resource: `kb:${id}` });
      }
      await call.record(id, { ...saved, description: input.description });
      return { id, ...saved };
    },
    (tx, { description, content, encoding }, { companyId, agentId }) => {
      membersAhead(tx, agentId);
      storageAhead(tx, companyId, agentId);
      if (content !== undefined && encoding !== "base64") entryAhead(tx, description, content);
    },
  );

  const onWrite = guarded(contract.writeFile, async (call) => {
    const { tx, actor, input } = call;
    const file = await liveFile(tx, input.id);
    const refusal = texts.refusedWrite(file);
    if (refusal !== undefined) throw refusal;
    if (file.version !== input.version || file.hash !== input.hash) throw texts.versionConflict(file);
    const content = await contentOf(call);
    if (file.kind === "state" && content.byteLength > stateDocumentBytes)
      throw texts.stateTooLarge(content.byteLength, stateDocumentBytes);
    const saved = await addVersion(tx, file, {
      content,
      description: input.description ?? file.description,
      author: actor,
    });
    await call.record(file.id, saved);
    return { id: file.id, ...saved };
  });

  const onRead = guarded(contract.readFile, async (call) => {
    const { tx, actor } = call;
    const file = await refresh(tx, await liveFile(tx, call.input.id));
    const versions = await visibleVersions(tx, actor, file.id);
    const version = versions === "all" ? file.version : Math.max(...versions);
    return { ...(await contentAt(call, file, version)), ...(versions === "all" ? {} : { pinned: true }) };
  });

  const onReadVersion = guarded(contract.readVersion, async (call) => {
    return contentAt(call, await refresh(call.tx, await visibleFile(call)), call.input.version);
  });

  const onHistory = guarded(contract.viewHistory, async (call) => {
    const { tx, input } = call;
    const file = await refresh(tx, await visibleFile(call));
    const before = numberCursor(input.cursor, Number.MAX_SAFE_INTEGER);
    const rows = await tx.all(versionsBefore, { file_id: file.id, before, limit: (input.limit ?? 100) + 1 });
    const versions = await visibleVersions(tx, call.actor, file.id);
    const seen = versions === "all" ? rows : await pinnedRows(tx, file.id, versions, before);
    const { page, nextCursor } = pageAfter(seen, input.limit, (row) => String(row.version));
    return {
      id: file.id,
      versions: page.map((row) => ({
        version: row.version,
        hash: row.hash,
        size: row.size,
        author: versionWriter(row),
        at: new Date(row.created_at).toISOString(),
      })),
      nextCursor,
    };
  });

  const onList = guarded(contract.listFiles, async (call) => {
    const { input, caller, tx } = call;
    const { page, nextCursor } = await pageFor(call, ranks.read);
    const { query, kind } = input;
    const count =
      call.actor.agentId === null
        ? { count: await countForBoard(tx, { companyId: call.companyId, query, kind }) }
        : {};
    const files = [];
    let copied = 0;
    for (const row of page) {
      if (input.materialize !== true) {
        files.push(summary(row));
        continue;
      }
      if (caller.workspace === null) throw texts.noWorkspace("Read the files one by one: read_file.");
      const file = row.pinned ? row : await refresh(tx, row);
      const path = placeCopy(caller.workspace, file.id, await tx.blobs.read(file.id, file.hash));
      await logRead(call, file.id, file.version);
      files.push({ ...summary({ ...file, rank: row.rank, pinned: row.pinned }), path });
      // Copying holds up other calls, so the rest goes to the next page.
      copied += file.size;
      if (copied >= mostCopied && row !== page.at(-1)) return { files, ...count, nextCursor: row.id };
    }
    return { files, ...count, nextCursor };
  });

  return [
    onCreate,
    onWrite,
    onRead,
    onReadVersion,
    onHistory,
    onList,
    onBrowse,
    onSearch,
    onAccessLog,
    onLinks,
    onBrokenLinks,
    onDelete,
  ];
}

const onBrowse = guarded(contract.browseFiles, async (call) => {
  const { page, nextCursor } = await pageFor(call, ranks.none);
  return { files: page.map(summary), nextCursor };
});

const mostCopied = 4 * 1024 * 1024;

/** Each file that is found costs one reading of its text and one line in its access log. */
const mostFound = 50;

const onSearch = guarded(contract.searchFiles, async (call) => {
  const { tx, actor, companyId, input } = call;
  const words = wordsOf(input.query);
  const limit = Math.min(input.limit ?? 20, mostFound);
  const only = input.kind === undefined ? {} : { kinds: [input.kind] };
  const found = words.length === 0 ? [] : await matches(tx, companyId, actor.agentId, words, limit, only);
  const files = [];
  for (const row of found.slice(0, limit)) {
    const body = row.text ?? (await tx.first(indexedText, { num: row.num }))?.body ?? "";
    files.push({ ...summary(row), excerpt: excerptOf(body, words) });
    await logRead(call, row.id, row.version);
  }
  return { files, truncated: found.length > limit };
});

const onAccessLog = guarded(contract.viewAccessLog, async ({ tx, actor, companyId, input }) => {
  await demandAllVersions(tx, actor, input.id);
  const from = numberCursor(input.cursor, Number.MAX_SAFE_INTEGER);
  const file = { companyId, id: input.id };
  const { rows, nextCursor } = await accessesOf(tx, file, from, input.limit ?? defaultPage);
  const accesses = rows.map((row) => {
    const { version } = parseData(row.data);
    return {
      at: new Date(row.at).toISOString(),
      action: row.operation,
      by: presentActor(row),
      version: typeof version === "number" ? version : null,
    };
  });
  const { created_at } = (await fileById(tx, input.id)) ?? { created_at: 0 };
  return { id: input.id, accesses, ...(await removedSince(tx, actor, companyId, created_at)), nextCursor };
});

const onLinks = guarded(contract.viewLinks, async ({ tx, actor, companyId, input }) => {
  const file = await liveFile(tx, input.id);
  await demandAllVersions(tx, actor, file.id);
  const present = async ({ id }: { id: string }, isTarget: boolean) => {
    const target = await fileById(tx, id);
    const known = target?.company_id === companyId && (await isKnown(tx, actor, `kb:${id}`));
    // The linking version may be later than the one that the actor can read.
    const seen = known || !isTarget ? [] : await visibleVersions(tx, actor, id);
    if (target?.deleted_at === null && seen !== "all" && seen.length > 0) {
      const at = await tx.first(versionAt, { id, version: Math.max(...seen) });
      return { id, description: at?.description ?? null, state: "live" as const };
    }
    return {
      id,
      description: known ? target.description : null,
      state: !known
        ? ("broken" as const)
        : target.deleted_at === null
          ? ("live" as const)
          : ("deleted" as const),
    };
  };
  const links = [];
  for (const row of await tx.all(linksFrom, { id: file.id })) links.push(await present(row, true));
  const backlinks = [];
  for (const row of await tx.all(linksTo, { id: file.id, companyId })) {
    const link = await present(row, false);
    // A backlink is shown only to callers that may know of the linking file.
    if (link.state === "live") backlinks.push(link);
  }
  return { id: file.id, links, backlinks };
});

const onBrokenLinks = guarded(contract.listBrokenLinks, async ({ tx, companyId, input }) => {
  const [from = "", to = ""] = cursorParts(input.cursor, "id id");
  const rows = await tx.all(
    dynamic((db) =>
      db
        .selectFrom("links as l")
        .innerJoin("files as o", "o.id", "l.from_id")
        .leftJoin("files as f", "f.id", "l.to_id")
        .select(["l.from_id", "l.to_id", "o.description", "f.description as gone", "f.company_id as owner"])
        .where("l.company_id", "=", companyId)
        .where((eb) =>
          eb.or([eb("l.from_id", ">", from), eb.and([eb("l.from_id", "=", from), eb("l.to_id", ">", to)])]),
        )
        .where((eb) =>
          eb.or([
            eb("f.id", "is", null),
            eb("f.deleted_at", "is not", null),
            eb("f.company_id", "<>", companyId),
          ]),
        )
        .orderBy("l.from_id")
        .orderBy("l.to_id")
        .limit((input.limit ?? 100) + 1),
    ),
    {},
  );
  const { page, nextCursor } = pageAfter(rows, input.limit, (row) => `${row.from_id} ${row.to_id}`);
  return {
    links: page.map(({ from_id, to_id, description, gone, owner }) => ({
      from: from_id,
      description,
      to: to_id,
      // For this caller, a file of another company does not exist.
      deleted: owner === companyId ? gone : null,
    })),
    nextCursor,
  };
});

const onDelete = guarded(contract.deleteFile, async (call) => {
  const file = await liveFile(call.tx, call.input.id);
  const refusal = texts.refusedDelete(file);
  if (refusal !== undefined) throw refusal;
  await tombstone(call.tx, file);
  await call.record(file.id, { version: file.version, reason: call.input.reason ?? null });
  return { id: file.id, deletedAt: new Date(call.tx.now).toISOString() };
});

const stateDocumentBytes = 32 * 1024;

/** A caller that could reach a deleted file gets 410, not 404. */
async function liveFile(tx: ReadTx, id: string): Promise<FileRow> {
  const file = await fileById(tx, id);
  if (file === undefined) throw notFound("file", id);
  if (file.deleted_at !== null) throw texts.fileDeleted(file);
  return file;
}

/** History stays readable for the board after deletion. */
async function visibleFile(call: Pick<Call<{ id: string }>, "tx" | "actor" | "input">): Promise<FileRow> {
  const file = await fileById(call.tx, call.input.id);
  return call.actor.kind !== "agent" && file !== undefined ? file : liveFile(call.tx, call.input.id);
}

async function contentOf(
  call: Call<{
    path?: string | undefined;
    content?: string | undefined;
    encoding?: "utf8" | "base64" | undefined;
  }>,
): Promise<Uint8Array> {
  const { path, content, encoding } = call.input;
  const { maxFileBytes } = await call.settings();
  if ((path === undefined) === (content === undefined)) throw texts.pathOrContent();
  if (content !== undefined) return decodeContent(content, encoding, maxFileBytes);
  if (encoding !== undefined) throw texts.encodingNeedsContent();
  if (call.caller.workspace === null || path === undefined)
    throw texts.noWorkspace("Send content instead of path.");
  const bytes = readFromWorkspace(call.caller.workspace, path, maxFileBytes);
  if (bytes.byteLength > maxFileBytes) throw texts.contentTooLarge(bytes.byteLength, maxFileBytes);
  const form = isUtf8(bytes) ? "utf8" : "latin1";
  const text = Buffer.from(bytes).toString(form);
  const hidden = call.hide(text);
  return hidden === text ? bytes : Buffer.from(hidden, form);
}

/** The content of one version. A version that the actor can't read is refused like one that does not exist. */
async function contentAt(call: Call<unknown>, file: FileRow, version: number) {
  const { tx } = call;
  const at = await tx.first(versionAt, { id: file.id, version });
  if (at === undefined || !includesVersion(await visibleVersions(tx, call.actor, file.id), version))
    throw notFound(`version ${version} of file`, file.id);
  if (call.has.includes(tagOf(at))) throw new NotModified();
  await call.record(file.id, { version });
  return {
    id: file.id,
    description: at.description,
    mediaType: file.media_type,
    version,
    hash: at.hash,
    size: at.size,
    ...encodeContent(await tx.blobs.read(file.id, at.hash)),
  };
}

async function pinnedRows(tx: ReadTx, id: string, versions: readonly number[], before: number) {
  const rows = [];
  for (const version of versions.filter((number) => number < before).toSorted((a, b) => b - a))
    rows.push(...(await tx.all(versionAt, { id, version })));
  return rows;
}

/** Refuses an agent that was sent only one version. Things of the whole file (its links, its access log) are hidden from it. */
async function demandAllVersions(tx: ReadTx, viewer: Viewer, id: string): Promise<void> {
  if ((await visibleVersions(tx, viewer, id)) !== "all") throw notFound("file", id);
}

async function pageFor(
  call: Call<{
    query?: string | undefined;
    kind?: FileRow["kind"] | undefined;
    order?: "oldest" | "newest" | undefined;
    limit?: number | undefined;
    cursor?: string | undefined;
  }>,
  leastRank: number,
) {
  const { tx, actor, companyId, input } = call;
  return listFor(tx, {
    companyId,
    agentId: actor.agentId,
    leastRank,
    query: input.query,
    kind: input.kind,
    order: input.order ?? "oldest",
    cursor: input.cursor,
    limit: input.limit ?? defaultPage,
  });
}

function summary(row: Ranked): contract.FileSummary {
  const level = levelAt("kb", row.rank);
  return {
    id: row.id,
    kind: row.kind,
    description: row.description,
    mediaType: row.media_type,
    level: level === "read" || level === "write" ? level : "none",
    version: row.version,
    hash: row.hash,
    size: row.size,
    updatedAt: new Date(row.updated_at).toISOString(),
    ...(row.pinned ? { pinned: true } : {}),
  };
}

const linksFrom = query((db, p: { id: string }) =>
  db.selectFrom("links").select("to_id as id").where("from_id", "=", p.id).orderBy("to_id"),
);

const linksTo = query((db, p: { id: string; companyId: string }) =>
  db
    .selectFrom("links")
    .select("from_id as id")
    .where("to_id", "=", p.id)
    .where("company_id", "=", p.companyId)
    .orderBy("from_id")
    .limit(1000),
);

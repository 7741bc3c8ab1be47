import { hash as digest } from "node:crypto";
import { searchableText } from "../knowledge/content.ts";
import { areEntryWords } from "../store/search-words.ts";
import { recountBytes, reindex } from "../knowledge/table.ts";
import type { ReadTx } from "../store/store.ts";
import { invariantsOf } from "./invariant.ts";
import { type Scope, scoped } from "./scope.ts";

/** Invariants of knowledge files, their versions, content and sums, and of the search index. */

export const contentInvariants = [
  ...invariantsOf("history", {
    "file-versions": {
      statement: "The versions of a file are numbered 1, 2, 3 without a gap, and the file shows the newest.",
      subject: "files",
      find: `select f.id from files f where {here} and (
          f.version <> (select count(*) from versions v where v.file_id = f.id)
          or coalesce((select min(v.version) from versions v where v.file_id = f.id), 0) <> 1
          or not exists (select 1 from versions v where v.file_id = f.id and v.version = f.version
            and v.hash = f.hash and v.size = f.size))`,
      broken: "has a gap between its versions, or does not show the newest one.",
      advice:
        "Write the file again from the version you trust (`agency kb history {id}` lists them), or restore a backup.",
    },
    "version-file": {
      statement: "Every version belongs to a file, and none is newer than its file.",
      subject: "versions",
      find: `select v.file_id as id from versions v left join files f on f.id = v.file_id
        where {here} and (f.id is null or v.version > f.version)`,
      broken: "belongs to no file, or is newer than its file.",
      advice: "A row of files was lost or put back to an earlier state. Restore a backup.",
    },
    "storage-company": {
      statement: "The stored bytes of a company are the sum of its versions and its kept commits.",
      subject: "companies",
      find: `select k.id from companies k left join storage t on t.company_id = k.id and t.agent_id = ''
        where {here} and coalesce(t.bytes, 0) <> coalesce((
          select sum(v.size) from files f join versions v on v.file_id = f.id where f.company_id = k.id), 0)
          + coalesce((select sum(r.bytes) from repo_branches r where r.company_id = k.id), 0)
          + coalesce((select sum(b.bytes) from bundles b where b.company_id = k.id and b.settled_at is null), 0)`,
      broken: "has another number of stored bytes than its versions and commits have together.",
      repair: ({ tx }, id) => recountBytes(tx, id, null),
    },
    "storage-agent": {
      statement: "The stored bytes of an agent are the sum of the versions and kept commits it wrote.",
      subject: "agents",
      // One pass over the versions: an index by author would have no other use.
      find: `select a.id from agents a left join storage t on t.company_id = a.company_id and t.agent_id = a.id
        left join (select v.author_agent_id as author, sum(v.size) as bytes
          from versions v join files f on f.id = v.file_id where v.author_agent_id is not null
          group by v.author_agent_id) w on w.author = a.id
        where {here} and coalesce(t.bytes, 0) <> coalesce(w.bytes, 0)
          + coalesce((select sum(r.bytes) from repo_branches r where r.agent_id = a.id), 0)
          + coalesce((select sum(b.bytes) from bundles b where b.agent_id = a.id and b.settled_at is null), 0)`,
      broken: "has another number of stored bytes than the versions and commits it wrote have together.",
      repair: ({ tx, companyId }, id) => recountBytes(tx, companyId, id),
    },
    "blob-version": {
      statement: "Content in the database belongs to a version.",
      subject: "blobs",
      find: `select b.file_id as id from blobs b where {here} and not exists (
          select 1 from versions v where v.file_id = b.file_id and v.hash = b.hash)`,
      broken: "belongs to no version.",
      advice:
        "It only takes up space. To remove it, stop the daemon and delete the rows of blobs without a version.",
    },
    "search-entry": {
      statement: "The search index has an entry for every file that is not deleted.",
      subject: "files",
      find: `select f.id from files f left join search i on i.rowid = f.num where {here}
        and (case when i.rowid is null then 1 else 0 end) <> (case when f.deleted_at is null then 0 else 1 end)`,
      broken: "cannot be found by search, or is found although it is deleted.",
      repair: ({ tx }, id) => reindex(tx, id),
    },
    "search-file": {
      statement: "Every entry of the search index belongs to a file.",
      subject: "search",
      find: `select {key} as id from {rows} left join files f on f.num = {key} where {here} and f.num is null`,
      broken: "belongs to no file.",
      advice:
        "Searches skip it. To remove it, stop the daemon and delete the row with this rowid from the table search.",
    },
  }),
  ...invariantsOf("bytes", {
    "version-content": {
      statement: "The content of every version is stored, and its bytes match the version's hash.",
      subject: "versions",
      find: findDamaged,
      broken: "has lost its content, or its bytes do not match its hash.",
      advice:
        "Restore the file knowledge/{id}/<hash> in the home folder from a backup, or write the file again: `agency kb write {id}`.",
    },
    "search-text": {
      statement: "The search index holds the description and text of the newest version.",
      subject: "files",
      find: findWronglyIndexed,
      broken: "is indexed with another text than its newest version has.",
      repair: ({ tx }, id) => reindex(tx, id),
    },
  }),
];

interface Stored {
  readonly id: string;
  readonly hash: string;
  /** Null if the content is large, lost, or moved out of the database. */
  readonly content: Uint8Array | null;
}

/** Small content comes with the row. On PostgreSQL this saves a round trip for each. */
const small = "case when b.hash is not null and length(b.content) <= 65536 then b.content end as content";

const versions = scoped<Stored & { size: number }>(
  "versions",
  `select v.file_id as id, v.hash, v.size, ${small} from versions v
   left join blobs b on b.file_id = v.file_id and b.hash = v.hash where {here}`,
);

async function findDamaged(tx: ReadTx, scope: Scope): Promise<string[]> {
  const damaged = new Set<string>();
  for (const version of await versions(tx, scope)) {
    const content = await contentOf(tx, version);
    if (
      content === undefined ||
      content.byteLength !== version.size ||
      digest("sha256", content) !== version.hash
    )
      damaged.add(version.id);
  }
  return [...damaged];
}

const indexed = scoped<Stored & { description: string; indexed_as: string; body: string; words: string }>(
  "files",
  `select f.id, f.hash, f.description, i.description as indexed_as, i.body, {words} as words, ${small}
   from files f join search i on i.rowid = f.num left join blobs b on b.file_id = f.id and b.hash = f.hash
   where {here} and f.deleted_at is null`,
);

async function findWronglyIndexed(tx: ReadTx, scope: Scope): Promise<string[]> {
  const wrong: string[] = [];
  for (const file of await indexed(tx, scope)) {
    const content = await contentOf(tx, file);
    // Another invariant finds lost or damaged content, which must not get into the index.
    if (content === undefined || digest("sha256", content) !== file.hash) continue;
    const [description, body] = [file.description.normalize("NFC"), searchableText(content)];
    const isSame = tx.dialect === "sqlite" || areEntryWords(file.words, description, body);
    if (file.indexed_as !== description || file.body !== body || !isSame) wrong.push(file.id);
  }
  return wrong;
}

async function contentOf(tx: ReadTx, { id, hash, content }: Stored): Promise<Uint8Array | undefined> {
  try {
    return content ?? (await tx.blobs.read(id, hash));
  } catch {
    return undefined;
  }
}

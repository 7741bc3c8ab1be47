import { includesVersion } from "../capabilities/pinned.ts";
import { fileRightAhead } from "../capabilities/rights.ts";
import { visibleVersions } from "../capabilities/visible.ts";
import type { Writing } from "../dispatch/context.ts";
import type { Row } from "../store/schema.ts";
import { fileAhead, fileById, versionAt } from "./table.ts";

/** The transaction that makes an answer, its actor, and the ledger that records it. */
export type Reader = Pick<Writing, "tx" | "actor" | "record">;

export type Content = Row<"versions"> & { readonly content: Uint8Array };

/**
 * The content of one version for the actor. Undefined if the actor may not read it, if it was deleted, or if it has more than
 * `most` bytes. All code that shows content to an agent reads it here: the body of a message, a result given as context.
 */
export async function contentFor(
  reader: Reader,
  fileId: string,
  version: number,
  most = Number.MAX_SAFE_INTEGER,
): Promise<Content | undefined> {
  const { tx, actor } = reader;
  contentAhead(reader, fileId, version);
  // All queries at once, because on PostgreSQL each wait costs a round trip.
  const [row, file, readable] = await Promise.all([
    tx.first(versionAt, { id: fileId, version }),
    fileById(tx, fileId),
    visibleVersions(tx, actor, fileId),
  ]);
  if (row === undefined || row.size > most || file?.deleted_at !== null) return undefined;
  if (!includesVersion(readable, version)) return undefined;
  await logRead(reader, fileId, version);
  return { ...row, content: await tx.blobs.read(fileId, row.hash) };
}

/** Announces to the store that a version of a file will be shown to the actor. */
function contentAhead({ tx, actor }: Pick<Reader, "tx" | "actor">, fileId: string, version: number): void {
  tx.ahead(versionAt, { id: fileId, version });
  fileAhead(tx, fileId);
  if (actor.agentId !== null) fileRightAhead(tx, actor.agentId, fileId);
}

/** Records a reading in the access log of a file. Readings by people are recorded only when they open the file. */
export async function logRead(
  { actor, record }: Pick<Reader, "actor" | "record">,
  fileId: string,
  version: number,
): Promise<void> {
  if (actor.agentId !== null) await record(fileId, { version }, "knowledge.read");
}

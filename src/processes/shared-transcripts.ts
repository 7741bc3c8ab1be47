import { sql } from "kysely";
import { isUnavailable } from "../store/disk.ts";
import { insertion } from "../store/inserts.ts";
import { textQuery } from "../store/query.ts";
import type { ReadTx, Store } from "../store/store.ts";
import { localTranscript, localTranscripts, longestLine, type TranscriptBytes } from "./transcript.ts";

/**
 * Transcripts as rows, for the other nodes and for the time after this node is gone. The node that writes a transcript copies
 * new lines of its file every two seconds, in chunks that end with a line. The copy has the same bytes at the same places, so a
 * reader can continue on another node.
 */

/** Undefined if no node has stored anything of this session. */
export async function storedTranscript(tx: ReadTx, sessionId: string): Promise<TranscriptBytes | undefined> {
  const size = (await tx.first(extentOf, { sessionId }))?.size ?? 0;
  if (size === 0) return undefined;
  return {
    size,
    read: async (from, length) => {
      const chunks = await tx.all(chunksOf, { sessionId, from, to: from + length });
      const start = chunks[0]?.start_byte ?? from;
      return Buffer.concat(chunks.map(({ text }) => Buffer.from(text))).subarray(
        Math.max(0, from - start),
        from - start + length,
      );
    },
  };
}

export interface SharedTranscripts {
  /** Called when there is something new in the transcript of this session. `closed` resolves when it is complete. */
  readonly written: (sessionId: string, closed: Promise<void>) => void;
  /** Stores the rest, once the sessions have ended. */
  stop(): Promise<void>;
}

const copyEvery = 2000;
/** How long a stop waits for transcripts that are still being written to files. */
const closingWithin = 5000;

/** Copies transcripts into rows. On SQLite no other node can read rows, so nothing is copied. */
export function shareTranscripts(parts: {
  readonly store: Store;
  readonly folder: string;
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  readonly reportBug: (error: unknown, about: string) => unknown;
}): SharedTranscripts {
  const { store, folder } = parts;
  if (store.dialect === "sqlite") return { written: () => undefined, stop: async () => undefined };
  const stopping = new AbortController();
  // An earlier run may have ended before it stored everything, or the files may come from a home that used SQLite.
  const changed = new Set(localTranscripts(folder));
  /** How many bytes of each transcript are stored. */
  const stored = new Map<string, number>();
  const open = new Map<string, Promise<void>>();

  async function copy(sessionId: string): Promise<void> {
    const file = localTranscript(folder, sessionId);
    if (file === undefined) return;
    let from = stored.get(sessionId) ?? (await extentIn(sessionId));
    for (; from !== undefined && from < file.size;) {
      const bytes = await file.read(from, Math.min(longestLine, file.size - from));
      const length = bytes.lastIndexOf("\n") + 1;
      // A line that is still being written is copied next time.
      if (length === 0) break;
      const chunk = { session_id: sessionId, start_byte: from, bytes: length };
      const text = bytes.subarray(0, length).toString();
      // Invalid bytes in a damaged file would become longer text and move all places after them.
      if (Buffer.byteLength(text) !== length) break;
      await store.write((tx) => tx.run(insertChunk, { ...chunk, text }));
      from += length;
    }
    if (from !== undefined) stored.set(sessionId, from);
  }

  /** Undefined if the session is not in this database. */
  const extentIn = (sessionId: string): Promise<number | undefined> =>
    store.read(async (tx) => {
      if ((await tx.first(sessionRow, { sessionId })) === undefined) return undefined;
      return (await tx.first(extentOf, { sessionId }))?.size ?? 0;
    });

  async function copyAll(): Promise<void> {
    // A copy that fails is tried again later, not now.
    const now = [...changed];
    for (const id of now) {
      changed.delete(id);
      try {
        await copy(id);
      } catch (error) {
        // The write may have been committed nevertheless, so the next try checks.
        stored.delete(id);
        changed.add(id);
        parts.reportBug(error, `transcript of session ${id}`);
        if (isUnavailable(error)) return;
      }
    }
  }

  const copying = (async () => {
    while (!stopping.signal.aborted) {
      await copyAll();
      await parts.sleep(copyEvery, stopping.signal);
    }
  })();
  return {
    written: (id, closed) => {
      changed.add(id);
      if (!open.has(id))
        open.set(
          id,
          closed.finally(() => open.delete(id)),
        );
    },
    stop: async () => {
      stopping.abort();
      await copying;
      const patience = new AbortController();
      await Promise.race([Promise.all(open.values()), parts.sleep(closingWithin, patience.signal)]);
      patience.abort();
      await copyAll();
    },
  };
}

type Of = { sessionId: string };
const sessionRow = textQuery(
  (p: Of) => sql<{ id: string }>`select id from sessions where id = ${p.sessionId}`,
);
const extentOf = textQuery(
  (p: Of) => sql<{ size: number | null }>`
    select max(start_byte + bytes) as size from transcript_chunks where session_id = ${p.sessionId}`,
);
const chunksOf = textQuery(
  (p: Of & { from: number; to: number }) => sql<{ start_byte: number; text: string }>`
    select start_byte, text from transcript_chunks where session_id = ${p.sessionId}
      and start_byte < ${p.to} and start_byte + bytes > ${p.from} order by start_byte`,
);
const insertChunk = insertion("transcript_chunks", sql`on conflict do nothing`);

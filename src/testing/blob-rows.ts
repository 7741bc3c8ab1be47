import { insertion, laterRow } from "../store/inserts.ts";
import { selection } from "../store/query.ts";
import type { Store } from "../store/store.ts";

/** Small rows for tests of the store. The ledger ignores their table. */
export const keep = insertion("blobs");
export const keepLater = laterRow("blobs");
export const kept = selection("blobs", ["file_id"]);
export const row = (file_id: string, hash: string) => ({ file_id, hash, content: new Uint8Array(1) });

export async function keysOf(store: Store, file_id: string): Promise<string[]> {
  return (await store.read((tx) => tx.all(kept, { file_id }))).map(({ hash }) => hash).toSorted();
}

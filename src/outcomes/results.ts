import type { Writing } from "../dispatch/context.ts";
import { visible } from "../capabilities/visible.ts";
import { type Content, contentFor, type Reader } from "../knowledge/showing.ts";
import { addVersion, fileById, insertFile } from "../knowledge/table.ts";
import type { ReadTx } from "../store/store.ts";
import type { Deliverable } from "../contract/outcomes.ts";
import { deliverablesOf } from "./deliverables.ts";
import type { OutcomeRow } from "./outcome.ts";
import { dependenciesOf, outcomeById } from "./table.ts";

/**
 * The result of an outcome is a knowledge file with the text that its owner gave on submitting or completing it. Everyone who
 * may read the outcome may read its result, and so may the owner of an outcome that depends on it. So results reach the agents
 * that build on them without a message.
 */
export async function keepResult(
  { tx, actor, companyId, newId }: Writing,
  outcome: OutcomeRow,
  text: string,
): Promise<OutcomeRow> {
  const content = Buffer.from(text);
  const description = `Result of "${outcome.title}"`;
  const file = outcome.result_id === null ? undefined : await fileById(tx, outcome.result_id);
  if (file !== undefined) {
    await addVersion(tx, file, { content, description, author: actor });
    return outcome;
  }
  const id = newId();
  const kind = { kind: "result", mediaType: "text/markdown", ownerId: null } as const;
  await insertFile(tx, { id, companyId, ...kind, description, content, author: actor });
  return { ...outcome, result_id: id };
}

export interface ContextEntry {
  readonly id: string;
  readonly title: string;
  /** Null if the outcome was completed without a note. */
  readonly file: string | null;
  readonly text: string;
  readonly truncated: boolean;
  readonly deliverables: Deliverable[];
}

export const mostContext = 8 * 1024;

/**
 * The results that an outcome builds on and the reader may read, in at most `room` bytes. Each result gets an equal share. A
 * short result leaves the rest of its share to the longer ones, so results are cut in order of length.
 */
export async function contextOf(reader: Reader, id: string, room = mostContext): Promise<ContextEntry[]> {
  const { tx, actor } = reader;
  const found = [];
  for (const { id: on, title } of await dependenciesOf(tx, id)) {
    const result = await resultFor(reader, on);
    const deliverables = await deliverablesOf(tx, actor, on);
    // An agent may read the result of an outcome without a right to read the outcome itself. The result also shows the
    // outcome's title.
    const isSeen = await visible(tx, actor, `outcome:${on}`);
    if (result !== undefined || deliverables.length > 0)
      found.push({
        id: on,
        title: isSeen ? title : (result?.description ?? on),
        file: result?.file_id ?? null,
        content: result?.content ?? new Uint8Array(),
        deliverables,
      });
  }
  const entries = new Map<string, ContextEntry>();
  let left = room;
  for (const [index, { content, ...entry }] of found
    .toSorted((a, b) => a.content.byteLength - b.content.byteLength)
    .entries()) {
    const text = firstBytes(content, Math.floor(left / (found.length - index)));
    left -= Buffer.byteLength(text);
    entries.set(entry.id, { ...entry, text, truncated: Buffer.byteLength(text) < content.byteLength });
  }
  return found.flatMap(({ id: of }) => entries.get(of) ?? []);
}

/** The result of an outcome for a reader. Undefined if there is none, or if the reader may not read it. */
export async function resultFor(reader: Reader, outcomeId: string): Promise<Content | undefined> {
  const { result_id } = await outcomeById(reader.tx, outcomeId);
  const file = result_id === null ? undefined : await fileById(reader.tx, result_id);
  return file === undefined ? undefined : contentFor(reader, file.id, file.version);
}

export async function resultOf(
  tx: ReadTx,
  outcomeId: string,
): Promise<{ file: string; content: Uint8Array } | null> {
  const { result_id } = await outcomeById(tx, outcomeId);
  const file = result_id === null ? undefined : await fileById(tx, result_id);
  return file === undefined ? null : { file: file.id, content: await tx.blobs.read(file.id, file.hash) };
}

/** As much of a text as fits into a message or a briefing, and the link to the rest. */
export function excerpt(text: string, file: string | null, most = mostContext): string {
  const content = Buffer.from(text);
  if (content.byteLength <= most) return text;
  return `${firstBytes(content, most)}\n…${file === null ? "" : ` the rest is in kb://${file}`}`;
}

/** Cuts between characters: half a character decodes to U+FFFD, which is removed. */
function firstBytes(content: Uint8Array, most: number): string {
  const bytes = Buffer.from(content);
  return bytes.byteLength <= most
    ? bytes.toString("utf8")
    : bytes
        .subarray(0, most)
        .toString("utf8")
        .replace(/\uFFFD+$/, "");
}

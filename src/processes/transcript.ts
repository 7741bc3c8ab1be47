import { closeSync, createWriteStream, existsSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { type PlacedEntry, TranscriptEntry } from "../contract/sessions.ts";
import { redact, redactLines, redactText } from "../redaction/redact.ts";
import { hiderOf } from "../redaction/known-texts.ts";
import { scrubber } from "../redaction/transcripts.ts";

/**
 * A session's words and acts as entries: one line of JSON each, with its time. Secrets are removed before an entry is written.
 * Entries never change, so a reader can continue where it stopped.
 */
export interface TranscriptWriter {
  add(entry: Omit<TranscriptEntry, "at">): void;
  /** Takes the chunks of a stream that is kept as it arrives. */
  stream(): (chunk: Buffer) => void;
  close(): void;
  /** Resolves when everything is in the file. */
  readonly closed: Promise<void>;
}

const mostBytes = 8 * 1024 * 1024;
const mostOfEntry = 256 * 1024;
const mostRead = 1024 * 1024;
/** The longest line: an entry of characters that JSON writes with six bytes each. */
export const longestLine = 2 * 1024 * 1024;
/** A person looks at the end first. This is enough for some thousand lines, which a page shows at once. */
const mostOfEnd = 256 * 1024;

const fileOf = (folder: string, sessionId: string): string => join(folder, `${sessionId}.jsonl`);

/** The arguments and the answer of a call are often JSON, in one line or in several. */
const shownOf = (text: string): string =>
  redactLines(/^\s*[[{]/.test(text) ? String(redact(text).value) : text, 0);

export function writeTranscript(
  folder: string,
  sessionId: string,
  secrets: readonly string[],
  /** Called when there is something new in the file. */
  onWritten: () => void = () => undefined,
): TranscriptWriter {
  const file = createWriteStream(fileOf(folder, sessionId), { mode: 0o600 });
  file.on("error", () => undefined);
  const closed = new Promise<void>((resolve) => file.once("close", resolve));
  const hide = hiderOf(secrets);
  const ends: (() => void)[] = [];
  let written = 0;
  const write = (entry: Omit<TranscriptEntry, "at">): void => {
    if (entry.text === "" || written > mostBytes) return;
    const line = `${JSON.stringify({ at: new Date().toISOString(), ...entry })}\n`;
    written += Buffer.byteLength(line);
    file.write(line, onWritten);
  };
  return {
    add: ({ kind, tool, text }) =>
      write({
        kind,
        ...(tool === undefined ? {} : { tool: hide(redactText(tool)) }),
        text: hide(shownOf(text)).slice(0, mostOfEntry).toWellFormed(),
      }),
    stream: () => {
      const scrub = scrubber(secrets);
      ends.push(() => write({ kind: "output", text: scrub.end() }));
      return (chunk) => write({ kind: "output", text: scrub.write(chunk) });
    },
    close: () => {
      for (const end of ends) end();
      file.end();
    },
    closed,
  };
}

export interface TranscriptPart {
  readonly entries: readonly PlacedEntry[];
  /** The place where the next part begins. */
  readonly next: number;
  /** True if earlier entries are left out. */
  readonly truncated: boolean;
}

/** A transcript as bytes, from a file or from rows. Both copies have the same bytes. */
export interface TranscriptBytes {
  readonly size: number;
  /** Returns fewer bytes at the end of the transcript. */
  read(from: number, length: number): Buffer | Promise<Buffer>;
}

/** Undefined if this machine has no transcript of this session. */
export function localTranscript(folder: string, sessionId: string): TranscriptBytes | undefined {
  const file = fileOf(folder, sessionId);
  if (!existsSync(file)) return undefined;
  return {
    size: statSync(file).size,
    read: (from, length) => {
      const bytes = Buffer.alloc(length);
      const descriptor = openSync(file, "r");
      try {
        return bytes.subarray(0, readSync(descriptor, bytes, 0, length, from));
      } finally {
        closeSync(descriptor);
      }
    },
  };
}

/** The sessions with a transcript on this machine. */
export function localTranscripts(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((name) => (name.endsWith(".jsonl") ? [name.slice(0, -6)] : []));
}

/** The complete entries after a place, at most a megabyte. Without a place: the last entries. */
export async function readTranscript(
  bytes: TranscriptBytes | undefined,
  after?: number,
): Promise<TranscriptPart> {
  if (bytes === undefined) return { entries: [], next: 0, truncated: false };
  const { size } = bytes;
  if (after !== undefined) return readPart(bytes, Math.min(after, size), true);
  const end = await readPart(bytes, Math.max(0, size - mostOfEnd), false);
  // The last entry alone is longer than this.
  return end.entries.length > 0 || !end.truncated
    ? end
    : readPart(bytes, Math.max(0, size - mostRead), false);
}

async function readPart(
  bytes: TranscriptBytes,
  from: number,
  startsWithEntry: boolean,
): Promise<TranscriptPart> {
  const some = await bytes.read(from, Math.min(mostRead, bytes.size - from));
  const read = some.includes("\n") ? some : await bytes.read(from, Math.min(longestLine, bytes.size - from));
  // A reader that starts in the middle of a line begins with the next line. A line that is still being written is read next
  // time.
  const begin = startsWithEntry || from === 0 ? 0 : read.indexOf("\n") + 1;
  const end = read.lastIndexOf("\n") + 1;
  const lines = end <= begin ? [] : read.subarray(begin, end).toString().split("\n").slice(0, -1);
  let place = from + begin;
  const entries = lines.flatMap((line) => {
    const placed = entryIn(line).map((entry) => ({ ...entry, place }));
    place += Buffer.byteLength(line) + 1;
    return placed;
  });
  return {
    entries,
    next: from + Math.max(begin, end),
    truncated: from > 0,
  };
}

/** Entries as people read them. The output of a program is shown unchanged. */
export function asText(entries: readonly TranscriptEntry[]): string {
  const marks = { text: "", tool: "→ ", result: "← ", error: "! ", usage: "· " };
  return entries
    .map(({ kind, tool, text }) =>
      kind === "output"
        ? text
        : `${marks[kind]}${tool === undefined ? "" : `${tool} `}${text}${text.endsWith("\n") ? "" : "\n"}`,
    )
    .join("");
}

/** A crash can leave an incomplete line, which is left out. */
function entryIn(line: string): TranscriptEntry[] {
  try {
    return [TranscriptEntry.parse(JSON.parse(line))];
  } catch {
    return [];
  }
}

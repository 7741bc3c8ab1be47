import { createHash, type Hash } from "node:crypto";
import { z } from "zod";
import type { Mac } from "../store/store.ts";
import { damagedBackup, notABackup, otherAuditKey } from "./texts.ts";
import { zippedLines, writeLines } from "./zipped-lines.ts";

/**
 * A backup is one file: lines of JSON, compressed with gzip, readable by its owner only. The first line describes it, and the
 * last one has a keyed hash of all lines before it. A file that was cut, changed or sealed with another key is refused before
 * any of it is used.
 */
const Head = z.object({
  agency: z.literal("backup"),
  format: z.literal(1),
  version: z.string(),
  at: z.string(),
  /** A name for the columns of the tables (store/copying.ts) and the state of the ledger. */
  shape: z.string(),
  state: z.string(),
});
export type BackupHead = z.infer<typeof Head>;

const Value = z.union([z.string(), z.number(), z.null()]);
const Line = z.union([
  z.object({ table: z.string(), rows: z.array(z.array(Value)) }),
  z.object({ content: z.tuple([z.string(), z.string(), z.base64()]) }),
  z.object({ folder: z.string() }),
  /** Path, mode and bytes of a file. A large file has several parts, one after another. */
  z.object({ file: z.tuple([z.string(), z.number(), z.base64()]), more: z.boolean() }),
]);
export type BackupLine = z.infer<typeof Line>;
const End = z.object({ end: z.object({ lines: z.number(), seal: z.string() }) });

const sealOf = (mac: Mac, lines: number, hash: Hash): string =>
  mac(JSON.stringify(["backup", lines, hash.copy().digest("hex")]));

export async function writeBackup(path: string, head: BackupHead, mac: Mac) {
  const file = await writeLines(path);
  const hash = createHash("sha256");
  let lines = 0;
  const put = async (line: unknown): Promise<void> => {
    const text = JSON.stringify(line);
    hash.update(`${text}\n`);
    lines++;
    await file.put(text);
  };
  await put(head);
  return {
    put: (line: BackupLine) => put(line),
    finish: async (): Promise<number> => {
      const seal = sealOf(mac, lines, hash);
      await put({ end: { lines, seal } });
      return file.finish();
    },
    abandon: file.abandon,
  };
}

export async function headOfBackup(path: string): Promise<BackupHead> {
  for await (const line of zippedLines(path, damagedBackup)) {
    const head = Head.safeParse(parsed(line));
    if (head.success) return head.data;
    break;
  }
  throw notABackup(path);
}

/** Reads the whole file. Returns the first of these keys that seals it. */
export async function keyOfBackup<K>(path: string, keys: readonly { key: K; mac: Mac }[]): Promise<K> {
  const hash = createHash("sha256");
  let lines = 0;
  let end: z.infer<typeof End>["end"] | undefined;
  for await (const line of zippedLines(path, damagedBackup)) {
    if (end !== undefined) throw damagedBackup(path);
    if (line.startsWith('{"end":')) {
      end = End.safeParse(parsed(line)).data?.end;
      if (end === undefined) throw damagedBackup(path);
      continue;
    }
    hash.update(`${line}\n`);
    lines++;
  }
  if (end === undefined || end.lines !== lines) throw damagedBackup(path);
  const { seal } = end;
  const fitting = keys.find(({ mac }) => sealOf(mac, lines, hash) === seal);
  if (fitting !== undefined) return fitting.key;
  throw keys.length === 0 ? otherAuditKey(path, "none") : otherAuditKey(path, "other");
}

/** The content of the lines between the first and the last. */
export async function* backupLines(path: string): AsyncGenerator<BackupLine> {
  let isFirst = true;
  for await (const line of zippedLines(path, damagedBackup)) {
    if (!isFirst && !line.startsWith('{"end":')) yield Line.parse(parsed(line));
    isFirst = false;
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

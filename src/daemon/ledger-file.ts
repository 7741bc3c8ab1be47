import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { z } from "zod";
import type { Client } from "../client/client.ts";
import { exportEvents, removeEvents } from "../contract/ledger.ts";
import { digestOfLines, exportedEvent, isChain, mostInStretch, sealOfMonth } from "../events/removed.ts";
import { macOf } from "../store/chain.ts";
import * as texts from "./texts.ts";
import { zippedLines, writeLines } from "./zipped-lines.ts";

/**
 * An exported month of a company's ledger, as a file of lines. The first line describes it and has a keyed hash; the others are
 * events. With the audit key, the file can be checked without the database it came from.
 */
const Head = z.object({
  agency: z.literal("ledger"),
  format: z.literal(1),
  companyId: z.string(),
  month: z.string(),
  first: z.number(),
  last: z.number(),
  previous: z.string(),
  hash: z.string(),
  seal: z.string(),
});
type Head = z.infer<typeof Head>;

/** Writes the month to a file, which appears whole. */
export async function exportMonth(
  client: Client,
  of: { readonly companyId: string; readonly month: string },
  path: string,
): Promise<{ events: number; bytes: number }> {
  let page = await client.call(exportEvents, of);
  const { lines: _, nextCursor: __, ...head } = page;
  const file = await writeLines(path);
  try {
    await file.put(JSON.stringify({ agency: "ledger", format: 1, ...head } satisfies Head));
    for (;;) {
      // A late event could move the end of the month.
      if (page.seal !== head.seal) throw texts.monthMoved(of.month);
      for (const line of page.lines) await file.put(line);
      if (page.nextCursor === null) break;
      page = await client.call(exportEvents, { ...of, cursor: page.nextCursor });
    }
    return { events: head.last - head.first + 1, bytes: await file.finish() };
  } catch (error) {
    await file.abandon();
    throw error;
  }
}

/** Removes the events in the file from the database. An interrupted call can be continued. */
export async function removeMonth(
  client: Client,
  of: { readonly companyId: string; readonly month: string },
  path: string,
): Promise<{ removed: number; kept: number }> {
  const head = await headOf(path);
  if (head.companyId !== of.companyId || head.month !== of.month) throw texts.otherMonth(path, head.month);
  const done = { removed: 0, kept: 0 };
  let until = head.first - 1;
  for await (const lines of stretchesIn(path)) {
    until += lines.length;
    const part = { ...of, until, digest: digestOfLines(lines), fileName: basename(path) };
    const { removed, kept } = await client.call(removeEvents, part);
    done.removed += removed;
    done.kept += kept;
  }
  return done;
}

/** Checks a file with the first key that fits. */
export async function verifyFile(
  path: string,
  keys: readonly string[],
): Promise<{ companyId: string; month: string; events: number }> {
  const head = await headOf(path);
  const mac = keys.map(macOf).find((each) => sealOfMonth(each, head) === head.seal);
  if (mac === undefined) throw texts.unsealedMonth(path, keys.length === 0);
  let { previous } = head;
  let after = head.first - 1;
  for await (const lines of stretchesIn(path)) {
    const rows = lines.map((line) => exportedEvent(line));
    const whole = rows.filter((row) => row !== undefined);
    if (whole.length < rows.length || !isChain(mac, previous, after, whole)) throw texts.damagedMonth(path);
    if (whole.some((row) => row.company_id !== head.companyId)) throw texts.damagedMonth(path);
    previous = whole.at(-1)?.hash ?? previous;
    after += whole.length;
  }
  if (after !== head.last || previous !== head.hash) throw texts.damagedMonth(path);
  return { companyId: head.companyId, month: head.month, events: head.last - head.first + 1 };
}

async function headOf(path: string): Promise<Head> {
  for await (const line of zippedLines(path, texts.damagedMonth)) {
    const head = Head.safeParse(unlessBroken(line));
    if (head.success) return head.data;
    break;
  }
  throw texts.notAMonth(path);
}

/** The events, as many at a time as one call can remove. */
async function* stretchesIn(path: string): AsyncGenerator<string[]> {
  let lines: string[] = [];
  let isFirst = true;
  for await (const line of zippedLines(path, texts.damagedMonth)) {
    if (!isFirst) lines.push(line);
    isFirst = false;
    if (lines.length < mostInStretch) continue;
    yield lines;
    lines = [];
  }
  if (lines.length > 0) yield lines;
}

function unlessBroken(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** The available audit keys: the given one, the one in the given file, and the one of this home. */
export function keysAtHand(
  home: string,
  given: { readonly key?: string | undefined; readonly file?: string | undefined },
): string[] {
  const inFile = (file: string): string[] => (existsSync(file) ? [readFileSync(file, "utf8").trim()] : []);
  return [
    ...(given.key === undefined ? [] : [given.key]),
    ...(given.file === undefined ? [] : inFile(given.file)),
    ...inFile(join(home, "audit-key")),
  ];
}

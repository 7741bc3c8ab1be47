import { terminalLines } from "./terminal-colours.ts";
import { gistOf, runWords } from "./deed-words.ts";

/** The fields of a transcript entry that this file needs. */
export interface LineEntry {
  readonly kind: string;
  readonly text: string;
  readonly tool?: string | undefined;
  readonly hidden?: true | undefined;
}

/**
 * One row of the transcript. All rows have the same height, so a longer entry has several rows, or is cut and opens in the
 * panel.
 */
export interface TranscriptLine<E extends LineEntry> {
  readonly entry: E;
  /** The text of the row. */
  readonly text: string;
  /** The position of its entry among those that were read. */
  readonly at: number;
  /** True for the first row of an entry, which shows the time and the tool. */
  readonly isFirst: boolean;
  /** The number of calls in this row. 0 if it belongs to one entry. */
  readonly folded: number;
  /** True if it is the result of the call right above it. */
  readonly answers: boolean;
  /** The number of lines of the entry that are left out here. */
  readonly left: number;
}

/** The number of lines of a result that are shown. */
const mostOfResult = 8;

/** Several calls of one kind in a row become one row until it is opened. A failed call is always shown. */
export function linesOf<E extends LineEntry>(
  entries: readonly E[],
  unfolded: ReadonlySet<number>,
): readonly TranscriptLine<E>[] {
  const lines: TranscriptLine<E>[] = [];
  for (let at = 0; at < entries.length;) {
    const entry = entries[at];
    if (entry === undefined) break;
    const { end, calls } = runFrom(entries, at);
    if (calls > 1 && !unfolded.has(at)) {
      lines.push({ ...whole, entry, at, text: gistOfRun(entries.slice(at, end)), folded: calls });
      at = end;
      continue;
    }
    const until = Math.max(end, at + 1);
    for (; at < until; at++) {
      const each = entries[at];
      if (each?.kind === "output") addPrinted(lines, each, at);
      else if (each !== undefined) addEntry(lines, each, at);
    }
  }
  return lines;
}

const whole = { isFirst: true, folded: 0, left: 0, answers: false } as const;

/** The calls of one kind that begin here, with their results. */
function runFrom(entries: readonly LineEntry[], at: number): { end: number; calls: number } {
  const { tool } = entries[at] ?? {};
  let end = at;
  let calls = 0;
  for (let each = entries[end]; tool !== undefined && each !== undefined; each = entries[++end]) {
    if (each.kind === "usage") continue;
    if (each.tool !== tool || (each.kind !== "tool" && each.kind !== "result")) break;
    if (each.kind === "tool") calls += 1;
  }
  return { end, calls };
}

/** The subject of the calls: from their inputs, else from their results. */
function gistOfRun(run: readonly LineEntry[]): string {
  const gists = (kind: string): string[] =>
    run.flatMap((each) => (each.kind === kind ? textsOf(each).slice(0, 1) : [])).filter(isSaid);
  const asked = gists("tool");
  return [...new Set(asked.length > 0 ? asked : gists("result"))].join(" · ");
}

const isSaid = (text: string): boolean => text !== "";

function addEntry<E extends LineEntry>(lines: TranscriptLine<E>[], entry: E, at: number): void {
  const texts = textsOf(entry);
  const above = lines.findLast((line) => line.entry.kind !== "usage")?.entry;
  const answers = entry.kind === "result" && above?.kind === "tool" && above.tool === entry.tool;
  const isCut = entry.kind === "result" && texts.length > mostOfResult;
  const shown = isCut ? texts.slice(0, mostOfResult) : texts;
  for (const [index, text] of shown.entries())
    lines.push({ ...whole, entry, at, text, isFirst: index === 0, answers });
  if (isCut) lines.push({ ...whole, entry, at, text: "", isFirst: false, left: texts.length - mostOfResult });
}

/** A transcript grows while it is read, but its entries never change. */
const known = new WeakMap<LineEntry, readonly string[]>();

function textsOf(entry: LineEntry): readonly string[] {
  const texts = known.get(entry) ?? readTexts(entry);
  known.set(entry, texts);
  return texts;
}

/** The text of an entry, line by line. JSON is shown in a few words; the panel shows it whole. */
function readTexts({ kind, text, hidden }: LineEntry): readonly string[] {
  if (hidden === true) return ["a result that you can't read"];
  const isData = kind === "tool" || kind === "result";
  const gist = isData ? gistOf(text) : undefined;
  if (gist !== undefined && gist !== text) return [gist === "" && kind === "result" ? "done" : gist];
  const lines = terminalLines(text);
  while (lines.length > 1 && lines.at(-1)?.trim() === "") lines.pop();
  return lines;
}

/** The output of a program arrives in pieces that end anywhere: the end of one and the start of the next may be one line. */
function addPrinted<E extends LineEntry>(lines: TranscriptLine<E>[], entry: E, at: number): void {
  const before = lines.at(-1);
  const isOpen = before !== undefined && before.at === at - 1 && before.entry.kind === "output";
  const texts = terminalLines(entry.text);
  if (isOpen && !endsLine(before.entry))
    lines.push({ ...before, text: `${lines.pop()?.text ?? ""}${texts.shift() ?? ""}` });
  if (texts.at(-1) === "") texts.pop();
  for (const text of texts) lines.push({ ...whole, entry, at, text });
}

/** The piece ended with the line. */
const endsLine = ({ text }: LineEntry): boolean => /[\r\n]$/.test(text);

/** The label of a row: the tool, or a summary of several calls. */
export const chipOf = ({ entry, folded, answers }: TranscriptLine<LineEntry>): string | undefined =>
  entry.tool === undefined || answers ? undefined : folded > 0 ? runWords(entry.tool, folded) : entry.tool;

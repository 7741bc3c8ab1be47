import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { ops } from "virtual:operations";
import { shown } from "../../../contract/visible-text.ts";
import { Refused, send } from "../../data/calling.ts";
import type { Answer } from "../../data/operations.ts";
import { Button } from "../../ui/buttons.tsx";
import { counted, figure } from "../../ui/figures.tsx";
import { useKeys } from "../../ui/keys.ts";
import { Empty, Refusal } from "../../ui/states.tsx";
import { Elapsed } from "../../ui/time.tsx";

export type Entry = Answer<typeof ops.viewTranscript>["entries"][number];

/**
 * What the session said and did, then what comes. Every entry, and every line that a program printed, is one row of the same
 * height; a longer one opens beside. It follows the end until the person scrolls up.
 */
export function Transcript({
  of: { entries, truncated, refused, isRead },
  isRunning,
  startedAt,
  onOpen,
  onWhole,
}: {
  of: Heard;
  isRunning: boolean;
  startedAt: string;
  onOpen: (entry: Entry) => void;
  /** The person wants the earlier entries too. */
  onWhole: () => void;
}): ReactNode {
  const [unfolded, setUnfolded] = useState<ReadonlySet<number>>(new Set());
  const lines = useMemo(() => linesOf(entries, unfolded), [entries, unfolded]);
  const box = useRef<HTMLDivElement>(null);
  const [follows, setFollows] = useState(true);
  const [seen, setSeen] = useState(0);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => 24,
    overscan: 20,
  });
  useEffect(() => {
    if (!follows || lines.length === 0) return;
    virtual.scrollToIndex(lines.length - 1, { align: "end" });
    setSeen(lines.length);
  }, [lines.length, follows]);
  const nextError = (): void => {
    const from = virtual.range?.startIndex ?? 0;
    const next = lines.findIndex(({ entry }, at) => at > from && entry.kind === "error");
    if (next === -1) return;
    setFollows(false);
    virtual.scrollToIndex(next, { align: "start" });
  };
  useKeys({ n: nextError });
  if (refused !== undefined) return <Refusal of={refused} />;
  if (isRead && entries.length === 0)
    return (
      <div className="inner">
        <Empty title={isRunning ? "Started, nothing printed yet." : "It printed nothing."}>
          {isRunning && (
            <p>
              It has run for <Elapsed since={startedAt} />.
            </p>
          )}
        </Empty>
      </div>
    );
  return (
    <>
      {truncated && (
        <p className="lab cut-note">
          The transcript is long. You see its end.{" "}
          <Button
            look="ghost"
            onClick={() => {
              setFollows(false);
              onWhole();
            }}
          >
            Show it from the beginning
          </Button>
        </p>
      )}
      <div
        className="transcript"
        ref={box}
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label="Transcript"
        onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) =>
          setFollows(scrollTop + clientHeight >= scrollHeight - 30)
        }
      >
        <div className="lines" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start }) => {
            const line = lines[index];
            if (line === undefined) return null;
            const { entry, at, text, folded } = line;
            return (
              <button
                type="button"
                tabIndex={-1}
                key={index}
                className={`entry ${entry.kind}`}
                style={{ transform: `translateY(${start}px)` }}
                aria-expanded={folded > 0 ? false : undefined}
                onClick={() =>
                  folded > 0 ? setUnfolded(new Set([...unfolded, at])) : onOpen({ ...entry, text })
                }
              >
                <time className="num">{entry.at.slice(11, 19)}</time>
                {entry.tool !== undefined && <span className="chip">{shown(entry.tool).slice(0, 60)}</span>}
                <bdi className="cut">
                  {folded > 0
                    ? counted(folded, "call")
                    : entry.hidden
                      ? "a result that you can't read"
                      : text === "{}"
                        ? ""
                        : visibleText(text.slice(0, 600)).slice(0, 300).replace(/\s+/g, " ")}
                </bdi>
              </button>
            );
          })}
        </div>
      </div>
      {!follows && lines.length > seen && (
        <div className="new-lines">
          <Button look="solid" icon="down" onClick={() => setFollows(true)}>
            {figure(lines.length - seen)} new lines
          </Button>
        </div>
      )}
    </>
  );
}

interface Line {
  readonly entry: Entry;
  /** What it says. Of an entry that a program printed, one of its lines. */
  readonly text: string;
  /** The place of its entry among all. */
  readonly at: number;
  /** How many calls of the same tool this line stands for. 0: it is one entry. */
  readonly folded: number;
}

/** Three and more calls of one tool, one after another, are one line until it is opened. A failed call is never folded away. */
function linesOf(entries: readonly Entry[], unfolded: ReadonlySet<number>): readonly Line[] {
  const lines: Line[] = [];
  for (let at = 0; at < entries.length;) {
    const entry = entries[at];
    if (entry === undefined) break;
    let end = at;
    let calls = 0;
    while (isOfRun(entries[end], entry.tool)) {
      if (entries[end]?.kind === "tool") calls += 1;
      end += 1;
    }
    if (calls >= 3 && !unfolded.has(at)) {
      lines.push({ entry, at, text: entry.text, folded: calls });
      at = end;
      continue;
    }
    const until = Math.max(end, at + 1);
    for (; at < until; at++) {
      const each = entries[at];
      if (each?.kind === "output") addPrinted(lines, each, at);
      else if (each !== undefined) lines.push({ entry: each, at, text: each.text, folded: 0 });
    }
  }
  return lines;
}

/** What a program prints arrives in pieces that end anywhere: the end of one and the start of the next are one line. */
function addPrinted(lines: Line[], entry: Entry, at: number): void {
  const before = lines.at(-1);
  const isOpen = before !== undefined && before.at === at - 1 && before.entry.kind === "output";
  const texts = entry.text.replace(/\r\n?/g, "\n").split("\n");
  if (isOpen && !isWhole(before))
    lines.push({ ...before, text: `${lines.pop()?.text ?? ""}${texts.shift() ?? ""}` });
  if (texts.at(-1) === "") texts.pop();
  for (const text of texts) lines.push({ entry, at, text, folded: 0 });
}

/** The piece that the line is the last of ended with the line. */
const isWhole = ({ entry }: Line): boolean => /[\r\n]$/.test(entry.text);

const isOfRun = (entry: Entry | undefined, tool: string | undefined): boolean =>
  entry !== undefined &&
  tool !== undefined &&
  entry.tool === tool &&
  (entry.kind === "tool" || entry.kind === "result");

export interface Heard {
  readonly entries: readonly Entry[];
  readonly truncated: boolean;
  readonly isRead: boolean;
  readonly refused: Refused | undefined;
}

/** Reads the transcript, then what was added: every second while the session runs, and once more when it has ended. */
export function useTranscript(id: string, isRunning: boolean, isWhole: boolean): Heard {
  const [heard, setHeard] = useState<Heard>(nothing);
  const reader = useMemo(() => readerOf(id, isWhole, setHeard), [id, isWhole]);
  useEffect(() => {
    void reader.read();
    return reader.stop;
  }, [reader]);
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => {
      if (!document.hidden) void reader.read();
    }, 1000);
    return () => {
      clearInterval(timer);
      void reader.read();
    };
  }, [reader, isRunning]);
  return heard;
}

/** Reads the end of a transcript and what is added to it, or all of it, a megabyte at a time. */
function readerOf(id: string, isWhole: boolean, tell: (heard: Heard) => void) {
  let next = 0;
  let entries: readonly Entry[] = [];
  let truncated = false;
  let isBusy = false;
  let isAskedAgain = false;
  const stopped = new AbortController();
  const { signal } = stopped;
  const readOn = async (): Promise<void> => {
    const isFirst = next === 0;
    const { output } = await send(
      ops.viewTranscript,
      { id, ...((isWhole || !isFirst) && { after: next }) },
      { signal },
    );
    if (isFirst) truncated = output.truncated && !isWhole;
    next = output.next;
    if (output.entries.length > 0 || isFirst) {
      entries = isFirst ? output.entries : [...entries, ...output.entries];
      tell({ entries, truncated, isRead: true, refused: undefined });
    }
    if (isWhole && output.entries.length > 0) isAskedAgain = true;
  };
  const read = async (): Promise<void> => {
    isAskedAgain = true;
    if (isBusy) return;
    isBusy = true;
    try {
      while (isAskedAgain && !signal.aborted) {
        isAskedAgain = false;
        await readOn();
      }
    } catch (error) {
      // Without an answer, the next second asks again.
      if (error instanceof Refused && !signal.aborted) tell({ ...nothing, refused: error });
    } finally {
      isBusy = false;
    }
  };
  return { read, stop: () => stopped.abort() };
}

const nothing: Heard = { entries: [], truncated: false, isRead: false, refused: undefined };

// oxlint-disable-next-line no-control-regex -- terminal commands begin with a control character
const terminalCommands = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;

/** The text without control sequences and invisible characters. */
export const visibleText = (text: string): string =>
  shown(text.replace(terminalCommands, "").replace(/\r\n?/g, "\n"));

import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { ops } from "virtual:operations";
import { timeAgo } from "../../../contract/phrases.ts";
import { shown } from "../../../contract/visible-text.ts";
import { Refused, send } from "../../data/calling.ts";
import type { Answer } from "../../data/operations.ts";
import { Button } from "../../ui/buttons.tsx";
import { counted } from "../../ui/figures.tsx";
import { useKeys } from "../../ui/keys.ts";
import { Empty, Refusal } from "../../ui/states.tsx";
import { clockSeconds, useNow } from "../../ui/time.tsx";
import { colouredParts } from "./terminal-colours.ts";
import { chipOf, linesOf, type TranscriptLine } from "./transcript-lines.ts";
import * as texts from "./texts.ts";

export type Entry = Answer<typeof ops.viewTranscript>["entries"][number];

/**
 * What the session said and did, then new entries. Every line is one row of the same height; a longer one opens in the panel.
 * The view follows the end until the person scrolls up.
 */
export function Transcript({
  of: { entries, truncated, refused, isRead },
  isRunning,
  startedAt,
  opened,
  onOpen,
  onWhole,
}: {
  of: Heard;
  isRunning: boolean;
  startedAt: string;
  /** The position of the entry that is open in the panel. */
  opened: number | undefined;
  onOpen: (entry: Entry) => void;
  /** Called when the person asks for the earlier entries too. */
  onWhole: () => void;
}): ReactNode {
  const [unfolded, setUnfolded] = useState<ReadonlySet<number>>(new Set());
  const lines = useMemo(() => linesOf(entries, unfolded), [entries, unfolded]);
  const box = useRef<HTMLDivElement>(null);
  const [follows, setFollows] = useState(opened === undefined);
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
  // If the address names an entry, it comes into view as soon as it is read.
  const sought = useRef(opened);
  useEffect(() => {
    const at = lines.findIndex(({ entry }) => entry.place === sought.current);
    if (sought.current === undefined || at === -1) return;
    sought.current = undefined;
    virtual.scrollToIndex(at, { align: "center" });
    setSeen(lines.length);
  }, [lines]);
  // J, K and the arrows move over the rows. A row that was far away is rendered only after the list has scrolled to it.
  const [chosen, setChosen] = useState<number>();
  const wanted = useRef<number>(undefined);
  useEffect(() => {
    const row = box.current?.querySelector<HTMLElement>(`[data-line="${wanted.current ?? ""}"]`);
    if (row == null) return;
    wanted.current = undefined;
    row.focus({ preventScroll: true });
  });
  const move = (step: 1 | -1) => (): false | void => {
    const active = document.activeElement;
    if (lines.length === 0 || (active !== document.body && box.current?.contains(active) !== true))
      return false;
    const { startIndex = 0, endIndex = 0 } = virtual.range ?? {};
    const from = chosen ?? (step > 0 ? startIndex - 1 : endIndex + 1);
    const next = Math.max(0, Math.min(lines.length - 1, from + step));
    setFollows(next === lines.length - 1);
    setChosen(next);
    wanted.current = next;
    virtual.scrollToIndex(next, { align: "auto" });
  };
  const errors = useMemo(
    () => lines.flatMap(({ entry, isFirst }, at) => (isFirst && entry.kind === "error" ? [at] : [])),
    [lines],
  );
  const nextError = (): false | void => {
    // After the last error, the first one follows.
    const next = errors.find((at) => at > (chosen ?? -1)) ?? errors[0];
    if (next === undefined) return false;
    setFollows(false);
    setChosen(next);
    wanted.current = next;
    virtual.scrollToIndex(next, { align: "center" });
  };
  useKeys({ n: nextError, j: move(1), k: move(-1), ArrowDown: move(1), ArrowUp: move(-1) });
  if (refused !== undefined) return <Refusal of={refused} />;
  if (isRead && entries.length === 0)
    return (
      <div className="inner">
        {isRunning ? <NothingYet startedAt={startedAt} /> : <Empty title={texts.printedNothing} />}
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
      {errors.length > 0 && (
        <p className="lab cut-note">
          {counted(errors.length, "error")}{" "}
          <Button look="ghost" icon="down" hotkey="N" onClick={nextError}>
            Next error
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
            return (
              <Row
                key={index}
                of={line}
                index={index}
                isChosen={index === chosen}
                onFocus={() => setChosen(index)}
                start={start}
                isOpen={opened !== undefined && line.entry.place === opened}
                onClick={() =>
                  line.folded > 0 ? setUnfolded(new Set([...unfolded, line.at])) : onOpen(line.entry)
                }
              />
            );
          })}
        </div>
      </div>
      {!follows && lines.length > seen && (
        <div className="new-lines">
          <Button look="solid" icon="down" onClick={() => setFollows(true)}>
            {counted(lines.length - seen, "new line")}
          </Button>
        </div>
      )}
    </>
  );
}

function NothingYet({ startedAt }: { startedAt: string }): ReactNode {
  return <Empty title={texts.nothingYet(timeAgo(Math.max(0, useNow() - Date.parse(startedAt))))} />;
}

function Row({
  of: line,
  index,
  start,
  isChosen,
  isOpen,
  onFocus,
  onClick,
}: {
  of: TranscriptLine<Entry>;
  index: number;
  start: number;
  /** True for the row from which the keys continue. */
  isChosen: boolean;
  isOpen: boolean;
  onFocus: () => void;
  onClick: () => void;
}): ReactNode {
  const { entry, text, folded, left, isFirst } = line;
  const chip = isFirst ? chipOf(line) : undefined;
  return (
    <button
      type="button"
      data-line={index}
      tabIndex={isChosen ? 0 : -1}
      onFocus={onFocus}
      className={`entry ${entry.kind}`}
      style={{ transform: `translateY(${start}px)` }}
      aria-expanded={folded > 0 ? false : undefined}
      aria-current={isOpen ? "true" : undefined}
      onClick={onClick}
    >
      <time className="num" dateTime={entry.at}>
        {isFirst && clockSeconds(entry.at)}
      </time>
      {chip !== undefined && <span className="chip">{shown(chip).slice(0, 60)}</span>}
      {left > 0 ? (
        <span className="rest">{texts.moreLines(counted(left, "more line"))}</span>
      ) : (
        <bdi className="cut">
          <ColouredText text={text.slice(0, mostOfLine * 2)} most={mostOfLine} />
        </bdi>
      )}
    </button>
  );
}

const mostOfLine = 300;

/** Text of a terminal, with its colours as classes. */
export function ColouredText({ text, most }: { text: string; most?: number }): ReactNode {
  let room = most ?? Infinity;
  return colouredParts(text).map(({ text: words, look }, at) => {
    const fitting = words.slice(0, room);
    room -= fitting.length;
    return look === "" ? (
      fitting
    ) : (
      <span key={at} className={`ansi ${look}`}>
        {fitting}
      </span>
    );
  });
}

interface Heard {
  readonly entries: readonly Entry[];
  readonly truncated: boolean;
  readonly isRead: boolean;
  readonly refused: Refused | undefined;
}

/** Reads the transcript, then new entries: every second while the session runs, and once more when it has ended. */
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

/** Reads the end of a transcript and new entries, or all of it, a megabyte at a time. */
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
      // If there is no answer, it asks again in the next second.
      if (error instanceof Refused && !signal.aborted) tell({ ...nothing, refused: error });
    } finally {
      isBusy = false;
    }
  };
  return { read, stop: () => stopped.abort() };
}

const nothing: Heard = { entries: [], truncated: false, isRead: false, refused: undefined };

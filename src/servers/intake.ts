import { messageTooLarge, sendsTooMuch } from "./texts.ts";

/**
 * Limits how much a server may send. The daemon parses what a server sends, so a server that floods would keep everyone
 * waiting.
 *   a message     8 MB, whatever asked for it
 *   everything    32 MB and 15,000 lines at once; over time 1 MB and 600 lines a second
 * A message is a line of a program, and about three lines of an event stream.
 */
export interface Intake {
  /** Counts bytes of a stream of lines. Throws if they are too many. */
  readonly lines: (chunk: Uint8Array) => void;
  /** Counts the bytes of one answer that is a document. */
  readonly document: () => (chunk: Uint8Array) => void;
}

const mostMessage = 8 * 1024 * 1024;
const burst = { bytes: 32 * 1024 * 1024, lines: 15_000 };
const perSecond = { bytes: 1024 * 1024, lines: 600 };

/** `excess` is called once, at the first message that is not accepted. Other requests may wait for such a message. */
export function limitIntake(
  excess: (error: Error) => void,
  clock: () => number = () => performance.now(),
): Intake {
  const left = { ...burst };
  let at = clock();
  let isOver = false;
  const refuse = (says: string): never => {
    const error = new Error(says);
    if (!isOver) excess(error);
    isOver = true;
    throw error;
  };
  const take = (bytes: number, lines: number): void => {
    const now = clock();
    const seconds = (now - at) / 1000;
    at = now;
    left.bytes = Math.min(burst.bytes, left.bytes + seconds * perSecond.bytes) - bytes;
    left.lines = Math.min(burst.lines, left.lines + seconds * perSecond.lines) - lines;
    if (left.bytes < 0 || left.lines < 0) refuse(sendsTooMuch);
  };
  let open = 0;
  return {
    lines: (chunk) => {
      const last = chunk.lastIndexOf(10);
      open = last === -1 ? open + chunk.byteLength : chunk.byteLength - last - 1;
      if (open > mostMessage) refuse(messageTooLarge(mostMessage));
      take(chunk.byteLength, linesIn(chunk));
    },
    document: () => {
      let bytes = 0;
      return (chunk) => {
        bytes += chunk.byteLength;
        if (bytes > mostMessage) refuse(messageTooLarge(mostMessage));
        take(chunk.byteLength, 0);
      };
    },
  };
}

function linesIn(chunk: Uint8Array): number {
  let lines = 0;
  for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines++;
  return lines;
}

import type { Socket } from "node:net";
import { inMap } from "../contract/in-map.ts";

/**
 * Delays answers to callers that send too much. A client that is refused at once sends its next request at once, and a thousand
 * connections in such a loop would use up the daemon with refusals alone. So these answers leave at a steady pace for all
 * callers together, one caller after another. A flood of any size then costs the same, and a caller that exceeds a limit once
 * does not wait behind one that floods. Of a request that waits here, only the head has been read.
 */
export class LateAnswers {
  /** The waiting answers of each caller. The first entry is the caller whose turn is next. */
  readonly #lines = new Map<object, Late[]>();
  readonly #closing: AbortSignal;
  #count = 0;
  #pace: NodeJS.Timeout | undefined;

  constructor(closing: AbortSignal) {
    this.#closing = closing;
    closing.addEventListener("abort", () => {
      while (this.#count > 0) this.#release();
    });
  }

  /** Resolves when the answer may leave. If too many wait already, the connection is closed without an answer. */
  async wait(caller: object, socket: Connection): Promise<void> {
    if (this.#closing.aborted) return;
    if (this.#count >= mostLate) return void socket.destroy();
    this.#count++;
    this.#pace ??= setInterval(() => this.#release(), paceMilliseconds);
    await new Promise<void>((leave) => inMap(this.#lines, caller, () => []).push({ leave, socket }));
  }

  #release(): void {
    for (let left = answersAtOnce; left > 0;) {
      const [next] = this.#lines;
      if (next === undefined) {
        clearInterval(this.#pace);
        this.#pace = undefined;
        return;
      }
      const [caller, line] = next;
      this.#lines.delete(caller);
      const answer = line.shift();
      if (line.length > 0) this.#lines.set(caller, line);
      if (answer === undefined) continue;
      this.#count--;
      if (!answer.socket.destroyed) left--;
      answer.leave();
    }
  }
}

interface Late {
  readonly leave: () => void;
  readonly socket: Connection;
}

/** The connection of a request. Connections over a session's own door have no address. */
export type Connection = Pick<Socket, "remoteAddress" | "destroyed" | "destroy">;

const paceMilliseconds = 10;
const answersAtOnce = 2;
/** Node has read up to 64 kB of each connection. */
const mostLate = 2000;

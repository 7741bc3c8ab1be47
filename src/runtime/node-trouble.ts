import { onOneLine } from "../contract/visible-text.ts";
import { isUnavailable } from "../store/disk.ts";

/**
 * What keeps this node from starting sessions: its own disk, memory or files, or a store that does not answer. The agents did not
 * cause it, and other nodes may have no such trouble.
 *
 *   able ──a start fails because of the node──▶ resting ──the wait is over──▶ trying ──a process started──▶ able
 *                                                  ▲───────a start fails──────────┘
 *
 * A resting node leaves all agents to the others, because the next start would fail like the last one. The waits grow with each
 * failure in a row. `heart.ts` tells the other nodes and people what the trouble is.
 */
export interface NodeTrouble {
  /** Notes a start that failed at this time of the database. Returns false if the error is not the node's. */
  failed(error: unknown, now: number): boolean;
  /** Called when a process started. */
  started(): void;
  /** Called when a person may have mended the node. The next session finds out. */
  mended(): void;
  /** The node starts no session before this time. */
  readonly restsUntil: () => number;
  /** Null if the last start succeeded, or failed for another reason. */
  readonly says: () => string | null;
}

const firstWait = 5000;
const longestWait = 600_000;

export function keepNodeTrouble(): NodeTrouble {
  let says: string | null = null;
  let wait = 0;
  let until = 0;
  return {
    failed: (error, now) => {
      if (!isNodes(error)) return false;
      says = onOneLine(error instanceof Error ? error.message : String(error)).slice(0, 300);
      wait = Math.min(longestWait, Math.max(firstWait, wait * 2));
      until = now + wait;
      return true;
    },
    started: () => {
      says = null;
      wait = 0;
      until = 0;
    },
    mended: () => void (until = 0),
    restsUntil: () => until,
    says: () => says,
  };
}

/** No disk space, no room in a quota, no descriptor, no process, no memory, a disk that is read-only or broken. */
const codes = new Set(["ENOSPC", "EDQUOT", "EMFILE", "ENFILE", "EAGAIN", "ENOMEM", "EROFS", "EIO"]);

function isNodes(error: unknown): boolean {
  if (isUnavailable(error)) return true;
  return error instanceof Error && "code" in error && codes.has(String(error.code));
}

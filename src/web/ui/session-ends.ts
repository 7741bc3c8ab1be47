import type { MarkName } from "./status.tsx";

/** How a session stands, as a mark and a word. */
export const sessionEnds: Readonly<Record<string, readonly [MarkName, string]>> = {
  running: ["work", "At work"],
  done: ["done", "Done"],
  failed: ["failed", "Failed"],
  stopped: ["closed", "Stopped"],
};

/** What a session without an outcome does. */
export const readsInbox = "Reads its inbox";

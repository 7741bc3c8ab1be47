import type { MarkName } from "./marks.ts";

/** The state of a session, as a mark and a word. */
export const sessionEnds: Readonly<Record<string, readonly [MarkName, string]>> = {
  running: ["work", "At work"],
  done: ["done", "Done"],
  failed: ["failed", "Failed"],
  stopped: ["closed", "Stopped"],
};

/** The activity of a session without an outcome. */
export const readsInbox = "Reads its inbox";

import type { Operation } from "../contract/operation.ts";

/**
 * Which answers are kept (kept-answers.ts): those of reads in a company, unless the answer depends on more than the rows that
 * the ledger seals. A read of the installation has no company whose chain would show a change.
 */
export const isKept = ({ name, effect, within }: Operation): boolean =>
  effect === "read" && within !== "installation" && !notKept.has(name);

const inMemory = "the daemon keeps a part of it in memory or asks a program";
const ledger = "it shows the ledger, which each recorded read changes";
const content = "it shows content, and each such read is checked";
const brains = "it tells which nodes, brains and secrets can be used now";
const files = "it shows what sessions printed, which is in files";

/** Reads in a company whose answers are not kept, and why. */
export const notKept: ReadonlyMap<string, string> = new Map([
  ["attention.view", brains],
  ["company.counts", brains],
  ["cost.list", "it shows how many bytes are stored, a sum that is not sealed"],
  ["event.export", ledger],
  ["event.list", ledger],
  ["event.mine", ledger],
  ["event.of_agent", ledger],
  ["knowledge.access_log", ledger],
  ["mail.board_inbox", content],
  ["mail.of_agent", content],
  ["mcp_server.list", inMemory],
  ["outcome.timeline", ledger],
  ["provider.list", inMemory],
  ["repo.diff", content],
  ["repo.list", inMemory],
  ["search", "the index it reads is not sealed"],
  ["secret.list", inMemory],
  ["session.list", files],
  ["session.of_agent", files],
  ["session.view", files],
  ["why", brains],
  ["why.many", brains],
]);

import { z } from "zod";
import { count } from "./words.ts";

const megabyte = 1024 * 1024;

/**
 * The limits of a daemon for its callers. AGENCY_LIMITS changes single values, as JSON; docs/guide/limits.md is for people. The
 * defaults are far above the needs of a working organization of 200 agents. A caller is a credential, or an address.
 */
export const Limits = z.strictObject({
  /** The largest text of the contract is a message of 200,000 characters: 600 kB in most scripts. */
  bodyBytes: count(1024, 1024 * megabyte).default(megabyte),
  /** For operations that carry files: 10 MB are 14 MB as base64, and up to 20 MB as text with escaped lines. */
  uploadBytes: count(1024, 1024 * megabyte).default(24 * megabyte),
  uploadSeconds: count(1, 3600).default(60),
  /** Bytes of requests that are not answered yet. */
  heldBytes: count(1024, 65_536 * megabyte).default(128 * megabyte),
  heldBytesPerCaller: count(1024, 65_536 * megabyte).default(32 * megabyte),
  /** Other callers wait until these calls are done: on SQLite, calls run one after another. */
  callsAtOnce: count(1, 10_000).default(8),
  callsWaiting: count(0, 1_000_000).default(1000),
  boardCallsPerSecond: count(1, 1_000_000).default(2000),
  agentCallsPerSecond: count(1, 1_000_000).default(200),
  /** For all callers at one address without a valid credential. */
  strangerCallsPerSecond: count(1, 1_000_000).default(100),
});
export type Limits = z.infer<typeof Limits>;

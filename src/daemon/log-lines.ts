import { redact } from "../redaction/redact.ts";

/** A line of the log: JSON with the time, and without anything that looks like a secret. */
export const logLine = (line: Record<string, unknown>): string =>
  JSON.stringify(redact({ at: new Date().toISOString(), ...line }).value);

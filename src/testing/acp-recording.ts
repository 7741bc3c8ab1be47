import { entriesOf } from "../brains/acp/updates.ts";
import type { tell } from "../brains/own-program.ts";

type Entry = Parameters<typeof tell>[0];

/** The transcript entries for messages that a program printed over the Agent Client Protocol. */
export function heardOverAcp(lines: readonly string[]): Entry[] {
  const told: Entry[] = [];
  const { hear, end } = entriesOf((entry) => told.push(entry));
  for (const line of lines) {
    const { method, params } = Object(JSON.parse(line));
    if (method === "session/update") hear(params.update);
  }
  end();
  return told;
}

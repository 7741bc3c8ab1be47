import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { Listener } from "./dialects.ts";

/** The files of the courier (courier-process.ts), one for each call that is not booked yet. */
const CallEnd = z.object({
  status: z.enum(["done", "cut", "failed"]),
  /** Absent if the answer reported no usage. */
  tokens: z
    .object({
      input: z.number(),
      output: z.number(),
      cacheRead: z.number(),
      cacheWrite: z.number(),
      hourWrite: z.number().exactOptional(),
    })
    .exactOptional(),
  /** The number of written tokens that `tokens` does not include. */
  unsaid: z.number().exactOptional(),
});
export type CallEnd = z.infer<typeof CallEnd>;

/** The end of a call, from what its listener heard. */
export function callEnd(
  status: CallEnd["status"],
  listener: Pick<Listener, "used" | "unsaid"> | undefined,
): CallEnd {
  const [tokens, unsaid = 0] = [listener?.used(), listener?.unsaid()];
  if (status === "failed") return { status };
  return { status, ...(tokens === undefined ? {} : { tokens }), ...(unsaid === 0 ? {} : { unsaid }) };
}
const CallFile = z.object({ pid: z.number(), end: CallEnd.exactOptional() });

/**
 *   unasked   no provider was asked
 *   asking    a courier still hears the answer
 *   lost      the courier was killed as well, so nothing is known
 */
export type CallFate = "unasked" | "asking" | "lost" | CallEnd;

export function callFiles(folder: string) {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return {
    folder,
    fateOf: (id: string): CallFate => {
      let text: string;
      try {
        text = readFileSync(join(folder, id), "utf8");
      } catch {
        return "unasked";
      }
      const { data } = CallFile.safeParse(jsonIn(text));
      if (data === undefined) return "lost";
      return data.end ?? (isRunning(data.pid) ? "asking" : "lost");
    },
    /** Removes the file of a booked call. */
    forget: (id: string): void => rmSync(join(folder, id), { force: true }),
    /** Removes the files of all other calls. These were booked right before the daemon was killed. */
    keepOnly: (ids: ReadonlySet<string>): void => {
      for (const name of readdirSync(folder))
        if (!ids.has(name.replace(/\.new$/, ""))) rmSync(join(folder, name), { force: true });
    },
  };
}
export type CallFiles = ReturnType<typeof callFiles>;

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether this process runs. Another process may have got the number; the call then counts as lost an hour after it began. */
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

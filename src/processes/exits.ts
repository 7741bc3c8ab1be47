import type { ChildProcess } from "node:child_process";
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { End, Judgement } from "../brains/brain.ts";
import { endCauses } from "../contract/sessions.ts";
import type { Hearing } from "./hearing.ts";
import { killGroup } from "./process-table.ts";
import type { Exit } from "./runner.ts";
import { leaseLost } from "./texts.ts";

/** The exit of a process is kept on disk until the session is settled. */

export const exitFile = (folder: string, id: string): string => join(folder, `${id}.exit`);

/** The file is renamed only when complete, so a crash while writing leaves no half-written file. */
function keepExit(file: string, exit: Exit): void {
  try {
    writeFileSync(`${file}.part`, JSON.stringify(exit), { mode: 0o600 });
    renameSync(`${file}.part`, file);
  } catch {
    // Failed, for example because the disk is full. If the daemon dies before the session is settled, the output is lost.
  }
}

/** Returns an exit only once: an output that crashes the daemon must not crash it at every start. */
export function takeExit(file: string): Exit | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return KeptExit.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch {
    // After a power failure the file may exist without its content.
    return undefined;
  } finally {
    rmSync(file, { force: true });
  }
}

const spent = { inputTokens: z.number(), outputTokens: z.number(), costUsd: z.number() };
const KeptExit = z.object({
  code: z.number().nullable(),
  cause: z.enum(endCauses),
  reason: z.string(),
  output: z.string(),
  lost: z
    .object({
      directives: z.array(z.string()),
      fence: z.object({ mark: z.string(), name: z.string() }).nullable(),
      line: z.string(),
    })
    .exactOptional(),
  leaseLost: z.literal(true).exactOptional(),
  toolCalls: z.number().exactOptional(),
  usage: z.object({ ...spent, consultants: z.object(spent).exactOptional() }).exactOptional(),
});

export function exitOf(
  child: ChildProcess,
  heard: Hearing,
  file: string,
  parts: {
    readonly judge: (end: End) => Judgement;
    /** The reason why it was stopped, if it exceeded a limit. */
    readonly excess: () => string | undefined;
    readonly clear: () => Promise<void>;
  },
): Promise<Exit> {
  return new Promise((resolve) => {
    child.once("close", (exitCode, exitSignal) => {
      // A sandbox reports a program that was killed from outside with this code.
      const [code, signal] = exitCode === 137 ? [null, "SIGKILL"] : [exitCode, exitSignal];
      heard.close();
      // Kills the processes that it left behind in its group.
      if (child.pid !== undefined) killGroup(child.pid);
      const said = heard.said().toWellFormed();
      const judgement = parts.judge({
        code,
        signal,
        said,
        toolCalls: heard.toolCalls(),
        errors: heard.errors(),
        named: heard.named(),
      });
      const excess = judgement.cause === "done" ? undefined : parts.excess();
      const usage = heard.usage();
      const lost = heard.lost();
      const exit = {
        code,
        cause: excess === undefined ? judgement.cause : ("failed" as const),
        reason: excess ?? judgement.says,
        output: said,
        ...(excess === leaseLost ? { leaseLost: true as const } : {}),
        ...(lost === undefined ? {} : { lost }),
        toolCalls: heard.toolCalls(),
        ...(usage === undefined ? {} : { usage }),
      };
      keepExit(file, exit);
      void parts.clear().then(() => resolve(exit));
    });
    // A grandchild may hold the output pipes open. That must not keep the session alive.
    child.once("exit", () => {
      setTimeout(() => {
        child.stdout?.destroy();
        child.stderr?.destroy();
      }, 1000).unref();
    });
  });
}

import { fileURLToPath } from "node:url";
import { z } from "zod";
import { JsonObject } from "../contract/words.ts";
import type { EndCause } from "../contract/sessions.ts";
import { type Ear, type End, type Heard, type Judgement, type Launch, plainJudgement } from "./brain.ts";

/**
 * A program that is part of Agency and runs as a session. It prints one line of JSON for each thing it says or does, and its
 * exit code says why it ended. So the daemon understands it, whichever model or program it talks to.
 */
export function ownProgram(name: string): Pick<Launch, "command" | "args" | "reads"> {
  const isSource = import.meta.url.endsWith(".ts");
  const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url)).replace(/\/$/, "");
  return {
    command: process.execPath,
    args: [at(`../brains/${name}${isSource ? ".ts" : ".js"}`)],
    // The built program contains the packages it uses.
    reads: [at("../"), at("../../package.json"), ...(isSource ? [at("../../node_modules")] : [])],
  };
}

const exitCodes: Readonly<Record<EndCause, number>> = {
  done: 0,
  failed: 1,
  missing: 70,
  signed_out: 71,
  overloaded: 72,
  out_of_context: 73,
};

const Line = z.discriminatedUnion("kind", [
  z.object({
    kind: z.enum(["text", "tool", "result", "error", "output"]),
    tool: z.string().exactOptional(),
    text: z.string(),
  }),
  z.object({ kind: z.literal("thread"), id: z.string() }),
]);

/** For the program: prints a line that the ear below understands. */
export function tell(heard: z.infer<typeof Line>): void {
  process.stdout.write(`${JSON.stringify(heard)}\n`);
}

export const hearOwn: Ear = (line): readonly Heard[] => {
  if (line.trim() === "") return [];
  try {
    return [Line.parse(JsonObject.parse(JSON.parse(line)))];
  } catch {
    return [{ kind: "output", text: `${line}\n` }];
  }
};

/** For the program: an error that ends it, with the cause. */
export class SessionEnd extends Error {
  readonly why: Judgement["cause"];
  constructor(why: Judgement["cause"], says: string) {
    super(says);
    this.why = why;
  }
}

/** For the program: runs its work to the end. The last line and the exit code say why it ended. */
export async function runToEnd(work: () => Promise<void>): Promise<never> {
  let cause: Judgement["cause"] = "done";
  try {
    await work();
  } catch (error) {
    cause = error instanceof SessionEnd ? error.why : "failed";
    tell({ kind: "error", text: error instanceof Error ? error.message : String(error) });
  }
  // What was written reaches the pipe only if the process waits for it.
  await new Promise<void>((resolve) => process.stdout.write("", () => resolve()));
  return process.exit(exitCodes[cause]);
}

/** A session that called no tool and said nothing has done nothing, whatever its exit code is. */
export function judgeOwn(end: End): Judgement {
  const { code, toolCalls, said, errors, named } = end;
  if (code === 0 && toolCalls === 0 && said.trim() === "")
    return { cause: "failed", says: "The model ended its turn without a word and without a call of a tool." };
  const [cause] = Object.entries(exitCodes).find(([, one]) => one === code) ?? [];
  const plain = plainJudgement(end);
  if (code === 0 || cause === undefined) return plain;
  // A program that ours started prints to the same standard error, maybe after our own last words.
  const last = named || errors.split("\n").findLast((line) => line.trim() !== "") || plain.says;
  return { cause: Cause.parse(cause), says: last.replaceAll(/\s+/g, " ").slice(0, 500) };
}

const Cause = z.enum(["failed", "missing", "signed_out", "overloaded", "out_of_context"]);

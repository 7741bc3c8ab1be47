import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { z } from "zod";
import { leftOut } from "./texts.ts";

/** A tool that the model can call. The program runs the call and returns a text. */
export interface SessionTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly run: (input: unknown) => Promise<ToolAnswer>;
}

export interface ToolAnswer {
  readonly text: string;
  readonly failed: boolean;
}

const mostRead = 50_000;
const mostOutput = 30_000;
const usualSeconds = 120;
const mostSeconds = 600;

/** The four tools for files and programs. The sandbox around this process decides what they can reach. */
export function ownTools(workspace: string): { tools: SessionTool[]; stop: () => void } {
  const at = (path: string): string => resolve(workspace, path);
  const groups = new Set<number>();
  const tools = [
    define(
      "read",
      "Read a text file of the workspace. Returns up to 2,000 lines and 50,000 characters; use offset for the next part.",
      z.object({
        path: Path,
        offset: z.int().min(0).default(0).describe("Number of lines to skip. Default 0."),
        limit: z.int().min(1).max(2000).default(2000).describe("Number of lines to return. Default 2000."),
      }),
      async ({ path, offset, limit }) => {
        const lines = readFileSync(at(path), "utf8").split("\n");
        const part = lines.slice(offset, offset + limit).join("\n");
        const shown = part.slice(0, mostRead).toWellFormed();
        const isWhole = offset === 0 && lines.length <= limit && part.length <= mostRead;
        return isWhole ? shown : `${shown}\n(${lines.length} lines in all)`;
      },
    ),
    define(
      "write",
      "Create a file in the workspace, or replace its whole content. Folders are created. The workspace is deleted after the session: use the knowledge base for what must last.",
      z.object({ path: Path, content: z.string().describe("The whole content.") }),
      async ({ path, content }) => {
        mkdirSync(dirname(at(path)), { recursive: true });
        writeFileSync(at(path), content);
        return `Wrote ${Buffer.byteLength(content)} bytes to ${path}.`;
      },
    ),
    define(
      "edit",
      "Replace a text in a file of the workspace. The old text must occur exactly once, unless all is true.",
      z.object({
        path: Path,
        old: z.string().min(1).describe("The text to replace, exactly as it is in the file."),
        new: z.string().describe("The text to put in its place."),
        all: z.boolean().default(false).describe("Replace every occurrence. Default false."),
      }),
      async ({ path, old, new: next, all }) => {
        const parts = readFileSync(at(path), "utf8").split(old);
        const count = parts.length - 1;
        if (count === 0) throw new Error(`The old text does not occur in ${path}. Read the file again.`);
        if (count > 1 && !all)
          throw new Error(
            `The old text occurs ${count} times in ${path}. Give more of it, or set all to true.`,
          );
        writeFileSync(at(path), parts.join(next));
        return `Replaced ${count} ${count === 1 ? "occurrence" : "occurrences"} in ${path}.`;
      },
    ),
    define(
      "shell",
      "Run a command with sh in the workspace. Returns what it printed and its exit code. It gets no input, and it is ended after the timeout.",
      z.object({
        command: z.string().min(1).describe("The command, for example: npm test 2>&1 | tail -50"),
        timeoutSeconds: z
          .int()
          .min(1)
          .max(mostSeconds)
          .default(usualSeconds)
          .describe(`Seconds until the command is ended. Default ${usualSeconds}.`),
      }),
      ({ command, timeoutSeconds }) => runCommand(command, workspace, timeoutSeconds, groups),
    ),
  ];
  return { tools, stop: () => groups.forEach((group) => endGroup(group)) };
}

const Path = z.string().min(1).describe("Path relative to the workspace, or absolute.");

function define<S extends z.ZodObject>(
  name: string,
  description: string,
  schema: S,
  run: (input: z.infer<S>) => Promise<string>,
): SessionTool {
  const { $schema: _, ...inputSchema } = z.toJSONSchema(schema, { io: "input" });
  return {
    name,
    description,
    inputSchema,
    run: async (input) => {
      const checked = schema.safeParse(input);
      if (!checked.success) return { text: z.prettifyError(checked.error), failed: true };
      try {
        return { text: await run(checked.data), failed: false };
      } catch (error) {
        return { text: error instanceof Error ? error.message : String(error), failed: true };
      }
    },
  };
}

/** Runs the command in its own process group, which is ended as a whole. */
function runCommand(
  command: string,
  workspace: string,
  seconds: number,
  groups: Set<number>,
): Promise<string> {
  const child = spawn("/bin/sh", ["-c", command], {
    cwd: workspace,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const { pid } = child;
  if (pid !== undefined) groups.add(pid);
  const printed = keepEnds(mostOutput);
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (piece: string) => printed.add(piece));
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    if (pid !== undefined) endGroup(pid);
  }, seconds * 1000);
  return new Promise((done, fail) => {
    child.once("error", fail);
    // Background processes of the command may hold the pipes open.
    child.once("exit", () => {
      setTimeout(() => {
        child.stdout.destroy();
        child.stderr.destroy();
      }, 500).unref();
    });
    child.once("close", (code, signal) => {
      clearTimeout(timer);
      if (pid !== undefined && !isAlive(pid)) groups.delete(pid);
      const end = timedOut
        ? `ended after ${seconds} ${seconds === 1 ? "second" : "seconds"}`
        : signal === null
          ? `exit code ${code ?? 0}`
          : `ended by ${signal}`;
      done(`${printed.text()}\n(${end})`);
    });
  });
}

function endGroup(group: number): void {
  try {
    process.kill(-group, "SIGKILL");
  } catch {
    // The group has ended already.
  }
}

function isAlive(group: number): boolean {
  try {
    return process.kill(-group, 0);
  } catch {
    return false;
  }
}

/** Keeps the beginning and the end of a long text, with a third of the room for the beginning. */
function keepEnds(most: number): { add: (piece: string) => void; text: () => string } {
  const room = Math.floor(most / 3);
  let begin = "";
  let end = "";
  let dropped = 0;
  return {
    add: (piece) => {
      const first = piece.slice(0, room - begin.length);
      begin += first;
      end += piece.slice(first.length);
      dropped += Math.max(0, end.length - (most - room));
      end = end.slice(-(most - room));
    },
    text: () => (dropped === 0 ? begin + end : begin + leftOut(dropped) + end).toWellFormed(),
  };
}

/** Shortens a text to this length. */
export function bounded(text: string, most: number): string {
  const kept = keepEnds(most);
  kept.add(text);
  return kept.text();
}

import type { ChildProcess } from "node:child_process";
import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import type { Ear, Heard } from "../brains/brain.ts";
import { furthest } from "../budgets/budget.ts";
import type { Usage } from "../contract/budgets.ts";
import { losing, type Lost } from "../contract/directives.ts";
import { hiderOf } from "../redaction/known-texts.ts";
import type { TranscriptWriter } from "./transcript.ts";
import { usageIn } from "./usage-line.ts";

/**
 * Listens to a session's process: writes the transcript, passes usage on, and keeps the agent's final output.
 *
 * A brain with an ear understands the lines of its program, which say what the model said. Without an ear, everything on
 * standard output counts as said by the agent.
 */
export interface Hearing {
  /** The agent's final output, at most its last 64 kB. */
  readonly said: () => string;
  /** The directives in the part before that, which is not kept. */
  readonly lost: () => Lost | undefined;
  readonly usage: () => Usage | undefined;
  readonly toolCalls: () => number;
  /** The last errors: those that the brain named, and the end of standard error. */
  readonly errors: () => string;
  /** The last error that the brain named. */
  readonly named: () => string;
  readonly close: () => void;
}

const mostOutput = 64 * 1024;
const mostErrors = 4096;
const mostAtOnce = 64 * 1024;
const restMilliseconds = 100;
/** For a brain with an ear, one line may contain a whole file. */
const mostLine = 16 * 1024 * 1024;

export function hearing(
  child: ChildProcess,
  transcript: TranscriptWriter,
  {
    ear,
    secrets,
    onUsage,
    onThread,
  }: {
    readonly ear: Ear | undefined;
    readonly secrets: readonly string[];
    readonly onUsage: (usage: Usage) => void;
    readonly onThread: (thread: string) => void;
  },
): Hearing {
  const hide = hiderOf(secrets);
  let said = "";
  let lost: ReturnType<typeof losing> | undefined;
  let errors = "";
  let named = "";
  let usage: Usage | undefined;
  let toolCalls = 0;

  const speak = (text: string): void => {
    said += text;
    const cut = said.length - mostOutput;
    if (cut <= 0) return;
    lost ??= losing();
    lost.add(said.slice(0, cut));
    said = said.slice(cut);
  };
  const fail = (text: string): void => {
    errors = (errors + text).slice(-mostErrors);
  };
  const use = (reported: Usage | undefined): void => {
    if (reported === undefined) return;
    const before = usage;
    usage = furthest(before, reported);
    if (JSON.stringify(usage) !== JSON.stringify(before)) onUsage(usage);
  };
  const take = (heard: Heard): void => {
    if (heard.kind === "usage") return use(heard.usage);
    if (heard.kind === "thread") return onThread(heard.id);
    transcript.add(heard);
    if (heard.kind === "error") {
      named = heard.text.slice(0, mostErrors);
      fail(`${heard.text}\n`);
    }
    if (heard.kind === "text") speak(heard.text);
    // Words before a call belong to the call. The final output is what follows the last call.
    if (heard.kind === "tool") {
      toolCalls++;
      said = "";
      lost = undefined;
    }
  };

  const keepErrors = transcript.stream();
  const errorLines = lines((line) => use(usageIn(line)));
  paced(child.stderr, (chunk) => {
    keepErrors(chunk);
    fail(errorLines.write(chunk));
  });
  const keep = ear === undefined ? transcript.stream() : undefined;
  const output = lines(
    (line) => {
      if (ear === undefined) use(usageIn(line));
      else for (const heard of ear(line)) take(heard);
    },
    ear === undefined ? mostOutput : mostLine,
  );
  paced(child.stdout, (chunk) => {
    keep?.(chunk);
    const text = output.write(chunk);
    if (ear === undefined) speak(text);
  });
  return {
    said: () => hide(said),
    lost: () => {
      if (lost === undefined) return undefined;
      const { directives, fence, line } = lost.lost();
      const shown = fence === null ? null : { ...fence, name: hide(fence.name) };
      return { directives: directives.map(hide), fence: shown, line: hide(line) };
    },
    usage: () => usage,
    toolCalls: () => toolCalls,
    errors: () => hide(errors).trim(),
    named: () => hide(named).trim(),
    close: () => {
      output.end();
      errorLines.end();
      transcript.close();
    },
  };
}

/**
 * A process that prints without end would keep the daemon busy. After each piece of this size, the daemon stops reading its
 * pipe for a moment.
 */
function paced(stream: Readable | null, hear: (chunk: Buffer) => void): void {
  let heard = 0;
  stream?.on("data", (chunk: Buffer) => {
    hear(chunk);
    heard += chunk.byteLength;
    if (heard < mostAtOnce) return;
    heard = 0;
    stream.pause();
    setTimeout(() => stream.resume(), restMilliseconds).unref();
  });
}

/**
 * Assembles lines. A pipe may cut anywhere, even inside a character, and some brains never end their last line. A line that
 * looks like a complete report is passed on before it ends.
 */
function lines(
  hear: (line: string) => void,
  most = mostOutput,
): { write: (chunk: Buffer) => string; end: () => void } {
  const decoder = new StringDecoder("utf8");
  let line = "";
  return {
    write: (chunk) => {
      const text = decoder.write(chunk);
      line += text;
      for (let end = line.indexOf("\n"); end >= 0; end = line.indexOf("\n")) {
        hear(line.slice(0, end));
        line = line.slice(end + 1);
      }
      line = line.slice(-most);
      if (most === mostOutput && line.trimEnd().endsWith("}")) hear(line);
      return text;
    },
    end: () => {
      if (line !== "") hear(line);
      line = "";
    },
  };
}

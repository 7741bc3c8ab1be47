import { execFile } from "node:child_process";
import { accessSync, constants, cpSync, existsSync, realpathSync, rmSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { ProviderName } from "../contract/providers.ts";
import { text } from "../contract/words.ts";
import {
  type End,
  filesNamed,
  type Judgement,
  type NeededProgram,
  type Probe,
  type SessionSpec,
} from "./brain.ts";
import { exposing } from "./exposed-secrets.ts";
import { ownServer } from "./mcp-config.ts";
import * as texts from "./texts.ts";

/** The common part of the brains that run a coding agent's command line. */
export interface CliProgram {
  /** The name of the program for people. */
  readonly name: string;
  readonly command: string;
  readonly install: string;
  /** The providers of models that it asks: with an API key, and with a subscription. */
  readonly providers: { readonly key: string; readonly subscription: string };
  /** Describes the secret of the subscription, for people. */
  readonly subscribed: string;
}

/** The parts of the declaration that all these brains share. */
export const cliBrain = (program: CliProgram) => ({
  runsPrograms: true,
  examples: [{}, { login: "subscription" }],
  reads: ({ command }: Pick<CliSettings, "command">) => filesNamed(command === undefined ? [] : [command]),
  program: ({ command }: Pick<CliSettings, "command">) => neededCli(program, command),
  provider: (config: Pick<CliSettings, "provider" | "login">) => askedProvider(program, config),
  probe: (config?: Pick<CliSettings, "command">, closing?: AbortSignal) =>
    probeCli(program, config?.command, closing),
  judge: (end: End) => judgeCli(program, end),
});

type CliSettings = z.infer<z.ZodObject<ReturnType<typeof cliSettings>>>;

/** The provider that sessions with this configuration ask. */
export const askedProvider = (
  { providers }: CliProgram,
  { provider, login = "key" }: Pick<CliSettings, "provider" | "login">,
): string => provider ?? providers[login];

/** The settings that all of them have. */
export const cliSettings = ({ name, command, providers, subscribed }: CliProgram) => ({
  command: text(4096)
    .min(1)
    .optional()
    .describe(`The program of ${name}: a name on PATH, or an absolute path. Default: ${command}.`),
  provider: ProviderName.optional().describe(
    `The provider of models it asks. Default: ${providers.key}, or ${providers.subscription}.`,
  ),
  ...exposing,
  login: z
    .enum(["key", "subscription"])
    .optional()
    .describe(`key (default): the provider's secret is an API key. subscription: it is ${subscribed}.`),
});

/**
 * Finds the program and, if no configuration names one, asks it for its version. That takes a second, so an answer is valid for
 * a minute.
 */
export async function probeCli(
  program: CliProgram,
  command: string | undefined,
  closing?: AbortSignal,
): Promise<Probe> {
  const found = programFile(command ?? program.command);
  if (found === undefined)
    return { available: false, version: null, says: texts.cliMissing(program, command ?? program.command) };
  if (command !== undefined) return { available: true, version: null, says: found };
  const key = `${found} ${statSync(found).mtimeMs}`;
  const now = performance.now();
  for (const [old, { until }] of asked) if (until <= now) asked.delete(old);
  const question = asked.get(key) ?? askVersion(program, found, now + 60_000);
  asked.set(key, question);
  question.waiting += 1;
  let isHere = true;
  const leave = (): void => {
    if (!isHere) return;
    isHere = false;
    question.waiting -= 1;
    // The program runs on while another call waits for its answer. The answer of an ended program is not kept.
    if (question.waiting > 0 || question.isAnswered) return;
    if (asked.get(key) === question) asked.delete(key);
    question.end();
  };
  closing?.addEventListener("abort", leave, { once: true });
  if (closing?.aborted === true) leave();
  try {
    return await question.probe;
  } finally {
    closing?.removeEventListener("abort", leave);
    leave();
  }
}

interface Question {
  readonly until: number;
  readonly probe: Promise<Probe>;
  readonly end: () => void;
  isAnswered: boolean;
  waiting: number;
}
const asked = new Map<string, Question>();

function askVersion(program: CliProgram, found: string, until: number): Question {
  const failed = (says: string): Probe => ({
    available: false,
    version: null,
    says: texts.cliFails(program, says),
  });
  const ended = Promise.withResolvers<Probe>();
  const answering = promisify(execFile)(found, ["--version"], { timeout: 20_000, killSignal: "SIGKILL" });
  const { child } = answering;
  const answered = answering.then(
    ({ stdout }): Probe => {
      const version = /\d+\.\d+\.\d+\S*/.exec(stdout)?.[0] ?? null;
      return { available: true, version, says: `${program.name} ${version ?? ""}`.trim() };
    },
    (error: unknown) => failed(error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error)),
  );
  const question: Question = {
    until,
    probe: Promise.race([answered, ended.promise]).finally(() => (question.isAnswered = true)),
    // The exit of the program itself counts. A process that it started may keep its output open for longer.
    end: () => {
      const isGone = (): void => {
        child.stdout?.destroy();
        child.stderr?.destroy();
        ended.resolve(failed(texts.notAskedToTheEnd));
      };
      child.once("exit", isGone);
      if (child.exitCode !== null || child.signalCode !== null) isGone();
      else child.kill("SIGKILL");
    },
    isAnswered: false,
    waiting: 0,
  };
  return question;
}

const neededCli = (program: CliProgram, command = program.command): NeededProgram => ({
  command,
  missing: texts.cliMissing(program, command),
});

/** The file of a command's program, as the daemon finds it. */
export function programFile(command: string, path = process.env["PATH"] ?? ""): string | undefined {
  const places = command.includes("/")
    ? [command]
    : path.split(delimiter).map((folder) => join(folder, command));
  return places.find((place) => {
    try {
      if (!isAbsolute(place)) return false;
      accessSync(place, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/**
 * The file to run, with links resolved: programs look for their packages near their own path, and in the sandbox the path of a
 * link has no packages.
 */
export function programAt(command: string): string {
  const found = programFile(command);
  return found === undefined ? command : realpathSync(found);
}

/** Copies the skills of a session to the place where its program looks for them. */
export function copySkills({ workspace }: SessionSpec, to: string): void {
  const from = join(workspace, ".claude", "skills");
  rmSync(to, { recursive: true, force: true });
  if (existsSync(from)) cpSync(from, to, { recursive: true });
}

/** The first message of a session. If it continues a conversation, it is told that its old workspace is gone. */
export function openingOf({ briefing, resume }: SessionSpec, resumes = resume !== undefined): string {
  return resumes ? `${texts.continued}\n\n${briefing}` : briefing;
}

/** Complaints of programs that are not the agent's fault. The first pattern that matches counts. */
const complaints: readonly (readonly [Judgement["cause"], RegExp])[] = [
  [
    "out_of_context",
    /prompt is too long|context (?:window|length)|input exceeds|ran out of room|maximum context/i,
  ],
  [
    "signed_out",
    /\b401\b|authentication[_ ]error|unauthorized|invalid (?:api key|bearer token)|not logged in|please run \/login/i,
  ],
  ["overloaded", /\b(?:429|503|529)\b|overloaded|rate.?limit|too many requests|usage limit/i],
];

/** Why a program of this kind ended. */
export function judgeCli({ name }: CliProgram, { code, signal, said, toolCalls, errors }: End): Judgement {
  const last = errors.trim().split("\n").at(-1)?.slice(0, 500) ?? "";
  if (code === 126 || code === 127) return { cause: "missing", says: texts.cliNotStarted(name, last) };
  if (code === 0) {
    const lost = errors.split("\n").filter((line) => texts.isServerFailed(line));
    // A server that was only slow may have connected since.
    const own = lost.find(
      (line) => texts.isServerFailed(line, ownServer) && line !== texts.serverFailed(ownServer, "pending"),
    );
    if (own !== undefined) return { cause: "failed", says: own };
    if (toolCalls > 0) return { cause: "done", says: "exited with code 0" };
    if (lost[0] !== undefined) return { cause: "failed", says: lost[0] };
    return said.trim() === ""
      ? { cause: "failed", says: texts.didNothing(name) }
      : { cause: "done", says: "exited with code 0" };
  }
  const complaint = complaints.find(([, words]) => words.test(errors));
  const how = signal === null ? `exited with code ${code ?? "unknown"}` : `ended by ${signal}`;
  return {
    cause: code !== null && code > 128 ? "failed" : (complaint?.[0] ?? "failed"),
    says: last === "" ? how : `${how}: ${last}`,
  };
}

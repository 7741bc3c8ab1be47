// The brains with a model that must pass the list of tests, each as data.
import { join } from "node:path";
import type { ModelDialect } from "../../../src/testing/fake-model/conversation.ts";
import type { Step } from "../../../src/testing/fake-model/script.ts";
import { use } from "../../../src/testing/fake-model/script.ts";
import { programFolder } from "./programs.ts";

export interface Adapter {
  readonly type: string;
  readonly dialect: "anthropic" | "openai";
  /** The dialect of its requests. */
  readonly speaks: ModelDialect;
  readonly model: string;
  readonly config: Readonly<Record<string, unknown>>;
  /** For a brain whose configuration has the address of the gateway, not a provider. */
  readonly configOf?: (url: string) => Readonly<Record<string, unknown>>;
  /** The prefix of its recordings. Default: the type. */
  readonly recorded?: string;
  /** The program that the brain looks for on PATH. Undefined if it needs none. */
  readonly program?: string;
  /** Whether a new session continues the conversation of one that was cut off. */
  readonly resumes: boolean;
  /** True if a full context is summarized in the same session. Otherwise another session continues. */
  readonly compacts?: true;
  /** Runs a command with the brain's own tool. */
  readonly shell: (command: string) => Step;
}

export const claude: Adapter = {
  type: "claude_local",
  dialect: "anthropic",
  speaks: "anthropic",
  model: "claude-opus-4-5",
  config: {},
  program: "claude",
  resumes: true,
  shell: (command) => use("Bash", { command, description: "Runs a command" }),
};

export const codex: Adapter = {
  type: "codex_local",
  dialect: "openai",
  speaks: "responses",
  model: "gpt-5.5",
  config: {},
  program: "codex",
  resumes: true,
  shell: (command) => use("exec_command", { cmd: command }),
};

const ownShell = (command: string): Step => use("shell", { command });

export const anthropicApi: Adapter = {
  type: "anthropic_api",
  dialect: "anthropic",
  speaks: "anthropic",
  model: "claude-opus-4-5",
  config: {},
  resumes: true,
  compacts: true,
  shell: ownShell,
};

export const openAiCompatible: Adapter = {
  type: "openai_compatible",
  dialect: "openai",
  speaks: "chat",
  model: "gpt-5.1",
  config: {},
  resumes: true,
  compacts: true,
  shell: ownShell,
};

/** The same brain, with OpenAI's Responses. */
export const openAiResponses: Adapter = {
  ...openAiCompatible,
  speaks: "responses",
  config: { api: "responses" },
};

/** PATH with the installed programs first. */
export const pathWithPrograms = (): string => `${programFolder()}:${process.env["PATH"] ?? ""}`;

/** PATH for a brain that may need an installed program. */
export const pathFor = ({ program }: Adapter): string =>
  program === undefined ? (process.env["PATH"] ?? "") : pathWithPrograms();

export const fileOfProgram = (program: string): string => join(programFolder(), program);

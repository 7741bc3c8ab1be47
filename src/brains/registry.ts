import { check, sentencesOf } from "../contract/problems.ts";
import { replaceMarked } from "../redaction/marks.ts";
import { isSetting } from "../redaction/known-texts.ts";
import {
  type Brain,
  type Ear,
  type End,
  type Judgement,
  type Launch,
  type NeededProgram,
  plainJudgement,
  type Probe,
  type SessionSpec,
} from "./brain.ts";
import type { ModelApi } from "./brain.ts";
import { programFile } from "./cli-program.ts";
import { acpBrain } from "./acp/brain.ts";
import { anthropicBrain, openAiBrain } from "./api/brain.ts";
import { claudeBrain } from "./claude/brain.ts";
import { codexBrain } from "./codex/brain.ts";
import { humanBrain } from "./human/brain.ts";
import { processBrain } from "./process/brain.ts";
import { rehearsalBrain } from "./rehearsal/brain.ts";
import { configDoesNotFit, noBrainCalled } from "./texts.ts";

/** The installed brains. */
export const brains: readonly Brain[] = [
  claudeBrain,
  codexBrain,
  anthropicBrain,
  openAiBrain,
  acpBrain,
  rehearsalBrain,
  processBrain,
  humanBrain,
];

export const defaultBrainType = "rehearsal";

/** For redaction: the schemas of the values below these keys, which mark secrets with `.meta({ secret: true })`. */
export const brainMarks: ReadonlyMap<string, readonly Brain["config"][]> = new Map(
  ["adapterConfig", "defaultAdapterConfig"].map((key) => [key, brains.map(({ config }) => config)]),
);

export function findBrain(type: string): Brain {
  const found = brains.find((candidate) => candidate.type === type);
  if (found === undefined)
    throw noBrainCalled(
      type,
      brains.map((known) => known.type),
    );
  return found;
}

/** False for an agent whose brain no longer exists in this version of Agency. */
export function isInstalled(type: string): boolean {
  return brains.some((candidate) => candidate.type === type);
}

export const compacts = (type: string): boolean =>
  brains.some((candidate) => candidate.type === type && candidate.compacts === true);

export function runsPrograms(type: string): boolean {
  return findBrain(type).runsPrograms;
}

/** The files outside the workspace that a session with this configuration can read. */
export function namedReads(type: string, config: string): readonly string[] {
  const found = findBrain(type);
  return found.reads?.(found.config.parse(JSON.parse(config))) ?? [];
}

/** The provider that sessions with this configuration ask for models. */
export function providerUsed(type: string, config: string): string | undefined {
  const found = brains.find((candidate) => candidate.type === type);
  return found?.provider?.(found.config.parse(JSON.parse(config)));
}

/**
 * Which model sessions with this configuration may ask a provider for. `default`: the agent's model or, without one, the
 * provider's default model. `named`: only a model that the agent's settings name. `nothing`: none.
 */
export function mayAskFor(type: string, config: string, provider: string): "default" | "named" | "nothing" {
  const used = providerUsed(type, config);
  if (used !== undefined) return used === provider ? "default" : "nothing";
  const usual = brains.find((candidate) => candidate.type === type)?.usualProviders;
  if (usual === undefined) return "nothing";
  return usual.includes(provider) ? "default" : "named";
}

/** The API that sessions with this configuration ask, if any. */
export function apiUsed(type: string, config: string): ModelApi | undefined {
  const found = brains.find((candidate) => candidate.type === type);
  return found?.api?.(found.config.parse(JSON.parse(config)));
}

/** Checks that the program of this configuration is present. */
export function probeBrain(type: string, config: string, closing?: AbortSignal): Promise<Probe> {
  const found = findBrain(type);
  return found.probe(found.config.parse(JSON.parse(config)), closing);
}

/** The program that sessions with this configuration need. */
export function programUsed(type: string, config: string): NeededProgram | undefined {
  const found = brains.find((candidate) => candidate.type === type);
  return found?.program?.(found.config.parse(JSON.parse(config)));
}

/** The program that sessions with this configuration need, if this machine lacks it. Runs no program, so it is cheap. */
export function absentProgram(type: string, config: string): NeededProgram | undefined {
  const program = programUsed(type, config);
  return program === undefined || programFile(program.command) !== undefined ? undefined : program;
}

/** Whether a session of this brain may be without tools. */
export function isPlain(type: string, config: string): boolean {
  const found = brains.find((candidate) => candidate.type === type);
  return found?.plain?.(found.config.parse(JSON.parse(config))) === true;
}

/** The configuration in its stored form, or a refusal that names each mistake. */
export function checkBrainConfig(type: string, config: unknown): string {
  const schema = findBrain(type).config;
  const checked = check(schema, config ?? {}, "adapterConfig");
  if ("data" in checked) return JSON.stringify(checked.data);
  throw configDoesNotFit(type, sentencesOf(checked.problems), Object.keys(schema.shape));
}

/**
 * The values of a configuration that its schema marks as secret. Some variables hold ordinary settings, such as a model's name.
 */
export function secretsOf(type: string, config: string): string[] {
  const found: string[] = [];
  const marks = new Map([["adapterConfig", [findBrain(type).config]]]);
  const note = (part: object, isVariable: boolean): unknown =>
    replaceMarked({ adapterConfig: part }, marks, (value, name) => {
      if (typeof value === "string" && !(isVariable && isSetting(name, value))) found.push(value);
      return value;
    });
  const { env, ...others } = JSON.parse(config);
  note(others, false);
  note({ env }, true);
  return found;
}

/**
 * One session of a brain: its command, its ear and its judgement. Null if the brain is never started. `prepare` writes the
 * files that the command expects. It may run while the command waits at its gate.
 */
export function launchBrain(
  type: string,
  config: string,
  session: SessionSpec,
): { launch: Launch; prepare: () => void; ear: Ear | undefined; judge: (end: End) => Judgement } | null {
  const found = findBrain(type);
  const checked = found.config.parse(JSON.parse(config));
  const launch = found.launch(checked, session);
  if (launch === null) return null;
  return {
    launch,
    prepare: () => found.prepare?.(checked, session),
    ear: found.ear?.(),
    judge: found.judge ?? plainJudgement,
  };
}

import { check, sentencesOf } from "../contract/problems.ts";
import { Refusal } from "../contract/refusal.ts";
import { markedIn } from "../redaction/redact.ts";
import type { Brain, Launch, SessionSpec } from "./brain.ts";
import { humanBrain } from "./human/brain.ts";
import { processBrain } from "./process/brain.ts";
import { rehearsalBrain } from "./rehearsal/brain.ts";

/** The installed brains. */
export const brains: readonly Brain[] = [rehearsalBrain, processBrain, humanBrain];

export const defaultBrainType = "rehearsal";

/** The schemas of what stands below these keys, for redaction: they mark secrets with `.meta({ secret: true })`. */
export const brainMarks: ReadonlyMap<string, readonly Brain["config"][]> = new Map(
  ["adapterConfig", "defaultAdapterConfig"].map((key) => [key, brains.map(({ config }) => config)]),
);

export function findBrain(type: string): Brain {
  const found = brains.find((candidate) => candidate.type === type);
  if (found === undefined)
    throw new Refusal(
      "invalid",
      `There is no brain called "${type}".`,
      `Use one of the installed brains: ${brains.map((known) => known.type).join(", ")}.`,
    );
  return found;
}

/** False for an agent whose brain no longer exists in this version of Agency. */
export function isInstalled(type: string): boolean {
  return brains.some((candidate) => candidate.type === type);
}

export function runsPrograms(type: string): boolean {
  return findBrain(type).runsPrograms;
}

/** The files outside the workspace that a session with this configuration gets to read. */
export function namedReads(type: string, config: string): readonly string[] {
  const found = findBrain(type);
  return found.reads?.(found.config.parse(JSON.parse(config))) ?? [];
}

/** May a session of this brain be without tools? */
export function isPlain(type: string, config: string): boolean {
  const found = brains.find((candidate) => candidate.type === type);
  return found?.plain?.(found.config.parse(JSON.parse(config))) === true;
}

/** The configuration in the form it is stored, or a refusal that names each mistake. */
export function checkBrainConfig(type: string, config: unknown): string {
  const schema = findBrain(type).config;
  const checked = check(schema, config ?? {}, "adapterConfig");
  if ("data" in checked) return JSON.stringify(checked.data);
  throw new Refusal(
    "invalid",
    `The adapterConfig does not fit the brain ${type}. ${sentencesOf(checked.problems)}`,
    `The brain ${type} takes ${Object.keys(schema.shape).join(", ") || "no settings"}. GET /llms/agent-configuration/${type}.txt describes them.`,
  );
}

/** The values of a configuration that its schema marks as secret. */
export function secretsOf(type: string, config: string): string[] {
  return markedIn(
    { adapterConfig: JSON.parse(config) },
    new Map([["adapterConfig", [findBrain(type).config]]]),
  );
}

export function launchBrain(type: string, config: string, session: SessionSpec): Launch | null {
  const found = findBrain(type);
  return found.launch(found.config.parse(JSON.parse(config)), session);
}

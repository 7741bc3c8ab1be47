import { check, sentencesOf } from "../contract/problems.ts";
import { Refusal } from "../contract/refusal.ts";
import type { Brain, Launch, SessionSpec } from "./brain.ts";
import { humanBrain } from "./human/brain.ts";
import { processBrain } from "./process/brain.ts";
import { rehearsalBrain } from "./rehearsal/brain.ts";

/** The installed brains, in the order in which a default is looked for. */
export const brains: readonly Brain[] = [rehearsalBrain, processBrain, humanBrain];

export const defaultBrainType = "rehearsal";

export function findBrain(type: string): Brain {
  const found = brains.find((candidate) => candidate.type === type);
  if (found === undefined)
    throw new Refusal(
      "invalid",
      `There is no brain ${type}.`,
      `Installed: ${brains.map((known) => known.type).join(", ")}.`,
    );
  return found;
}

/** A brain that an agent was made with may be gone from a later version. */
export function isInstalled(type: string): boolean {
  return brains.some((candidate) => candidate.type === type);
}

/** Has a session of it perhaps no tools? */
export function isPlain(type: string, config: string): boolean {
  const found = brains.find((candidate) => candidate.type === type);
  return found?.plain?.(found.config.parse(JSON.parse(config))) === true;
}

/** The configuration as it will be stored, or a refusal that names what is wrong with it. */
export function checkBrainConfig(type: string, config: unknown): string {
  const schema = findBrain(type).config;
  const checked = check(schema, config ?? {}, "adapterConfig");
  if ("data" in checked) return JSON.stringify(checked.data);
  throw new Refusal(
    "invalid",
    `The configuration does not fit the brain ${type}. ${sentencesOf(checked.problems)}`,
    `The brain ${type} takes ${Object.keys(schema.shape).join(", ") || "no settings"}.`,
  );
}

export function launchBrain(type: string, config: string, session: SessionSpec): Launch | null {
  const found = findBrain(type);
  return found.launch(found.config.parse(JSON.parse(config)), session);
}

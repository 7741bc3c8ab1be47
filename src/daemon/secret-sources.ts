import { existsSync } from "node:fs";
import { join } from "node:path";
import { GivenSecrets } from "../secrets/secrets.ts";
import { givenText } from "./given-text.ts";
import type { Home } from "./home.ts";

/**
 * How secrets reach the daemon at its start. They never come as an argument, because every user of the machine can read
 * arguments.
 */
export interface SecretSources {
  /** AGENCY_SECRETS_KEY: encrypts the stored secrets. */
  readonly key?: string | undefined;
  /** AGENCY_SECRETS_KEY_FILE. Default: `secrets-key` in the home folder, if the user put a file there. */
  readonly keyFile?: string | undefined;
  /** AGENCY_SECRETS_FD: a descriptor with JSON, {"NAME": "value"} or {"Company": {"NAME": "value"}}. */
  readonly descriptor?: string | undefined;
  /** The variables AGENCY_SECRET_<NAME>, by name. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Keys of models that the environment has under their usual names. A company's own secret takes precedence. */
  readonly keys?: Readonly<Record<string, string>>;
}

export function secretsFrom(
  sources: SecretSources,
  home: Home,
): { key: string | undefined; given: GivenSecrets; fallback: Readonly<Record<string, string>> } {
  const { descriptor, variables, keys = {} } = sources;
  const read = descriptor === undefined ? {} : fromDescriptor(descriptor);
  return {
    key: keyFrom(sources, join(home.path, "secrets-key")),
    given: { ...variables, ...read },
    fallback: keys,
  };
}

function keyFrom({ key, keyFile }: SecretSources, usual: string): string | undefined {
  const file = keyFile ?? (key === undefined && existsSync(usual) ? usual : undefined);
  const found = key ?? (file === undefined ? undefined : givenText(file, { ownerOnly: true }));
  if (found !== undefined && found.length < 32)
    throw new Error("The secrets key has fewer than 32 characters. Make one: openssl rand -hex 32");
  return found;
}

function fromDescriptor(descriptor: string): GivenSecrets {
  try {
    return GivenSecrets.parse(JSON.parse(givenText(`/dev/fd/${descriptor}`, { ownerOnly: false })));
  } catch {
    // Without the cause, which could quote a value.
    throw new Error(
      'The descriptor in AGENCY_SECRETS_FD has no JSON like {"NAME": "value"} or {"Company": {"NAME": "value"}}.',
    );
  }
}

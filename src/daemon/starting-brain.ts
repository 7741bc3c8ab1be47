import { findStartingBrain, rehearsing, type StartingBrain, usualPorts } from "../brains/finding.ts";
import { checkBrainConfig, runsPrograms } from "../brains/registry.ts";
import { rehearsesUnsandboxed, thinksAsTold } from "../brains/texts.ts";
import type { Sandbox } from "../contract/installation.ts";
import type { GivenSecrets } from "../secrets/secrets.ts";

/** Where the daemon looks for the brain of a new company. */
export interface BrainSources {
  readonly path: string;
  /** AGENCY_BRAIN: the type of brain to use. The daemon then looks for no other. */
  readonly type?: string | undefined;
  /** AGENCY_MODEL_PORTS: the ports of model servers on this machine. Default: their usual ports. */
  readonly ports?: readonly number[] | undefined;
}

/** How long a finding is valid, in milliseconds. */
const fresh = 5000;

/**
 * Finds the brain of a new company. The first look begins when the daemon starts, in parallel with everything else, because
 * nothing may delay the start. A brain that runs programs is not chosen if its sessions could not start.
 */
export function keepStartingBrain(
  sources: BrainSources | undefined,
  given: GivenSecrets,
  sandbox: () => Sandbox,
): () => Promise<StartingBrain> {
  if (sources === undefined) return async () => rehearsing;
  const { path, type, ports = usualPorts } = sources;
  if (type !== undefined) {
    checkBrainConfig(type, {});
    return async () => ({ type, config: {}, says: thinksAsTold(type) });
  }
  const has = (name: string): boolean => typeof given[name] === "string" && given[name] !== "";
  const look = () => ({ until: performance.now() + fresh, found: findStartingBrain({ path, has, ports }) });
  let last = look();
  return async () => {
    if (performance.now() > last.until) last = look();
    const found = await last.found;
    const { status, unsandboxedAllowed } = sandbox();
    return status === "works" || unsandboxedAllowed || !runsPrograms(found.type)
      ? found
      : { ...rehearsing, says: rehearsesUnsandboxed(found.type) };
  };
}

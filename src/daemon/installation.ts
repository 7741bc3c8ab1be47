import { sql } from "kysely";
import type { StartingBrain } from "../brains/finding.ts";
import { type Sandbox, viewInstallation } from "../contract/installation.ts";
import type { Output } from "../contract/operation.ts";
import { guarded, type Guarded } from "../dispatch/guarded.ts";
import type { SecretStore } from "../secrets/secrets.ts";
import { selection } from "../store/query.ts";
import { version } from "./version.ts";

type KernelLimits = Output<typeof viewInstallation>["kernelLimits"];

export const onViewInstallation = ({
  sandbox,
  kernelLimits,
  secrets,
  startingBrain,
}: {
  readonly sandbox: () => Sandbox;
  readonly kernelLimits: () => KernelLimits;
  readonly secrets: SecretStore;
  readonly startingBrain: () => Promise<StartingBrain>;
}): Guarded => {
  /** Found once: a process does not get another group. */
  let limits: KernelLimits | undefined;
  const started = new Date().toISOString();
  return guarded(viewInstallation, async ({ tx }) => {
    const missing = [];
    for (const { id, name: company } of await tx.all(allCompanies, {}))
      for (const { name, status, usedBy } of await secrets.list(tx, id))
        if (status === "missing") missing.push({ company, name, usedBy });
    const { type, says } = await startingBrain();
    return {
      version,
      startedAt: started,
      sandbox: sandbox(),
      kernelLimits: (limits ??= kernelLimits()),
      secrets: { kept: secrets.kept, missing },
      brain: { type, says },
    };
  });
};

const allCompanies = selection("companies", [], sql`order by name, id`);

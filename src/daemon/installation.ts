import { sql } from "kysely";
import { type Sandbox, viewInstallation } from "../contract/installation.ts";
import { guarded, type Guarded } from "../dispatch/guarded.ts";
import type { SecretStore } from "../secrets/secrets.ts";
import { selection } from "../store/query.ts";
import { version } from "./version.ts";

export const onViewInstallation = (sandbox: () => Sandbox, secrets: SecretStore): Guarded =>
  guarded(viewInstallation, async ({ tx }) => {
    const missing = [];
    for (const { id, name: company } of await tx.all(allCompanies, {}))
      for (const { name, status, usedBy } of await secrets.list(tx, id))
        if (status === "missing") missing.push({ company, name, usedBy });
    return { version, sandbox: sandbox(), secrets: { kept: secrets.kept, missing } };
  });

const allCompanies = selection("companies", [], sql`order by name, id`);

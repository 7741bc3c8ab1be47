import type { Operation } from "./operation.ts";
import * as agents from "./agents.ts";
import * as attention from "./attention.ts";
import * as approvals from "./approvals.ts";
import * as budgets from "./budgets.ts";
import * as capabilities from "./capabilities.ts";
import * as companies from "./companies.ts";
import * as delegation from "./delegation.ts";
import * as doctor from "./doctor.ts";
import * as createAgent from "./create-agent.ts";
import * as finding from "./finding.ts";
import * as hiring from "./hiring.ts";
import * as installation from "./installation.ts";
import * as knowledge from "./knowledge.ts";
import * as mail from "./mail.ts";
import * as ledger from "./ledger.ts";
import * as people from "./people.ts";
import * as goals from "./goals.ts";
import * as outcomes from "./outcomes.ts";
import * as providers from "./providers.ts";
import * as reorganization from "./reorganization.ts";
import * as repos from "./repos.ts";
import * as roster from "./roster.ts";
import * as secrets from "./secrets.ts";
import * as servers from "./servers.ts";
import * as skills from "./skills.ts";
import * as sessions from "./sessions.ts";
import * as why from "./why.ts";

/** Every operation with the name of the constant that declares it. */
export const exportedOperations: readonly (readonly [name: string, operation: Operation])[] = [
  companies,
  people,
  secrets,
  servers,
  providers,
  agents,
  hiring,
  roster,
  skills,
  knowledge,
  outcomes,
  delegation,
  why,
  repos,
  attention,
  goals,
  finding,
  capabilities,
  approvals,
  budgets,
  createAgent,
  mail,
  reorganization,
  sessions,
  ledger,
  installation,
  doctor,
]
  .flatMap((file): [string, unknown][] => Object.entries(file))
  .filter((entry): entry is [string, Operation] => isOperation(entry[1]));

/** The one table of operations: every export of a contract file that is an operation. */
export const operations: readonly Operation[] = exportedOperations.map(([, operation]) => operation);

function isOperation(value: unknown): value is Operation {
  return (
    typeof value === "object" && value !== null && "within" in value && "http" in value && "effect" in value
  );
}

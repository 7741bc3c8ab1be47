import type { Operation } from "./operation.ts";
import * as agents from "./agents.ts";
import * as approvals from "./approvals.ts";
import * as budgets from "./budgets.ts";
import * as capabilities from "./capabilities.ts";
import * as companies from "./companies.ts";
import * as doctor from "./doctor.ts";
import * as createAgent from "./create-agent.ts";
import * as hiring from "./hiring.ts";
import * as installation from "./installation.ts";
import * as knowledge from "./knowledge.ts";
import * as mail from "./mail.ts";
import * as ledger from "./ledger.ts";
import * as outcomes from "./outcomes.ts";
import * as reorganization from "./reorganization.ts";
import * as roster from "./roster.ts";
import * as secrets from "./secrets.ts";
import * as skills from "./skills.ts";
import * as sessions from "./sessions.ts";

/** The one table of operations: whatever a contract file exports that is an operation. */
export const operations: readonly Operation[] = [
  companies,
  secrets,
  agents,
  hiring,
  roster,
  skills,
  knowledge,
  outcomes,
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
  .flatMap((file): unknown[] => Object.values(file))
  .filter(isOperation);

function isOperation(value: unknown): value is Operation {
  return (
    typeof value === "object" && value !== null && "within" in value && "http" in value && "effect" in value
  );
}

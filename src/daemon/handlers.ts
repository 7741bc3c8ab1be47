import type { Sandbox } from "../contract/installation.ts";
import { endingHandlers } from "../delegation/ending.ts";
import { delegationHandlers } from "../delegation/delegating.ts";
import { budgetHandlers } from "../budgets/operations.ts";
import { pauseHandlers } from "../departures/pausing.ts";
import { changeHandlers } from "../hiring/changing.ts";
import { planningHandlers } from "../delegation/planning.ts";
import { creation, creationHandlers } from "../hiring/create-agent.ts";
import { configurationHandlers } from "../hiring/configurations.ts";
import { overriding } from "../budgets/halting.ts";
import { hireHandlers, hiring } from "../hiring/hiring.ts";
import { agentHandlers } from "../agents/operations.ts";
import { approvalHandlers } from "../approvals/operations.ts";
import { strategy } from "../approvals/strategy.ts";
import { costHandlers } from "../budgets/costs.ts";
import type { Guarded } from "../dispatch/guarded.ts";
import { permissionHandlers } from "../permissions/operations.ts";
import { companyHandlers } from "../companies/operations.ts";
import { mcpServerHandlers } from "../companies/mcp-servers.ts";
import { skillHandlers } from "../companies/skill-operations.ts";
import { knowledgeHandlers } from "../knowledge/operations.ts";
import { mailHandlers } from "../mail/operations.ts";
import { doctorHandlers } from "../invariants/operations.ts";
import { outcomeHandlers } from "../outcomes/operations.ts";
import { refreshOutcomeFile } from "../outcomes/table.ts";
import { activityHandlers, type AnchorReader } from "../readers/activity.ts";
import { orgHandlers } from "../readers/org.ts";
import { whyHandlers } from "../readers/why.ts";
import { reorganizationHandlers } from "../reorganization/operations.ts";
import { exportHandlers } from "../roster/exporting.ts";
import { importHandlers } from "../roster/importing.ts";
import { rosterHandlers } from "../roster/roster.ts";
import { secretHandlers } from "../secrets/operations.ts";
import type { SecretStore } from "../secrets/secrets.ts";
import { onViewInstallation } from "./installation.ts";
import { sessionHandlers, type Transcripts } from "../runtime/operations.ts";

const approvalKinds = {
  hire_agent: hiring,
  create_agent: creation,
  approve_ceo_strategy: strategy,
  budget_override: overriding,
};

interface HandlerParts {
  readonly transcripts: Transcripts;
  readonly sandbox: () => Sandbox;
  readonly anchor: AnchorReader;
  readonly secrets: SecretStore;
}

/** The handlers of all operations. A missing one makes the start fail (core.ts). */
export const handlersFor = (parts: HandlerParts): readonly Guarded[] => [
  ...companyHandlers,
  ...mcpServerHandlers,
  ...skillHandlers,
  ...agentHandlers,
  ...hireHandlers,
  ...changeHandlers,
  ...pauseHandlers,
  ...delegationHandlers,
  ...budgetHandlers,
  ...knowledgeHandlers(refreshOutcomeFile),
  ...outcomeHandlers,
  ...endingHandlers,
  ...planningHandlers,
  ...mailHandlers,
  ...permissionHandlers,
  ...creationHandlers,
  ...configurationHandlers,
  ...approvalHandlers(approvalKinds),
  ...reorganizationHandlers,
  ...sessionHandlers(parts.transcripts),
  ...whyHandlers(parts.sandbox, parts.secrets),
  onViewInstallation(parts.sandbox, parts.secrets),
  ...secretHandlers(parts.secrets),
  ...orgHandlers,
  ...rosterHandlers,
  ...exportHandlers,
  ...importHandlers,
  ...activityHandlers(parts.anchor),
  ...costHandlers,
  ...doctorHandlers,
];

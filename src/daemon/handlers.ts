import { agentHandlers } from "../agents/operations.ts";
import type { Guarded } from "../capabilities/guarded.ts";
import { capabilityHandlers } from "../capabilities/operations.ts";
import { companyHandlers } from "../companies/operations.ts";
import { knowledgeHandlers } from "../knowledge/operations.ts";
import { outcomeHandlers } from "../outcomes/operations.ts";
import { refreshOutcomeFile } from "../outcomes/table.ts";
import { activityHandlers } from "../readers/activity.ts";

/** Every operation's handler. One that is missing here fails at start (core.ts). */
export const handlers: readonly Guarded[] = [
  ...companyHandlers,
  ...agentHandlers,
  ...knowledgeHandlers(refreshOutcomeFile),
  ...outcomeHandlers,
  ...capabilityHandlers,
  ...activityHandlers,
];

import type { StartingBrain } from "../brains/finding.ts";
import type { Sandbox } from "../contract/installation.ts";
import { goalHandlers } from "../delegation/goals.ts";
import { updatingHandlers } from "../delegation/updating.ts";
import { decidingHandlers } from "../delegation/deciding.ts";
import { endingHandlers } from "../delegation/ending.ts";
import { delegationHandlers } from "../delegation/delegating.ts";
import { moneyOf } from "../budgets/requested.ts";
import { budgetHandlers } from "../budgets/operations.ts";
import { pauseHandlers } from "../departures/pausing.ts";
import { changeHandlers, changing } from "../hiring/changing.ts";
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
import { freezeHandlers } from "../companies/freezing.ts";
import { companyHandlers } from "../companies/operations.ts";
import { type LackingSecrets, mcpServerHandlers } from "../companies/mcp-servers.ts";
import { skillHandlers } from "../companies/skill-operations.ts";
import { peopleHandlers } from "../people/operations.ts";
import { knowledgeHandlers } from "../knowledge/operations.ts";
import { mailHandlers } from "../mail/operations.ts";
import { damagedContent, doctorHandlers } from "../invariants/operations.ts";
import { outcomeHandlers } from "../outcomes/operations.ts";
import { graphHandlers } from "../outcomes/graph.ts";
import { refreshOutcomeFile } from "../outcomes/table.ts";
import { ledgerMonthHandlers } from "../companies/ledger-months.ts";
import { activityHandlers, type AnchorReader } from "../readers/activity.ts";
import { attentionHandlers } from "../readers/attention.ts";
import { agentPageHandlers } from "../readers/agent-page.ts";
import { companyListHandlers } from "../readers/company-list.ts";
import { countHandlers } from "../readers/counts.ts";
import { searchHandlers } from "../readers/search.ts";
import { shortIdHandlers } from "../readers/short-ids.ts";
import { nodeHandlers } from "../readers/nodes.ts";
import { timelineHandlers } from "../readers/timeline.ts";
import { orgHandlers } from "../readers/org.ts";
import { whyHandlers } from "../readers/why.ts";
import { reorganizationHandlers } from "../reorganization/operations.ts";
import { exportHandlers } from "../roster/exporting.ts";
import { importHandlers } from "../roster/importing.ts";
import { rosterHandlers } from "../roster/roster.ts";
import type { Mirrors } from "../repos/mirrors.ts";
import type { Store } from "../store/store.ts";
import { repoHandlers } from "../repos/operations.ts";
import { secretHandlers } from "../secrets/operations.ts";
import { providerHandlers } from "../gateway/providers.ts";
import type { CodexLogins } from "../brains/codex/login.ts";
import type { Resolver } from "../readers/sight.ts";
import type { TroubleOf } from "../runtime/work.ts";
import type { SecretStore } from "../secrets/secrets.ts";
import { brainListHandler } from "./brain-probe.ts";
import { type BrainTesting, brainTestHandler } from "./brain-test.ts";
import { onViewInstallation } from "./installation.ts";
import { type Metrics, onMeasure } from "./metrics.ts";
import { type ProbeServer, serverTestHandler } from "../servers/checking.ts";
import { type SigningIn, signInHandler } from "../servers/sign-in-operation.ts";
import { useHandler } from "../servers/use.ts";
import { sessionHandlers, type Transcripts } from "../runtime/operations.ts";

const approvalKinds = {
  hire_agent: hiring,
  create_agent: creation,
  change_agent: changing,
  approve_ceo_strategy: strategy,
  budget_override: overriding,
};

interface HandlerParts extends Pick<BrainTesting, "runTrial" | "reportBug" | "track" | "closing"> {
  readonly transcripts: Transcripts;
  readonly sandbox: () => Sandbox;
  readonly kernelLimits: () => { readonly processes: boolean; readonly memory: boolean };
  readonly anchor: AnchorReader;
  readonly secrets: SecretStore;
  readonly mirrors: Mirrors;
  readonly store: Store;
  readonly logins: CodexLogins;
  readonly troubleOf: TroubleOf;
  readonly startingBrain: () => Promise<StartingBrain>;
  readonly probeServer: ProbeServer;
  readonly signIns: SigningIn;
  readonly origin: () => string;
  readonly measured: Metrics["text"];
  readonly nodeId: string | undefined;
}

/** The handlers of all operations. If one is missing, the start fails (core.ts). */
export const handlersFor = (parts: HandlerParts): readonly Guarded[] => [
  ...companyHandlers(parts.startingBrain),
  ...freezeHandlers,
  ...peopleHandlers(parts.origin),
  ...mcpServerHandlers(resolverOf(parts).lacking, (call, name) => parts.secrets.remove(call, name)),
  serverTestHandler(parts.probeServer),
  signInHandler(parts.signIns),
  useHandler,
  ...skillHandlers,
  ...agentHandlers,
  ...hireHandlers,
  ...changeHandlers,
  ...pauseHandlers,
  ...delegationHandlers,
  ...budgetHandlers,
  ...knowledgeHandlers(refreshOutcomeFile),
  ...outcomeHandlers,
  ...graphHandlers,
  ...endingHandlers,
  ...goalHandlers,
  ...updatingHandlers,
  ...decidingHandlers,
  ...planningHandlers,
  ...mailHandlers,
  ...permissionHandlers,
  ...creationHandlers,
  ...configurationHandlers,
  ...approvalHandlers(approvalKinds, moneyOf),
  ...reorganizationHandlers,
  ...sessionHandlers(parts.transcripts),
  ...whyHandlers({ sandbox: parts.sandbox, secrets: resolverOf(parts), kinds: approvalKinds }),
  ...attentionHandlers({ sandbox: parts.sandbox, secrets: resolverOf(parts), kinds: approvalKinds }),
  ...companyListHandlers({ sandbox: parts.sandbox, secrets: resolverOf(parts), kinds: approvalKinds }),
  ...countHandlers({ sandbox: parts.sandbox, secrets: resolverOf(parts), kinds: approvalKinds }),
  ...searchHandlers,
  ...shortIdHandlers,
  onViewInstallation(parts),
  onMeasure(parts.measured),
  ...nodeHandlers(parts.nodeId),
  brainTestHandler(parts),
  brainListHandler(parts),
  ...secretHandlers(parts.secrets),
  ...repoHandlers(parts),
  ...providerHandlers({ secrets: parts.secrets, logins: parts.logins }),
  ...timelineHandlers,
  ...orgHandlers,
  ...agentPageHandlers,
  ...rosterHandlers,
  ...exportHandlers,
  ...importHandlers(parts.startingBrain),
  ...ledgerMonthHandlers,
  ...activityHandlers(parts.anchor, damagedContent),
  ...costHandlers,
  ...doctorHandlers,
];

const resolverOf = ({
  secrets,
  troubleOf,
  nodeId,
}: HandlerParts): Resolver & { readonly lacking: LackingSecrets } => ({
  resolve: (tx, agent) => secrets.resolve(tx, agent),
  lacking: (tx, companyId, names) => secrets.lacking(tx, companyId, names),
  troubleOf,
  nodeId,
});

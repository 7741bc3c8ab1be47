// Every operation with an actor that may call it, a valid input, and the callers that must be refused. An operation that
// is missing here fails the walk.
import { z } from "zod";
import * as approvals from "../src/contract/approvals.ts";
import { viewAttention } from "../src/contract/attention.ts";
import * as budgets from "../src/contract/budgets.ts";
import * as capabilities from "../src/contract/capabilities.ts";
import { requestAgent, waitForApproval } from "../src/contract/create-agent.ts";
import * as doctor from "../src/contract/doctor.ts";
import { listNodes, measureInstallation, viewInstallation } from "../src/contract/installation.ts";
import * as finding from "../src/contract/finding.ts";
import * as goals from "../src/contract/goals.ts";
import * as hiring from "../src/contract/hiring.ts";
import * as knowledge from "../src/contract/knowledge.ts";
import * as ledger from "../src/contract/ledger.ts";
import * as mail from "../src/contract/mail.ts";
import * as companies from "../src/contract/companies.ts";
import * as servers from "../src/contract/servers.ts";
import * as agents from "../src/contract/agents.ts";
import * as outcomes from "../src/contract/outcomes.ts";
import { delegateOutcome, planWork, reclaimOutcome, decideOutcome } from "../src/contract/delegation.ts";
import { why } from "../src/contract/why.ts";
import * as people from "../src/contract/people.ts";
import * as repos from "../src/contract/repos.ts";
import * as roster from "../src/contract/roster.ts";
import * as providers from "../src/contract/providers.ts";
import * as secrets from "../src/contract/secrets.ts";
import * as skills from "../src/contract/skills.ts";
import * as sessions from "../src/contract/sessions.ts";
import {
  aRepo,
  changedClone,
  clonableRepo,
  keptBundle,
  knownRepo,
  publishedBranch,
  pushableBranch,
} from "./walk-repos.ts";
import { reorganizationRows } from "./walk-reorganization.ts";
import {
  type Row,
  row,
  boardOnly,
  everyMember,
  agentsOnly,
  noCompany,
  ownOnly,
  stranger,
  strangerAndReport,
  strangerAndRoot,
  notItsBoss,
  notItsManager,
} from "./walk-row.ts";
import {
  company,
  anAgent,
  aFile,
  fileId,
  work,
  delegated,
  completed,
  submittedToBoss,
  ownReport,
  pausedReport,
  reportOfOwnBudget,
  letter,
  heldLetter,
  anotherCompany,
  oldMonth,
  exportedMonth,
  reportsSession,
  server,
  aSkill,
  knownServer,
  guardedServer,
  aProvider,
  aSecret,
  knownProvider,
  knownSecret,
  providerConfig,
  knownSkill,
  hireId,
  sentBack,
  disapproved,
  askedFor,
  aPerson,
  aCode,
  aSignIn,
} from "./walk-scenes.ts";

/** Its answers always have one shape (design §10). This one says that nothing was created, and why. */
const isValidationError = (output: unknown): boolean =>
  z
    .object({
      ok: z.literal(false),
      status: z.literal("error"),
      created: z.literal(false),
      code: z.literal("validation_error"),
      message: z.string().min(1),
    })
    .safeParse(output).success;

export const table: readonly Row[] = [
  row(companies.createCompany, "board", ({ name }) => ({ name: name() }), boardOnly, noCompany),
  row(companies.listCompanies, "boss", () => ({}), everyMember, ownOnly),
  row(companies.viewCompany, "boss", company, everyMember),
  row(companies.describeSettings, "board", () => ({}), boardOnly, noCompany),
  row(companies.updateCompany, "board", (w) => ({ ...company(w), name: w.name() }), boardOnly),
  row(companies.freezeCompany, "board", anotherCompany(), { boss: "not_found" }),
  row(companies.thawCompany, "board", anotherCompany(companies.freezeCompany), { boss: "not_found" }),
  row(companies.archiveCompany, "board", anotherCompany(), { boss: "not_found" }),
  row(companies.unarchiveCompany, "board", anotherCompany(companies.archiveCompany), { boss: "not_found" }),
  row(
    hiring.createAgent,
    "board",
    (w) => ({ ...company(w), name: w.name(), role: "worker", reportsTo: w.boss.id }),
    boardOnly,
  ),
  row(agents.listAgents, "boss", company, everyMember),
  row(agents.viewAgent, "boss", ({ report }) => ({ id: report.id }), everyMember),
  row(agents.updateAgent, "board", async (w) => ({ ...(await anAgent(w)), role: "other" }), boardOnly),
  row(agents.pauseAgent, "boss", ownReport, notItsBoss),
  row(agents.resumeAgent, "boss", pausedReport, notItsBoss),
  row(budgets.setBudget, "boss", reportOfOwnBudget, notItsBoss),
  row(budgets.listCosts, "boss", company, everyMember),
  row(budgets.listBudgets, "boss", company, everyMember),
  row(agents.wakeAgent, "board", anAgent, boardOnly),
  row(roster.listRoster, "boss", company, everyMember),
  row(roster.viewOrg, "boss", company, everyMember),
  row(roster.exportCompany, "board", company, boardOnly),
  row(
    roster.importCompany,
    "board",
    ({ name }) => ({
      name: name(),
      files: [{ path: "agents/ada.md", content: "---\nname: Ada\nrole: worker\n---\n" }],
    }),
    boardOnly,
    noCompany,
  ),
  row(servers.putMcpServer, "board", (w) => ({ ...server(w), config: { command: "true" } }), boardOnly),
  row(servers.listMcpServers, "board", company, boardOnly),
  row(servers.removeMcpServer, "board", knownServer, boardOnly),
  row(servers.testMcpServer, "board", knownServer, boardOnly),
  row(servers.signInMcpServer, "board", guardedServer, boardOnly),
  row(repos.addRepo, "board", aRepo, boardOnly),
  row(repos.listRepos, "boss", company, everyMember),
  row(repos.fetchRepo, "board", knownRepo, boardOnly),
  row(repos.removeRepo, "board", knownRepo, boardOnly),
  row(repos.cloneRepo, "session", clonableRepo, { stranger: "not_found" }),
  row(repos.publishBranch, "session", changedClone, { stranger: "not_found" }),
  row(repos.pushBranch, "board", pushableBranch, { stranger: "not_found" }),
  row(repos.viewDiff, "board", publishedBranch, { stranger: "not_found" }),
  row(repos.discardUnpublished, "board", keptBundle, boardOnly),
  row(secrets.setSecret, "board", (w) => ({ ...aSecret(w), value: "the value of a walk" }), boardOnly),
  row(providers.putProvider, "board", (w) => ({ ...aProvider(w), config: providerConfig }), boardOnly),
  row(providers.listProviders, "board", company, boardOnly),
  row(providers.removeProvider, "board", knownProvider, boardOnly),
  row(secrets.listSecrets, "board", company, boardOnly),
  row(secrets.removeSecret, "board", knownSecret, boardOnly),
  row(
    skills.putSkill,
    "board",
    (w) => ({ ...aSkill(w), files: [{ path: "SKILL.md", content: "x" }] }),
    boardOnly,
  ),
  row(skills.listSkills, "boss", company, everyMember),
  row(skills.removeSkill, "board", knownSkill, boardOnly),
  ...reorganizationRows,
  row(agents.createKey, "board", ({ report }) => ({ id: report.id }), boardOnly),
  row(agents.listKeys, "board", ({ report }) => ({ id: report.id }), boardOnly),
  row(
    agents.revokeKey,
    "board",
    async ({ org, report: { id } }) => ({ id, keyId: (await org.board(agents.createKey, { id })).id }),
    boardOnly,
  ),

  row(
    hiring.hireAgent,
    "root",
    (w) => ({ ...company(w), name: w.name(), role: "worker", reportsTo: w.boss.id }),
    { boss: "forbidden", stranger: "forbidden" },
    "not_found",
    { recordedAs: "agent.create" },
  ),
  row(approvals.requestApproval, "root", (w) => ({ ...company(w), payload: { plan: "# Grow" } }), {
    boss: "forbidden",
    board: "forbidden",
  }),
  row(approvals.listApprovals, "boss", company, everyMember),
  row(approvals.viewApproval, "boss", hireId, stranger),
  row(approvals.approvalTimeline, "boss", hireId, stranger),
  row(approvals.listRevisions, "boss", hireId, stranger),
  row(
    hiring.changeAgent,
    "boss",
    async (w) => ({ agent: (await ownReport(w)).id, reason: "slow", prompt: w.name() }),
    { ...notItsBoss, board: "forbidden" },
    "not_found",
    { recordedAs: "approval.create" },
  ),
  row(approvals.approve, "board", hireId, { ...boardOnly, root: "forbidden" }),
  row(approvals.reject, "board", hireId, { ...boardOnly, root: "forbidden" }),
  row(approvals.requestRevision, "board", hireId, { ...boardOnly, root: "forbidden" }),
  row(approvals.resubmit, "root", sentBack, { ...stranger, boss: "forbidden" }),
  row(approvals.cancelApproval, "root", hireId, { ...stranger, boss: "forbidden" }),
  row(approvals.listComments, "boss", hireId, stranger),
  row(
    approvals.commentOnApproval,
    "boss",
    async (w) => ({ ...(await hireId(w)), body: "a word about it" }),
    stranger,
  ),
  row(agents.deleteAgent, "board", disapproved, boardOnly),
  row(requestAgent, "boss", ({ name }) => ({ name: name(), waitSeconds: 0 }), agentsOnly, ownOnly, {
    recordedAs: "approval.create",
    saysMalformed: isValidationError,
  }),
  row(waitForApproval, "boss", askedFor, { ...stranger, root: "not_found" }),

  row(
    knowledge.createFile,
    "boss",
    (w) => ({ ...company(w), description: w.name(), content: "c" }),
    everyMember,
  ),
  row(knowledge.readFile, "boss", fileId, stranger),
  row(
    knowledge.writeFile,
    "boss",
    async (w) => ({ ...(await aFile(w)), content: "changed" }),
    strangerAndReport,
  ),
  row(knowledge.listFiles, "boss", company, everyMember),
  row(knowledge.browseFiles, "boss", company, everyMember),
  row(knowledge.searchFiles, "boss", (w) => ({ ...company(w), query: "walked" }), everyMember),
  row(knowledge.viewHistory, "boss", fileId, stranger),
  row(knowledge.readVersion, "boss", async (w) => ({ ...(await fileId(w)), version: 1 }), stranger),
  row(knowledge.viewAccessLog, "boss", fileId, stranger),
  row(knowledge.viewLinks, "boss", fileId, stranger),
  row(knowledge.listBrokenLinks, "board", company, boardOnly),
  row(knowledge.deleteFile, "boss", fileId, strangerAndReport),

  row(
    outcomes.createOutcome,
    "boss",
    (w) => ({ ...company(w), title: w.name(), parents: [w.boss.id] }),
    strangerAndRoot,
  ),
  row(outcomes.viewOutcome, "boss", work, stranger),
  row(outcomes.viewAncestors, "boss", work, stranger),
  row(outcomes.viewSubtree, "boss", work, stranger),
  row(outcomes.myOutcomes, "boss", () => ({}), agentsOnly, ownOnly),
  row(outcomes.listOutcomes, "board", company, boardOnly),
  row(
    goals.createGoal,
    "board",
    (w) => ({ ...company(w), title: w.name(), description: "Why." }),
    boardOnly,
    undefined,
    {
      recordedAs: "outcome.create",
    },
  ),
  row(goals.listGoals, "board", company, boardOnly),
  row(
    goals.setGoalBudget,
    "board",
    async (w) => ({
      id: (await w.org.board(goals.createGoal, { ...company(w), title: w.name() })).id,
      budget: { usd: 5 },
    }),
    boardOnly,
    undefined,
    { recordedAs: "outcome.update" },
  ),
  row(outcomes.listAgentOutcomes, "board", ({ report }) => ({ id: report.id }), boardOnly),
  row(
    outcomes.updateOutcome,
    "boss",
    async (w) => ({ ...(await work(w)), description: "more" }),
    strangerAndRoot,
  ),
  row(outcomes.submitOutcome, "report", delegated, { ...stranger, boss: "forbidden", root: "forbidden" }),
  row(outcomes.completeOutcome, "boss", work, strangerAndRoot),
  row(
    outcomes.closeOutcome,
    "boss",
    async (w) => ({ ...(await work(w)), rationale: "disproven" }),
    strangerAndRoot,
  ),
  row(
    decideOutcome,
    "boss",
    async (w) => ({ ...(await submittedToBoss(w)), verdict: "rework" as const, note: "not yet" }),
    { ...strangerAndReport, root: "forbidden" },
    "not_found",
    { recordedAs: "outcome.reopen" },
  ),
  row(
    outcomes.reopenOutcome,
    "boss",
    async (w) => ({ ...(await completed(w)), reason: "not yet" }),
    strangerAndRoot,
  ),
  row(delegateOutcome, "boss", async (w) => ({ ...(await work(w)), to: w.report.id }), strangerAndRoot),
  row(
    planWork,
    "boss",
    async (w) => ({ outcome: (await work(w)).id, tasks: [{ title: "A part", assignee: w.report.id }] }),
    strangerAndRoot,
  ),
  row(reclaimOutcome, "boss", async (w) => ({ ...(await delegated(w)), reason: "late" }), {
    ...strangerAndReport,
    root: "forbidden",
  }),

  row(capabilities.listPermissions, "boss", () => ({}), agentsOnly, ownOnly),
  row(capabilities.listAgentGrants, "board", ({ report }) => ({ id: report.id }), boardOnly),
  row(
    capabilities.grantPermission,
    "boss",
    async (w) => ({ ...company(w), to: w.report.id, resource: `kb:${(await aFile(w)).id}` }),
    // A grant that breaks a rule of the organization is answered with 422.
    { stranger: "refused", root: "refused" },
  ),
  row(
    capabilities.revokePermission,
    "boss",
    async ({ boss, report, ...w }) => {
      const file = await aFile({ boss, report, ...w });
      const resource = `kb:${file.id}` as const;
      const { id } = await boss.call(capabilities.grantPermission, { to: report.id, resource });
      return { id };
    },
    { stranger: "not_found", root: "not_found" },
  ),
  row(
    capabilities.requestPermission,
    "boss",
    () => ({ resource: "org:hire", reason: "too much work" }),
    agentsOnly,
    ownOnly,
  ),
  row(capabilities.listPermissionRequests, "board", company, boardOnly),
  row(capabilities.listHolders, "board", (w) => ({ ...company(w), resource: "org:hire" }), boardOnly),
  row(
    capabilities.explainAccess,
    "boss",
    async (w) => ({ agent: w.report.id, resource: `kb:${(await aFile(w)).id}` }),
    { stranger: "forbidden", root: "forbidden" },
  ),

  row(mail.sendMessage, "boss", (w) => ({ ...company(w), to: w.report.id, body: "a word" }), {
    stranger: "forbidden",
    root: "forbidden",
  }),
  row(
    mail.sendDeferredMessage,
    "boss",
    (w) => ({ ...company(w), to: w.report.id, body: "later", deliverAt: "2999-01-01T00:00:00Z" }),
    { stranger: "forbidden", root: "forbidden" },
  ),
  // The stranger gets no mail, so reading its inbox marks no messages as read.
  row(mail.readInbox, "stranger", () => ({}), agentsOnly, ownOnly),
  row(mail.acknowledgeMessage, "report", letter, { ...stranger, boss: "not_found", board: "refused" }),
  row(mail.viewMessage, "boss", letter, stranger),
  row(mail.markMessageRead, "report", letter, { ...stranger, boss: "not_found", board: "refused" }),
  row(mail.cancelMessage, "boss", heldLetter, { ...stranger, report: "not_found" }),
  row(mail.listSent, "boss", company, everyMember),
  row(mail.listConversation, "boss", (w) => ({ ...company(w), with: w.report.id }), everyMember),
  row(mail.boardInbox, "board", company, boardOnly),
  row(mail.agentInbox, "board", ({ report }) => ({ id: report.id }), boardOnly),

  row(sessions.listSessions, "boss", company, everyMember),
  row(sessions.listAgentSessions, "boss", ({ report }) => ({ id: report.id }), notItsManager),
  row(sessions.viewSession, "boss", reportsSession, notItsManager),
  row(sessions.viewTranscript, "boss", reportsSession, notItsManager),
  row(
    sessions.submitSummary,
    "session",
    () => ({ summary: "done" }),
    { board: "refused", boss: "refused" },
    ownOnly,
  ),
  row(why, "boss", work, stranger),
  row(finding.whyMany, "boss", async (w) => ({ ids: [(await work(w)).id] }), everyMember, "missing"),
  row(finding.viewCounts, "board", company, boardOnly),
  row(finding.listShortIds, "board", async (w) => ({ ids: [(await work(w)).id] }), boardOnly, noCompany),
  row(finding.viewGraph, "board", company, boardOnly),
  row(finding.search, "boss", (w) => ({ ...company(w), q: "walked" }), everyMember),
  row(viewAttention, "board", company, { stranger: "forbidden" }),
  row(outcomes.viewTimeline, "boss", work, stranger),

  row(hiring.listConfigurations, "root", company, { stranger: "forbidden" }),
  row(hiring.viewConfiguration, "root", ({ report }) => ({ id: report.id }), {
    stranger: "forbidden",
  }),
  row(agents.setPermissions, "root", async (w) => ({ ...(await anAgent(w)), canCreateAgents: true }), {
    stranger: "forbidden",
    boss: "forbidden",
  }),
  row(hiring.listBrains, "root", () => ({}), { stranger: "forbidden" }, noCompany),
  row(hiring.testBrain, "board", (w) => ({ ...company(w), type: "rehearsal" }), boardOnly, "not_found", {
    endsWith: "brain.tested",
  }),
  row(hiring.brainIndex, "root", () => ({}), { stranger: "forbidden" }, noCompany),
  row(hiring.brainPage, "root", () => ({ adapterType: "process" }), { stranger: "forbidden" }, noCompany),

  row(ledger.listEvents, "board", company, boardOnly),
  row(ledger.readAuditLog, "boss", () => ({}), agentsOnly, ownOnly),
  row(ledger.listAgentEvents, "board", ({ report }) => ({ id: report.id }), boardOnly),
  row(ledger.exportEvents, "board", oldMonth, { boss: "not_found" }),
  row(ledger.removeEvents, "board", exportedMonth, { boss: "not_found" }),
  row(ledger.verifyLedger, "board", () => ({}), boardOnly, noCompany),
  row(people.viewMe, "board", () => ({}), boardOnly, noCompany),
  row(people.listPeople, "board", () => ({}), boardOnly, noCompany),
  row(people.createPerson, "board", ({ name }) => ({ name: name() }), boardOnly, noCompany),
  row(
    people.updatePerson,
    "board",
    async (w) => ({ ...(await aPerson(w)), role: "viewer" as const }),
    boardOnly,
    noCompany,
  ),
  row(people.removePerson, "board", aPerson, boardOnly, noCompany),
  row(people.linkPerson, "board", aPerson, boardOnly, noCompany),
  row(people.signIn, "board", aCode, { none: "the code is the credential" }, noCompany),
  row(people.signOut, "board", aSignIn, boardOnly, noCompany),
  row(viewInstallation, "board", () => ({}), boardOnly, noCompany),
  row(measureInstallation, "board", () => ({}), boardOnly, noCompany),
  row(listNodes, "board", () => ({}), boardOnly, noCompany),
  row(doctor.examineDeeply, "board", () => ({}), boardOnly, noCompany),
  row(
    doctor.fixFinding,
    "board",
    (w) => ({ ...company(w), invariant: "inbox-outcome", id: w.report.id }),
    boardOnly,
  ),
];

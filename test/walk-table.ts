// Every operation with an actor that may call it, an input it may send, and who must be refused. An operation that is
// missing here fails the walk.
import { z } from "zod";
import * as approvals from "../src/contract/approvals.ts";
import * as budgets from "../src/contract/budgets.ts";
import * as capabilities from "../src/contract/capabilities.ts";
import { requestAgent, waitForApproval } from "../src/contract/create-agent.ts";
import * as configurations from "../src/contract/configurations.ts";
import * as knowledge from "../src/contract/knowledge.ts";
import * as ledger from "../src/contract/ledger.ts";
import type { Operation } from "../src/contract/operation.ts";
import * as mail from "../src/contract/mail.ts";
import * as companies from "../src/contract/companies.ts";
import * as organization from "../src/contract/organization.ts";
import * as outcomes from "../src/contract/outcomes.ts";
import * as planning from "../src/contract/planning.ts";
import * as roster from "../src/contract/roster.ts";
import * as skills from "../src/contract/skills.ts";
import * as sessions from "../src/contract/sessions.ts";
import type { RefusalCode } from "../src/contract/refusal.ts";
import type { Caller, Organization } from "../src/testing/organization.ts";
import { reorganizationRows } from "./walk-reorganization.ts";

/** Root › boss › report; root › stranger; and a session of somebody else below the root. All the work and the files in the table are the boss's. */
export type Who = "board" | "root" | "boss" | "report" | "stranger" | "session";

export interface World {
  readonly org: Organization;
  readonly tokens: Readonly<Record<Who, string>>;
  readonly boss: { readonly id: string; readonly call: Caller };
  readonly report: { readonly id: string };
  /** A name nobody has yet. */
  readonly name: () => string;
}

export type NotApplicable = { readonly none: string };

export interface Row {
  readonly operation: Operation;
  readonly actor: Who;
  /** Made anew for each use: what a write needs is used up by it. */
  readonly input: (world: World) => Promise<Record<string, unknown>>;
  /** Members of the same company, or the board, that may not make this very call. */
  readonly denied: Readonly<Partial<Record<Who, RefusalCode>>> | NotApplicable;
  /** The same call by the root agent of another company. */
  readonly elsewhere: "not_found" | NotApplicable;
  /** What a write puts on record, if that has not the operation's own name. */
  readonly recordedAs?: string;
  /**
   * Of an operation whose answers have one shape, also to what it cannot read: is this answer such a no? Input that is no
   * object at all is refused all the same.
   */
  readonly saysMalformed?: (output: unknown) => boolean;
}

function row<I extends z.ZodObject, O extends z.ZodType>(
  operation: Operation<I, O>,
  actor: Who,
  input: (world: World) => z.input<I> | Promise<z.input<I>>,
  denied: Row["denied"],
  elsewhere: Row["elsewhere"] = "not_found",
  more: Pick<Row, "recordedAs" | "saysMalformed"> = {},
): Row {
  return {
    operation,
    actor,
    input: async (world) => ({ ...(await input(world)) }),
    denied,
    elsewhere,
    ...more,
  };
}

const boardOnly = { boss: "forbidden" } as const;
const everyMember: NotApplicable = { none: "every member of the company may" };
const agentsOnly = { board: "refused" } as const;
const noCompany: NotApplicable = { none: "it belongs to the installation, not to a company" };
const ownOnly: NotApplicable = { none: "it names nothing: it is about the caller alone" };
/** No right at all hides that the thing exists. */
const stranger = { stranger: "not_found" } as const;
/** The report may read the file, or drives the outcome, which is less than what is asked. */
const strangerAndReport = { ...stranger, report: "forbidden" } as const;
/** The boss's boss reads what is below its own work, and that is all. */
const strangerAndRoot = { ...stranger, root: "forbidden" } as const;

const company = ({ org }: World) => ({ companyId: org.companyId });
const anAgent = async ({ org, name }: World) => ({ id: (await org.agent(name())).id });

async function aFile({ boss, report }: World) {
  const file = await boss.call(knowledge.createFile, { description: "walked file", content: "walked" });
  await boss.call(capabilities.grantPermission, { to: report.id, resource: `kb:${file.id}` });
  return file;
}

const fileId = async (world: World) => ({ id: (await aFile(world)).id });

async function work({ boss, name }: World) {
  const { id } = await boss.call(outcomes.createOutcome, { title: name(), parents: [boss.id] });
  return { id };
}

async function delegated(world: World) {
  const { id } = await work(world);
  await world.boss.call(outcomes.delegateOutcome, { id, to: world.report.id });
  return { id };
}

async function completed(world: World) {
  const { id } = await work(world);
  await world.boss.call(outcomes.completeOutcome, { id });
  return { id };
}

/** A report of the boss that nobody else uses. */
async function ownReport({ org, boss, name }: World) {
  return { id: (await org.agent(name(), boss.id)).id };
}

async function pausedReport(world: World) {
  const { id } = await ownReport(world);
  await world.boss.call(organization.pauseAgent, { id });
  return { id };
}

async function reportOfOwnBudget(world: World) {
  await world.org.board(budgets.setBudget, { id: world.boss.id, usd: 10 });
  return { ...(await ownReport(world)), usd: 0.01 };
}

async function letter({ boss, report }: World) {
  const { id } = await boss.call(mail.sendMessage, { to: report.id, body: "a word" });
  return { id };
}

async function aSession({ org, name }: World) {
  return { id: (await org.session((await org.agent(name())).id)).id };
}

const server = (w: World) => ({ ...company(w), name: `server-${w.name().replace(/\W/g, "")}` });

async function knownServer(w: World) {
  const { companyId, name } = server(w);
  await w.org.board(companies.putMcpServer, { companyId, name, config: { command: "true" } });
  return { companyId, name };
}

const aSkill = ({ org, name }: World) => ({
  companyId: org.companyId,
  name: `skill-${name()
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")}`,
});
async function knownSkill(w: World) {
  const skill = aSkill(w);
  await w.org.board(skills.putSkill, { ...skill, files: [{ path: "SKILL.md", content: "x" }] });
  return skill;
}

/** Asked for by the root agent, to report to the boss, who sees it therefore; nobody else below the root does. */
async function aHire({ org, boss, name }: World) {
  const { companyId } = org;
  await org.board(companies.updateCompany, { companyId, requireBoardApprovalForNewAgents: true });
  const asked = { name: name(), role: "worker", reportsTo: boss.id };
  const { approval } = await org.root(approvals.hireAgent, asked);
  await org.board(companies.updateCompany, { companyId, requireBoardApprovalForNewAgents: false });
  return { id: approval?.id ?? "", agentId: approval?.agentId ?? "" };
}

const hireId = async (w: World) => ({ id: (await aHire(w)).id });

async function sentBack(w: World) {
  const { id } = await aHire(w);
  await w.org.board(approvals.requestRevision, { id });
  return { id };
}

async function disapproved(w: World) {
  const { id, agentId } = await aHire(w);
  await w.org.board(approvals.reject, { id });
  return { id: agentId };
}

async function askedFor({ boss, name }: World) {
  const { requestId } = await boss.call(requestAgent, { name: name(), waitSeconds: 0 });
  return { requestId: requestId ?? "", waitSeconds: 0 };
}

/** Its answers are always JSON of one shape (design §10): nothing created, and what is wrong. */
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

/** Whose report it is, everybody sees; what to do about it is its boss's. */
const notItsBoss = { stranger: "forbidden", root: "forbidden" } as const;

export const table: readonly Row[] = [
  row(companies.createCompany, "board", ({ name }) => ({ name: name() }), boardOnly, noCompany),
  row(companies.listCompanies, "boss", () => ({}), everyMember, ownOnly),
  row(companies.viewCompany, "boss", company, everyMember),
  row(companies.updateCompany, "board", (w) => ({ ...company(w), name: w.name() }), boardOnly),
  row(
    organization.createAgent,
    "board",
    (w) => ({ ...company(w), name: w.name(), role: "worker", reportsTo: w.boss.id }),
    boardOnly,
  ),
  row(organization.listAgents, "boss", company, everyMember),
  row(organization.viewAgent, "boss", ({ report }) => ({ id: report.id }), everyMember),
  row(organization.updateAgent, "board", async (w) => ({ ...(await anAgent(w)), role: "other" }), boardOnly),
  row(organization.pauseAgent, "boss", ownReport, notItsBoss),
  row(organization.resumeAgent, "boss", pausedReport, notItsBoss),
  row(budgets.setBudget, "boss", reportOfOwnBudget, notItsBoss),
  row(budgets.listCosts, "boss", company, everyMember),
  row(organization.wakeAgent, "board", anAgent, boardOnly),
  row(roster.listRoster, "boss", company, everyMember),
  row(roster.viewOrg, "board", company, boardOnly),
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
  row(companies.putMcpServer, "board", (w) => ({ ...server(w), config: { command: "true" } }), boardOnly),
  row(companies.listMcpServers, "board", company, boardOnly),
  row(companies.removeMcpServer, "board", knownServer, boardOnly),
  row(
    skills.putSkill,
    "board",
    (w) => ({ ...aSkill(w), files: [{ path: "SKILL.md", content: "x" }] }),
    boardOnly,
  ),
  row(skills.listSkills, "boss", company, everyMember),
  row(skills.removeSkill, "board", knownSkill, boardOnly),
  ...reorganizationRows,
  row(organization.createKey, "board", ({ report }) => ({ id: report.id }), boardOnly),
  row(organization.listKeys, "board", ({ report }) => ({ id: report.id }), boardOnly),
  row(
    organization.revokeKey,
    "board",
    async ({ org, report: { id } }) => ({ id, keyId: (await org.board(organization.createKey, { id })).id }),
    boardOnly,
  ),

  row(
    approvals.hireAgent,
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
  row(approvals.deleteAgent, "board", disapproved, boardOnly),
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
    outcomes.reopenOutcome,
    "boss",
    async (w) => ({ ...(await completed(w)), reason: "not yet" }),
    strangerAndRoot,
  ),
  row(
    outcomes.delegateOutcome,
    "boss",
    async (w) => ({ ...(await work(w)), to: w.report.id }),
    strangerAndRoot,
  ),
  row(
    planning.planWork,
    "boss",
    async (w) => ({ outcome: (await work(w)).id, tasks: [{ title: "A part", assignee: w.report.id }] }),
    strangerAndRoot,
  ),
  row(outcomes.reclaimOutcome, "boss", async (w) => ({ ...(await delegated(w)), reason: "late" }), {
    ...strangerAndReport,
    root: "forbidden",
  }),

  row(capabilities.listPermissions, "boss", () => ({}), agentsOnly, ownOnly),
  row(capabilities.listAgentGrants, "board", ({ report }) => ({ id: report.id }), boardOnly),
  row(
    capabilities.grantPermission,
    "boss",
    async (w) => ({ ...company(w), to: w.report.id, resource: `kb:${(await aFile(w)).id}` }),
    // Who may give whom what is a rule of the organization: 422.
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
  // Of somebody nobody writes to: reading marks messages as read.
  row(mail.readInbox, "stranger", () => ({}), agentsOnly, ownOnly),
  row(mail.acknowledgeMessage, "report", letter, { ...stranger, boss: "not_found", board: "refused" }),
  row(mail.viewMessage, "boss", letter, stranger),
  row(mail.listSent, "boss", company, everyMember),
  row(mail.boardInbox, "board", company, boardOnly),
  row(mail.agentInbox, "board", ({ report }) => ({ id: report.id }), boardOnly),

  row(sessions.listSessions, "board", company, boardOnly),
  row(sessions.listAgentSessions, "board", ({ report }) => ({ id: report.id }), boardOnly),
  row(sessions.viewSession, "board", aSession, boardOnly),
  row(sessions.viewTranscript, "board", aSession, boardOnly),
  row(
    sessions.submitSummary,
    "session",
    () => ({ summary: "done" }),
    { board: "refused", boss: "refused" },
    ownOnly,
  ),
  row(sessions.why, "boss", work, stranger),

  row(configurations.listConfigurations, "root", company, { stranger: "forbidden" }),
  row(configurations.viewConfiguration, "root", ({ report }) => ({ id: report.id }), {
    stranger: "forbidden",
  }),
  row(
    configurations.setPermissions,
    "root",
    async (w) => ({ ...(await anAgent(w)), canCreateAgents: true }),
    { stranger: "forbidden", boss: "forbidden" },
  ),
  row(configurations.brainIndex, "root", () => ({}), { stranger: "forbidden" }, noCompany),
  row(
    configurations.brainPage,
    "root",
    () => ({ adapterType: "process" }),
    { stranger: "forbidden" },
    noCompany,
  ),

  row(ledger.listEvents, "board", company, boardOnly),
  row(ledger.readAuditLog, "boss", () => ({}), agentsOnly, ownOnly),
  row(ledger.listAgentEvents, "board", ({ report }) => ({ id: report.id }), boardOnly),
  row(ledger.verifyLedger, "board", () => ({}), boardOnly, noCompany),
];

// Creates the objects that a row of the walk needs. Each function returns the input that names them.
import { exportEvents } from "../src/contract/ledger.ts";
import { digestOfLines } from "../src/events/removed.ts";
import { ageEvents } from "../src/testing/old-events.ts";
import { startGuardedServer } from "../src/testing/guarded-server.ts";
import { createPerson, linkPerson, signIn, viewMe } from "../src/contract/people.ts";
import { hireAgent } from "../src/contract/hiring.ts";
import * as approvals from "../src/contract/approvals.ts";
import * as budgets from "../src/contract/budgets.ts";
import * as capabilities from "../src/contract/capabilities.ts";
import * as companies from "../src/contract/companies.ts";
import * as servers from "../src/contract/servers.ts";
import { requestAgent } from "../src/contract/create-agent.ts";
import * as knowledge from "../src/contract/knowledge.ts";
import * as mail from "../src/contract/mail.ts";
import * as agents from "../src/contract/agents.ts";
import * as outcomes from "../src/contract/outcomes.ts";
import { delegateOutcome } from "../src/contract/delegation.ts";
import { putProvider } from "../src/contract/providers.ts";
import { setSecret } from "../src/contract/secrets.ts";
import { putSkill } from "../src/contract/skills.ts";
import type { World } from "./walk-row.ts";

export const company = ({ org }: World) => ({ companyId: org.companyId });
export const anAgent = async ({ org, name }: World) => ({ id: (await org.agent(name())).id });

export async function aFile({ boss, report }: World) {
  const file = await boss.call(knowledge.createFile, { description: "walked file", content: "walked" });
  await boss.call(capabilities.grantPermission, { to: report.id, resource: `kb:${file.id}` });
  return file;
}

export const fileId = async (world: World) => ({ id: (await aFile(world)).id });

export async function work({ boss, name }: World) {
  const { id } = await boss.call(outcomes.createOutcome, { title: name(), parents: [boss.id] });
  return { id };
}

export async function delegated(world: World) {
  const { id } = await work(world);
  await world.boss.call(delegateOutcome, { id, to: world.report.id });
  return { id };
}

/** Work that the report submitted to the boss. */
export async function submittedToBoss(world: World) {
  const { id } = await delegated(world);
  await world.org.as(world.tokens.report)(outcomes.submitOutcome, { id, note: "done" });
  return { id };
}

export async function completed(world: World) {
  const { id } = await work(world);
  await world.boss.call(outcomes.completeOutcome, { id });
  return { id };
}

/** A report of the boss that no other row uses. */
export async function ownReport({ org, boss, name }: World) {
  return { id: (await org.agent(name(), boss.id)).id };
}

export async function pausedReport(world: World) {
  const { id } = await ownReport(world);
  await world.boss.call(agents.pauseAgent, { id });
  return { id };
}

export async function reportOfOwnBudget(world: World) {
  await world.org.board(budgets.setBudget, { id: world.boss.id, usd: 10 });
  return { ...(await ownReport(world)), usd: 0.01 };
}

export async function letter({ boss, report }: World) {
  const { id } = await boss.call(mail.sendMessage, { to: report.id, body: "a word" });
  return { id };
}

export async function heldLetter({ boss, report }: World) {
  const later = { to: report.id, body: "later", deliverAt: "2999-01-01T00:00:00Z" };
  return { id: (await boss.call(mail.sendDeferredMessage, later)).id };
}

/** A separate company: after this call the company of the walk has to keep working. */
export const anotherCompany =
  (first?: typeof companies.freezeCompany | typeof companies.archiveCompany) =>
  async ({ org, name }: World) => {
    const { id: companyId } = await org.board(companies.createCompany, { name: name() });
    if (first !== undefined) await org.board(first, { companyId });
    return { companyId };
  };

/** A company whose events are old. */
export async function oldMonth(w: World) {
  const { companyId } = await anotherCompany()(w);
  await w.org.board(knowledge.createFile, { companyId, description: "old notes", content: "old" });
  await ageEvents(w.org.core.store, companyId);
  return { companyId, month: "2020-01" };
}

export async function exportedMonth(w: World) {
  const month = await oldMonth(w);
  const { lines, last } = await w.org.board(exportEvents, month);
  return { ...month, until: last, digest: digestOfLines(lines), fileName: "2020-01.ledger" };
}

export async function reportsSession({ org, name, boss }: World) {
  return { id: (await org.session((await org.agent(name(), boss.id)).id)).id };
}

export const server = (w: World) => ({ ...company(w), name: `server-${w.name().replace(/\W/g, "")}` });

export async function knownServer(w: World) {
  const { companyId, name } = server(w);
  await w.org.board(servers.putMcpServer, { companyId, name, config: { command: "true" } });
  return { companyId, name };
}

/** A server with a working sign-in service. All rows share it, because it stores nothing of the walk. */
export async function guardedServer(w: World) {
  const { companyId, name } = server(w);
  guarded ??= startGuardedServer();
  const { url } = await guarded;
  await w.org.board(servers.putMcpServer, { companyId, name, config: { type: "http", url } });
  return { companyId, name };
}
let guarded: ReturnType<typeof startGuardedServer> | undefined;

export const aSecret = (w: World) => ({ ...company(w), name: `SECRET_${w.name().replace(/\W/g, "")}` });

export async function knownSecret(w: World) {
  const { companyId, name } = aSecret(w);
  await w.org.board(setSecret, { companyId, name, value: "the value of a walk" });
  return { companyId, name };
}

export const providerConfig = { dialect: "openai" as const, baseUrl: "http://127.0.0.1:1" };

export const aProvider = (w: World) => ({
  ...company(w),
  name: `provider-${w
    .name()
    .toLowerCase()
    .replace(/[^a-z0-9]/g, "")}`.slice(0, 40),
});

export async function knownProvider(w: World) {
  const { companyId, name } = aProvider(w);
  await w.org.board(putProvider, { companyId, name, config: providerConfig });
  return { companyId, name };
}

export const aSkill = ({ org, name }: World) => ({
  companyId: org.companyId,
  name: `skill-${name()
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")}`,
});

export async function knownSkill(w: World) {
  const skill = aSkill(w);
  await w.org.board(putSkill, { ...skill, files: [{ path: "SKILL.md", content: "x" }] });
  return skill;
}

/** An agent can have 20 open requests. The oldest ones belong to cases that have ended. */
export async function dropOldRequests({ board, companyId }: World["org"]): Promise<void> {
  for (const status of ["pending", "revision_requested"] as const) {
    const { approvals: open } = await board(approvals.listApprovals, { companyId, status });
    for (const { id } of open.slice(8)) await board(approvals.reject, { id });
  }
}

/** The root agent requests a hire that will report to the boss. Below the root, only the boss sees the request. */
export async function aHire({ org, boss, name }: World) {
  const { companyId } = org;
  await org.board(companies.updateCompany, { companyId, requireBoardApprovalForNewAgents: true });
  await dropOldRequests(org);
  const asked = { name: name(), role: "worker", reportsTo: boss.id };
  const { approval } = await org.root(hireAgent, asked);
  await org.board(companies.updateCompany, { companyId, requireBoardApprovalForNewAgents: false });
  return { id: approval?.id ?? "", agentId: approval?.agentId ?? "" };
}

export const hireId = async (w: World) => ({ id: (await aHire(w)).id });

export async function sentBack(w: World) {
  const { id } = await aHire(w);
  await w.org.board(approvals.requestRevision, { id });
  return { id };
}

export async function disapproved(w: World) {
  const { id, agentId } = await aHire(w);
  await w.org.board(approvals.reject, { id });
  return { id: agentId };
}

export async function askedFor({ boss, name }: World) {
  const { requestId } = await boss.call(requestAgent, { name: name(), waitSeconds: 0 });
  return { requestId: requestId ?? "", waitSeconds: 0 };
}

/** A person who has never signed in. */
export const aPerson = async (w: World) => ({ id: (await w.org.board(createPerson, { name: w.name() })).id });

export const aCode = async (w: World) => ({
  code: (await w.org.board(createPerson, { name: w.name() })).signIn.code,
});

/** A program of the board person, signed in. */
export const aSignIn = async (w: World) => {
  const { code } = await w.org.board(linkPerson, { id: "me" });
  await w.org.board(signIn, { code, kind: "program" });
  return { id: (await w.org.board(viewMe, {})).signIns.at(-1)?.id ?? "" };
};

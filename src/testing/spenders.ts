import { test } from "node:test";
import { listApprovals } from "../contract/approvals.ts";
import { listCosts } from "../contract/budgets.ts";
import { updateCompany } from "../contract/companies.ts";
import { updateAgent } from "../contract/agents.ts";
import { createOutcome } from "../contract/outcomes.ts";
import { findBroken, inOneLine } from "../invariants/examine.ts";
import type { Store } from "../store/store.ts";
import type { Organization, StoreKind } from "./organization.ts";
import type { Script, ScriptedSession } from "./scripted-runner.ts";
import { onStage, type Stage } from "./stage.ts";

/** For tests of budgets: scripted sessions that report usage, and queries for what they spent. */
export const tokenUse = (inputTokens: number) => ({ inputTokens, outputTokens: 0, costUsd: 0 });

/** Reports these amounts of tokens one after another, then waits until the test opens the gate. */
export const uses =
  (gate: Promise<unknown>, ...reports: number[]): Script =>
  async (session) => {
    for (const amount of reports) await reportsTokens(session, amount);
    await session.hold(gate);
  };

export async function reportsTokens(session: ScriptedSession, amount: number): Promise<void> {
  // The session must change something, or the scheduler would delay the agent's next session.
  await session.call(createOutcome, { title: `at ${amount}`, parents: [session.agent.id] });
  session.onUsage(tokenUse(amount));
}

export async function givenWork(org: Organization, agentId: string, title = "a job"): Promise<string> {
  return (await org.board(createOutcome, { companyId: org.companyId, title, parents: [agentId] })).id;
}

/** Gives the agent work. Its session reports these amounts, then waits until the test opens the gate that is returned. */
export async function spending(stage: Stage, agentId: string, ...reports: number[]) {
  const gate = Promise.withResolvers<void>();
  stage.runner.plan(agentId, uses(gate.promise, ...reports));
  await givenWork(stage.org, agentId);
  await stage.rest();
  return gate;
}

/** Limits the tokens of the company's month and of the first share that is set aside for a session. */
export async function limitTokens(
  { board, companyId }: Organization,
  month: number,
  session: number,
): Promise<void> {
  await board(updateCompany, {
    companyId,
    monthlyBudget: { tokens: month },
    sessionBudget: { tokens: session },
  });
}

/** Declares tests. Each of them plays on a new stage, as `onBudget` has it. */
export const stagedOnBudget =
  (kind: StoreKind) =>
  (name: string, play: (stage: Stage) => Promise<void>): void =>
    void test(name, () => onBudget(kind, play));

/** Plays on a stage whose root is a person, so no message starts a session of it. Checks the budgets at the end. */
export function onBudget(kind: StoreKind, play: (stage: Stage) => Promise<void>): Promise<void> {
  return onStage(kind, async (stage) => {
    await stage.org.board(updateAgent, { id: stage.org.rootId, adapterType: "human" });
    await play(stage);
    await demandConserved(stage.store);
  });
}

/** Fails if a budget has given its reports and sessions more than it has. */
export async function demandConserved(store: Store): Promise<void> {
  const [broken] = await store.read((tx) => findBroken(tx, { areas: ["work"] }));
  if (broken !== undefined) throw new Error(inOneLine(broken));
}

/** The company's line of the costs for this measure, or the agent's. */
export async function budgetLineOf(
  org: Organization,
  measure: "usd" | "tokens" | "sessions",
  agent?: string,
) {
  const { companyId } = org;
  const { budget } = await org.board(listCosts, { companyId, ...(agent === undefined ? {} : { agent }) });
  const line = budget.find((candidate) => candidate.measure === measure);
  if (line === undefined) throw new Error(`there is no budget of ${measure}`);
  return line;
}

export const overrides = async (org: Organization) =>
  (await org.board(listApprovals, { companyId: org.companyId })).approvals.filter(
    ({ type }) => type === "budget_override",
  );

import { createFile } from "../contract/knowledge.ts";
import { sendMessage } from "../contract/mail.ts";
import { createCompany, updateCompany } from "../contract/companies.ts";
import { putMcpServer } from "../contract/servers.ts";
import { createAgent } from "../contract/hiring.ts";
import { createKey } from "../contract/agents.ts";
import { createOutcome } from "../contract/outcomes.ts";
import { admitBoard } from "../daemon/core.ts";
import type { World } from "./world.ts";

/** Creates the company with a few agents and a goal, and a second, unrelated company. */
export async function foundWorld(world: World): Promise<void> {
  await admitBoard(world.store, world.board.token, world.newId);
  await world.watch.follow();
  const [owner = ""] = world.watch.people.people.keys();
  world.board = { ...world.board, person: { personId: owner, signIn: null } };
  const { board } = world;
  const company = await world.askQuietly(board, createCompany, { name: "Acme" });
  world.company = company;
  await world.askQuietly(board, updateCompany, {
    companyId: company.id,
    maxSessions: world.chance.between(world.calm ? 3 : 1, world.calm ? 6 : 4),
    maxAgents: 10_000,
    // Short, so some requests expire.
    approvalExpirySeconds: 900,
    // Small, so a session has to reserve budget several times.
    sessionBudget: { tokens: 100 },
  });
  await world.askQuietly(board, putMcpServer, {
    companyId: company.id,
    name: "slack",
    config: { command: "slack-mcp" },
  });
  const staff: string[] = [];
  for (const [name, under] of [
    ["Ada", undefined],
    ["Bob", undefined],
    ["Ann", 0],
  ] as const) {
    const reportsTo = under === undefined ? undefined : staff[under];
    const agent = await world.askQuietly(board, createAgent, {
      companyId: company.id,
      name,
      role: "worker",
      ...(reportsTo === undefined ? {} : { reportsTo }),
    });
    staff.push(agent.id);
  }
  for (const id of [company.rootAgentId, ...staff]) await giveKey(world, id);
  await world.askQuietly(board, sendMessage, { companyId: company.id, body: world.newKey() });

  // The second company shares only the nodes with the first.
  const other = await world.askQuietly(board, createCompany, { name: "Umbrella" });
  await world.askQuietly(board, updateCompany, {
    companyId: other.id,
    maxSessions: 1,
    requireBoardApprovalForNewAgents: false,
    maxAgents: 10_000,
  });
  const parents = [other.rootOutcomeId];
  const outcome = await world.askQuietly(board, createOutcome, {
    companyId: other.id,
    title: "Theirs",
    parents,
  });
  const file = await world.askQuietly(board, createFile, {
    companyId: other.id,
    description: "Theirs",
    content: "secret",
  });
  world.foreign = { companyId: other.id, agentId: other.rootAgentId, outcomeId: outcome.id, fileId: file.id };
  await world.watch.follow();
}

export async function giveKey(world: World, agentId: string): Promise<void> {
  const answer = await world.ask(world.board, createKey, { id: agentId });
  if (answer.kind === "ok")
    world.keys.push({
      label: `a program for ${world.trace.name("agent", agentId)}`,
      token: answer.value.key,
      agentId,
      sessionId: null,
      keyId: answer.value.id,
    });
}

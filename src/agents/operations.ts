import * as contract from "../contract/organization.ts";
import { notFound, Refusal } from "../contract/refusal.ts";
import { type Call, guarded } from "../capabilities/guarded.ts";
import { isActive, memberById } from "../capabilities/members.ts";
import { cursorParts, defaultPage, pageAfter } from "../capabilities/page.ts";
import { shiftHolder, shiftScope } from "../capabilities/table.ts";
import { addParent, assign, liveChildrenOf, outcomeById, saveOutcome } from "../outcomes/table.ts";
import { query } from "../store/query.ts";
import type { Tx } from "../store/store.ts";
import { demandUsableName, nameKey } from "./agent.ts";
import { employ, freeSlug } from "./employ.ts";
import { keyHandlers } from "./keys.ts";
import {
  agentById,
  type AgentRow,
  endCredentials,
  endSessions,
  listRows,
  liveWorkOf,
  presentAgent,
  presentShown,
  reanchor,
  reroute,
  sameName,
  saveAgent,
} from "./table.ts";

const onCreate = guarded(contract.createAgent, async (call) => {
  const { tx, companyId, input } = call;
  const bossId = input.reportsTo ?? (await tx.first(rootAgent, { id: companyId }))?.root_agent_id ?? "";
  const boss = await memberById(tx, bossId);
  if (boss === undefined || boss.company_id !== companyId) throw notFound("agent", bossId);
  if (!isActive(boss))
    throw new Refusal(
      "refused",
      `${boss.name} is ${boss.status} and cannot have reports.`,
      "Choose an active boss.",
    );
  const id = call.newId();
  await employ(
    tx,
    {
      id,
      companyId,
      name: input.name,
      role: input.role,
      title: input.title ?? null,
      capabilities: input.capabilities ?? null,
      boss: { id: boss.id, mandateId: boss.mandate_id },
      mandate: { kind: "mandate", title: `${input.name}: ${input.role}`, description: input.mandate ?? "" },
      stateFileId: call.newId(),
    },
    call.actor,
  );
  await call.record(id, { name: input.name, role: input.role, boss: boss.id });
  return presentAgent(tx, id);
});

const onList = guarded(contract.listAgents, async ({ tx, companyId, input }) => {
  const [at = "0", id = ""] = cursorParts(input.cursor, "number id");
  const limit = input.limit ?? defaultPage;
  const rows = await listRows(tx, {
    companyId,
    status: input.status,
    after: { at: Number(at), id },
    limit: limit + 1,
  });
  const { page, nextCursor } = pageAfter(rows, limit, (row) => `${row.created_at} ${row.id}`);
  return { agents: page.map(presentShown), nextCursor };
});

const onView = guarded(contract.viewAgent, ({ tx, input }) => presentAgent(tx, input.id));

const onUpdate = guarded(contract.updateAgent, async (call) => {
  const { tx, input } = call;
  const agent = await agentById(tx, input.id);
  demandThere(agent);
  const renamed = input.name === undefined ? {} : await rename(tx, agent, input.name);
  await saveAgent(tx, {
    ...agent,
    ...renamed,
    role: input.role ?? agent.role,
    title: input.title === undefined ? agent.title : input.title,
    capabilities: input.capabilities === undefined ? agent.capabilities : input.capabilities,
  });
  const { id: _, ...changes } = input;
  await call.record(agent.id, { changed: changes });
  return presentAgent(tx, agent.id);
});

const onTerminate = guarded(contract.terminateAgent, async (call) => {
  const agent = await agentById(call.tx, call.input.id);
  demandThere(agent);
  if (agent.boss_id === null)
    throw new Refusal(
      "refused",
      "The root agent stays: somebody must answer to the board.",
      "Pause it, or change its role.",
    );
  await leave(call, agent, agent.boss_id, call.input.reason ?? "terminated by the board");
  return presentAgent(call.tx, agent.id);
});

export const agentHandlers = [onCreate, onList, onView, onUpdate, onTerminate, ...keyHandlers];

/** In one transaction nothing of the agent works any more, and nothing of its work is stranded. */
async function leave(call: Call<unknown>, agent: AgentRow, bossId: string, reason: string): Promise<void> {
  const { tx } = call;
  const boss = await agentById(tx, bossId);
  await saveAgent(tx, { ...agent, status: "terminated", epoch: agent.epoch + 1, ended_at: tx.now });
  await tx.run(endCredentials, { agentId: agent.id, now: tx.now });
  await tx.run(endSessions, { agentId: agent.id, now: tx.now });
  await shiftHolder(tx, agent.id, 1);
  await tx.run(reanchor, { from: agent.id, to: bossId });
  // What it verified, its boss verifies now.
  await tx.run(reroute, { from: agent.id, to: bossId, now: tx.now });
  // What still lives below the mandate gets the boss's mandate as its why, before the mandate ends.
  for (const child of await liveChildrenOf(tx, agent.mandate_id))
    await addParent(tx, child.id, boss.mandate_id);
  const moved: string[] = [];
  for (const work of await tx.all(liveWorkOf, { agentId: agent.id })) {
    if (work.id === agent.mandate_id) continue;
    await assign(tx, work.id, { responsibleId: bossId, delegated: 0, delegatedBy: null });
    moved.push(work.id);
  }
  await shiftScope(tx, agent.mandate_id, 1);
  const mandate = await outcomeById(tx, agent.mandate_id);
  await saveOutcome(tx, { ...mandate, status: "closed", rationale: reason }, call.actor);
  await call.record(agent.mandate_id, { rationale: reason }, "outcome.close");
  await call.record(agent.id, { reason, boss: bossId, moved });
}

function demandThere(agent: AgentRow): void {
  if (agent.status === "terminated")
    throw new Refusal(
      "refused",
      `${agent.name} was terminated.`,
      "A terminated agent does not come back; make a new one.",
    );
}

async function rename(
  tx: Tx,
  agent: AgentRow,
  name: string,
): Promise<Pick<AgentRow, "name" | "name_key" | "slug">> {
  demandUsableName(name);
  const key = nameKey(name);
  const taken = await tx.first(sameName, { companyId: agent.company_id, nameKey: key });
  if (taken !== undefined && taken.id !== agent.id)
    throw new Refusal("conflict", `There is already an agent named ${name}.`, "Choose another name.");
  return { name, name_key: key, slug: await freeSlug(tx, agent.company_id, name, agent.id) };
}

const rootAgent = query((db, p: { id: string }) =>
  db.selectFrom("companies").select("root_agent_id").where("id", "=", p.id),
);

import * as contract from "../contract/agents.ts";
import { Refusal } from "../contract/refusal.ts";
import { checkBrainConfig } from "../brains/registry.ts";
import { guarded } from "../capabilities/guarded.ts";
import { cursorParts, defaultPage, pageAfter } from "../capabilities/page.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { delegationHandlers } from "./delegating.ts";
import { budgetHandlers, changeBudget, demandBossOrBoard } from "./budgeting.ts";
import { freeName, freeSlug } from "./employ.ts";
import { forgetPause } from "./halting.ts";
import { hireHandlers } from "./hiring.ts";
import { keyHandlers } from "./keys.ts";
import { demandThere } from "./leaving.ts";
import { type AgentRow, endSessions, listRows, presentAgent, presentShown, saveAgent } from "./table.ts";

const onList = guarded(contract.listAgents, ({ tx, companyId, input }) => listPage(tx, companyId, input));

const onView = guarded(contract.viewAgent, ({ tx, input }) => presentAgent(tx, input.id));

const onUpdate = guarded(contract.updateAgent, async (call) => {
  const { tx, input } = call;
  const agent = await demandThere(tx, input.id);
  if (agent.status === "pending_approval")
    throw new Refusal(
      "refused",
      `${agent.name} waits for approval; what was asked for stays as it is.`,
      "Ask for a revision, and let it be resubmitted.",
    );
  const renamed = input.name === undefined ? {} : await rename(tx, agent, input.name);
  await saveAgent(tx, {
    ...agent,
    ...renamed,
    ...changedBrain(agent, input),
    role: input.role ?? agent.role,
    title: input.title === undefined ? agent.title : input.title,
    capabilities: input.capabilities === undefined ? agent.capabilities : input.capabilities,
    prompt: input.prompt === undefined ? agent.prompt : input.prompt,
  });
  if (input.budget !== undefined) await changeBudget(call, agent.id, input.budget ?? noBudget);
  const { id: _, adapterConfig: _config, ...changes } = input;
  await call.record(agent.id, { changed: changes });
  return presentAgent(tx, agent.id);
});

const onPause = guarded(contract.pauseAgent, async (call) => {
  const { tx, input } = call;
  const agent = await demandBossOrBoard(call);
  if (agent.status === "paused")
    throw new Refusal("conflict", `${agent.name} is already paused.`, "Resume it when it should work again.");
  await saveAgent(tx, { ...agent, status: "paused", epoch: agent.epoch + 1 });
  await tx.run(endSessions, { agentId: agent.id, now: tx.now, reason: "the agent was paused" });
  await call.record(agent.id, { reason: input.reason ?? null });
  return presentAgent(tx, agent.id);
});

const onResume = guarded(contract.resumeAgent, async (call) => {
  const agent = await demandBossOrBoard(call);
  if (agent.status !== "paused")
    throw new Refusal("conflict", `${agent.name} is not paused.`, "There is nothing to resume.");
  await saveAgent(call.tx, { ...agent, status: "idle", idle_sessions: 0, not_before: 0 });
  await call.tx.run(forgetPause, { agentId: agent.id });
  await call.record(agent.id, {});
  return presentAgent(call.tx, agent.id);
});

const onWake = guarded(contract.wakeAgent, async (call) => {
  const agent = await demandThere(call.tx, call.input.id);
  if (agent.status !== "idle")
    throw new Refusal(
      "refused",
      `${agent.name} is ${agent.status} and cannot be woken.`,
      "Resume or approve it first.",
    );
  await saveAgent(call.tx, { ...agent, idle_sessions: 0, not_before: 0 });
  await call.record(agent.id, {});
  return presentAgent(call.tx, agent.id);
});

export const agentHandlers = [
  onList,
  onView,
  onUpdate,
  onPause,
  onResume,
  onWake,
  ...hireHandlers,
  ...delegationHandlers,
  ...keyHandlers,
  ...budgetHandlers,
];

const noBudget = { usd: null, tokens: null, sessions: null };

async function listPage(
  tx: ReadTx,
  companyId: string,
  input: {
    status?: string | undefined;
    limit?: number | undefined;
    cursor?: string | undefined;
  },
) {
  const [at = "0", id = ""] = cursorParts(input.cursor, "number id");
  const limit = input.limit ?? defaultPage;
  const filter = { companyId, status: input.status };
  const rows = await listRows(tx, { ...filter, after: { at: Number(at), id }, limit: limit + 1 });
  const { page, nextCursor } = pageAfter(rows, limit, (row) => `${row.created_at} ${row.id}`);
  return { agents: page.map(presentShown), nextCursor };
}

function changedBrain(
  agent: AgentRow,
  input: { adapterType?: string | undefined; adapterConfig?: Record<string, unknown> | undefined },
): Partial<Pick<AgentRow, "brain_type" | "brain_config">> {
  if (input.adapterType === undefined && input.adapterConfig === undefined) return {};
  const type = input.adapterType ?? agent.brain_type;
  return { brain_type: type, brain_config: checkBrainConfig(type, input.adapterConfig) };
}

async function rename(
  tx: Tx,
  agent: AgentRow,
  name: string,
): Promise<Pick<AgentRow, "name" | "name_key" | "slug">> {
  const key = await freeName(tx, agent.company_id, name, agent.id);
  return { name, name_key: key, slug: await freeSlug(tx, agent.company_id, name, agent.id) };
}

import * as contract from "../contract/agents.ts";
import { freeName, freeSlug } from "../agents/naming.ts";
import { demandThere } from "../agents/standing.ts";
import { type AgentRow, presentAgent, saveAgent } from "../agents/table.ts";
import { checkBrainConfig } from "../brains/registry.ts";
import { changeBudget } from "../budgets/operations.ts";
import { guarded } from "../dispatch/guarded.ts";
import type { Tx } from "../store/store.ts";
import { changeByRevision } from "./texts.ts";

/** The board changes the name, role, brain or budget of an employed agent. */
const onUpdate = guarded(contract.updateAgent, async (call) => {
  const { tx, input } = call;
  const agent = await demandThere(tx, input.id);
  if (agent.status === "pending_approval") throw changeByRevision(agent.name);
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

export const changeHandlers = [onUpdate];

const noBudget = { usd: null, tokens: null, sessions: null };

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

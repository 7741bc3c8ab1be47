import { isActive } from "../capabilities/members.ts";
import type { Call } from "../dispatch/guarded.ts";
import type { ReadTx } from "../store/store.ts";
import { agentById, type AgentRow } from "./table.ts";
import { hasLeft, notActive, notADirectReport } from "./texts.ts";

export async function demandThere(tx: ReadTx, id: string): Promise<AgentRow> {
  const agent = await agentById(tx, id);
  if (agent.status === "terminated") throw hasLeft(agent);
  return agent;
}

export async function demandBossOrBoard(
  call: Pick<Call<{ id: string }>, "tx" | "actor" | "input">,
): Promise<AgentRow> {
  const agent = await demandThere(call.tx, call.input.id);
  if (call.actor.agentId !== null && agent.boss_id !== call.actor.agentId) throw notADirectReport(agent);
  if (!isActive(agent)) throw notActive(agent);
  return agent;
}

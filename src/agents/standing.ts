import { Refusal } from "../contract/refusal.ts";
import { isActive } from "../capabilities/members.ts";
import type { Call } from "../dispatch/guarded.ts";
import type { ReadTx } from "../store/store.ts";
import { agentById, type AgentRow } from "./table.ts";

export async function demandThere(tx: ReadTx, id: string): Promise<AgentRow> {
  const agent = await agentById(tx, id);
  if (agent.status === "terminated")
    throw new Refusal(
      "refused",
      `${agent.name} has left.`,
      "An agent that left does not come back; make a new one.",
    );
  return agent;
}

export async function demandBossOrBoard(
  call: Pick<Call<{ id: string }>, "tx" | "actor" | "input">,
): Promise<AgentRow> {
  const agent = await demandThere(call.tx, call.input.id);
  if (call.actor.agentId !== null && agent.boss_id !== call.actor.agentId)
    throw new Refusal(
      "forbidden",
      `${agent.name} is not your direct report.`,
      "Its own boss can do that; message your report.",
    );
  if (!isActive(agent))
    throw new Refusal("refused", `${agent.name} is ${agent.status}.`, "That is for active agents only.");
  return agent;
}

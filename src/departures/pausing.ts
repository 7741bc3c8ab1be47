import * as contract from "../contract/agents.ts";
import { demandBossOrBoard, demandThere } from "../agents/standing.ts";
import { endSessions, presentAgent, saveAgent } from "../agents/table.ts";
import { forgetPause, pauseOf } from "../budgets/halting.ts";
import { guarded } from "../dispatch/guarded.ts";
import { type Actor, lastDeed, parseData } from "../events/ledger.ts";
import type { ReadTx } from "../store/store.ts";
import { alreadyPaused, notPaused, notWakeable, pausedByBoard } from "./texts.ts";

const onPause = guarded(contract.pauseAgent, async (call) => {
  const { tx, input, actor } = call;
  const agent = await demandBossOrBoard(call);
  if (agent.status === "paused" && !(await isFirmer(tx, actor, agent.id))) throw alreadyPaused(agent);
  await saveAgent(tx, agent, { status: "paused", epoch: agent.epoch + 1 });
  await tx.run(endSessions, { agent_id: agent.id, ended_at: tx.now, end_reason: "the agent was paused" });
  await tx.run(forgetPause, { agent_id: agent.id });
  await call.record(agent.id, { reason: input.reason ?? null });
  return presentAgent(tx, agent.id);
});

const onResume = guarded(contract.resumeAgent, async (call) => {
  const agent = await demandBossOrBoard(call);
  if (agent.status !== "paused") throw notPaused(agent);
  if (call.actor.agentId !== null && (await isPausedByBoard(call.tx, agent.id))) throw pausedByBoard(agent);
  await saveAgent(call.tx, agent, { status: "idle", idle_sessions: 0, not_before: 0 });
  await call.tx.run(forgetPause, { agent_id: agent.id });
  await call.record(agent.id, {});
  return presentAgent(call.tx, agent.id);
});

const onWake = guarded(contract.wakeAgent, async (call) => {
  const agent = await demandThere(call.tx, call.input.id);
  if (agent.status !== "idle") throw notWakeable(agent);
  await saveAgent(call.tx, agent, { idle_sessions: 0, not_before: 0 });
  await call.record(agent.id, {});
  return presentAgent(call.tx, agent.id);
});

/**
 * Whether another pause holds longer than the present one. A budget's pause ends by itself, and the manager of an agent can end
 * its own, but not the board's.
 */
async function isFirmer(tx: ReadTx, { agentId }: Actor, id: string): Promise<boolean> {
  if ((await tx.first(pauseOf, { agent_id: id })) !== undefined) return true;
  return agentId === null && !(await isPausedByBoard(tx, id));
}

async function isPausedByBoard(tx: ReadTx, id: string): Promise<boolean> {
  const last = await tx.first(lastDeed, { subject: id, operation: contract.pauseAgent.name });
  return last !== undefined && isByBoard(last);
}

/** Whether the board's call made this pause. A budget may pause an agent in a call of the board, too. */
export const isByBoard = ({ actor_kind, data }: { actor_kind: string; data: string }): boolean =>
  actor_kind === "board" && !("pool" in parseData(data));

export const pauseHandlers = [onPause, onResume, onWake];

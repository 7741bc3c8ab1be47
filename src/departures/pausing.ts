import * as contract from "../contract/agents.ts";
import { demandBossOrBoard, demandThere } from "../agents/standing.ts";
import { endSessions, presentAgent, saveAgent } from "../agents/table.ts";
import { forgetPause } from "../budgets/halting.ts";
import { guarded } from "../dispatch/guarded.ts";
import { alreadyPaused, notPaused, notWakeable } from "./texts.ts";

const onPause = guarded(contract.pauseAgent, async (call) => {
  const { tx, input } = call;
  const agent = await demandBossOrBoard(call);
  if (agent.status === "paused") throw alreadyPaused(agent);
  await saveAgent(tx, agent, { status: "paused", epoch: agent.epoch + 1 });
  await tx.run(endSessions, { agent_id: agent.id, ended_at: tx.now, end_reason: "the agent was paused" });
  await call.record(agent.id, { reason: input.reason ?? null });
  return presentAgent(tx, agent.id);
});

const onResume = guarded(contract.resumeAgent, async (call) => {
  const agent = await demandBossOrBoard(call);
  if (agent.status !== "paused") throw notPaused(agent);
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

export const pauseHandlers = [onPause, onResume, onWake];

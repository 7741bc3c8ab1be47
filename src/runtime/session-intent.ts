import { stopAtLimit } from "../budgets/outcome-limits.ts";
import { setAside } from "../budgets/reservations.ts";
import type { Writing } from "../dispatch/context.ts";
import { leaseMilliseconds } from "../readers/nodes.ts";
import { brief, readableRepos, takeSkills } from "./briefing.ts";
import { promptVersion } from "./prompt.ts";
import type { NodeParts } from "./node-parts.ts";
import { holdOwnWork } from "./progress.ts";
import { openSession, threadToResume } from "./sessions.ts";
import { chargedWork, readinessOf, workOf } from "./work.ts";

/**
 * The first step of a start: checks everything again and writes the session's row, in the transaction of the call. Returns what
 * the process needs, "full" if the company has no place for it, or null if the agent does not start.
 */
export async function intendSession(
  call: Writing,
  parts: Pick<NodeParts, "nodeId" | "runner" | "newId" | "secrets" | "brains" | "mirrorOf">,
  session: {
    readonly id: string;
    readonly token: string;
    readonly agentId: string;
    readonly companyId: string;
  },
) {
  const { id, token, agentId, companyId } = session;
  const { nodeId, runner } = parts;
  const { tx } = call;
  const verdict = await readinessOf(tx, agentId, (type) => runner.canStart(type), parts.brains?.troubleOf);
  if (!verdict.start) return verdict.why === "full" ? "full" : null;
  const work = await tx.all(workOf, { agentId, now: tx.now, limit: 2 });
  const [first] = work;
  // The agent's first work is blocked now, because its limit is used up. The recorded block makes the scheduler look again:
  // the agent may have other work.
  if (await stopAtLimit(call, chargedWork(work)?.id ?? null)) return null;
  if (await holdOwnWork(call, verdict.agent, first)) return null;
  const { config, missing } = (await parts.secrets?.resolve(tx, verdict.agent)) ?? {};
  if (missing !== undefined && missing.length > 0) return null;
  const resume = await threadToResume(tx, verdict.agent);
  const briefing = await brief(tx, verdict.agent);
  const workspace = runner.workspaceFor(id);
  const repos =
    parts.mirrorOf !== undefined && runner.isolates?.(verdict.agent.brain_type) === true
      ? await readableRepos(tx, agentId)
      : [];
  const mirrors = [];
  for (const name of repos) {
    const folder = await parts.mirrorOf?.(tx, companyId, name);
    if (folder !== undefined) mirrors.push({ name, folder });
  }
  await openSession(tx, {
    id,
    agentId,
    credentialId: parts.newId(),
    token,
    workspace,
    nodeId,
    leaseUntil: tx.now + leaseMilliseconds,
    promptVersion,
    firstOutcomeId: briefing.firstOutcomeId,
    workOutcomeId: briefing.workOutcomeId,
    briefing: briefing.text,
    assignment: briefing.assignment,
    mcpServers: briefing.mcpServers,
    repos: mirrors.map(({ name }) => name),
  });
  const money = { id, agentId, outcomeId: briefing.workOutcomeId };
  const share = await setAside(call, money, verdict.place, verdict.settings);
  const skills = await takeSkills(tx, verdict.agent, id);
  const { maxSessionProcesses, maxSessionMemoryMb, maxSessionDiskMb } = verdict.settings;
  const limits = {
    processes: maxSessionProcesses,
    memoryMb: maxSessionMemoryMb,
    diskMb: maxSessionDiskMb,
  };
  const model = (await parts.brains?.modelOf(tx, verdict.agent)) ?? verdict.agent.model;
  const agent = { ...verdict.agent, model, brain_config: config ?? verdict.agent.brain_config };
  const secrets = parts.secrets?.valuesOf(companyId) ?? [];
  return {
    share,
    spec: {
      agent,
      briefing,
      skills,
      workspace,
      limits,
      shows: mirrors.map(({ folder }) => folder),
      secrets,
      ...(resume === undefined ? {} : { resume }),
    },
  };
}

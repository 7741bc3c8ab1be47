import type { OutcomeState } from "../contract/outcomes.ts";
import type { Sandbox } from "../contract/installation.ts";
import type { Reference } from "../contract/words.ts";
import { isInstalled, runsPrograms } from "../brains/registry.ts";
import { inWords, isUsedUp, nextMonth } from "../budgets/budget.ts";
import type { ApprovalRow } from "../approvals/approval.ts";
import { titleOf } from "../approvals/texts.ts";
import { redactText } from "../redaction/redact.ts";
import type { LookedAgent, Sight } from "./sight.ts";
import * as text from "./texts.ts";
import type { AgentTrail, Cause } from "./trail.ts";

/**
 * Whether something will make this agent work, and what. For an agent that does not report to the viewer, a viewing agent gets
 * only the status.
 */
export async function trailOfAgent(sight: Sight, sandbox: Sandbox, agentId: string): Promise<AgentTrail> {
  const agent = await sight.agent(agentId);
  const broken = agent !== undefined && sight.knows(agent) ? await sight.brokenServers(agent) : [];
  const answer = (
    state: OutcomeState,
    does: string,
    { hint = "", busy = false, cause, names, until }: Ends & { hint?: string; busy?: boolean } = {},
  ): AgentTrail => {
    const title = agent?.name ?? agentId;
    const what = `${title} ${does}`;
    const stall: Cause = { kind: "stall", about: "agent", on: agentId };
    const why = cause ?? (state === "stuck" ? stall : undefined);
    return {
      state,
      busy,
      isPerson: agent?.brain_type === "human",
      step: { kind: "agent", id: agentId, title, what },
      says: [`${what}.`, ...(hint === "" ? [] : [hint]), ...broken.map(text.serverFails)].join(" "),
      ...(why && { cause: why }),
      ...(names && { names }),
      ...(until !== undefined && { until }),
    };
  };
  if (agent === undefined) return answer("stuck", text.isMissing);
  const isKnown = sight.knows(agent);
  if (agent.status === "terminated") return answer("stuck", text.hasLeftWork);
  if (agent.status === "pending_approval") {
    const approval = isKnown ? await sight.approval(agentId) : undefined;
    const isRevision = approval?.status === "revision_requested";
    const cause: Cause | undefined = approval && { kind: "approval", about: "approval", on: approval.id };
    const does = text.isPending(isRevision);
    const names = approval && [approvalRef(approval)];
    const requester = isRevision ? await requesterOf(sight, approval) : undefined;
    if (requester !== undefined) {
      const { state, says, cause: why, until } = await trailOfAgent(sight, sandbox, requester.id);
      const hint = state === "moving" ? "" : says;
      return answer(state, does, { busy: true, names, hint, cause: why, until });
    }
    return answer("waiting", does, { busy: true, cause, names, hint: isRevision ? text.boardRevises : "" });
  }
  const short = isKnown ? await shortOf(sight, agent) : undefined;
  if (agent.status === "paused")
    return short !== undefined && (await sight.isPausedByBudget(agentId))
      ? answer(short.state, `${text.isPaused}: ${short.says}`, short)
      : answer("stuck", text.isPausedFor(isKnown ? await sight.pauseReason(agentId) : null), {
          hint: text.whoCanResume,
        });
  const brain = (about: "brain" | "sandbox" | "secret", on: string): Cause => ({ kind: "brain", about, on });
  if (!isInstalled(agent.brain_type))
    return answer("stuck", text.brainMissing(agent.brain_type), {
      hint: text.giveAnotherBrain,
      cause: brain("brain", agent.brain_type),
    });
  if (agent.brain_type === "human") return answer("moving", text.isPerson);
  if (await sight.isAtWork(agentId)) return answer("moving", text.isAtWork, { busy: true });
  const nodes = await sight.nodes();
  const isElsewhere = nodes.canStartElsewhere(agent);
  const needsSandbox = sandbox.status !== "works" && !sandbox.unsandboxedAllowed;
  if (needsSandbox && runsPrograms(agent.brain_type) && !isElsewhere)
    return answer("stuck", text.needsSandbox(agent.brain_type), {
      hint: text.howToSandbox(sandbox),
      cause: brain("sandbox", "sandbox"),
    });
  const missing = await sight.missingSecrets(agent);
  if (isKnown && missing.length > 0)
    return answer("stuck", text.lacksSecrets(missing), {
      hint: text.setSecrets(missing),
      cause: brain("secret", missing[0] ?? ""),
    });
  const trouble = isKnown ? await sight.trouble(agent) : undefined;
  if (trouble !== undefined && !(trouble.cause === "missing" && isElsewhere)) {
    const { until, secret } = trouble;
    const isOnNone = trouble.cause === "missing" && nodes.count > 1;
    const isWaiting = until !== null && trouble.cause === "waiting";
    const hint = [
      trouble.says,
      ...(isOnNone ? [text.onNoNode] : []),
      ...(until === null || isWaiting ? [] : [text.triedAgain(until)]),
    ].join(" ");
    if (isWaiting) return answer("scheduled", text.thinksLater(agent.brain_type, until), { hint, until });
    const lacksKey = trouble.cause === "no_key" && secret !== undefined;
    const cause = lacksKey ? brain("secret", secret) : brain("brain", agent.brain_type);
    return answer("stuck", text.cannotThink(agent.brain_type), { hint, cause });
  }
  if (isKnown && agent.not_before > sight.now)
    return answer("scheduled", text.startsLater(agent.not_before), { until: agent.not_before });
  if (short !== undefined) return answer(short.state, text.cannotStart(short.says), short);
  const room = isKnown ? nodes.roomFor(agent) : "free";
  // The person who started the nodes chose this, so it is not a problem.
  if (room === "none") return answer("moving", text.noNodeStarts, { hint: text.startANode });
  if (room === "failing") return answer("moving", text.nodesFail, { hint: text.howToMendNodes });
  if (room === "full") return answer("moving", text.noNodeHasRoom, { hint: text.howToMakeRoom });
  return answer("moving", text.isIdle, { hint: text.whenItStarts });
}

/** The agent that asked revises its request. Undefined: it has left, or people asked, so only the board can. */
async function requesterOf(
  sight: Sight,
  { requested_by: id }: ApprovalRow,
): Promise<LookedAgent | undefined> {
  const requester = id === null ? undefined : await sight.agent(id);
  return requester?.status === "terminated" ? undefined : requester;
}

/** The data at the end of a trail, beside its sentence. */
interface Ends {
  readonly cause?: Cause | undefined;
  readonly names?: readonly Reference[] | undefined;
  readonly until?: number | undefined;
}

const approvalRef = (row: Pick<ApprovalRow, "id" | "type" | "payload">): Reference => ({
  kind: "approval",
  id: row.id,
  title: redactText(titleOf(row)),
});

/** The budget that the agent lacks, and how it can be raised. Undefined if the budget suffices. */
async function shortOf(
  sight: Sight,
  agent: LookedAgent,
): Promise<({ state: OutcomeState; says: string } & Ends) | undefined> {
  const want = await sight.want(agent);
  if (want === undefined) return undefined;
  const { pool, called, raise } = want;
  if (!want.isShort) return { state: "moving", says: text.budgetReserved(called) };
  const { limit, spent, handedDown, measure } = pool;
  const used = (isUsedUp(pool) ? text.budgetUsedUp : text.budgetCoversNoCall)(called, {
    spent: inWords(measure, spent),
    given: inWords(measure, handedDown),
    limit: inWords(measure, limit ?? 0),
  });
  const names = raise && [approvalRef(raise)];
  if (raise?.status === "pending")
    return {
      state: "waiting",
      says: `${used}; ${text.raiseRequested}`,
      names,
      cause: { kind: "approval", about: "approval", on: raise.id },
    };
  // The budget starts again with the next month, unless all of it was given to reports.
  const renewed = limit !== null && limit > handedDown;
  const parts = [
    used,
    ...(raise === undefined ? [] : [text.raiseDecided(raise.status, raise.decision_note ?? "")]),
    ...(renewed ? [text.nextMonthAt(nextMonth(sight.now))] : []),
    text.boardCanRaise,
  ];
  return {
    state: renewed ? "scheduled" : "stuck",
    says: parts.join("; "),
    names,
    ...(renewed && { until: nextMonth(sight.now) }),
    cause: { kind: "budget", about: "budget", on: `${pool.id} ${measure}` },
  };
}

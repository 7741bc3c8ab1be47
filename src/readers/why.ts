import { why as contract } from "../contract/why.ts";
import { notFound } from "../contract/refusal.ts";
import type { Output } from "../contract/operation.ts";
import { overrideOf, pauseOf } from "../budgets/halting.ts";
import { openApprovalOf } from "../approvals/table.ts";
import { isInstalled } from "../brains/registry.ts";
import { inWords, isUsedUp, nextMonth } from "../budgets/budget.ts";
import { lacking, poolOwnerOf } from "../budgets/reservations.ts";
import { placeOf } from "../budgets/table.ts";
import { guarded } from "../dispatch/guarded.ts";
import { memberById } from "../capabilities/members.ts";
import { outcomeRights } from "../capabilities/structure.ts";
import type { OutcomeRow } from "../outcomes/outcome.ts";
import { isEscalated } from "../outcomes/review.ts";
import { dependenciesOf, liveChildrenOf, outcomeById } from "../outcomes/table.ts";
import { query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";

/**
 * Why something moves or does not. From the thing asked about, follow what it waits for, one link after another, to a live
 * end (a session, a timer, a person, an agent about to start) or to the link that is broken. Whoever waits for several
 * things is held up by the first of them that is stuck.
 */
type Answer = Output<typeof contract>;
type Step = Answer["path"][number];
interface Trail {
  readonly moves: boolean;
  readonly path: Step[];
  readonly says: string;
}

const mostLooks = 500;

const onWhy = guarded(contract, async ({ tx, actor, input }): Promise<Answer> => {
  const agent = await tx.first(agentRow, { id: input.id });
  if (actor.agentId !== null) {
    const mine = agent !== undefined && (agent.id === actor.agentId || agent.boss_id === actor.agentId);
    if (!mine && !(await outcomeRights(tx, actor.agentId, input.id)).read)
      throw notFound("agent or outcome", input.id);
  }
  const looks = { left: mostLooks };
  const trail =
    agent === undefined ? await ofOutcome(tx, input.id, [], looks) : await ofAgent(tx, agent.id, looks);
  return { id: input.id, kind: agent === undefined ? "outcome" : "agent", ...trail };
});

export const whyHandlers = [onWhy];

type Looks = { left: number };

async function ofAgent(tx: ReadTx, agentId: string, looks: Looks): Promise<Trail> {
  const state = await stateOf(tx, agentId);
  const { moves, path, says } = state;
  if (!moves || state.busy) return { moves, path, says };
  for (const { id } of await tx.all(liveWork, { agentId })) {
    const trail = await ofOutcome(tx, id, [], looks);
    if (!trail.moves)
      return { ...trail, path: [...path, ...trail.path], says: `It is held up. ${trail.says}` };
  }
  const waits = await tx.first(liveWork, { agentId });
  if (waits === undefined) return { moves, path, says: `${says} It has nothing to do.` };
  const trail = await ofOutcome(tx, waits.id, [], looks);
  return { ...trail, path: [...path, ...trail.path] };
}

async function ofOutcome(tx: ReadTx, id: string, above: readonly string[], looks: Looks): Promise<Trail> {
  const outcome = await outcomeById(tx, id);
  const here = { id, what: `"${outcome.title}" is ${outcome.status}` };
  const end = (moves: boolean, says: string): Trail => ({ moves, path: [here], says });
  if (above.includes(id))
    return end(false, `Several outcomes wait for each other in a circle, "${outcome.title}" among them.`);
  if (looks.left-- <= 0) return end(true, "There is more below than was looked at.");
  const deeper = async (next: string): Promise<Trail> => {
    const trail = await ofOutcome(tx, next, [...above, id], looks);
    return { ...trail, path: [here, ...trail.path] };
  };

  if (outcome.status === "completed" || outcome.status === "closed")
    return end(true, `It is ${outcome.status}.`);
  if (outcome.status === "submitted") return verifier(tx, outcome, here, looks);
  if (outcome.blocked_reason !== null) {
    const block = await blockOf(tx, outcome);
    if (block !== null) return block.on === undefined ? end(block.moves, block.says) : deeper(block.on);
  }
  let waiting: Trail | undefined;
  for (const dependency of await dependenciesOf(tx, id)) {
    if (dependency.status === "completed") continue;
    if (dependency.status === "closed")
      return end(
        false,
        `It depends on "${dependency.title}" (${dependency.id}), which was closed and will not complete. Change what it depends on, or reopen that.`,
      );
    const trail = await deeper(dependency.id);
    if (!trail.moves) return trail;
    waiting ??= trail;
  }
  const standing = outcome.kind === "perpetual" || outcome.kind === "mandate";
  for (const child of await liveChildrenOf(tx, id)) {
    // What only stands waits for neither; work waits for its agent's inbox as for anything else below it.
    if (standing && (child.kind === "inbox" || child.kind === "mandate")) continue;
    if (child.kind === "mandate")
      return end(
        false,
        `It cannot end while "${child.title}" (${child.id}) stands below it: a standing mandate ends with its agent, whom the board can terminate.`,
      );
    const trail = await deeper(child.id);
    if (!trail.moves) return trail;
    waiting ??= trail;
  }
  if (waiting !== undefined) return waiting;
  if (standing) return end(true, "It stands; nothing below it is open.");
  if (outcome.responsible_id === null)
    return end(false, "Nobody is responsible for it. The board can delegate or close it.");
  const { moves, path, says } = await stateOf(tx, outcome.responsible_id);
  return { moves, path: [here, ...path], says };
}

/** A block that has run out is none. */
async function blockOf(
  tx: ReadTx,
  outcome: OutcomeRow,
): Promise<{ moves: boolean; says: string; on?: string } | null> {
  const { blocked_reason: reason, blocked_until: until, blocked_on: on } = outcome;
  if (until !== null && until <= tx.now) return null;
  if (outcome.for_agent_id !== null) {
    const { moves, says } = await stateOf(tx, outcome.for_agent_id);
    return { moves, says: `It waits for somebody who is to do it. ${says}` };
  }
  const status = on === null ? null : (await outcomeById(tx, on)).status;
  if (status === "completed" || status === "closed") return null;
  // Whichever comes first ends the block, and the time surely comes.
  if (until !== null)
    return { moves: true, says: `It is blocked until ${new Date(until).toISOString()}: ${reason ?? ""}` };
  if (on !== null) return { moves: true, says: "", on };
  const who = isEscalated(outcome)
    ? "Who is asked decides, with a VERDICT; who delegated it, or the board, can also complete it, close it, or unblock it"
    : "Whoever answers for it, or who delegated it, can unblock it";
  return {
    moves: false,
    says: `It is blocked: ${reason ?? ""}. ${who} (update_outcome with blocked: null).`,
  };
}

async function verifier(tx: ReadTx, outcome: OutcomeRow, here: Step, looks: Looks): Promise<Trail> {
  if (outcome.delegated_by === null)
    return {
      moves: true,
      path: [here, { id: "board", what: "the board verifies it" }],
      says: "It waits for the board to complete it or send it back.",
    };
  const state = await stateOf(tx, outcome.delegated_by);
  const path = [here, ...state.path];
  if (!state.moves || state.busy || state.isPerson)
    return { moves: state.moves, path, says: `It waits for its verification. ${state.says}` };
  const inbox = await tx.first(openInbox, { agentId: outcome.delegated_by });
  if (inbox === undefined)
    return {
      moves: false,
      path,
      says: `It waits for its verification, but its verifier has nothing in its inbox that would start it. Send it a message.`,
    };
  const trail = await ofOutcome(tx, inbox.id, [], looks);
  return { ...trail, path: [here, ...trail.path], says: `It waits for its verification. ${trail.says}` };
}

/** Is there something that will make this agent work? */
async function stateOf(tx: ReadTx, agentId: string): Promise<Trail & { busy: boolean; isPerson: boolean }> {
  const agent = await tx.first(agentRow, { id: agentId });
  const member = await memberById(tx, agentId);
  const answer = (moves: boolean, what: string, busy = false) => ({
    moves,
    busy,
    isPerson: agent?.brain_type === "human",
    path: [{ id: agentId, what }],
    says: `${agent?.name ?? agentId}: ${what}.`,
  });
  if (agent === undefined || member === undefined) return answer(false, "there is no such agent");
  if (agent.status === "terminated") return answer(false, "has left; its work should have gone to its boss");
  if (agent.status === "pending_approval") {
    const approval = await openApprovalOf(tx, agentId);
    const state =
      approval?.status === "revision_requested"
        ? "waits to be revised and resubmitted"
        : "waits for the board";
    return answer(true, `is not hired yet: approval ${approval?.id ?? ""} ${state}`, true);
  }
  const short = await wantOf(tx, agent);
  if (agent.status === "paused")
    return short !== undefined && (await tx.first(pauseOf, { agentId })) !== undefined
      ? answer(short.moves, `is paused: ${short.says}`)
      : answer(false, "is paused; its boss or the board can resume it");
  if (!isInstalled(agent.brain_type))
    return answer(
      false,
      `has the brain ${agent.brain_type}, which is not installed; the board can give it another`,
    );
  if (agent.brain_type === "human") return answer(true, "is a person, who works from the inbox");
  if ((await tx.first(liveSession, { agentId })) !== undefined) return answer(true, "is at work", true);
  if (agent.not_before > tx.now)
    return answer(
      true,
      `starts again at ${new Date(agent.not_before).toISOString()}, after sessions that changed nothing`,
    );
  if (short !== undefined) return answer(short.moves, `is not started: ${short.says}`);
  return answer(true, "is idle and is started when it has work and a place is free");
}

/** The budget it lacks, and who or what gives it more. */
async function wantOf(
  tx: ReadTx,
  agent: { id: string; company_id: string },
): Promise<{ moves: boolean; says: string } | undefined> {
  const pool = lacking(await placeOf(tx, agent));
  if (pool === undefined) return undefined;
  const { called } = await poolOwnerOf(tx, pool);
  if (!isUsedUp(pool))
    return { moves: true, says: `what is left of ${called} is set aside for sessions that run` };
  const { limit, spent, handedDown, measure } = pool;
  const used = `${called} is used up (${inWords(measure, spent)} spent and ${inWords(measure, handedDown)} handed down of ${inWords(measure, limit ?? 0)})`;
  const approval = await overrideOf(tx, pool);
  if (approval?.status === "pending")
    return { moves: true, says: `${used}; approval ${approval.id} waits for the board to raise it` };
  const note = approval?.decision_note ?? "";
  const asked =
    approval === undefined
      ? ""
      : `; approval ${approval.id} to raise it was ${approval.status}${note === "" ? "" : ` (${note})`}`;
  // The next month brings as much again, if that is anything.
  const renewed = limit !== null && limit > handedDown;
  const until = renewed ? `; the next month begins at ${new Date(nextMonth(tx.now)).toISOString()}` : "";
  return { moves: renewed, says: `${used}${asked}${until}; the board can raise it` };
}

const agentRow = query((db, p: { id: string }) =>
  db
    .selectFrom("agents")
    .select(["id", "company_id", "name", "status", "boss_id", "brain_type", "not_before"])
    .where("id", "=", p.id),
);
const liveSession = query((db, p: { agentId: string }) =>
  db.selectFrom("sessions").select("id").where("agent_id", "=", p.agentId).where("ended_at", "is", null),
);
const openInbox = query((db, p: { agentId: string }) =>
  db
    .selectFrom("outcomes")
    .select("id")
    .where("responsible_id", "=", p.agentId)
    .where("status", "=", "open")
    .where("kind", "=", "inbox"),
);
const liveWork = query((db, p: { agentId: string }) =>
  db
    .selectFrom("outcomes")
    .select("id")
    .where("responsible_id", "=", p.agentId)
    .where("status", "in", ["open", "submitted"])
    .where("kind", "not in", ["perpetual", "mandate"])
    .orderBy("num")
    .limit(200),
);

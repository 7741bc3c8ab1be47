import * as contract from "../contract/outcomes.ts";
import type { Input } from "../contract/operation.ts";
import { Refusal } from "../contract/refusal.ts";
import { give } from "../capabilities/grants.ts";
import { type Call, guarded } from "../dispatch/guarded.ts";
import type { CallContext } from "../dispatch/context.ts";
import { isActive, type Member, memberById } from "../capabilities/members.ts";
import { markRevoked } from "../capabilities/table.ts";
import { recordGrant, tellOfServer } from "../permissions/operations.ts";
import { holds } from "../capabilities/rights.ts";
import { notify } from "../mail/operations.ts";
import { post } from "../mail/post.ts";
import { demandDelegable, handDown } from "../outcomes/delegation.ts";
import { demandDepth, demandFanOut, demandRoomForOutcomes, depthOf } from "../outcomes/limits.ts";
import { demandLive, isLive, type OutcomeRow } from "../outcomes/outcome.ts";
import { presentOutcome } from "../outcomes/presenting.ts";
import { assign, childrenOf, outcomeById, parentsOf, saveOutcome } from "../outcomes/table.ts";
import { query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { takeOn } from "../hiring/hiring.ts";
import { reclaimAgents } from "../departures/leaving.ts";
import { sendOrder } from "../agents/orders.ts";
import { agentById, agentOfMandate, type AgentRow, endSessions } from "../agents/table.ts";
import { findReport } from "./team.ts";

/** Handing an outcome to somebody, and taking it back. */

const onDelegate = guarded(contract.delegateOutcome, async (call) => {
  const { tx, input } = call;
  const outcome = await outcomeById(tx, input.id);
  demandDelegable(outcome);
  const from = await outcomeOwnerOf(tx, outcome);
  await demandHandedOn(call, outcome);
  const { to, hired } = await receiverOf(call, outcome, from);
  const moved = await handDown(tx, outcome, from.id, to);
  await demandRoomForOutcomes(call, to.id, 0);
  // Who was hired for it has its rights with the hire, or gets them with its approval.
  if (!hired) await giveRights(call, outcome, from, to);
  const saved = await saveOutcome(tx, await outcomeById(tx, outcome.id), call.actor);
  await call.record(outcome.id, { from: from.id, to: to.id, moved });
  if (isActive(to)) await sendOrder(call, from.id, await agentById(tx, to.id), outcome, input.message);
  return presentOutcome(tx, saved);
});

const onReclaim = guarded(contract.reclaimOutcome, async (call) => {
  const { tx, input } = call;
  const outcome = await outcomeById(tx, input.id);
  demandLive(outcome);
  const agent = await agentOfMandate(tx, outcome.id);
  return agent === undefined ? reclaimWork(call, outcome) : reclaimMandate(call, outcome, agent);
});

export const delegationHandlers = [onDelegate, onReclaim];

type Hire = NonNullable<Input<typeof contract.delegateOutcome>["hire"]>;
type Delegation = Call<{
  to?: string | undefined;
  hire?: Hire | undefined;
  grants?: Input<typeof contract.delegateOutcome>["grants"];
  message?: string | undefined;
}>;

async function receiverOf(
  call: Delegation,
  outcome: OutcomeRow,
  from: Member,
): Promise<{ to: Member; hired: boolean }> {
  const { to, hire } = call.input;
  if (to !== undefined && hire === undefined)
    return { to: await findReport(call.tx, from, to), hired: false };
  if (hire !== undefined && to === undefined)
    return { to: await hireFor(call, outcome, from, hire), hired: true };
  throw new Refusal("invalid", "Delegate to somebody or hire somebody for it.", "Give either to or hire.");
}

/** The same door as any other hire. It waits for approval where the company wants that, unless the board itself hires. */
async function hireFor(call: Delegation, outcome: OutcomeRow, from: Member, hire: Hire): Promise<Member> {
  if (!(await holds(call.tx, from.id, "org:hire", "use")))
    throw new Refusal(
      "forbidden",
      `${from.name} may not hire.`,
      'Delegate to a direct report, or ask your boss: request_permission {"resource":"org:hire","reason":"…"}.',
    );
  const { requireBoardApprovalForNewAgents } = await call.settings();
  const { agent } = await takeOn(call, {
    input: { ...hire, grants: call.input.grants },
    boss: from,
    waits: requireBoardApprovalForNewAgents && call.actor.agentId !== null,
    made: { outcome, message: call.input.message },
  });
  return agent;
}

async function giveRights(call: Delegation, outcome: OutcomeRow, from: Member, to: Member): Promise<void> {
  for (const { resource, level } of call.input.grants ?? []) {
    const gift = { id: call.newId(), companyId: call.companyId, giver: from, receiver: to };
    const row = await give(call.tx, { ...gift, resource, level, scopeId: outcome.id });
    await recordGrant(call, "permission.grant", row);
    await tellOfServer(call, row, "granted to you");
  }
}

async function reclaimWork(call: Call<{ reason: string }>, outcome: OutcomeRow): Promise<contract.Outcome> {
  const { tx, input } = call;
  const from = outcome.responsible_id;
  const { owner, moved } = await takeBack(call, outcome);
  await stopWorkOn(call, new Set(moved));
  const saved = await saveOutcome(tx, await outcomeById(tx, outcome.id), call.actor);
  await call.record(outcome.id, { from, to: owner.id, moved, reason: input.reason });
  if (from !== null)
    await notify(call, from, `"${outcome.title}" (kb://${outcome.id}) was taken back: ${input.reason}`);
  return presentOutcome(tx, saved);
}

/** A session that was started for what is taken back has nothing left to do; one that works on something else goes on. */
async function stopWorkOn(call: Call<{ reason: string }>, moved: ReadonlySet<string>): Promise<void> {
  const { tx, companyId } = call;
  for (const { agent_id, first_outcome_id } of await tx.all(atWork, { companyId }))
    if (first_outcome_id !== null && moved.has(first_outcome_id))
      await tx.run(endSessions, { agentId: agent_id, now: tx.now, reason: "its work was taken back" });
}

/**
 * Takes an outcome back with all that its holder made of it below: the holder's own work and what the holder handed on, as
 * deep as that went; agents made for a part of it end. What others hang below it stays theirs: otherwise a second parent
 * would let one boss take another's work. Every right that was given for any of what comes back is revoked.
 */
async function takeBack(
  call: Call<{ reason: string }>,
  outcome: OutcomeRow,
): Promise<{ owner: Member; moved: string[] }> {
  const { tx } = call;
  const owner = outcome.delegated_by === null ? undefined : await memberById(tx, outcome.delegated_by);
  if (outcome.delegated === 0 || owner === undefined)
    throw new Refusal(
      "refused",
      "Nobody delegated this outcome.",
      "Only what was delegated can be reclaimed.",
    );
  const moved: string[] = [];
  const frontier: Pick<OutcomeRow, "id" | "responsible_id">[] = [outcome];
  const seen = new Set([outcome.id]);
  for (let next = frontier.pop(); next !== undefined; next = frontier.pop()) {
    const { id, responsible_id: holder } = next;
    const row = await outcomeById(tx, id);
    const agent = id === outcome.id ? undefined : await agentOfMandate(tx, id);
    // An agent that was made for a part ends with it, and everything it answered for comes back.
    if (agent !== undefined) await reclaimAgents(call, agent, owner.id, call.input.reason);
    // What was submitted is open again: whoever takes it back decides anew.
    const status = row.status === "submitted" ? { status: "open" } : {};
    await assign(tx, id, { responsibleId: owner.id, delegated: 0, delegatedBy: null, ...status });
    moved.push(id);
    for (const { id: grantId } of await tx.all(grantsFor, { scopeId: id, keeper: owner.id }))
      await markRevoked(tx, grantId);
    for (const child of await childrenOf(tx, id)) {
      const isHolders = child.responsible_id === holder && child.delegated === 0;
      const wasHandedOn = child.delegated_by === holder && child.kind !== "mandate";
      if (seen.has(child.id) || !(isHolders || wasHandedOn)) continue;
      seen.add(child.id);
      frontier.push(child);
    }
  }
  return { owner, moved };
}

/** The agent that answered for it ends, with everybody below; the boss is told where to read what they knew. */
async function reclaimMandate(
  call: Call<{ reason: string }>,
  outcome: OutcomeRow,
  agent: AgentRow,
): Promise<contract.Outcome> {
  const { tx, input } = call;
  if (agent.boss_id === null)
    throw new Refusal(
      "refused",
      "The root agent answers to the board alone.",
      "Pause it, or change its role.",
    );
  const ended = await reclaimAgents(call, agent, agent.boss_id, input.reason);
  await call.record(outcome.id, {
    from: agent.id,
    to: agent.boss_id,
    ended: ended.map(({ id }) => id),
    reason: input.reason,
  });
  const documents = ended.flatMap(({ name, state_file_id, log_file_id }) => [
    `- ${name}: state kb://${state_file_id}${log_file_id === null ? "" : `, log kb://${log_file_id}`}`,
  ]);
  // A message makes what it carries readable; so each document is sent, not only named.
  for (const { state_file_id, log_file_id } of ended)
    for (const fileId of [state_file_id, log_file_id])
      if (fileId !== null) await sendDocument(call, agent.boss_id, fileId);
  await notify(
    call,
    agent.boss_id,
    [
      `"${outcome.title}" (kb://${outcome.id}) is yours again: ${input.reason}`,
      "",
      "Read what was known:",
      ...documents,
    ].join("\n"),
  );
  return presentOutcome(tx, await outcomeById(tx, outcome.id));
}

async function sendDocument(
  call: Pick<Call<unknown>, "tx" | "companyId" | "newId">,
  to: string,
  fileId: string,
): Promise<void> {
  const letter = {
    id: call.newId(),
    companyId: call.companyId,
    from: null,
    bySystem: true,
    to,
    content: { fileId },
    deliverAt: call.tx.now,
  };
  await post(call.tx, letter, call.newId);
}

/** It is a part of each outcome it serves, and none of them may be in too many hands. */
async function demandHandedOn(call: CallContext, outcome: OutcomeRow): Promise<void> {
  await demandFanOut(call, outcome, 0);
  await demandDepth(call, (await depthOf(call.tx, outcome.id)) + 1, outcome.id);
  for (const parent of await parentsOf(call.tx, outcome.id))
    if (isLive(parent)) await demandFanOut(call, parent, 1);
}

export async function outcomeOwnerOf(tx: ReadTx, outcome: OutcomeRow): Promise<Member> {
  const owner = outcome.responsible_id === null ? undefined : await memberById(tx, outcome.responsible_id);
  if (owner === undefined)
    throw new Refusal("refused", "Nobody is responsible for this outcome.", "Give it an owner first.");
  return owner;
}

const atWork = query((db, p: { companyId: string }) =>
  db
    .selectFrom("sessions")
    .select(["agent_id", "first_outcome_id"])
    .where("company_id", "=", p.companyId)
    .where("ended_at", "is", null),
);

const grantsFor = query((db, p: { scopeId: string; keeper: string }) =>
  db
    .selectFrom("grants")
    .select("id")
    .where("scope_id", "=", p.scopeId)
    .where("grantee_id", "<>", p.keeper)
    .where("revoked_at", "is", null),
);

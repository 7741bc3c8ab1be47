import { z } from "zod";
import { type Measure, measures } from "../contract/budgets.ts";
import { Refusal } from "../contract/refusal.ts";
import type { ApprovalKind } from "../approvals/operations.ts";
import { type ApprovalRow, approvalById, openApproval, payloadOf, setStatus } from "../approvals/table.ts";
import { fromUnits, inUnits, inWords, isUsedUp, monthOf, nextMonth } from "./budget.ts";
import { carve, weighBudget } from "./carving.ts";
import { lacking, poolOwnerOf, quantumOf } from "./reservations.ts";
import { alertOf, dropAlert, placeOf, type Pool, poolOf, putAlert, settingsOf } from "./table.ts";
import type { Writing } from "../dispatch/context.ts";
import { notify } from "../mail/operations.ts";
import { query } from "../store/query.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { agentById, type AgentRow, endSessions, saveAgent } from "../agents/table.ts";

/**
 * A budget that is used up: the session that noticed ends, its agent is paused, and the board is asked, once in a month,
 * for more. Whom a budget has paused works again when there is more: the board said yes, somebody raised it, or another
 * month began.
 */

/** Ends its session. Paused only if nothing comes back by itself; otherwise it waits for others to give back. */
export async function halt(writing: Writing, agentId: string, pool: Pool): Promise<void> {
  const { tx } = writing;
  const agent = await agentById(tx, agentId);
  const { words } = await poolOwnerOf(tx, pool);
  const usedUp = isUsedUp(pool);
  const reason = usedUp ? `${words} is used up` : `${words} has nothing left but what other sessions hold`;
  await saveAgent(tx, { ...agent, epoch: agent.epoch + 1 });
  await tx.run(endSessions, { agentId, now: tx.now, reason });
  if (usedUp) await pauseFor(writing, agentId, pool);
}

/** Says it used what nobody can have used: that is no amount, and it does nothing more until somebody has looked. */
export async function distrust(writing: Writing, agentId: string): Promise<void> {
  const { tx } = writing;
  const agent = await agentById(tx, agentId);
  const reason = "it reported more use than a session can have";
  await saveAgent(tx, { ...agent, status: "paused", epoch: agent.epoch + 1 });
  await tx.run(endSessions, { agentId, now: tx.now, reason });
  await writing.record(agentId, { reason }, "agent.pause");
  const text = `${agent.name} is paused: ${reason}, so nobody knows what it costs. Look at its last session and at what runs it, then resume it.`;
  await notify(writing, agent.boss_id, text);
}

/** Has work and nothing to begin with: as if a session had just used it up. */
export async function pauseFor(writing: Writing, agentId: string, pool: Pool): Promise<void> {
  const { tx } = writing;
  const { words } = await poolOwnerOf(tx, pool);
  await saveAgent(tx, { ...(await agentById(tx, agentId)), status: "paused" });
  await tx.run(notePause, { agentId, companyId: writing.companyId, poolId: pool.id });
  const reason = `${words} is used up`;
  await writing.record(agentId, { reason, pool: pool.id, measure: pool.measure }, "agent.pause");
  await askForMore(writing, pool);
}

/** Whom a budget had paused and somebody let go on: paused again, if there is nothing left for it and it does not work. */
export async function haltAgain(writing: Writing, agentId: string): Promise<void> {
  const { tx } = writing;
  const agent = await agentById(tx, agentId);
  const lacks = lacking(await placeOf(tx, agent));
  if (agent.status !== "idle" || lacks === undefined || !isUsedUp(lacks)) return;
  if ((await tx.first(liveSession, { agentId })) === undefined) await pauseFor(writing, agentId, lacks);
}

/** One approval in a month for each pool, whatever is tried meanwhile; another after a yes. */
async function askForMore(writing: Writing, pool: Pool): Promise<void> {
  const { tx, companyId, newId } = writing;
  const key = { poolId: pool.id, month: monthOf(tx.now), kind: override(pool.measure) };
  if ((await tx.first(alertOf, key)) !== undefined) return;
  const owner = await poolOwnerOf(tx, pool);
  const { measure } = pool;
  const limit = pool.limit ?? 0;
  // After a yes work goes on: what a last report said beyond the limit is to be made up for as well.
  const beyond = Math.max(0, pool.spent + pool.handedDown - limit);
  const more = Math.max(Math.round(limit / 2), quantumOf(await settingsOf(tx, companyId), measure));
  const raiseBy = beyond + more;
  const approval = await openApproval(tx, {
    id: newId(),
    companyId,
    type: "budget_override",
    payload: {
      pool: pool.id,
      budget: owner.words,
      measure,
      limit: fromUnits(measure, limit),
      spent: fromUnits(measure, pool.spent),
      handedDown: fromUnits(measure, pool.handedDown),
      raiseBy: fromUnits(measure, raiseBy),
    },
    agentId: null,
    nameKey: null,
    requestedBy: owner.agentId,
    // A new month has a new budget, and nothing is left to decide.
    expiresAt: nextMonth(tx.now),
  });
  await tx.run(putAlert, { ...key, approvalId: approval.id });
  await writing.record(
    approval.id,
    { approval: approval.id, type: approval.type, payloadHash: approval.payload_hash },
    "approval.create",
  );
}

/** Was the board asked for more of this pool this month? */
export async function overrideOf(
  tx: ReadTx,
  { id, measure }: Pick<Pool, "id" | "measure">,
): Promise<ApprovalRow | undefined> {
  const alert = await tx.first(alertOf, { poolId: id, month: monthOf(tx.now), kind: override(measure) });
  return alert?.approval_id === null || alert?.approval_id === undefined
    ? undefined
    : approvalById(tx, alert.approval_id);
}

/** After a budget was changed: whoever it had paused and has something left works again, and nobody need be asked. */
export async function afterChange(writing: Writing, poolId: string): Promise<void> {
  const { tx, companyId } = writing;
  for (const measure of measures) {
    const asked = await overrideOf(tx, { id: poolId, measure });
    if (asked === undefined || isUsedUp(await poolOf(tx, { companyId, id: poolId, measure }))) continue;
    if (asked.status === "pending") {
      await setStatus(tx, asked, "cancelled", "the budget was changed");
      await writing.record(asked.id, { approval: asked.id, type: asked.type }, "approval.cancel");
    }
    await tx.run(dropAlert, { poolId, kind: override(measure) });
  }
  await resumeHalted(writing);
}

const override = (measure: Measure): string => `override ${measure}`;

/** Everybody in the company whom a budget paused that has something left now. */
export async function resumeHalted(writing: Writing): Promise<void> {
  const { tx, companyId } = writing;
  for (const { agent_id: id } of await tx.all(pausedByBudget, { companyId })) {
    const agent = await agentById(tx, id);
    if (lacking(await placeOf(tx, agent)) !== undefined) continue;
    await tx.run(forgetPause, { agentId: id });
    if (agent.status !== "paused") continue;
    await saveAgent(tx, { ...agent, status: "idle", idle_sessions: 0, not_before: 0 });
    await writing.record(id, { reason: "its budget has something left again" }, "agent.resume");
  }
}

export const companiesWithHalted = query((db, _: Record<never, never>) =>
  db.selectFrom("budget_pauses").select("company_id").distinct(),
);

/** What the decision does. */
export const overriding: ApprovalKind = {
  approve: async (call, approval) => {
    const { tx, companyId } = call;
    const { pool: id, measure, raiseBy } = wanted(approval);
    const pool = await poolOf(tx, { companyId, id, measure });
    if (pool.limit === null)
      throw new Refusal("conflict", "There is no limit any more.", "Reject this; nothing is to be raised.");
    const limit = fromUnits(measure, pool.limit + inUnits(measure, raiseBy));
    if (id === companyId) await raiseCompany(tx, companyId, measure, limit);
    else await raiseAgent(tx, await agentById(tx, id), measure, limit);
    await call.record(id, { budget: { [measure]: limit } }, "agent.set_budget");
    await tx.run(dropAlert, { poolId: id, kind: override(measure) });
    await resumeHalted(call);
  },
  deny: async () => undefined,
  changes: async (tx, approval) => {
    const { pool: id, budget, measure, raiseBy } = wanted(approval);
    const { limit, spent } = await poolOf(tx, { companyId: approval.company_id, id, measure });
    const paused = await tx.all(pausedByPool, { poolId: id });
    return [
      `${budget}: ${inWords(measure, limit ?? 0)} a month now, ${inWords(measure, (limit ?? 0) + inUnits(measure, raiseBy))} after.`,
      `Spent this month: ${inWords(measure, spent)}.`,
      `Resumed: ${paused.length === 0 ? "nobody was paused" : paused.map(({ name }) => name).join(", ")}.`,
      ...(await obstacle(tx, approval, (limit ?? 0) + inUnits(measure, raiseBy))),
    ];
  },
  title: (approval) => `More for ${wanted(approval).budget.replace(/^The/, "the")}`,
};

/** Where the budget above has no room for it, a yes is refused: whoever decides learns it before. */
async function obstacle(tx: ReadTx, approval: ApprovalRow, limit: number): Promise<string[]> {
  const { pool: id, measure } = wanted(approval);
  if (id === approval.company_id) return [];
  try {
    await weighBudget(tx, await agentById(tx, id), { [measure]: fromUnits(measure, limit) });
    return [];
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return [`Not possible yet: ${error.message} ${error.hint}`];
  }
}

const Wanted = z.object({
  pool: z.string(),
  budget: z.string(),
  measure: z.enum(measures),
  raiseBy: z.number(),
});
const wanted = (approval: ApprovalRow): z.infer<typeof Wanted> => Wanted.parse(payloadOf(approval));

async function raiseCompany(tx: Tx, companyId: string, measure: Measure, limit: number): Promise<void> {
  const { settings } = (await tx.first(storedSettings, { id: companyId })) ?? { settings: "{}" };
  const stored: Record<string, unknown> = { ...Object(JSON.parse(settings)) };
  const raised = { ...stored, monthlyBudget: { ...Object(stored["monthlyBudget"]), [measure]: limit } };
  await tx.run(saveSettings, { id: companyId, settings: JSON.stringify(raised) });
}

async function raiseAgent(tx: Tx, agent: AgentRow, measure: Measure, limit: number): Promise<void> {
  await carve(tx, agent, { [measure]: limit });
  await saveAgent(tx, { ...agent, budget: withParts(agent.budget, { [measure]: limit }) });
}

/** The budget as it is kept with the agent, after a change. */
export function withParts(
  stored: string | null,
  change: Readonly<Partial<Record<Measure, number | null | undefined>>>,
): string | null {
  const before: Record<string, unknown> = stored === null ? {} : { ...Object(JSON.parse(stored)) };
  const said = Object.entries(change).filter(([, amount]) => amount !== undefined);
  const parts = Object.entries({ ...before, ...Object.fromEntries(said) }).filter(
    ([, amount]) => amount !== null,
  );
  return parts.length === 0 ? null : JSON.stringify(Object.fromEntries(parts));
}

const notePause = query((db, p: { agentId: string; companyId: string; poolId: string }) =>
  db
    .insertInto("budget_pauses")
    .values({ agent_id: p.agentId, company_id: p.companyId, pool_id: p.poolId })
    .onConflict((conflict) =>
      conflict.column("agent_id").doUpdateSet((eb) => ({ pool_id: eb.ref("excluded.pool_id") })),
    ),
);

/** Somebody else decides about it now. */
export const forgetPause = query((db, p: { agentId: string }) =>
  db.deleteFrom("budget_pauses").where("agent_id", "=", p.agentId),
);

export const pauseOf = query((db, p: { agentId: string }) =>
  db.selectFrom("budget_pauses").select("pool_id").where("agent_id", "=", p.agentId),
);

const pausedByBudget = query((db, p: { companyId: string }) =>
  db.selectFrom("budget_pauses").select("agent_id").where("company_id", "=", p.companyId).orderBy("agent_id"),
);

const pausedByPool = query((db, p: { poolId: string }) =>
  db
    .selectFrom("budget_pauses as b")
    .innerJoin("agents as a", "a.id", "b.agent_id")
    .select("a.name")
    .where("b.pool_id", "=", p.poolId)
    .orderBy("a.name"),
);

const liveSession = query((db, p: { agentId: string }) =>
  db.selectFrom("sessions").select("id").where("agent_id", "=", p.agentId).where("ended_at", "is", null),
);
const storedSettings = query((db, p: { id: string }) =>
  db.selectFrom("companies").select("settings").where("id", "=", p.id),
);
const saveSettings = query((db, p: { id: string; settings: string }) =>
  db.updateTable("companies").set({ settings: p.settings }).where("id", "=", p.id),
);

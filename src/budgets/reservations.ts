import type { Measure, Usage } from "../contract/budgets.ts";
import type { Settings } from "../contract/companies.ts";
import { isActive, memberById, rootAgentOf } from "../capabilities/members.ts";
import { settingsOf } from "../dispatch/company-settings.ts";
import type { Writing } from "../dispatch/context.ts";
import { notify } from "../mail/notices.ts";
import { updating } from "../store/query.ts";
import type { Row } from "../store/schema.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import {
  advance,
  type Allowance,
  inUnits,
  inWords,
  isNearlyUsedUp,
  isNothing,
  left,
  less,
  monthOf,
  share,
  spend,
  tokensOf,
  unused,
  type Used,
} from "./budget.ts";
import { addCosts } from "./costs.ts";
import {
  alertOf,
  charge,
  dropReservations,
  type Place,
  budgetStandingOf,
  type Pool,
  poolAbove,
  type PoolKey,
  poolOf,
  putAlert,
  reservationOf,
  reserve,
} from "./table.ts";
import { nearlyUsedUp } from "./texts.ts";

/**
 * The reservation of one session.
 *
 *   reserved, when the start of the session is recorded ──reports──▶ spent ──ended, process gone──▶ the rest returns
 *
 * A report is a total and is stored at once, so a crash loses nothing that was reported. The reservation is used first.
 * Then the session gets another one of the same size if the pool has it. Otherwise it has to stop. If a last report exceeds
 * that, the pools above are charged, because no pool may give out more than it has.
 */

/** The first pool without anything left. */
export function lacking({ pools }: Place): Pool | undefined {
  return [pools.sessions, pools.usd, pools.tokens].find((pool) => left(pool) <= 0);
}

export async function setAside(
  writing: Writing,
  session: { id: string; agentId: string; outcomeId: string | null },
  place: Place,
  settings: Settings,
): Promise<Allowance> {
  const { tx, companyId } = writing;
  const shares = { usd: 0, tokens: 0 };
  for (const measure of ["usd", "tokens"] as const) {
    const pool = place.pools[measure];
    const amount = share(quantumOf(settings, measure), pool);
    await tx.run(reserve, { session_id: session.id, measure, pool_id: pool.id, amount });
    shares[measure] = amount;
  }
  await charge(tx, place.pools.sessions.id, "sessions", 1);
  await addCosts(tx, { ...session, companyId, chain: place.chain }, { ...unused, sessions: 1 });
  await tell(writing, place.pools.sessions);
  return shares;
}

/**
 * Makes a session's reservation cover the most that its open calls can cost. If a pool can't cover it, returns that pool and
 * reserves nothing.
 */
export async function makeRoom(
  { tx, companyId }: Writing,
  session: Pick<Row<"sessions">, "id" | "agent_id">,
  most: Readonly<Record<"usd" | "tokens", number>>,
): Promise<Pool | undefined> {
  const settings = await settingsOf(tx, companyId);
  const place = await budgetStandingOf(tx, { id: session.agent_id, company_id: companyId }, settings);
  const wanted = [];
  for (const measure of ["usd", "tokens"] as const) {
    const reservation = await tx.first(reservationOf, { session_id: session.id, measure });
    const pool =
      reservation === undefined
        ? await place.nearest(measure)
        : await poolOf(tx, { companyId, id: reservation.pool_id, measure }, settings);
    const more = most[measure] - (reservation?.amount ?? 0);
    if (more > left(pool)) return pool;
    if (more > 0) wanted.push({ session_id: session.id, measure, pool_id: pool.id, amount: most[measure] });
  }
  for (const reservation of wanted) await tx.run(reserve, reservation);
  return undefined;
}

/** Books usage of an agent outside of a session, such as a test of its brain. `id` is that of its reservation. */
export async function bookAlone(
  writing: Writing,
  { id, agentId }: { readonly id: string; readonly agentId: string },
  used: Pick<Used, "input_tokens" | "output_tokens" | "usd">,
): Promise<void> {
  const { tx, companyId } = writing;
  const settings = await settingsOf(tx, companyId);
  const place = await budgetStandingOf(tx, { id: agentId, company_id: companyId }, settings);
  const amounts = { ...unused, ...used, sessions: 0 };
  await addCosts(tx, { agentId, outcomeId: null, companyId, chain: place.chain }, amounts);
  for (const [measure, amount] of [
    ["usd", used.usd],
    ["tokens", tokensOf(amounts)],
  ] as const)
    if (amount > 0) await take(writing, id, await place.nearest(measure), amount, settings);
}

/**
 * Books the usage that a session reports. Returns how much more the session may use, and the pool that has nothing left for it.
 */
export async function reportUsage(
  writing: Writing,
  session: Row<"sessions">,
  usage: Usage,
): Promise<{ allowance: Allowance; lacks?: Pool | undefined }> {
  const { tx, companyId } = writing;
  const before = usedBy(session);
  const after = advance(before, usage);
  const used = less(after, before);
  if (isNothing(used)) return { allowance: {} };
  const { usd, consultant_usd, ...tokens } = after;
  await tx.run(setUsage, {
    id: session.id,
    ...tokens,
    cost_usd: usd / 1e6,
    consultant_cost_usd: consultant_usd / 1e6,
  });
  const settings = await settingsOf(tx, companyId);
  const place = await budgetStandingOf(tx, { id: session.agent_id, company_id: companyId }, settings);
  await addCosts(
    tx,
    { agentId: session.agent_id, outcomeId: session.work_outcome_id, companyId, chain: place.chain },
    { ...used, sessions: 0 },
  );
  await writing.record(
    session.agent_id,
    {
      session: session.id,
      inputTokens: after.input_tokens,
      outputTokens: after.output_tokens,
      costUsd: usd / 1e6,
    },
    "session.usage",
  );
  const amounts = { usd: used.usd, tokens: tokensOf(used) };
  const soFar = { usd: after.usd, tokens: tokensOf(after) };
  const allowance: { usd?: number; tokens?: number } = {};
  let lacks: Pool | undefined;
  for (const measure of ["usd", "tokens"] as const) {
    if (amounts[measure] === 0) continue;
    const pool = await place.nearest(measure);
    const taken = await take(writing, session.id, pool, amounts[measure], settings);
    allowance[measure] = soFar[measure] + taken.held;
    lacks = taken.lacks ?? lacks;
  }
  return { allowance, lacks };
}

async function take(
  writing: Writing,
  session_id: string,
  nearest: Pool,
  used: number,
  settings: Settings,
): Promise<{ held: number; lacks?: Pool | undefined }> {
  const { tx, companyId } = writing;
  const { measure } = nearest;
  const reservation = await tx.first(reservationOf, { session_id, measure });
  const pool =
    reservation === undefined || reservation.pool_id === nearest.id
      ? nearest
      : await poolOf(tx, { companyId, id: reservation.pool_id, measure }, settings);
  const quantum = reservation === undefined ? 0 : quantumOf(settings, measure);
  const before = reservation?.amount ?? 0;
  const { fromPool, beyond, held } = spend({ used, held: before, quantum }, pool);
  await charge(tx, pool.id, measure, fromPool);
  if (reservation !== undefined)
    await tx.run(reserve, { session_id, measure, pool_id: pool.id, amount: held });
  await chargeAbove(tx, pool, beyond);
  // No pool lies above the company's, so the company pays.
  const own = fromPool + (pool.id === companyId ? beyond : 0);
  const now = { ...pool, spent: pool.spent + own, reserved: pool.reserved - before + held };
  await tell(writing, now);
  return { held, lacks: reservation !== undefined && held <= 0 ? now : undefined };
}

/** Each pool above pays what it has left. The company pays the rest, because the money was really spent. */
async function chargeAbove(tx: Tx, pool: Pool, amount: number): Promise<void> {
  for (let rest = amount, below = pool; rest > 0;) {
    const above = await poolAbove(tx, below);
    const paid = above === undefined ? rest : Math.min(rest, Math.max(0, left(above)));
    await charge(tx, (above ?? below).id, pool.measure, paid);
    rest -= paid;
    below = above ?? below;
  }
}

/** Returns the reservation after the session has ended and its process is gone. */
export async function giveBack(tx: Tx, sessionId: string): Promise<boolean> {
  return (await tx.count(dropReservations, { session_id: sessionId })) > 0;
}

/** Tells the pool's owner and its manager, once per month, that the pool is nearly used up. */
async function tell(writing: Writing, pool: Pool): Promise<void> {
  const { tx } = writing;
  if (!isNearlyUsedUp(pool)) return;
  const key = { pool_id: pool.id, month: monthOf(tx.now), kind: `notice ${pool.measure}` };
  if ((await tx.first(alertOf, key)) !== undefined) return;
  await tx.run(putAlert, { ...key, approval_id: null });
  const owner = await poolOwnerOf(tx, pool);
  const limit = inWords(pool.measure, (pool.limit ?? 0) - pool.handedDown);
  const text = nearlyUsedUp(owner.words, inWords(pool.measure, pool.spent), limit);
  await writing.record(
    pool.id,
    { measure: pool.measure, spent: pool.spent, limit: pool.limit },
    "budget.notice",
  );
  await notify(writing, owner.bossId, text);
  if (owner.isThere) await notify(writing, owner.agentId, text);
}

/** The agent that owns a pool. The company's pool belongs to the root agent. */
export async function poolOwnerOf(
  tx: ReadTx,
  pool: PoolKey,
): Promise<{ agentId: string; bossId: string | null; words: string; called: string; isThere: boolean }> {
  const isCompanys = pool.id === pool.companyId;
  const agent = await memberById(tx, isCompanys ? ((await rootAgentOf(tx, pool.id)) ?? null) : pool.id);
  if (agent === undefined) throw new Error(`the budget ${pool.id} has no owner`);
  const called = poolName(pool, agent.name);
  return {
    agentId: agent.id,
    bossId: agent.boss_id,
    words: called.replace(/^t/, "T"),
    called,
    isThere: isActive(agent),
  };
}

export const poolName = ({ id, companyId, measure }: PoolKey, owner: string): string =>
  `the ${measureWords[measure]} budget of ${id === companyId ? "the company" : owner}`;

const measureWords: Readonly<Record<Measure, string>> = {
  usd: "money",
  tokens: "token",
  sessions: "session",
};

export function quantumOf({ sessionBudget }: Settings, measure: Measure): number {
  // With a quantum of 0, no session could start.
  return measure === "sessions" ? 1 : Math.max(1, inUnits(measure, sessionBudget[measure] ?? 0));
}

function usedBy({ cost_usd, consultant_cost_usd, ...session }: Row<"sessions">): Used {
  const { input_tokens, output_tokens, consultant_input_tokens, consultant_output_tokens } = session;
  return {
    input_tokens,
    output_tokens,
    usd: inUnits("usd", cost_usd),
    consultant_input_tokens,
    consultant_output_tokens,
    consultant_usd: inUnits("usd", consultant_cost_usd),
  };
}

const setUsage = updating(
  "sessions",
  [
    "input_tokens",
    "output_tokens",
    "cost_usd",
    "consultant_input_tokens",
    "consultant_output_tokens",
    "consultant_cost_usd",
  ],
  ["id"],
);

import { sql } from "kysely";
import { type Measure, measures } from "../contract/budgets.ts";
import type { Settings } from "../contract/companies.ts";
import { settingsOf } from "../dispatch/company-settings.ts";
import { memberById } from "../capabilities/members.ts";
import { insertion } from "../store/inserts.ts";
import { type Db, deleting, query, selection } from "../store/query.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { type Figures, inUnits, monthOf } from "./budget.ts";

/**
 * Finds the pool that an agent draws from in the tree each time. So a change of manager moves no rows. Spent and reserved
 * amounts stay with the pool they were taken from.
 */
export interface PoolKey {
  readonly companyId: string;
  /** The id of the agent that owns the budget, or of the company. */
  readonly id: string;
  readonly measure: Measure;
}
export type Pool = PoolKey & Figures;

export interface Place {
  readonly companyId: string;
  /** The agent and all agents above it, starting with itself. */
  readonly chain: readonly string[];
  readonly pools: Readonly<Record<Measure, Pool>>;
}

/** The agents above an agent, and the pools it draws from. */
export async function budgetPlaceOf(
  tx: ReadTx,
  agent: { id: string; company_id: string },
  settings?: Settings,
): Promise<Place> {
  const known = settings ?? (await settingsOf(tx, agent.company_id));
  const { companyId, chain, nearest } = await budgetStandingOf(tx, agent, known);
  const [usd, tokens, sessions] = await Promise.all([nearest("usd"), nearest("tokens"), nearest("sessions")]);
  return { companyId, chain, pools: { usd, tokens, sessions } };
}

/** The pool for one measure only. */
export async function budgetStandingOf(
  tx: ReadTx,
  agent: { id: string; company_id: string },
  settings: Settings,
): Promise<Pick<Place, "companyId" | "chain"> & { nearest: (measure: Measure) => Promise<Pool> }> {
  const companyId = agent.company_id;
  const rows = await tx.all(above, { agentId: agent.id });
  return {
    companyId,
    chain: [...new Set(rows.map(({ id }) => id))],
    nearest: (measure) => {
      const row = rows.find((candidate) => candidate.measure === measure);
      return poolOf(tx, { companyId, id: row?.id ?? companyId, measure }, settings, row?.amount ?? undefined);
    },
  };
}

/** The pool with its figures for this month. */
export async function poolOf(
  tx: ReadTx,
  { companyId, id, measure }: PoolKey,
  settings?: Settings,
  amount?: number,
): Promise<Pool> {
  const limit =
    id === companyId ? companyLimit(settings ?? (await settingsOf(tx, companyId)), measure) : amount;
  const [spent, reserved, below] = await Promise.all([
    tx.first(charged, { pool_id: id, measure, month: monthOf(tx.now) }),
    tx.all(reservedOf, { pool_id: id, measure }),
    tx.all(handedDown, { companyId, measure }),
  ]);
  return {
    companyId,
    id,
    measure,
    limit: limit === undefined ? ((await amountOf(tx, id, measure)) ?? 0) : limit,
    spent: spent?.amount ?? 0,
    reserved: reserved.reduce((sum, { amount: held }) => sum + held, 0),
    handedDown: below.find(({ pool }) => (pool ?? companyId) === id)?.amount ?? 0,
  };
}

export function companyLimit({ monthlyBudget }: Settings, measure: Measure): number | null {
  const limit = monthlyBudget[measure] ?? null;
  return limit === null ? null : inUnits(measure, limit);
}

/** The pool above this one. Undefined for the company's pool. */
export async function poolAbove(tx: ReadTx, pool: PoolKey): Promise<Pool | undefined> {
  if (pool.id === pool.companyId) return undefined;
  const boss = (await memberById(tx, pool.id))?.boss_id ?? null;
  return drawnFrom(tx, pool.companyId, boss, pool.measure);
}

/** The pool that this manager's reports draw from if they have no separate budget. */
export async function drawnFrom(
  tx: ReadTx,
  companyId: string,
  bossId: string | null,
  measure: Measure,
): Promise<Pool> {
  if (bossId === null) return poolOf(tx, { companyId, id: companyId, measure });
  const boss = { id: bossId, company_id: companyId };
  return (await budgetStandingOf(tx, boss, await settingsOf(tx, companyId))).nearest(measure);
}

export async function amountOf(tx: ReadTx, agentId: string, measure: Measure): Promise<number | undefined> {
  return (await tx.first(budgetRow, { agent_id: agentId, measure }))?.amount;
}

/** Whether the pool limits anything: an agent's separate budget can be removed, and a company may have no limit. */
export async function isLimited(tx: ReadTx, { companyId, id, measure, limit }: Pool): Promise<boolean> {
  return id === companyId ? limit !== null : (await amountOf(tx, id, measure)) !== undefined;
}

/** The parts of the agent's separate budget. */
export async function ownPools(tx: ReadTx, agent: { id: string; company_id: string }): Promise<Pool[]> {
  const { pools } = await budgetPlaceOf(tx, agent);
  return measures.map((measure) => pools[measure]).filter(({ id }) => id === agent.id);
}

/**
 * The budgets that move to another pool when this agent gets another manager: for each measure its own, or else the topmost
 * ones below it. What they have spent and given out moves along.
 */
export async function budgetsUnder(
  tx: ReadTx,
  agentId: string,
): Promise<{ agentId: string; measure: Measure; amount: number }[]> {
  const found = [];
  for (const measure of measures)
    for (const { agent_id, amount } of await tx.all(topmost, { agentId, measure }))
      found.push({ agentId: agent_id, measure, amount });
  return found;
}

/** A budget and the budget it is part of. Null means the company's. */
export interface BudgetPart {
  readonly agentId: string;
  readonly measure: Measure;
  readonly amount: number;
  readonly above: string | null;
}

/** All budgets of a company. */
export async function budgetsOf(tx: ReadTx, companyId: string): Promise<BudgetPart[]> {
  const found: BudgetPart[] = [];
  for (const measure of measures)
    for (const { agent_id, amount, pool } of await tx.all(partOf, { companyId, measure }))
      found.push({ agentId: agent_id, measure, amount, above: pool });
  return found;
}

/**
 * All pools of a company with their figures for this month, in a fixed number of queries. The company's own pools come first.
 */
export async function poolsOf(tx: ReadTx, companyId: string): Promise<Pool[]> {
  const settings = await settingsOf(tx, companyId);
  const parts = await budgetsOf(tx, companyId);
  const p = { companyId, month: monthOf(tx.now) };
  const spent = sumsOf(await tx.all(chargedIn, p), ({ pool_id }) => pool_id);
  const reserved = sumsOf(await tx.all(reservedIn, { companyId }), ({ pool_id }) => pool_id);
  const given = sumsOf(parts, ({ above: pool }) => pool ?? companyId);
  const poolWith = (id: string, measure: Measure, limit: number | null): Pool => {
    const of = `${id} ${measure}`;
    return {
      companyId,
      id,
      measure,
      limit,
      spent: spent.get(of) ?? 0,
      reserved: reserved.get(of) ?? 0,
      handedDown: given.get(of) ?? 0,
    };
  };
  return [
    ...measures.map((measure) => poolWith(companyId, measure, companyLimit(settings, measure))),
    ...parts.map(({ agentId, measure, amount }) => poolWith(agentId, measure, amount)),
  ];
}

function sumsOf<R extends { readonly measure: Measure; readonly amount: number }>(
  rows: readonly R[],
  poolIn: (row: R) => string,
): Map<string, number> {
  const sums = new Map<string, number>();
  for (const row of rows) {
    const of = `${poolIn(row)} ${row.measure}`;
    sums.set(of, (sums.get(of) ?? 0) + row.amount);
  }
  return sums;
}

/** The owner of the budget that an agent draws from: the agent itself or one above it. Null means the company. */
export async function sourcesOf(tx: ReadTx, agentId: string): Promise<[Measure, string | null][]> {
  const rows = await tx.all(above, { agentId });
  return measures.map((measure) => [measure, rows.find((row) => row.measure === measure)?.id ?? null]);
}

export async function charge(tx: Tx, poolId: string, measure: Measure, amount: number): Promise<void> {
  if (amount !== 0) await tx.run(addCharge, { pool_id: poolId, month: monthOf(tx.now), measure, amount });
}

export const setAmount = insertion(
  "budgets",
  sql`on conflict (agent_id, measure) do update set amount = excluded.amount`,
);
export const dropAmount = deleting("budgets", ["agent_id", "measure"]);

export const reserve = insertion(
  "reservations",
  sql`on conflict (session_id, measure) do update set amount = excluded.amount`,
);
export const reservationOf = selection("reservations", ["session_id", "measure"]);
export const dropReservations = deleting("reservations", ["session_id"]);

export const moveReservations = query((db, p: { from: string; to: string; measure: Measure }) =>
  db
    .updateTable("reservations")
    .set({ pool_id: p.to })
    .where("pool_id", "=", p.from)
    .where("measure", "=", p.measure),
);

export const alertOf = selection("budget_alerts", ["pool_id", "month", "kind"]);
export const putAlert = insertion("budget_alerts");
export const dropAlert = deleting("budget_alerts", ["pool_id", "kind"]);

const above = query((db, p: { agentId: string }) =>
  db
    .withRecursive("up(id, boss_id, depth)", (q) =>
      q
        .selectFrom("agents")
        .select(["id", "boss_id", sql<number>`0`.as("depth")])
        .where("id", "=", p.agentId)
        .unionAll(
          q
            .selectFrom("up")
            .innerJoin("agents as a", "a.id", "up.boss_id")
            .select(["a.id", "a.boss_id", sql<number>`up.depth + 1`.as("depth")])
            // If the tree is broken and has a circle, the depth limit ends the query.
            .where("up.depth", "<", deepest),
        ),
    )
    .selectFrom("up")
    .leftJoin("budgets as b", "b.agent_id", "up.id")
    .select(["up.id", "b.measure", "b.amount"])
    .orderBy("up.depth"),
);

const deepest = 10_000;

/**
 * Starts at the budgets and climbs to the nearest budget above. So the work grows with the number of budgets, not of agents.
 */
const climbing = (db: Db, p: { companyId: string; measure: Measure }) =>
  db
    .withRecursive("climb(agent_id, amount, boss_id, depth)", (q) =>
      q
        .selectFrom("budgets as b")
        .innerJoin("agents as a", "a.id", "b.agent_id")
        .select(["b.agent_id", "b.amount", "a.boss_id", sql<number>`0`.as("depth")])
        .where("b.company_id", "=", p.companyId)
        .where("b.measure", "=", p.measure)
        .unionAll(
          q
            .selectFrom("climb as c")
            .innerJoin("agents as a", "a.id", "c.boss_id")
            .leftJoin("budgets as x", (join) =>
              join.onRef("x.agent_id", "=", "c.boss_id").on("x.measure", "=", p.measure),
            )
            .select(["c.agent_id", "c.amount", "a.boss_id", sql<number>`c.depth + 1`.as("depth")])
            .where("x.agent_id", "is", null)
            .where("c.depth", "<", deepest),
        ),
    )
    .selectFrom("climb as c")
    .leftJoin("budgets as x", (join) =>
      join.onRef("x.agent_id", "=", "c.boss_id").on("x.measure", "=", p.measure),
    )
    .where((eb) => eb.or([eb("c.boss_id", "is", null), eb("x.agent_id", "is not", null)]));

const handedDown = query((db, p: { companyId: string; measure: Measure }) =>
  climbing(db, p)
    .select(["c.boss_id as pool", sql<number>`cast(sum(c.amount) as bigint)`.as("amount")])
    .groupBy("c.boss_id"),
);

const partOf = query((db, p: { companyId: string; measure: Measure }) =>
  climbing(db, p).select(["c.agent_id", "c.amount", "c.boss_id as pool"]).orderBy("c.agent_id"),
);

const topmost = query((db, p: { agentId: string; measure: Measure }) =>
  db
    .withRecursive("down(id)", (q) =>
      q
        .selectFrom("agents")
        .select("id")
        .where("id", "=", p.agentId)
        .unionAll(
          q
            .selectFrom("down")
            .innerJoin("agents as a", "a.boss_id", "down.id")
            .select("a.id")
            .where("a.status", "<>", "terminated")
            .where((eb) =>
              eb.not(
                eb.exists(
                  eb
                    .selectFrom("budgets as x")
                    .select("x.agent_id")
                    .whereRef("x.agent_id", "=", "down.id")
                    .where("x.measure", "=", p.measure),
                ),
              ),
            ),
        ),
    )
    .selectFrom("down")
    .innerJoin("budgets as b", "b.agent_id", "down.id")
    .select(["b.agent_id", "b.amount"])
    .where("b.measure", "=", p.measure),
);

const budgetRow = selection("budgets", ["agent_id", "measure"]);
const charged = selection("charges", ["pool_id", "month", "measure"]);
const addCharge = insertion(
  "charges",
  sql`on conflict (pool_id, month, measure) do update set amount = charges.amount + excluded.amount`,
);
const reservedOf = selection("reservations", ["pool_id", "measure"]);

const ofCompany = (companyId: string) =>
  sql`(pool_id = ${companyId} or pool_id in (select agent_id from budgets where company_id = ${companyId}))`;
const chargedIn = selection(
  "charges",
  [],
  (p: { companyId: string; month: string }) => sql`and month = ${p.month} and ${ofCompany(p.companyId)}`,
);
const reservedIn = selection(
  "reservations",
  [],
  (p: { companyId: string }) => sql`and ${ofCompany(p.companyId)}`,
);

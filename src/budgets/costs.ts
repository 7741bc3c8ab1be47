import { type RawBuilder, sql } from "kysely";
import { type Cost, listBudgets, listCosts, measures } from "../contract/budgets.ts";
import { notFound } from "../contract/refusal.ts";
import { guarded } from "../dispatch/guarded.ts";
import { memberById, rootAgentOf } from "../capabilities/members.ts";
import { upward } from "../capabilities/structure.ts";
import { type Viewer, visibleOutcomes } from "../capabilities/visible.ts";
import { cursorParts, defaultPage, pageAfter } from "../dispatch/page.ts";
import { insertion } from "../store/inserts.ts";
import { dynamic, selection, textQuery } from "../store/query.ts";
import { storedBytes } from "../knowledge/table.ts";
import type { Row } from "../store/schema.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { dayOf, fromUnits, lineOf, monthOf, unused, type Used, usedColumns } from "./budget.ts";
import { outcomeBudgets } from "./outcome-limits.ts";
import { ownPools, budgetPlaceOf, poolOf, poolsOf } from "./table.ts";

/**
 * What agents and outcomes cost. Each report adds to the sums of the agent and all agents above it, and of the outcome and all
 * its ancestors. So reading a page of costs takes the same time however many sessions there were. Costs stay where they arose:
 * an agent that moves to another manager takes none along.
 */
type Amounts = Used & { sessions: number };

interface Spender {
  readonly companyId: string;
  readonly agentId: string;
  /** The agent and all agents above it. */
  readonly chain: readonly string[];
  readonly outcomeId: string | null;
}

export async function addCosts(tx: Tx, spender: Spender, amounts: Amounts): Promise<void> {
  const { companyId, agentId, chain, outcomeId } = spender;
  const add = (kind: CostRow["kind"], id: string, own: 0 | 1, period = monthOf(tx.now)): Promise<void> =>
    tx.run(addRow, { kind, id, own, company_id: companyId, period, ...amounts });
  await add("agent", agentId, 1);
  await add("agent", agentId, 1, dayOf(tx.now));
  for (const id of chain) await add("agent", id, 0);
  if (outcomeId === null) return;
  await add("outcome", outcomeId, 1);
  // An outcome can have several parents. Each ancestor gets the cost once.
  for (const { id } of await tx.all(whysOf, { id: outcomeId })) await add("outcome", id, 0);
}

const onList = guarded(listCosts, async ({ tx, actor, companyId, input, settings }) => {
  const { maxAgentBytes, maxCompanyBytes, maxOutcomeUsd } = await settings();
  const month = input.month ?? monthOf(tx.now);
  const limit = input.limit ?? defaultPage;
  const [usd = String(Number.MAX_SAFE_INTEGER), id = ""] = cursorParts(input.cursor, "number id");
  const after = { usd: Number(usd), id };
  const below =
    input.agent === undefined ? actor.agentId : await visible(tx, companyId, actor.agentId, input.agent);
  const top = below ?? (await rootAgentOf(tx, companyId)) ?? "";
  const of = { companyId, month, below };
  const rows = await rowsFor(tx, actor, { ...of, kind: input.by, after, limit: limit + 1 });
  const { page: shown, nextCursor } = pageAfter(rows, limit, (row) => `${row.usd} ${row.id}`);
  const ids = shown.map((row) => row.id);
  const own = byId(await sumsIn(tx, input.by, ids, month, 1));
  const before = byId(await sumsIn(tx, input.by, ids, monthBefore(month), 0));
  const budgets = input.by === "outcome" ? await outcomeBudgets(tx, ids, maxOutcomeUsd) : undefined;
  const months = await tx.all(monthsOf, { id: top });
  return {
    month,
    by: input.by,
    total: present(months.find(({ period }) => period === month)),
    budget: await budgetLines(tx, companyId, below),
    storage: {
      bytes: await storedBytes(tx, companyId, below),
      maxBytes: below === null ? maxCompanyBytes : maxAgentBytes,
    },
    costs: shown.map(({ id: spender, name, ...total }) => ({
      id: spender,
      name,
      own: present(own.get(spender)),
      total: present(total),
      lastMonthUsd: fromUnits("usd", before.get(spender)?.usd ?? 0),
      ...(budgets && { budget: budgets.get(spender) ?? [] }),
    })),
    months: months.slice(0, 24).map((row) => ({ month: row.period, total: present(row) })),
    ...(input.days === true && { days: await daysOf(tx, of) }),
    nextCursor,
  };
});

const onListBudgets = guarded(listBudgets, async ({ tx, actor, companyId }) => {
  const below = actor.agentId;
  const seen =
    below === null ? undefined : new Set((await tx.all(agentsBelow, { below })).map(({ id }) => id));
  const pools = (await poolsOf(tx, companyId)).filter(({ id }) => seen?.has(id) !== false);
  const names = new Map((await tx.all(namesIn, { companyId })).map((row) => [row.id, row]));
  return {
    month: monthOf(tx.now),
    budgets: [...Map.groupBy(pools, (pool) => pool.id)].map(([id, lines]) => ({
      of: {
        kind: id === companyId ? "company" : "agent",
        id,
        title: names.get(id)?.name ?? null,
      },
      budget: lines.map((pool) => lineOf(pool.measure, pool)),
    })),
  };
});

/** The spending of an agent this month: by itself, and with all agents below it. */
export async function costsOf(tx: ReadTx, agentId: string) {
  const month = monthOf(tx.now);
  const [own] = await sumsIn(tx, "agent", [agentId], month, 1);
  const [total] = await sumsIn(tx, "agent", [agentId], month, 0);
  return { month, own: present(own), total: present(total) };
}

export const costHandlers = [onList, onListBudgets];

interface Spenders {
  readonly companyId: string;
  readonly month: string;
  /** Only this agent and those below it. Null means the whole company. */
  readonly below: string | null;
}

/** The spending on each day, and the share of the agents that spent most in the month. */
async function daysOf(tx: ReadTx, of: Spenders) {
  const days = await tx.all(dailySums(of), {});
  const most = await tx.all(mostSpending(of), {});
  const names = new Map(most.map(({ id, name }) => [id, name]));
  const parts = Map.groupBy(await tx.all(dailyOf(of, [...names.keys()]), {}), ({ period }) => period);
  return days.map(({ period, ...sum }) => ({
    day: period,
    total: present(sum),
    agents: (parts.get(period) ?? []).map(({ id, usd }) => ({
      id,
      name: names.get(id) ?? "",
      costUsd: fromUnits("usd", usd),
    })),
  }));
}

/** The rows that the viewer may know of. Outcomes that it can't read are left out, and rows behind them fill the page. */
async function rowsFor(tx: ReadTx, viewer: Viewer, asked: Parameters<typeof page>[0]) {
  const found: Spending[] = [];
  for (let { after } = asked; ;) {
    const rows = await tx.all(page({ ...asked, after }), {});
    found.push(...(asked.kind === "outcome" ? await visibleOutcomes(tx, viewer, rows) : rows));
    const last = rows.at(-1);
    if (last === undefined || rows.length < asked.limit || found.length >= asked.limit)
      return found.slice(0, asked.limit);
    after = last;
  }
}

const monthBefore = (month: string): string => monthOf(Date.parse(`${month}-01T00:00:00Z`) - 1);

/** The board sees all agents. An agent sees itself and the agents below it. */
async function visible(
  tx: ReadTx,
  companyId: string,
  viewer: string | null,
  agentId: string,
): Promise<string> {
  const { chain } = await budgetPlaceOf(tx, { id: agentId, company_id: companyId });
  const member = await memberById(tx, agentId);
  if (member?.company_id === companyId && (viewer === null || chain.includes(viewer))) return agentId;
  throw notFound("agent", agentId);
}

/** The lines of the company's budget, or of the agent's separate budget. */
export async function budgetLines(tx: ReadTx, companyId: string, agentId: string | null) {
  const pools =
    agentId === null
      ? await Promise.all(measures.map((measure) => poolOf(tx, { companyId, id: companyId, measure })))
      : await ownPools(tx, { id: agentId, company_id: companyId });
  return pools.map((pool) => lineOf(pool.measure, pool));
}

type CostRow = Row<"costs">;
function present(row: Amounts = { ...unused, sessions: 0 }): Cost {
  return {
    costUsd: row.usd / 1e6,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    sessions: row.sessions,
    consultants: {
      costUsd: row.consultant_usd / 1e6,
      inputTokens: row.consultant_input_tokens,
      outputTokens: row.consultant_output_tokens,
    },
  };
}

const sums = [...usedColumns, "sessions"] as const;

/** Starts a query with `down`: an agent and all agents below it. */
const downFrom = (below: string | null) =>
  sql`with recursive down(id) as (
    select id from agents where id = ${below ?? ""}
    union all select a.id from agents a join down on a.boss_id = down.id)`;

/** Limits rows to the agents of a subtree. */
const within = ({ below }: Pick<Spenders, "below">, column: string) =>
  below === null ? sql`` : sql`and ${sql.ref(column)} in (select id from down)`;

const costQuery = <R>(text: RawBuilder<R>) => dynamic<R>((db) => ({ compile: () => text.compile(db) }), []);
const sumsOfC = sql.join(sums.map((sum) => sql.ref(`c.${sum}`)));
const summed = sql.join(
  sums.map((sum) => sql`cast(sum(${sql.ref(`c.${sum}`)}) as bigint) as ${sql.ref(sum)}`),
);

type Spending = Amounts & { id: string; name: string };

/** A page of costs, highest first. For outcomes, only those that agents of the subtree are responsible for. */
const page = (
  p: Spenders & {
    readonly kind: CostRow["kind"];
    readonly after: { readonly usd: number; readonly id: string };
    readonly limit: number;
  },
) =>
  costQuery(sql<Spending>`${downFrom(p.below)}
    select c.id, coalesce(a.name, o.title, '') as name, ${sumsOfC} from costs c
      left join agents a on a.id = c.id and c.kind = 'agent'
      left join outcomes o on o.id = c.id and c.kind = 'outcome'
    where c.company_id = ${p.companyId} and c.kind = ${p.kind} and c.period = ${p.month} and c.own = 0
      and (c.usd < ${p.after.usd} or (c.usd = ${p.after.usd} and c.id > ${p.after.id}))
      ${within(p, p.kind === "agent" ? "c.id" : "o.responsible_id")}
    order by c.usd desc, c.id limit ${p.limit}`);

const ownOf = ({ companyId }: Spenders) =>
  sql`from costs c where c.company_id = ${companyId} and c.kind = 'agent' and c.own = 1`;
const inDaysOf = ({ month }: Spenders) => sql`and c.period > ${`${month}-`} and c.period < ${`${month}-99`}`;

const dailySums = (p: Spenders) =>
  costQuery(sql<Amounts & { period: string }>`${downFrom(p.below)}
    select c.period, ${summed} ${ownOf(p)} ${inDaysOf(p)} ${within(p, "c.id")} group by c.period order by c.period`);

const mostSpending = (p: Spenders) =>
  costQuery(sql<{ id: string; name: string }>`${downFrom(p.below)}
    select m.id, a.name from (select c.id, c.usd ${ownOf(p)} and c.period = ${p.month} ${within(p, "c.id")}
      order by c.usd desc, c.id limit 5) as m join agents a on a.id = m.id order by m.usd desc, m.id`);

const dailyOf = (p: Spenders, ids: readonly string[]) =>
  costQuery(sql<{ id: string; period: string; usd: number }>`
    select c.id, c.period, c.usd ${ownOf(p)} ${inDaysOf(p)} and c.id in (${sql.join([...ids, ""])})
    order by c.usd desc, c.id`);

/** The sums of these agents or outcomes in a month. */
const sumsIn = (tx: ReadTx, kind: CostRow["kind"], ids: readonly string[], month: string, own: 0 | 1) =>
  tx.all(
    costQuery(sql<Amounts & { id: string }>`select c.id, ${sumsOfC} from costs c
      where c.kind = ${kind} and c.period = ${month} and c.own = ${own} and c.id in (${sql.join([...ids, ""])})`),
    {},
  );

const byId = <R extends { readonly id: string }>(rows: readonly R[]): Map<string, R> =>
  new Map(rows.map((row) => [row.id, row]));

const monthsOf = selection("costs", ["id"], sql`and kind = 'agent' and own = 0 order by period desc`);

const agentsBelow = textQuery(
  (p: { below: string }) => sql<{ id: string }>`${downFrom(p.below)} select id from down`,
);
const namesIn = textQuery(
  (p: { companyId: string }) => sql<{ id: string; name: string }>`
    select id, name from companies where id = ${p.companyId}
    union all select a.id, a.name from agents a
      where a.id in (select agent_id from budgets where company_id = ${p.companyId})`,
);

const addRow = insertion(
  "costs",
  sql`on conflict (kind, id, period, own) do update set ${sql.join(
    sums.map((sum) => sql`${sql.ref(sum)} = costs.${sql.ref(sum)} + excluded.${sql.ref(sum)}`),
  )}`,
);

/** The outcome and all its ancestors. */
const whysOf = textQuery(
  (p: { id: string }) =>
    sql<{ id: string }>`${upward(sql`select id from outcomes where id = ${p.id}`)} select id from up`,
);

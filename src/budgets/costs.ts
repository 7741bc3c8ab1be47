import { sql } from "kysely";
import { type Cost, listCosts, measures } from "../contract/budgets.ts";
import { notFound } from "../contract/refusal.ts";
import { guarded } from "../dispatch/guarded.ts";
import { memberById, rootAgentOf } from "../capabilities/members.ts";
import { upward } from "../capabilities/structure.ts";
import { cursorParts, defaultPage, pageAfter } from "../dispatch/page.ts";
import { dynamic, insertion, selection, textQuery } from "../store/query.ts";
import { storedBytes } from "../knowledge/table.ts";
import type { Row } from "../store/schema.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { lineOf, monthOf, unused, type Used, usedColumns } from "./budget.ts";
import { ownPools, placeOf, poolOf } from "./table.ts";

/**
 * What agents and outcomes cost. Each report adds to the sums of the agent and all agents above it, and of the outcome and
 * all its ancestors. Reading a page of costs therefore takes the same time however many sessions there were. Costs stay
 * where they arose: an agent that moves to another manager takes none along.
 */
type Amounts = Used & { sessions: number };

interface Spender {
  readonly companyId: string;
  readonly agentId: string;
  /** The agent and all agents above it. */
  readonly chain: readonly string[];
  readonly firstOutcomeId: string | null;
}

export async function addCosts(tx: Tx, spender: Spender, amounts: Amounts): Promise<void> {
  const { companyId, agentId, chain, firstOutcomeId } = spender;
  const add = (kind: CostRow["kind"], id: string, own: 0 | 1): Promise<number> =>
    tx.run(addRow, { kind, id, own, company_id: companyId, month: monthOf(tx.now), ...amounts });
  await add("agent", agentId, 1);
  for (const id of chain) await add("agent", id, 0);
  if (firstOutcomeId === null) return;
  await add("outcome", firstOutcomeId, 1);
  // An outcome can have several parents. Each ancestor gets the cost once.
  for (const { id } of await tx.all(whysOf, { id: firstOutcomeId })) await add("outcome", id, 0);
}

const onList = guarded(listCosts, async ({ tx, actor, companyId, input, settings }) => {
  const { maxAgentBytes, maxCompanyBytes } = await settings();
  const month = input.month ?? monthOf(tx.now);
  const limit = input.limit ?? defaultPage;
  const [after = ""] = cursorParts(input.cursor, "id");
  const below =
    input.agent === undefined ? actor.agentId : await visible(tx, companyId, actor.agentId, input.agent);
  const top = below ?? (await rootAgentOf(tx, companyId)) ?? "";
  const rows = await tx.all(page({ companyId, month, kind: input.by, below, after, limit: limit + 1 }), {});
  const { page: shown, nextCursor } = pageAfter(rows, limit, (row) => row.id);
  const costs = [];
  for (const { id, name, ...total } of shown)
    costs.push({ id, name, own: await costOf(tx, input.by, id, month, 1), total: present(total) });
  return {
    month,
    by: input.by,
    total: await costOf(tx, "agent", top, month, 0),
    budget: await budgetLines(tx, companyId, below),
    storage: {
      bytes: await storedBytes(tx, companyId, below),
      maxBytes: below === null ? maxCompanyBytes : maxAgentBytes,
    },
    costs,
    nextCursor,
  };
});

export const costHandlers = [onList];

/** The board sees all agents. An agent sees itself and the agents below it. */
async function visible(
  tx: ReadTx,
  companyId: string,
  viewer: string | null,
  agentId: string,
): Promise<string> {
  const { chain } = await placeOf(tx, { id: agentId, company_id: companyId });
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

async function costOf(
  tx: ReadTx,
  kind: CostRow["kind"],
  id: string,
  month: string,
  own: 0 | 1,
): Promise<Cost> {
  const row = await tx.first(oneRow, { kind, id, month, own });
  return present(row ?? { ...unused, sessions: 0 });
}

type CostRow = Row<"costs">;
function present(row: Amounts): Cost {
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
const sumsOfC = sums.map((column) => `c.${column}` as const);

/** Limits the page to the agents of a subtree, or to the outcomes those agents are responsible for. */
const page = (p: {
  companyId: string;
  month: string;
  kind: "agent" | "outcome";
  below: string | null;
  after: string;
  limit: number;
}) =>
  dynamic((db) => {
    const down = db.withRecursive("down(id)", (q) =>
      q
        .selectFrom("agents")
        .select("id")
        .where("id", "=", p.below ?? "")
        .unionAll(q.selectFrom("down").innerJoin("agents as a", "a.boss_id", "down.id").select("a.id")),
    );
    let rows = down
      .selectFrom("costs as c")
      .leftJoin("agents as a", (join) => join.onRef("a.id", "=", "c.id").on("c.kind", "=", "agent"))
      .leftJoin("outcomes as o", (join) => join.onRef("o.id", "=", "c.id").on("c.kind", "=", "outcome"))
      .select(["c.id", sql<string>`coalesce(a.name, o.title, '')`.as("name"), ...sumsOfC])
      .where("c.company_id", "=", p.companyId)
      .where("c.kind", "=", p.kind)
      .where("c.month", "=", p.month)
      .where("c.own", "=", 0)
      .where("c.id", ">", p.after);
    if (p.below !== null)
      rows = rows.where((eb) =>
        eb.exists(
          eb
            .selectFrom("down")
            .select("down.id")
            .whereRef("down.id", "=", p.kind === "agent" ? "c.id" : "o.responsible_id"),
        ),
      );
    return rows.orderBy("c.id").limit(p.limit);
  });

const oneRow = selection("costs", ["kind", "id", "month", "own"]);

const addRow = insertion(
  "costs",
  sql`on conflict (kind, id, month, own) do update set ${sql.join(
    sums.map((sum) => sql`${sql.ref(sum)} = costs.${sql.ref(sum)} + excluded.${sql.ref(sum)}`),
  )}`,
);

/** The outcome and all its ancestors. */
const whysOf = textQuery(
  (p: { id: string }) =>
    sql<{ id: string }>`${upward(sql`select id from outcomes where id = ${p.id}`)} select id from up`,
);

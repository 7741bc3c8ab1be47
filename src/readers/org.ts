import { sql } from "kysely";
import { type Position, viewOrg } from "../contract/roster.ts";
import { presentShown, shownAfter } from "../agents/table.ts";
import { fromUnits, monthOf } from "../budgets/budget.ts";
import { type Viewer, visible } from "../capabilities/visible.ts";
import { guarded } from "../dispatch/guarded.ts";
import { workable } from "../outcomes/workable.ts";
import { type Db, query, selection } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { companyState } from "../dispatch/company-settings.ts";
import { companyStopped, positionText } from "./texts.ts";

/**
 * The organization as a tree, with the work of each agent. It takes a few queries for the whole company, and none per agent.
 */
const mostAgents = 5000;

const onView = guarded(viewOrg, async ({ tx, actor, companyId }) => {
  const found = await tx.all(employed, { companyId, at: 0, id: "", limit: mostAgents + 1 });
  const rows = found.slice(0, mostAgents);
  const facts = await factsOf(tx, companyId);
  const reports = Map.groupBy(rows, ({ boss_id }) => boss_id);
  const there = new Set(rows.map(({ id }) => id));
  // An agent sees all reporting lines, but the work only of itself and its direct reports, and only its own mail.
  const sees = ({ id, boss_id }: Pick<(typeof rows)[number], "id" | "boss_id">): boolean =>
    actor.agentId === null || [id, boss_id].includes(actor.agentId);
  const titles = await titlesFor(tx, actor, rows.filter(sees), facts.sessions);
  const agents: Position[] = [];
  const place = (row: (typeof rows)[number], depth: number): void => {
    const isSeen = sees(row);
    const work = isSeen ? facts.work.get(row.id) : undefined;
    const session = isSeen ? facts.sessions.get(row.id) : undefined;
    const position = {
      ...presentShown(row),
      depth,
      working:
        session === undefined
          ? null
          : {
              session: session.id,
              since: new Date(session.started_at).toISOString(),
              on: titles.get(session.id) ?? null,
            },
      open: work?.open ?? 0,
      workable: work?.workable ?? 0,
      blocked: work?.blocked ?? 0,
      submitted: work?.submitted ?? 0,
      inbox: actor.agentId === null || actor.agentId === row.id ? (facts.inbox.get(row.id) ?? 0) : 0,
    };
    const isPerson = row.brain_type === "human";
    agents.push({
      ...position,
      adapterType: row.brain_type,
      isPerson,
      approval: isSeen ? (facts.approvals.get(row.id) ?? null) : null,
      spentUsd: isSeen ? fromUnits("usd", facts.spent.get(row.id) ?? 0) : null,
      budgetUsd: isSeen ? (facts.budgets.get(row.id) ?? null) : null,
      says: isSeen ? positionText({ ...position, isStuck: (work?.stuckInboxes ?? 0) > 0 }, isPerson) : "",
    });
    for (const report of reports.get(row.id) ?? []) place(report, depth + 1);
  };
  // If the boss of an agent is beyond the limit, the agent is shown at the top. It must not be missing.
  for (const row of rows) if (row.boss_id === null || !there.has(row.boss_id)) place(row, 0);
  const stopped = companyStopped(await companyState(tx, companyId));
  return { agents, truncated: found.length > mostAgents, stopped };
});

export const orgHandlers = [onView];

/**
 * The titles of the outcomes that the sessions of these agents work on, by session. A manager may not be able to read what its
 * report works on.
 */
async function titlesFor(
  tx: ReadTx,
  viewer: Viewer,
  agents: readonly { readonly id: string }[],
  sessions: ReadonlyMap<
    string,
    { readonly id: string; readonly outcome: string | null; readonly title: string | null }
  >,
): Promise<ReadonlyMap<string, string>> {
  const titles = new Map<string, string>();
  for (const { id: agentId } of agents) {
    const { id, outcome, title } = sessions.get(agentId) ?? { id: "", outcome: null, title: null };
    if (outcome !== null && title !== null && (await visible(tx, viewer, `outcome:${outcome}`)))
      titles.set(id, title);
  }
  return titles;
}

async function factsOf(tx: ReadTx, companyId: string) {
  const p = { companyId };
  return {
    work: new Map((await tx.all(workCounts, { ...p, now: tx.now })).map((row) => [row.agent, row])),
    sessions: new Map((await tx.all(liveSessions, p)).map((row) => [row.agent_id, row])),
    inbox: new Map((await tx.all(inboxCounts, p)).map(({ agent, count }) => [agent, count])),
    approvals: new Map((await tx.all(openApprovals, p)).map(({ agent_id, id }) => [agent_id, id])),
    spent: new Map(
      (await tx.all(spentIn, { company_id: companyId, period: monthOf(tx.now) })).map((row) => [
        row.id,
        row.usd,
      ]),
    ),
    budgets: new Map(
      (await tx.all(budgetsIn, { company_id: companyId })).map((row) => [
        row.agent_id,
        fromUnits("usd", row.amount),
      ]),
    ),
  };
}

const employed = query((db, p: { companyId: string; at: number; id: string; limit: number }) =>
  shownAfter(db, p).select("a.brain_type").where("a.status", "<>", "terminated"),
);

const counted = (db: Db, p: { now: number }) =>
  db
    .selectFrom("outcomes as o")
    .select((eb) => [
      "o.responsible_id as agent",
      sql<number>`sum(case when o.kind <> 'inbox' then 1 else 0 end)`.as("open"),
      sql<number>`sum(case when o.kind <> 'inbox' and o.status = 'open' and ${workable(eb, p.now)} = 1 then 1 else 0 end)`.as(
        "workable",
      ),
      sql<number>`sum(case when o.status = 'open' and o.blocked_reason is not null then 1 else 0 end)`.as(
        "blocked",
      ),
      // Messages that no session of the agent will read by itself.
      sql<number>`sum(case when o.kind = 'inbox' and o.blocked_reason is not null and o.blocked_until is null then 1 else 0 end)`.as(
        "stuckInboxes",
      ),
      sql<number>`sum(case when o.status = 'submitted' then 1 else 0 end)`.as("submitted"),
    ])
    .where("o.status", "in", ["open", "submitted"])
    .where("o.kind", "not in", ["perpetual", "mandate"])
    .groupBy("o.responsible_id");

const workCounts = query((db, p: { companyId: string; now: number }) =>
  counted(db, p).where("o.company_id", "=", p.companyId),
);
export const workCountsOf = query((db, p: { agentId: string; now: number }) =>
  counted(db, p).where("o.responsible_id", "=", p.agentId),
);

const liveSessions = query((db, p: { companyId: string }) =>
  db
    .selectFrom("sessions as s")
    .leftJoin("outcomes as o", "o.id", "s.first_outcome_id")
    .select(["s.id", "s.agent_id", "s.started_at", "s.first_outcome_id as outcome", "o.title"])
    .where("s.company_id", "=", p.companyId)
    .where("s.ended_at", "is", null),
);

const inboxCounts = query((db, p: { companyId: string }) =>
  db
    .selectFrom("messages")
    .select((eb) => ["to_id as agent", eb.fn.countAll<number>().as("count")])
    .where("company_id", "=", p.companyId)
    .where("delivered_at", "is not", null)
    .where("acknowledged_at", "is", null)
    .where("to_id", "is not", null)
    .groupBy("to_id"),
);

const spentIn = selection("costs", ["company_id", "period"], sql`and kind = 'agent' and own = 0`);
const budgetsIn = selection("budgets", ["company_id"], sql`and measure = 'usd'`);

const openApprovals = query((db, p: { companyId: string }) =>
  db
    .selectFrom("approvals")
    .select(["id", "agent_id"])
    .where("company_id", "=", p.companyId)
    .where("agent_id", "is not", null)
    .where("status", "in", ["pending", "revision_requested"]),
);

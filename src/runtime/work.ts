import { sql } from "kysely";
import type { Trouble } from "../brains/brain.ts";
import { isInstalled } from "../brains/registry.ts";
import { companyState, settingsOf } from "../dispatch/company-settings.ts";
import type { AgentRow } from "../agents/table.ts";
import { isUsedUp, nextMonth } from "../budgets/budget.ts";
import { lacking } from "../budgets/reservations.ts";
import { type Place, budgetPlaceOf, type Pool } from "../budgets/table.ts";
import type { Settings } from "../contract/companies.ts";
import { workable } from "../outcomes/workable.ts";
import { query, selection, textsIn } from "../store/query.ts";
import { agentRow } from "../store/row-by-id.ts";
import type { ReadTx } from "../store/store.ts";
import { countLive, liveOf } from "./sessions.ts";

/** Whether an agent can be started now. Only the rows decide, by the predicate in outcomes/workable.ts. */
export type Readiness =
  | {
      readonly start: true;
      readonly agent: AgentRow;
      readonly place: Place;
      readonly settings: Settings;
    }
  /** `at` is when to look again. Null means that an event will follow. */
  | {
      readonly start: false;
      readonly why: "nothing" | "busy" | "later" | "full";
      readonly at: number | null;
      readonly companyId: string | null;
      /** The budget that is used up. A budget that other sessions have reserved counts as "full" and is not named. */
      readonly lacks?: Pool;
      /** Why the brain can't work now, and which brain it is. */
      readonly trouble?: Trouble;
      readonly agent?: AgentRow;
    };

/** Finds what keeps the brain of an agent from working now. Undefined if it can work. */
export type TroubleOf = (
  tx: ReadTx,
  agent: Pick<AgentRow, "company_id" | "brain_type" | "brain_config">,
) => Promise<Trouble | undefined>;

export async function readinessOf(
  tx: ReadTx,
  agentId: string,
  canStart: (brainType: string) => boolean = () => true,
  troubleOf: TroubleOf = async () => undefined,
): Promise<Readiness> {
  const agent = await tx.first(agentRow, { id: agentId });
  const no = (why: "nothing" | "busy" | "later" | "full", at: number | null = null) => ({
    start: false as const,
    why,
    at,
    companyId: agent?.company_id ?? null,
  });
  if (agent === undefined || agent.status !== "idle") return no("nothing");
  if (!isInstalled(agent.brain_type) || agent.brain_type === "human") return no("nothing");
  if (!canStart(agent.brain_type)) return no("nothing");
  if ((await tx.first(liveOf, { agent_id: agentId })) !== undefined) return no("busy");
  if ((await tx.first(workOf, { agentId, now: tx.now, limit: 1 })) === undefined) return no("nothing");
  if (agent.not_before > tx.now) return no("later", agent.not_before);
  // Thawing counts as a free place (scheduler.ts), so the agents that wait here are looked at again.
  if ((await companyState(tx, agent.company_id)).state !== "active") return no("full");
  const trouble = await troubleOf(tx, agent);
  if (trouble !== undefined) return { ...no("full", trouble.until), trouble, agent };
  const settings = await settingsOf(tx, agent.company_id);
  const running = (await tx.first(countLive, { company_id: agent.company_id }))?.count ?? 0;
  if (running >= settings.maxSessions) return no("full");
  const place = await budgetPlaceOf(tx, agent, settings);
  const lacks = lacking(place);
  if (lacks === undefined) return { start: true, agent, place, settings };
  return isUsedUp(lacks) ? { ...no("full", nextMonth(tx.now)), lacks } : no("full");
}

/** The workable outcomes of an agent, in the order to work on them. */
export const workOf = query((db, p: { agentId: string; now: number; limit: number }) =>
  db
    .selectFrom("outcomes as o")
    .selectAll("o")
    .where("o.responsible_id", "=", p.agentId)
    .where("o.status", "=", "open")
    .where((eb) => sql<boolean>`${workable(eb, p.now)} = 1`)
    .orderBy("o.important", "desc")
    .orderBy("o.urgent", "desc")
    .orderBy("o.num")
    .limit(p.limit),
);

/**
 * The outcome that a session's costs count for. An inbox with mail about the work comes first in the list, but costs never
 * count for it.
 */
export const chargedWork = <O extends { readonly kind: string }>(work: readonly O[]): O | undefined =>
  work.find(({ kind }) => kind !== "inbox") ?? work[0];

/** The idle ones of these agents that have work and no session. Only these can be started (readinessOf). */
export const withWork = query((db, p: { ids: string; now: number }, dialect) =>
  db
    .selectFrom("agents as worker")
    .select("worker.id")
    .where(sql<boolean>`worker.id in (${textsIn(p.ids, dialect)})`)
    .where("worker.status", "=", "idle")
    .where("worker.brain_type", "<>", "human")
    .where(
      sql<boolean>`not exists (select 1 from sessions s where s.agent_id = worker.id and s.ended_at is null)`,
    )
    .where((where) =>
      where.exists(
        where
          .selectFrom("outcomes as o")
          .select("o.id")
          .whereRef("o.responsible_id", "=", "worker.id")
          .where("o.status", "=", "open")
          .where((eb) => sql<boolean>`${workable(eb, p.now)} = 1`),
      ),
    ),
);

/** The next agents by id, for the slow sweep, which visits all agents in turn. */
export const agentsAfter = selection(
  "agents",
  [],
  (p: { after: string; limit: number }) =>
    sql`and id > ${p.after} and status = 'idle' order by id limit ${p.limit}`,
);

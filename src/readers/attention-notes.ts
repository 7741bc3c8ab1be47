import { sql } from "kysely";
import type { AttentionNote } from "../contract/attention.ts";
import { inWords, isNearlyUsedUp, percentSpent } from "../budgets/budget.ts";
import { poolName } from "../budgets/reservations.ts";
import { settingsOf } from "../dispatch/company-settings.ts";
import { headcountAndLimit } from "../hiring/headcount.ts";
import { selection } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { partyRef } from "./attention-items.ts";
import type { CompanySight } from "./sight.ts";
import * as text from "./texts.ts";

/**
 * Notes that need no decision yet. The board reads those of the whole company; a position reads its own and those of its direct
 * reports. The number of queries does not depend on the number of agents.
 */
export async function notesIn(tx: ReadTx, companyId: string, sight: CompanySight): Promise<AttentionNote[]> {
  return [
    ...budgetNotes(companyId, sight),
    ...(await growthNotes(tx, companyId, sight)),
    ...(await limitNotes(tx, companyId, sight)),
  ];
}

const day = 24 * 3_600_000;
const isNear = (count: number, most: number): boolean => count * 10 >= most * 8;
const companyRef = (companyId: string) => ({ kind: "company", id: companyId, title: null }) as const;

function knownAgent(sight: CompanySight, id: string) {
  const agent = sight.agentNamed(id);
  return agent !== undefined && agent.status !== "terminated" && sight.knows(agent) ? agent : undefined;
}

function budgetNotes(companyId: string, sight: CompanySight): AttentionNote[] {
  return sight.pools.flatMap((pool): AttentionNote[] => {
    if (sight.isShort(pool) || !isNearlyUsedUp(pool)) return [];
    const isCompanys = pool.id === companyId;
    const agent = knownAgent(sight, pool.id);
    if (isCompanys ? sight.you !== null : agent === undefined) return [];
    const figures = {
      spent: inWords(pool.measure, pool.spent),
      limit: inWords(pool.measure, (pool.limit ?? 0) - pool.handedDown),
    };
    return [
      {
        kind: "budget",
        subject: isCompanys ? companyRef(companyId) : partyRef(sight, pool.id),
        says: text.notes.budget(poolName(pool, agent?.name ?? ""), figures, percentSpent(pool)),
      },
    ];
  });
}

/** The suggestions of the last day (runtime/growth.ts). */
async function growthNotes(tx: ReadTx, companyId: string, sight: CompanySight): Promise<AttentionNote[]> {
  const rows = await tx.all(toldOfGrowth, { company_id: companyId, since: tx.now - day });
  return rows.flatMap(({ about, kind }): AttentionNote[] => {
    const agent = knownAgent(sight, about);
    const says = Object.entries(text.notes.growth).find(([sign]) => kind === `growth ${sign}`)?.[1];
    if (agent === undefined || says === undefined) return [];
    return [{ kind: "growth", subject: partyRef(sight, about), says: says(agent.name) }];
  });
}

async function limitNotes(tx: ReadTx, companyId: string, sight: CompanySight): Promise<AttentionNote[]> {
  const { maxOpenOutcomes, maxSessions } = await settingsOf(tx, companyId);
  const notes: AttentionNote[] = [];
  if (sight.you === null) {
    const subject = companyRef(companyId);
    const { count, most } = await headcountAndLimit(tx, companyId);
    if (isNear(count, most)) notes.push({ kind: "limit", subject, says: text.notes.agents(count, most) });
    if (sight.running >= maxSessions)
      notes.push({ kind: "limit", subject, says: text.notes.sessions(sight.running, maxSessions) });
  }
  for (const { id, name } of sight.agents) {
    const open = sight.loadOf(id);
    if (knownAgent(sight, id) !== undefined && isNear(open, maxOpenOutcomes))
      notes.push({
        kind: "limit",
        subject: partyRef(sight, id),
        says: text.notes.openOutcomes(name, open, maxOpenOutcomes),
      });
  }
  return notes;
}

const toldOfGrowth = selection(
  "notices",
  ["company_id"],
  (p: { since: number }) =>
    sql`and kind like 'growth %' and told_at > ${p.since} order by told_at, about, kind`,
);

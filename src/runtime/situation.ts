import { sql } from "kysely";
import type { AgentRow } from "../agents/table.ts";
import { openByRequester } from "../approvals/table.ts";
import { lineOf } from "../budgets/budget.ts";
import { costsOf } from "../budgets/costs.ts";
import { budgetPlaceOf } from "../budgets/table.ts";
import { memberById, memberName, reportsOf } from "../capabilities/members.ts";
import { holds } from "../capabilities/rights.ts";
import { type BudgetLine, measures } from "../contract/budgets.ts";
import type { Settings } from "../contract/companies.ts";
import { settingsOf } from "../dispatch/company-settings.ts";
import { fileById } from "../knowledge/table.ts";
import { countWaiting } from "../mail/table.ts";
import type { OutcomeRow } from "../outcomes/outcome.ts";
import { outcomeById } from "../outcomes/table.ts";
import { selection } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { shownReviews } from "./final-output/assignment.ts";
import { workOf } from "./work.ts";

/**
 * The situation of an agent when its session starts, as data. The session finds it in its workspace as briefing.json. The
 * briefing says the same in sentences. Raise the version when a key changes its meaning or disappears.
 */
export async function situationOf(tx: ReadTx, agent: AgentRow) {
  const { id, company_id: companyId } = agent;
  const settings = await settingsOf(tx, companyId);
  const boss = await memberById(tx, agent.boss_id);
  const mandate = await outcomeById(tx, agent.mandate_id);
  const state = await fileById(tx, agent.state_file_id);
  const work = await tx.all(workOf, { agentId: id, now: tx.now, limit: most });
  const owned = { responsible_id: id, now: tx.now, limit: most };
  const budget = await budgetOf(tx, agent);
  const delegated = [];
  for (const outcome of await tx.all(delegatedBy, { delegated_by: id, limit: most }))
    delegated.push({ ...shown(outcome), owner: await memberName(tx, outcome.responsible_id) });
  return {
    version: 1,
    now: new Date(tx.now).toISOString(),
    agent: { id, name: agent.name, role: agent.role },
    manager: boss === undefined ? null : { id: boss.id, name: boss.name },
    mandate: { ...shown(mandate), description: mandate.description },
    stateDocument: {
      file: agent.state_file_id,
      version: state?.version ?? 0,
      isStale: agent.state_stale === 1,
    },
    budget,
    shared: budget.length > 0 ? null : await sharedBy(tx, id, settings.sessionBudget),
    hiring: {
      allowed: await holds(tx, id, "org:hire", "use"),
      needsApproval: settings.requireBoardApprovalForNewAgents,
    },
    limits: {
      openOutcomes: settings.maxOpenOutcomes,
      delegatedParts: settings.maxDelegations,
      delegationDepth: settings.maxDelegationDepth,
    },
    inbox: await countWaiting(tx, companyId, id),
    workable: work.map((outcome) => ({
      ...shown(outcome),
      urgent: outcome.urgent === 1,
      important: outcome.important === 1,
    })),
    toDecide: (await shownReviews(tx, id, tx.now)).map(shown),
    delegated,
    submitted: (await tx.all(submittedBy, owned)).map(shown),
    blocked: (await tx.all(blockedOf, owned)).map((outcome) => ({
      ...shown(outcome),
      reason: outcome.blocked_reason ?? "",
      until: outcome.blocked_until === null ? null : new Date(outcome.blocked_until).toISOString(),
    })),
    pending: (await tx.all(openByRequester, { agentId: id, limit: most })).map(
      ({ id: approval, type, status }) => ({
        id: approval,
        type,
        status,
      }),
    ),
    reports: (await reportsOf(tx, id))
      .slice(0, most)
      .map(({ id: report, name, slug, role, status }) => ({ id: report, name, slug, role, status })),
  };
}
export type Situation = Awaited<ReturnType<typeof situationOf>>;

/** The most entries of a list. Tools show the rest. */
const most = 10;

const shown = ({ id, title, kind, status }: OutcomeRow) => ({ id, title, kind, status });

/**
 * The budgets that an agent may know of: its own and, for the root agent, the company's, because everyone who draws from that
 * one is below it. A budget shared with a manager would show what others spend.
 */
async function budgetOf(tx: ReadTx, agent: AgentRow): Promise<BudgetLine[]> {
  const { pools, companyId } = await budgetPlaceOf(tx, agent);
  return measures
    .map((measure) => pools[measure])
    .filter(({ id }) => id === agent.id || (agent.boss_id === null && id === companyId))
    .map((pool) => lineOf(pool.measure, pool));
}

/**
 * The budget line of an agent that shares its manager's budget. Nothing in it depends on what others spend (decision 0083). It
 * says what the agent and its reports have used this month, and what one session gets.
 */
async function sharedBy(tx: ReadTx, agentId: string, session: Settings["sessionBudget"]) {
  const { costUsd, inputTokens, outputTokens, sessions } = (await costsOf(tx, agentId)).total;
  return { used: { usd: costUsd, tokens: inputTokens + outputTokens, sessions }, session };
}

const delegatedBy = selection(
  "outcomes",
  ["delegated_by"],
  (p: { limit: number }) =>
    sql`and status = 'open' and delegated = 1 and kind <> 'mandate' order by num limit ${p.limit}`,
);

const submittedBy = selection(
  "outcomes",
  ["responsible_id"],
  (p: { limit: number }) => sql`and status = 'submitted' order by num limit ${p.limit}`,
);

const blockedOf = selection(
  "outcomes",
  ["responsible_id"],
  (p: { now: number; limit: number }) => sql`and status = 'open' and blocked_reason is not null
    and (blocked_until is null or blocked_until > ${p.now}) order by num limit ${p.limit}`,
);

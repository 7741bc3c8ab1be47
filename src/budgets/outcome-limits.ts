import { sql } from "kysely";
import { type Measure, measures, type OutcomeBudgetLine } from "../contract/budgets.ts";
import { settingsOf } from "../dispatch/company-settings.ts";
import type { Writing } from "../dispatch/context.ts";
import { upward } from "../capabilities/structure.ts";
import { stopWorkOn } from "../agents/table.ts";
import { tellOnce } from "../mail/notices.ts";
import { recordChange, outcomeFields } from "../outcomes/history.ts";
import { isLive, type OutcomeRow } from "../outcomes/outcome.ts";
import { outcomeById, saveOutcome } from "../outcomes/table.ts";
import { dynamic, selection, textQuery } from "../store/query.ts";
import { tables } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";
import { fromUnits, inUnits, inWords } from "./budget.ts";
import {
  budgetOfGoalUsedUp,
  budgetRaised,
  costLimitReached,
  goalStopped,
  limitedBy,
  outcomeStopped,
} from "./texts.ts";

/**
 * The limit for all work on an outcome and below it, over all months: the budget of a goal that has one, and the company's
 * maxOutcomeUsd for any other outcome. When it is used up, every open outcome below is blocked with that reason, the sessions
 * that work on them end, and people are told. The work continues when the budget or the limit is raised.
 */

/**
 * Stops the work if the outcome or an ancestor has used up its limit. Called before a session starts and after each report of
 * usage. Returns whether work was stopped.
 */
export async function stopAtLimit(writing: Writing, outcomeId: string | null): Promise<boolean> {
  if (outcomeId === null) return false;
  const { tx } = writing;
  const most = await mostUsd(writing);
  let isStopped = false;
  // The oldest comes first: if the whole is stopped, its parts need no notices.
  for (const { id } of await tx.all(limitedAbove, { id: outcomeId, all: most === null ? 0 : 1 })) {
    const outcome = await outcomeById(tx, id);
    const used = await usedUp(tx, outcome, most);
    if (used === undefined) continue;
    const reason = (used.isOwn ? budgetOfGoalUsedUp : costLimitReached)(id);
    const stopped: string[] = [];
    for (const { id: part } of await tx.all(openBelow, { id })) {
      const row = await outcomeById(tx, part);
      if (row.blocked_reason !== null) continue;
      const before = await outcomeFields(tx, row);
      await saveOutcome(tx, { ...row, blocked_reason: reason }, writing.actor);
      await recordChange(writing, part, before, { note: reason });
      stopped.push(part);
    }
    await stopWorkOn(writing, new Set([outcomeId, ...stopped]), reason);
    if (stopped.length > 0) await tell(writing, outcome, used, stopped.length);
    isStopped = true;
  }
  return isStopped;
}

interface Used {
  readonly limit: string;
  readonly spent: string;
  /** True if it is the outcome's own budget, and not the limit of the company. */
  readonly isOwn: boolean;
}

async function tell(
  writing: Writing,
  outcome: OutcomeRow,
  { limit, spent, isOwn }: Used,
  stopped: number,
): Promise<void> {
  const about = outcome.id;
  if (isOwn) {
    const text = goalStopped(outcome, limit, stopped);
    await tellOnce(writing, { about, kind: `budget ${limit}`, to: outcome.delegated_by, text });
    return;
  }
  for (const to of new Set([outcome.responsible_id, null]))
    await tellOnce(writing, {
      about,
      kind: `cost ${limit} ${to === null ? "board" : "owner"}`,
      to,
      text: outcomeStopped(outcome, { limit, spent, stopped, isOwner: to !== null }),
    });
}

/** Called after a change of the budget: unblocks the work if the budget allows more now. */
export async function releaseWork(writing: Writing, outcome: OutcomeRow): Promise<void> {
  const { tx } = writing;
  if (!isLive(outcome) || (await usedUp(tx, outcome, await mostUsd(writing))) !== undefined) return;
  for (const { id } of await tx.all(openBelow, { id: outcome.id })) {
    const row = await outcomeById(tx, id);
    if ([budgetOfGoalUsedUp, costLimitReached].some((reason) => row.blocked_reason === reason(outcome.id)))
      await unblock(writing, row);
  }
}

/** Called after a change of maxOutcomeUsd: unblocks the work that it allows now. */
export async function releaseAll(writing: Writing): Promise<void> {
  const { tx, companyId } = writing;
  const most = await mostUsd(writing);
  const isFree = new Map<string, boolean>();
  for (const row of await tx.all(blockedIn, { company_id: companyId })) {
    const id = limitedBy(row.blocked_reason);
    const limited = id === undefined ? undefined : await tx.first(outcomeRow, { id, company_id: companyId });
    if (limited === undefined) continue;
    const free = isFree.get(limited.id) ?? (await usedUp(tx, limited, most)) === undefined;
    isFree.set(limited.id, free);
    if (free) await unblock(writing, row);
  }
}

async function unblock(writing: Writing, row: OutcomeRow): Promise<void> {
  const before = await outcomeFields(writing.tx, row);
  await saveOutcome(writing.tx, { ...row, blocked_reason: null }, writing.actor);
  await recordChange(writing, row.id, before, { note: budgetRaised });
}

const mostUsd = async ({ tx, companyId }: Writing): Promise<number | null> =>
  (await settingsOf(tx, companyId)).maxOutcomeUsd;

/** The used-up limit. Standing outcomes and inboxes have none, because they would stay above it for ever. */
async function usedUp(tx: ReadTx, outcome: OutcomeRow, most: number | null): Promise<Used | undefined> {
  const own = budgetOf(outcome);
  const found = await reached(tx, outcome.id, limitsOf(outcome, most));
  if (found === undefined) return undefined;
  const { measure, limit, spent } = found;
  return {
    limit: inWords(measure, limit),
    spent: inWords(measure, spent),
    isOwn: own[measure] !== undefined,
  };
}

/** The measure of the outcome's own budget that is used up. */
export async function usedUpBudget(
  tx: ReadTx,
  outcome: Pick<OutcomeRow, "id" | "budget">,
): Promise<Measure | undefined> {
  return outcome.budget === null ? undefined : (await reached(tx, outcome.id, budgetOf(outcome)))?.measure;
}

type Limits = { readonly [measure in Measure]?: number | undefined };

const budgetOf = ({ budget }: Pick<OutcomeRow, "budget">): Limits =>
  tables.outcomes.budget.parse(budget) ?? {};

/** A goal with its own budget in dollars has that budget instead of the company's limit. */
function limitsOf(outcome: Pick<OutcomeRow, "kind" | "budget">, most: number | null): Limits {
  const isWork = outcome.kind === "work" || outcome.kind === "integration";
  return { ...(most !== null && isWork && { usd: most }), ...budgetOf(outcome) };
}

/** What each of these outcomes may use over all months, and what is left of it. */
export async function outcomeBudgets(
  tx: ReadTx,
  ids: readonly string[],
  most: number | null,
): Promise<ReadonlyMap<string, OutcomeBudgetLine[]>> {
  const rows = ids.length === 0 ? [] : await tx.all(limitedAmong(ids), {});
  return new Map(
    rows.map((row) => {
      const [own, limits] = [budgetOf(row), limitsOf(row, most)];
      const lines = measures.flatMap((measure) => {
        const limit = limits[measure];
        const spent = fromUnits(measure, row[measure]);
        if (limit === undefined) return [];
        return [{ measure, limit, spent, left: Math.max(0, limit - spent), own: own[measure] !== undefined }];
      });
      return [row.id, lines];
    }),
  );
}

/** The first of these limits that the work has reached, in units. */
async function reached(tx: ReadTx, id: string, limits: Limits) {
  const used = await tx.first(spentOn, { id });
  for (const measure of measures) {
    const amount = limits[measure];
    const spent = used?.[measure] ?? 0;
    if (amount === undefined || spent < inUnits(measure, amount)) continue;
    return { measure, limit: inUnits(measure, amount), spent };
  }
  return undefined;
}

/** The outcome and its ancestors that have a budget. If the company limits all work, all of them that are work. */
const limitedAbove = textQuery(
  (p: { id: string; all: number }) =>
    sql<{ id: string }>`${upward(sql`select id from outcomes where id = ${p.id}`)}
      select o.id from up join outcomes o on o.id = up.id
      where o.status in ('open', 'submitted')
        and (o.budget is not null or (${p.all} = 1 and o.kind in ('work', 'integration')))
      order by o.num`,
);

const blockedIn = selection(
  "outcomes",
  ["company_id"],
  sql`and status = 'open' and blocked_reason like 'the outcome % has reached its cost limit'`,
);
const outcomeRow = selection("outcomes", ["id", "company_id"]);

const openBelow = textQuery(
  (p: { id: string }) =>
    sql<{ id: string }>`with recursive down(id) as (
        select id from outcomes where id = ${p.id}
        union select e.child_id from edges e join down on e.parent_id = down.id)
      select o.id from down join outcomes o on o.id = down.id
      where o.status = 'open' and o.kind in ('work', 'integration', 'inbox') order by o.num`,
);

const sums = sql`cast(coalesce(sum(c.usd), 0) as double precision) as usd,
  cast(coalesce(sum(c.input_tokens + c.output_tokens), 0) as double precision) as tokens,
  cast(coalesce(sum(c.sessions), 0) as double precision) as sessions`;

const spentOn = textQuery(
  (p: { id: string }) =>
    sql<Record<Measure, number>>`select ${sums} from costs c
      where c.kind = 'outcome' and c.id = ${p.id} and c.own = 0`,
);

type Limited = Pick<OutcomeRow, "id" | "kind" | "budget"> & Record<Measure, number>;
const limitedAmong = (ids: readonly string[]) =>
  dynamic<Limited>((db) => {
    const text = sql<Limited>`select o.id, o.kind, o.budget, ${sums} from outcomes o
      left join costs c on c.kind = 'outcome' and c.id = o.id and c.own = 0
      where o.id in (${sql.join(ids)}) group by o.id, o.kind, o.budget`;
    return { compile: () => text.compile(db) };
  }, []);

import { sql } from "kysely";
import { memberById } from "../capabilities/members.ts";
import type { CallContext } from "../dispatch/context.ts";
import { type Db, query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { isGoal, type OutcomeRow } from "./outcome.ts";
import { childrenOf, outcomeById, parentsOf } from "./table.ts";
import { combinesResults, tooDeep, tooManyOpen, tooManyParts } from "./texts.ts";

/**
 * Four limits keep work from multiplying without end. They bind agents, not the board:
 *   - how many parts of one outcome may be delegated (maxDelegations)
 *   - how many times work may be delegated further (maxDelegationDepth)
 *   - an integration can't be delegated
 *   - how many open outcomes one agent may have (maxOpenOutcomes)
 */

/**
 * How many times the work was delegated on the way down to this outcome. A mandate counts from zero again, because it
 * describes a position and not a task. Where several parents lead here, the longest way counts.
 */
export async function depthOf(tx: ReadTx, id: string): Promise<number> {
  const known = new Map<string, number>();
  const depth = async (outcomeId: string): Promise<number> => {
    const before = known.get(outcomeId);
    if (before !== undefined) return before;
    const outcome = await outcomeById(tx, outcomeId);
    let most = 0;
    if (!isStanding(outcome))
      for (const parent of await parentsOf(tx, outcomeId)) most = Math.max(most, await depth(parent.id));
    const own = isStanding(outcome) ? 0 : most + stepsOf(outcome);
    known.set(outcomeId, own);
    return own;
  };
  return depth(id);
}

/**
 * The longest chain of delegations from this outcome downward, including its own delegation. If the outcome moves deeper, the
 * whole chain does.
 */
async function heightOf(tx: ReadTx, id: string): Promise<number> {
  const known = new Map<string, number>();
  const height = async (outcome: Parameters<typeof stepsOf>[0] & { id: string }): Promise<number> => {
    const before = known.get(outcome.id);
    if (before !== undefined) return before;
    let most = 0;
    for (const child of await childrenOf(tx, outcome.id))
      if (!isStanding(child)) most = Math.max(most, await height(child));
    known.set(outcome.id, most + stepsOf(outcome));
    return most + stepsOf(outcome);
  };
  return height(await outcomeById(tx, id));
}

/** Refuses if this outcome or any outcome below it would be too deep, counted from `above` delegations. */
export async function demandDepth(call: CallContext, above: number, outcomeId: string): Promise<void> {
  if (call.actor.agentId === null) return;
  const { maxDelegationDepth } = await call.settings();
  const depth = above + (await heightOf(call.tx, outcomeId));
  if (depth > maxDelegationDepth)
    throw tooDeep(
      await outcomeById(call.tx, outcomeId),
      "or the work below it would be",
      depth,
      maxDelegationDepth,
    );
}

/** Refuses if `parts` more delegated parts of this outcome would exceed the limit. */
export async function demandFanOut(
  call: CallContext,
  outcome: Pick<OutcomeRow, "id" | "title" | "kind">,
  parts: number,
): Promise<void> {
  const { tx, actor } = call;
  await demandNotIntegration(tx, outcome);
  if (actor.agentId === null) return;
  const { maxDelegations, maxDelegationDepth } = await call.settings();
  const depth = (await depthOf(tx, outcome.id)) + 1;
  if (depth > maxDelegationDepth) throw tooDeep(outcome, "is already", depth - 1, maxDelegationDepth);
  if (parts === 0 || isStanding(outcome)) return;
  const delegated = (await childrenOf(tx, outcome.id)).filter(
    (part) => part.delegated === 1 && part.kind !== "mandate",
  ).length;
  if (delegated + parts > maxDelegations) throw tooManyParts(outcome, delegated, parts, maxDelegations);
}

/** The agent that divided an outcome combines the results itself. Delegating an integration, or work below one, is refused. */
export async function demandNotIntegration(tx: ReadTx, outcome: Pick<OutcomeRow, "id">): Promise<void> {
  const frontier = [outcome.id];
  const seen = new Set(frontier);
  for (let id = frontier.pop(); id !== undefined; id = frontier.pop()) {
    const row = await outcomeById(tx, id);
    if (row.kind === "integration") throw combinesResults(row);
    if (row.delegated === 1 || isStanding(row)) continue;
    for (const parent of await parentsOf(tx, id)) {
      if (seen.has(parent.id)) continue;
      seen.add(parent.id);
      frontier.push(parent.id);
    }
  }
}

export async function demandRoomForOutcomes(
  call: CallContext,
  agentId: string | null,
  more: number,
): Promise<void> {
  if (call.actor.agentId === null || agentId === null) return;
  const { maxOpenOutcomes } = await call.settings();
  const bound = (await call.tx.first(atMostLive, liveUpTo(maxOpenOutcomes, agentId, more)))?.count ?? 0;
  if (bound + more <= maxOpenOutcomes) return;
  const live = (await call.tx.first(liveOf, { agentId, most: maxOpenOutcomes + 1 }))?.count ?? 0;
  if (live + more <= maxOpenOutcomes) return;
  const who =
    agentId === call.actor.agentId ? "You" : ((await memberById(call.tx, agentId))?.name ?? agentId);
  throw tooManyOpen(who, live + more, maxOpenOutcomes);
}

/** Announces to the store that the number of open outcomes will be read. */
export async function openOutcomesAhead(
  call: CallContext,
  agentId: string | null,
  more: number,
): Promise<void> {
  if (agentId === null) return;
  const { maxOpenOutcomes } = await call.settings();
  call.tx.ahead(atMostLive, liveUpTo(maxOpenOutcomes, agentId, more));
}

/** Counting stops one above the limit: that is enough to decide, at a fixed cost. */
const liveUpTo = (limit: number, agentId: string, more: number) => ({
  agentId,
  most: limit + 1,
  enough: limit - more,
});

/** A goal is where work begins. The board's delegation of it to the root agent is not counted. */
const stepsOf = (outcome: Pick<OutcomeRow, "kind" | "delegated" | "delegated_by">): number =>
  isGoal(outcome) ? 0 : outcome.delegated;

const isStanding = ({ kind }: Pick<OutcomeRow, "kind">): boolean =>
  kind === "perpetual" || kind === "mandate";

const live = (db: Db, p: { agentId: string; most: number }) =>
  db
    .selectFrom((eb) =>
      eb
        .selectFrom("outcomes")
        .select("num")
        .where("responsible_id", "=", p.agentId)
        .where("status", "in", ["open", "submitted"])
        .limit(p.most)
        .as("live"),
    )
    .select(sql<number>`count(*)`.as("count"));

const liveOf = query(live);

/**
 * An upper bound for the number of open outcomes. In a small company the whole table has fewer rows than the limit, so nothing
 * is counted. Further writes of a batch add to this number.
 */
const atMostLive = query(
  (db, p: { agentId: string; most: number; enough: number }) =>
    db.selectNoFrom((eb) => {
      const last = eb.selectFrom("outcomes").select(sql<number>`max(num)`.as("last"));
      return eb.case().when(last, "<=", p.enough).then(last).else(live(db, p)).end().as("count");
    }),
  {
    counts: {
      table: "outcomes",
      by: { responsible_id: "agentId" },
      where: { status: ["open", "submitted"] },
    },
  },
);

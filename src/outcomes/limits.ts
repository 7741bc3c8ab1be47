import { sql } from "kysely";
import { Refusal } from "../contract/refusal.ts";
import type { CallContext } from "../dispatch/context.ts";
import { query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import type { OutcomeRow } from "./outcome.ts";
import { childrenOf, outcomeById, parentsOf } from "./table.ts";

/**
 * What keeps work from multiplying: an agent hands out a few parts of one outcome, work is handed on a few times, what came
 * back to be put together is not handed out again, and nobody piles up outcomes without end. The board is not bound.
 */

/** How many times the work was handed on to get here. A standing mandate begins anew: it is a position, not a task. */
export async function depthOf(tx: ReadTx, id: string): Promise<number> {
  const known = new Map<string, number>();
  const depth = async (outcomeId: string): Promise<number> => {
    const before = known.get(outcomeId);
    if (before !== undefined) return before;
    const { kind, delegated } = await outcomeById(tx, outcomeId);
    let most = 0;
    if (!isStanding({ kind }))
      for (const parent of await parentsOf(tx, outcomeId)) most = Math.max(most, await depth(parent.id));
    const own = isStanding({ kind }) ? 0 : most + delegated;
    known.set(outcomeId, own);
    return own;
  };
  return depth(id);
}

/** The most hand-overs on a way down from an outcome, its own included: what is below comes along when it goes deeper. */
async function heightOf(tx: ReadTx, id: string): Promise<number> {
  const known = new Map<string, number>();
  const height = async (outcome: Pick<OutcomeRow, "id" | "kind" | "delegated">): Promise<number> => {
    const before = known.get(outcome.id);
    if (before !== undefined) return before;
    let most = 0;
    for (const child of await childrenOf(tx, outcome.id))
      if (!isStanding(child)) most = Math.max(most, await height(child));
    known.set(outcome.id, most + outcome.delegated);
    return most + outcome.delegated;
  };
  return height(await outcomeById(tx, id));
}

/** Would this outcome, with all below it, lie too deep under so many hand-overs? */
export async function demandDepth(call: CallContext, above: number, outcomeId: string): Promise<void> {
  if (call.actor.agentId === null) return;
  const { maxDelegationDepth } = await call.settings();
  const depth = above + (await heightOf(call.tx, outcomeId));
  if (depth > maxDelegationDepth)
    throw new Refusal(
      "limited",
      `It or what is below it would have been handed on ${depth} times; work goes no deeper than ${maxDelegationDepth}.`,
      "Do it yourself, or take back what was handed on.",
    );
}

/** May so many further parts of this outcome be handed out? */
export async function demandFanOut(
  call: CallContext,
  outcome: Pick<OutcomeRow, "id" | "kind">,
  parts: number,
): Promise<void> {
  const { tx, actor } = call;
  await demandNotIntegration(tx, outcome);
  if (actor.agentId === null) return;
  const { maxDelegations, maxDelegationDepth } = await call.settings();
  const depth = (await depthOf(tx, outcome.id)) + 1;
  if (depth > maxDelegationDepth)
    throw new Refusal(
      "limited",
      `This work was handed on ${depth - 1} times already; it goes no deeper than ${maxDelegationDepth}.`,
      "Do it yourself, or submit what you have and say what is missing.",
    );
  if (parts === 0 || isStanding(outcome)) return;
  const handedOut = (await childrenOf(tx, outcome.id)).filter(
    ({ delegated, kind }) => delegated === 1 && kind !== "mandate",
  ).length;
  if (handedOut + parts > maxDelegations)
    throw new Refusal(
      "limited",
      `${handedOut} parts of this outcome were handed out already; at most ${maxDelegations} are.`,
      "Do the rest yourself, or put what belongs together into one part.",
    );
}

/** What came back is put together by whoever handed it out, not handed out once more. */
export async function demandNotIntegration(tx: ReadTx, outcome: Pick<OutcomeRow, "id">): Promise<void> {
  const frontier = [outcome.id];
  const seen = new Set(frontier);
  for (let id = frontier.pop(); id !== undefined; id = frontier.pop()) {
    const row = await outcomeById(tx, id);
    if (row.kind === "integration")
      throw new Refusal(
        "refused",
        `This puts together what others did ("${row.title.slice(0, 100)}"); it is not handed out again, and nobody is hired for it.`,
        "Put it together yourself. What is missing, send back to whoever should have done it.",
      );
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
  // One more than allowed answers the question; counting on would cost more the more there are.
  const live =
    (
      await call.tx.first(liveOf, {
        agentId,
        most: maxOpenOutcomes + 1,
        enough: maxOpenOutcomes - more,
      })
    )?.count ?? 0;
  if (live + more <= maxOpenOutcomes) return;
  throw new Refusal(
    "limited",
    `${agentId === call.actor.agentId ? "You answer" : `${agentId} answers`} for ${live} live outcomes; nobody gets more than ${maxOpenOutcomes}.`,
    "Complete or close some first.",
  );
}

const isStanding = ({ kind }: Pick<OutcomeRow, "kind">): boolean =>
  kind === "perpetual" || kind === "mandate";

/** Where there are not so many in all, nobody has them, and nothing is counted. */
const liveOf = query((db, p: { agentId: string; most: number; enough: number }) =>
  db.selectNoFrom((eb) =>
    eb
      .case()
      .when(eb.selectFrom("outcomes").select(sql<number>`max(num)`.as("last")), "<=", p.enough)
      .then(sql<number>`0`)
      .else(
        eb
          .selectFrom(
            eb
              .selectFrom("outcomes")
              .select("num")
              .where("responsible_id", "=", p.agentId)
              .where("status", "in", ["open", "submitted"])
              .limit(p.most)
              .as("live"),
          )
          .select(sql<number>`count(*)`.as("count")),
      )
      .end()
      .as("count"),
  ),
);

import { type Measure, measures } from "../contract/budgets.ts";
import type { Move } from "../contract/reorganization.ts";
import { memberById } from "../capabilities/members.ts";
import { inWords } from "../budgets/budget.ts";
import { budgetsOf, type BudgetPart, sourcesOf } from "../budgets/table.ts";
import type { ReadTx } from "../store/store.ts";
import type { Difference } from "./images.ts";

/**
 * Which budget is part of which, and what those draw from who have none, before and after a change. It follows from the
 * tree, so no row says it: a budget far below somebody who moves is part of another one afterwards all the same.
 */
export interface Funding {
  readonly parts: ReadonlyMap<string, BudgetPart>;
  /** Of agents with none of their own: whose budget they draw from; null is the company's. */
  readonly sources: ReadonlyMap<string, string | null>;
}

export async function fundingOf(tx: ReadTx, companyId: string, agents: readonly string[]): Promise<Funding> {
  const parts = new Map(
    (await budgetsOf(tx, companyId)).map((part) => [keyOf(part.agentId, part.measure), part]),
  );
  const sources = new Map<string, string | null>();
  for (const id of agents)
    for (const [measure, source] of await sourcesOf(tx, id))
      if (source !== id) sources.set(keyOf(id, measure), source);
  return { parts, sources };
}

/** No amounts that change while somebody looks at the plan: what is spent goes with the budget, however much it is. */
export async function fundingMoves(
  tx: ReadTx,
  before: Funding,
  after: Funding,
  found: readonly Difference[],
): Promise<Move[]> {
  const moves: Move[] = [];
  const tell = (id: string, what: string, from: string | null, to: string | null): void =>
    void moves.push({ kind: "budget", id, what, from, to });
  const nameOf = async (id: string): Promise<string> => (await memberById(tx, id))?.name ?? "nobody";
  const owner = async (id: string | null | undefined): Promise<string> =>
    typeof id === "string" ? nameOf(id) : "the company";
  const moved = new Set(
    found
      .filter(({ table, before: old, after: now }) => table === "agents" && old !== null && now?.["boss_id"])
      .map(({ key }) => String(key["id"])),
  );
  for (const key of new Set([...before.parts.keys(), ...after.parts.keys()])) {
    const [was, is] = [before.parts.get(key), after.parts.get(key)];
    const part = is ?? was;
    const isSame = was?.above === is?.above && was?.amount === is?.amount;
    // Whoever gets another boss takes its budget along, also where that stays part of the same one.
    if (part === undefined || (isSame && !moved.has(part.agentId))) continue;
    const { agentId, measure, amount } = part;
    const name = await nameOf(agentId);
    const [from, to] = [was && (await owner(was.above)), is && (await owner(is.above))];
    tell(agentId, `${inWords(measure, amount)} a month of ${name}, part of`, from ?? null, to ?? null);
    if (was !== undefined && is === undefined)
      tell(agentId, `what ${name} has spent of it (${measure}), paid by`, name, await owner(was.above));
  }
  for (const id of moved)
    for (const measure of measures) {
      const [was, is] = [before.sources.get(keyOf(id, measure)), after.sources.get(keyOf(id, measure))];
      if (was === undefined || is === undefined || was === is) continue;
      const what = `${measure} of ${await nameOf(id)} and those below it without a budget, taken from`;
      tell(id, what, await owner(was), await owner(is));
    }
  return moves;
}

const keyOf = (agentId: string, measure: Measure): string => `${agentId} ${measure}`;

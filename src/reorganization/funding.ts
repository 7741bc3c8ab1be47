import { type Measure, measures } from "../contract/budgets.ts";
import type { Move } from "../contract/reorganization.ts";
import { memberById } from "../capabilities/members.ts";
import { inWords } from "../budgets/budget.ts";
import { budgetsOf, type BudgetPart, sourcesOf } from "../budgets/table.ts";
import type { ReadTx } from "../store/store.ts";
import type { Difference } from "./images.ts";

/**
 * Which budget is part of which, and which budget agents without a separate one draw from. Both follow from the tree and
 * stand in no row: when an agent moves, a budget far below it can become part of another one.
 */
export interface Funding {
  readonly parts: ReadonlyMap<string, BudgetPart>;
  /** For agents without a separate budget: the owner of the budget they draw from. Null stands for the company. */
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

/** Leaves out amounts spent so far, because they change while a person looks at the plan. They move with the budget. */
export async function fundingMoves(
  tx: ReadTx,
  before: Funding,
  after: Funding,
  found: readonly Difference[],
): Promise<Move[]> {
  const moves: Move[] = [];
  const tell = (id: string, what: string, from: string | null, to: string | null): void =>
    void moves.push({ kind: "budget", id, what, from, to });
  const nameOf = async (id: string): Promise<string> => (await memberById(tx, id))?.name ?? "no one";
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
    // An agent that moves takes its budget along, even if the budget stays part of the same one.
    if (part === undefined || (isSame && !moved.has(part.agentId))) continue;
    const { agentId, measure, amount } = part;
    const name = await nameOf(agentId);
    const [from, to] = [was && (await owner(was.above)), is && (await owner(is.above))];
    tell(
      agentId,
      `The budget of ${name} (${inWords(measure, amount)} a month) is part of the budget of`,
      from ?? null,
      to ?? null,
    );
    if (was !== undefined && is === undefined)
      tell(agentId, `What ${name} has spent (${measure}) is charged to`, name, await owner(was.above));
  }
  for (const id of moved)
    for (const measure of measures) {
      const [was, is] = [before.sources.get(keyOf(id, measure)), after.sources.get(keyOf(id, measure))];
      if (was === undefined || is === undefined || was === is) continue;
      const what = `${await nameOf(id)} and agents below it without a separate budget draw ${measure} from`;
      tell(id, what, await owner(was), await owner(is));
    }
  return moves;
}

const keyOf = (agentId: string, measure: Measure): string => `${agentId} ${measure}`;

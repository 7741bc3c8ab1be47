import { type Measure, measures } from "../contract/budgets.ts";
import type { Move } from "../contract/reorganization.ts";
import { memberById } from "../capabilities/members.ts";
import { inWords } from "../budgets/budget.ts";
import { budgetsOf, type BudgetPart, sourcesOf } from "../budgets/table.ts";
import { brokenRoute } from "../mail/post.ts";
import type { MessageRow } from "../mail/table.ts";
import { dynamic } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { type Difference, textIn } from "./images.ts";

/**
 * Effects of a change that no row shows. They follow from the tree: when an agent moves, a budget far below it can become part
 * of another one, and a deferred message can lose its route. This function notes the state before the change. It returns a
 * function that describes, after the change, what is different.
 */
export async function effectsOn(
  tx: ReadTx,
  companyId: string,
  agents: readonly string[],
): Promise<(found: readonly Difference[]) => Promise<Move[]>> {
  const funding = await fundingOf(tx, companyId, agents);
  const posted = await onTheirWay(tx, agents);
  return async (found) => [
    ...(await fundingMoves(tx, funding, await fundingOf(tx, companyId, agents), found)),
    ...(await lost(tx, posted)),
  ];
}

interface Funding {
  readonly parts: ReadonlyMap<string, BudgetPart>;
  /** For agents without a separate budget: the owner of the budget they draw from. Null means the company. */
  readonly sources: ReadonlyMap<string, string | null>;
}

async function fundingOf(tx: ReadTx, companyId: string, agents: readonly string[]): Promise<Funding> {
  const parts = new Map(
    (await budgetsOf(tx, companyId)).map((part) => [keyOf(part.agentId, part.measure), part]),
  );
  const sources = new Map<string, string | null>();
  for (const id of agents)
    for (const [measure, source] of await sourcesOf(tx, id))
      if (source !== id) sources.set(keyOf(id, measure), source);
  return { parts, sources };
}

/** Leaves out spent amounts, because they change while a person looks at the plan. They move with the budget. */
async function fundingMoves(
  tx: ReadTx,
  before: Funding,
  after: Funding,
  found: readonly Difference[],
): Promise<Move[]> {
  const moves: Move[] = [];
  const tell = (id: string, what: string, from: string | null, to: string | null): void =>
    void moves.push({ kind: "budget", id, what, from, to });
  const owner = (id: string | null): Promise<string> => nameOf(tx, id, "the company");
  const moved = new Set(
    found
      .filter(({ table, before: old, after: now }) => table === "agents" && old !== null && now?.["boss_id"])
      .map(({ key }) => textIn(key["id"])),
  );
  for (const key of new Set([...before.parts.keys(), ...after.parts.keys()])) {
    const [was, is] = [before.parts.get(key), after.parts.get(key)];
    const part = is ?? was;
    const isSame = was?.above === is?.above && was?.amount === is?.amount;
    // An agent that moves takes its budget along, even if the budget stays part of the same one above.
    if (part === undefined || (isSame && !moved.has(part.agentId))) continue;
    const { agentId, measure, amount } = part;
    const name = await nameOf(tx, agentId);
    const from = was === undefined ? null : await owner(was.above);
    const to = is === undefined ? null : await owner(is.above);
    if (isSame) {
      tell(agentId, `${name} keeps its budget of`, null, `${inWords(measure, amount)} a month`);
      continue;
    }
    tell(
      agentId,
      `The budget of ${name} (${inWords(measure, amount)} a month) is part of the budget of`,
      from,
      to,
    );
    if (to === null) tell(agentId, `What ${name} has spent (${measure}) is charged to`, name, from);
  }
  for (const id of moved)
    for (const measure of measures) {
      const [was, is] = [before.sources.get(keyOf(id, measure)), after.sources.get(keyOf(id, measure))];
      if (was === undefined || is === undefined || was === is) continue;
      const what = `${await nameOf(tx, id)} and agents below it without a separate budget draw ${measure} from`;
      tell(id, what, await owner(was), await owner(is));
    }
  return moves;
}

const keyOf = (agentId: string, measure: Measure): string => `${agentId} ${measure}`;

/** Deferred messages to or from these agents that would be delivered at present. */
async function onTheirWay(tx: ReadTx, agents: readonly string[]): Promise<MessageRow[]> {
  if (agents.length === 0) return [];
  const rows: MessageRow[] = await tx.all(
    dynamic((db) =>
      db
        .selectFrom("messages")
        .selectAll()
        .where("delivered_at", "is", null)
        .where("failure", "is", null)
        .where((eb) => eb.or([eb("to_id", "in", agents), eb("from_id", "in", agents)]))
        .orderBy("deliver_at")
        .orderBy("num"),
    ),
    {},
  );
  const coming: MessageRow[] = [];
  for (const row of rows) if ((await brokenRoute(tx, row)) === null) coming.push(row);
  return coming;
}

/** The messages among them that can no longer be delivered after the change. */
async function lost(tx: ReadTx, posted: readonly MessageRow[]): Promise<Move[]> {
  const moves: Move[] = [];
  for (const message of posted) {
    if ((await brokenRoute(tx, message)) === null) continue;
    const what = `A message from ${await nameOf(tx, message.from_id, "the board")}, due ${new Date(message.deliver_at).toISOString()}, goes to`;
    const from = await nameOf(tx, message.to_id, "the board");
    moves.push({ kind: "mail", id: message.id, what, from, to: null });
  }
  return moves;
}

async function nameOf(tx: ReadTx, id: string | null, none = "no one"): Promise<string> {
  return id === null ? none : ((await memberById(tx, id))?.name ?? "no one");
}

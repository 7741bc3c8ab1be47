import { sql } from "kysely";
import * as contract from "../contract/outcomes.ts";
import { Refusal } from "../contract/refusal.ts";
import { guarded } from "../capabilities/guarded.ts";
import { defaultPage, numberCursor, pageAfter } from "../capabilities/page.ts";
import { outcomeRights, readsBelow } from "../capabilities/structure.ts";
import { dynamic, query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import type { OutcomeRow } from "./outcome.ts";
import { childrenOf, outcomeById, parentsOf, presentRow, statusOf } from "./table.ts";
import { workable } from "./workable.ts";

/** Operations that only read outcomes. Each is bounded, so that no reader holds up the writers. */

type Listed = OutcomeRow & { responsible_name: string | null; workable: number };

const onMine = guarded(contract.myOutcomes, async ({ tx, actor, input }) => {
  if (actor.agentId === null)
    throw new Refusal(
      "refused",
      "The board is not responsible for outcomes.",
      "List those of a company or of an agent.",
    );
  return listOf(tx, actor.agentId, input);
});

const onListOfAgent = guarded(contract.listAgentOutcomes, ({ tx, input }) => listOf(tx, input.id, input));

const onList = guarded(contract.listOutcomes, async ({ tx, companyId, input }) => {
  const before = numberCursor(input.cursor, Number.MAX_SAFE_INTEGER);
  const rows = await tx.all(
    dynamic((db) => {
      let list = db
        .selectFrom("outcomes as o")
        .leftJoin("agents as r", "r.id", "o.responsible_id")
        .selectAll("o")
        .select("r.name as responsible_name")
        .select((eb) => workable(eb, tx.now).as("workable"))
        .where("o.company_id", "=", companyId)
        .where("o.num", "<", before);
      if (input.status !== undefined) list = list.where("o.status", "=", input.status);
      return list.orderBy("o.num", "desc").limit((input.limit ?? defaultPage) + 1);
    }),
    {},
  );
  const { page, nextCursor } = pageAfter(rows, input.limit, (row) => String(row.num));
  return { outcomes: page.map(presentListed), nextCursor };
});

const onAncestors = guarded(contract.viewAncestors, async ({ tx, input }) => {
  const chains: string[][] = [];
  const known = new Map<string, OutcomeRow>();
  let truncated = false;
  const climb = async (id: string, chain: readonly string[]): Promise<void> => {
    const parents = await parentsOf(tx, id);
    if (parents.length === 0 && chain.length > 0) chains.push([...chain]);
    for (const parent of parents) {
      if (chains.length >= mostChains) {
        truncated = true;
        return;
      }
      if (!known.has(parent.id)) known.set(parent.id, await outcomeById(tx, parent.id));
      await climb(parent.id, [...chain, parent.id]);
    }
  };
  await climb(input.id, []);
  const ancestors = [...known.values()].map(({ id, title, status, description }) => ({
    id,
    title,
    status: statusOf(status),
    description,
  }));
  return { id: input.id, ancestors, chains, truncated };
});

const onSubtree = guarded(contract.viewSubtree, async ({ tx, actor, input }) => {
  const limit = input.limit ?? 1000;
  const whole = actor.agentId === null || (await readsBelow(tx, actor.agentId, input.id));
  const rows =
    whole || actor.agentId === null
      ? await tx.all(below, { id: input.id, limit: limit + 1 })
      : await readableBelow(tx, actor.agentId, input.id, limit + 1);
  const page = rows.slice(0, limit);
  const inPage = new Set(page.map(({ id }) => id));
  const parentsById = new Map<string, string[]>();
  for (const { parent_id, child_id } of await edgesAmong(
    tx,
    page.map(({ id }) => id),
  )) {
    if (inPage.has(parent_id)) parentsById.set(child_id, [...(parentsById.get(child_id) ?? []), parent_id]);
  }
  return {
    id: input.id,
    outcomes: page.map((row) => ({ ...presentRow(row), parents: parentsById.get(row.id) ?? [] })),
    truncated: rows.length > limit,
  };
});

export const readHandlers = [onMine, onList, onListOfAgent, onAncestors, onSubtree];

const mostChains = 100;

/** In the order to work on them: important before unimportant, urgent before not, then as they came. */
async function listOf(
  tx: ReadTx,
  agentId: string,
  input: { status?: string | undefined; limit?: number | undefined; cursor?: string | undefined },
) {
  const key = sql<number>`(3 - 2 * o.important - o.urgent) * 1000000000000 + o.num`;
  const rows = await tx.all(
    dynamic((db) => {
      let list = db
        .selectFrom("outcomes as o")
        .leftJoin("agents as r", "r.id", "o.responsible_id")
        .selectAll("o")
        .select(["r.name as responsible_name", key.as("place")])
        .select((eb) => workable(eb, tx.now).as("workable"))
        .where("o.responsible_id", "=", agentId)
        .where(key, ">", numberCursor(input.cursor));
      if (input.status !== undefined) list = list.where("o.status", "=", input.status);
      return list.orderBy(key).limit((input.limit ?? defaultPage) + 1);
    }),
    {},
  );
  const { page, nextCursor } = pageAfter(rows, input.limit, (row) => String(row.place));
  return { outcomes: page.map(presentListed), nextCursor };
}

function presentListed(row: Listed) {
  return { ...presentRow(row), workable: row.workable === 1 };
}

/** The part of a subtree an agent may read when it reaches the top only as a why: level by level, skipping the rest. */
async function readableBelow(
  tx: ReadTx,
  agentId: string,
  topId: string,
  limit: number,
): Promise<(OutcomeRow & { responsible_name: string | null })[]> {
  const found: (OutcomeRow & { responsible_name: string | null })[] = [];
  const frontier = [topId];
  const seen = new Set(frontier);
  for (let id = frontier.shift(); id !== undefined && found.length < limit; id = frontier.shift()) {
    const row = await tx.first(oneRow, { id });
    if (row !== undefined) found.push(row);
    for (const child of await childrenOf(tx, id)) {
      if (seen.has(child.id) || !(await outcomeRights(tx, agentId, child.id)).read) continue;
      seen.add(child.id);
      frontier.push(child.id);
    }
  }
  return found;
}

async function edgesAmong(
  tx: ReadTx,
  ids: readonly string[],
): Promise<{ parent_id: string; child_id: string }[]> {
  const edges = [];
  // In slices: a statement takes a bounded number of parameters.
  for (let start = 0; start < ids.length; start += 500) {
    const slice = ids.slice(start, start + 500);
    edges.push(
      ...(await tx.all(
        dynamic((db) =>
          db.selectFrom("edges").select(["parent_id", "child_id"]).where("child_id", "in", slice),
        ),
        {},
      )),
    );
  }
  return edges;
}

const oneRow = query((db, p: { id: string }) =>
  db
    .selectFrom("outcomes as o")
    .leftJoin("agents as r", "r.id", "o.responsible_id")
    .selectAll("o")
    .select("r.name as responsible_name")
    .where("o.id", "=", p.id),
);

const below = query((db, p: { id: string; limit: number }) =>
  db
    .withRecursive("down(id)", (q) =>
      q
        .selectFrom("outcomes")
        .select("id")
        .where("id", "=", p.id)
        .union(
          q
            .selectFrom("edges")
            .innerJoin("down", "down.id", "edges.parent_id")
            .select("edges.child_id as id"),
        ),
    )
    .selectFrom("down")
    .innerJoin("outcomes as o", "o.id", "down.id")
    .leftJoin("agents as r", "r.id", "o.responsible_id")
    .selectAll("o")
    .select("r.name as responsible_name")
    .limit(p.limit),
);

import { type RawBuilder, sql } from "kysely";
import { listGoals } from "../contract/goals.ts";
import * as contract from "../contract/outcomes.ts";
import { guarded } from "../dispatch/guarded.ts";
import { cursorRow, defaultPage, pageAfter, type PageInput } from "../dispatch/page.ts";
import { findMember } from "../capabilities/members.ts";
import { readsBelow } from "../capabilities/structure.ts";
import { type Viewer, visible } from "../capabilities/visible.ts";
import { describedBy } from "../knowledge/lists.ts";
import { dynamic, query } from "../store/query.ts";
import { wordsOf } from "../store/search-words.ts";
import type { ReadTx } from "../store/store.ts";
import { isLive, type OutcomeRow } from "./outcome.ts";
import { listedColumns, type ListedRow, presentRow } from "./presenting.ts";
import { childrenOf, outcomeById, parentsOf } from "./table.ts";
import { onlyAgentsHaveOutcomes } from "./texts.ts";
import { workable } from "./workable.ts";

/** Operations that only read outcomes. Each reads a limited number of rows, because a long read delays the writers. */

type Listed = ListedRow & { workable: number };
interface OutcomePage extends PageInput {
  readonly status?: contract.OutcomeStatus | undefined;
  /** Only outcomes that have not ended. */
  readonly live?: boolean | undefined;
}

const onMine = guarded(contract.myOutcomes, async ({ tx, actor, input }) => {
  if (actor.agentId === null) throw onlyAgentsHaveOutcomes();
  return listOf(tx, actor, actor.agentId, input);
});

const onListOfAgent = guarded(contract.listAgentOutcomes, ({ tx, actor, input }) =>
  listOf(tx, actor, input.id, input),
);

const onList = guarded(contract.listOutcomes, async ({ tx, companyId, input: { owner, ...rest } }) => {
  const agent = owner === undefined ? undefined : await findMember(tx, companyId, owner);
  return newestOf(tx, { ...rest, companyId, ...(agent && { ownerId: agent.id }) });
});

const onListGoals = guarded(listGoals, ({ tx, companyId, input }) =>
  newestOf(tx, { ...input, companyId, goals: true }),
);

interface OutcomeFilter extends OutcomePage {
  readonly companyId: string;
  readonly ownerId?: string;
  readonly kind?: contract.OutcomeKind | undefined;
  readonly blocked?: boolean | undefined;
  readonly text?: string | undefined;
  /** Only goals of the board. */
  readonly goals?: true;
}

/** A page of a company's outcomes, newest first, and the number of outcomes in each status. */
async function newestOf(tx: ReadTx, filter: OutcomeFilter) {
  const matching = conditionOf(tx, filter);
  const last = await cursorRow(filter.cursor, (id) => tx.first(oneRow, { id }));
  const before = last?.num ?? Number.MAX_SAFE_INTEGER;
  const { status, live, limit } = filter;
  const rows = await tx.all(
    dynamic((db) => {
      const list = db
        .selectFrom("outcomes as o")
        .leftJoin("agents as r", "r.id", "o.responsible_id")
        .select(listedColumns)
        .select((eb) => workable(eb, tx.now).as("workable"))
        .where(matching)
        .where("o.num", "<", before);
      const ofStatus = status === undefined ? list : list.where("o.status", "=", status);
      return (live === true ? ofStatus.where("o.status", "in", liveStatuses) : ofStatus)
        .orderBy("o.num", "desc")
        .limit((limit ?? defaultPage) + 1);
    }),
    {},
  );
  const { page, nextCursor } = pageAfter(rows, limit, (row) => row.id);
  return { outcomes: page.map(presentListed), nextCursor, totals: await totalsOf(tx, matching) };
}

const liveStatuses = contract.outcomeStatuses.filter((status) => isLive({ status }));

const isBlocked = sql<boolean>`(o.status = 'open' and o.blocked_reason is not null)`;

function conditionOf(tx: ReadTx, { companyId, ownerId, kind, blocked, text, goals }: OutcomeFilter) {
  const words = text === undefined ? [] : wordsOf(text);
  const parts = [
    sql`o.company_id = ${companyId}`,
    ...(ownerId === undefined ? [] : [sql`o.responsible_id = ${ownerId}`]),
    ...(kind === undefined ? [] : [sql`o.kind = ${kind}`]),
    ...(blocked === undefined ? [] : [blocked ? isBlocked : sql`not ${isBlocked}`]),
    ...(goals === undefined ? [] : [sql`o.kind = 'work' and o.delegated = 1 and o.delegated_by is null`]),
    // The description of an outcome's file is its title.
    ...(words.length === 0
      ? text === undefined
        ? []
        : [sql`1 = 0`]
      : [sql`o.id in (select f.id from files f where ${describedBy(tx.dialect, words)})`]),
  ];
  return sql<boolean>`${sql.join(parts, sql` and `)}`;
}

async function totalsOf(tx: ReadTx, matching: RawBuilder<boolean>) {
  const rows = await tx.all(
    dynamic((db) =>
      db
        .selectFrom("outcomes as o")
        .select((eb) => [
          "o.status",
          eb.fn.countAll<number>().as("count"),
          sql<number>`sum(case when ${isBlocked} then 1 else 0 end)`.as("blocked"),
        ])
        .where(matching)
        .groupBy("o.status"),
    ),
    {},
  );
  const totals = { total: 0, open: 0, submitted: 0, completed: 0, closed: 0, blocked: 0 };
  for (const { status, count, blocked } of rows) {
    totals[status] = count;
    totals.total += count;
    totals.blocked += blocked;
  }
  return totals;
}

const onAncestors = guarded(contract.viewAncestors, async ({ tx, actor, input }) => {
  const chains: string[][] = [];
  const known = new Map<string, OutcomeRow | null>();
  let truncated = false;
  const climb = async (id: string, chain: readonly string[]): Promise<void> => {
    // An ancestor that the actor can't read ends the chain as a bare id.
    const parents = known.get(id) === null ? [] : await parentsOf(tx, id);
    if (parents.length === 0 && chain.length > 0) chains.push([...chain]);
    for (const parent of parents) {
      if (chains.length >= mostChains) {
        truncated = true;
        return;
      }
      if (!known.has(parent.id)) {
        const isSeen = await visible(tx, actor, `outcome:${parent.id}`);
        known.set(parent.id, isSeen ? await outcomeById(tx, parent.id) : null);
      }
      await climb(parent.id, [...chain, parent.id]);
    }
  };
  await climb(input.id, []);
  const ancestors = [...known].map(([id, row]) => ({
    id,
    title: row?.title ?? null,
    status: row?.status ?? null,
    description: row?.description ?? null,
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
  // The database may return rows in any order. The order must not depend on rows that the actor can't read.
  const page = rows.slice(0, limit).toSorted((a, b) => a.num - b.num);
  const inPage = new Set(page.map(({ id }) => id));
  const idsIn = (joined: string | null): string[] => (joined === null ? [] : joined.split(" ").toSorted());
  return {
    id: input.id,
    outcomes: page.map((row) => ({
      ...presentRow(row),
      parents: idsIn(row.parents).filter((id) => inPage.has(id)),
      dependsOn: idsIn(row.depends_on),
    })),
    truncated: rows.length > limit,
  };
});

export const readHandlers = [onMine, onList, onListGoals, onListOfAgent, onAncestors, onSubtree];

const mostChains = 100;

/**
 * An agent's outcomes in the order to work on them: important first, then urgent, then oldest. Each status is read in
 * that order from the index, so a page costs the same however many outcomes the agent has finished.
 */
async function listOf(tx: ReadTx, viewer: Viewer, agentId: string, input: OutcomePage) {
  const limit = input.limit ?? defaultPage;
  const last = await cursorRow(input.cursor, async (id) =>
    (await visible(tx, viewer, `outcome:${id}`)) ? tx.first(oneRow, { id }) : undefined,
  );
  const { important, urgent, num } = last ?? ({ important: 1, urgent: 1, num: 0 } as const);
  const rows: Listed[] = [];
  const listed = contract.outcomeStatuses.filter(
    (status) =>
      (input.status === undefined || status === input.status) &&
      (input.live !== true || liveStatuses.includes(status)),
  );
  for (const status of listed)
    rows.push(
      ...(await tx.all(nextInStatus, {
        agentId,
        status,
        important,
        urgent,
        num,
        now: tx.now,
        limit: limit + 1,
      })),
    );
  const { page, nextCursor } = pageAfter(
    rows.toSorted((a, b) => placeOf(a) - placeOf(b)),
    limit,
    (row) => row.id,
  );
  return { outcomes: page.map(presentListed), nextCursor };
}

/** A row's place in that order as one number: its importance and urgency (0 to 3), then its row number. */
function placeOf(row: Pick<Listed, "important" | "urgent" | "num">): number {
  return (3 - 2 * row.important - row.urgent) * 1e12 + row.num;
}

function presentListed(row: Listed) {
  return { ...presentRow(row), workable: row.workable === 1 };
}

/**
 * The outcomes below that an agent may read, for an outcome it sees only because its own work serves it. The search goes level
 * by level and skips every branch that the agent may not read.
 */
async function readableBelow(
  tx: ReadTx,
  agentId: string,
  topId: string,
  limit: number,
): Promise<WithParents[]> {
  const found: WithParents[] = [];
  const frontier = [topId];
  const seen = new Set(frontier);
  for (let id = frontier.shift(); id !== undefined && found.length < limit; id = frontier.shift()) {
    const row = await tx.first(oneRow, { id });
    if (row !== undefined) found.push(row);
    for (const child of await childrenOf(tx, id)) {
      if (seen.has(child.id) || !(await visible(tx, { agentId }, `outcome:${child.id}`))) continue;
      seen.add(child.id);
      frontier.push(child.id);
    }
  }
  return found;
}

type WithParents = ListedRow & { parents: string | null; depends_on: string | null };

/** Joined by spaces, which no id contains. */
const parentIds = sql<
  string | null
>`(select string_agg(e.parent_id, ' ') from edges e where e.child_id = o.id)`;

const dependencyIds = sql<
  string | null
>`(select string_agg(d.depends_on_id, ' ') from dependencies d where d.outcome_id = o.id)`;
const neighbourIds = [parentIds.as("parents"), dependencyIds.as("depends_on")] as const;

const oneRow = query((db, p: { id: string }) =>
  db
    .selectFrom("outcomes as o")
    .leftJoin("agents as r", "r.id", "o.responsible_id")
    .select([...listedColumns, ...neighbourIds])
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
    .select([...listedColumns, ...neighbourIds])
    .limit(p.limit),
);

const nextInStatus = query(
  (
    db,
    p: {
      agentId: string;
      status: OutcomeRow["status"];
      important: 0 | 1;
      urgent: 0 | 1;
      num: number;
      now: number;
      limit: number;
    },
  ) =>
    db
      .selectFrom("outcomes as o")
      .leftJoin("agents as r", "r.id", "o.responsible_id")
      .select(listedColumns)
      .select((eb) => workable(eb, p.now).as("workable"))
      .where("o.responsible_id", "=", p.agentId)
      .where("o.status", "=", p.status)
      .where("o.important", "<=", p.important)
      .where((eb) =>
        eb.or([
          eb("o.important", "<", p.important),
          eb("o.urgent", "<", p.urgent),
          eb.and([eb("o.urgent", "=", p.urgent), eb("o.num", ">", p.num)]),
        ]),
      )
      .orderBy("o.important", "desc")
      .orderBy("o.urgent", "desc")
      .orderBy("o.num")
      .limit(p.limit),
);

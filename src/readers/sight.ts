import { sql } from "kysely";
import type { Measure } from "../contract/budgets.ts";
import type { Trouble } from "../brains/brain.ts";
import type { ApprovalRow } from "../approvals/approval.ts";
import { openApprovalOf } from "../approvals/table.ts";
import { isShort, overrideOf, overridesIn, pauseOf, shortAmong } from "../budgets/halting.ts";
import { lacking, poolName, poolOwnerOf } from "../budgets/reservations.ts";
import { budgetPlaceOf, type Pool, poolsOf } from "../budgets/table.ts";
import { type BrokenServer, brokenServersIn, type LackingSecrets } from "../companies/mcp-servers.ts";
import { readsBelow } from "../capabilities/structure.ts";
import { type Viewer, visible, visibleOutcomes } from "../capabilities/visible.ts";
import { notFound } from "../contract/refusal.ts";
import type { OutcomeRow } from "../outcomes/outcome.ts";
import { isEscalated, levelsAbove } from "../outcomes/review.ts";
import { dependenciesOf, liveChildrenOf, outcomeById, type Ref } from "../outcomes/table.ts";
import { checksIn } from "../store/checks.ts";
import { selection, textQuery } from "../store/query.ts";
import { agentRow } from "../store/row-by-id.ts";
import type { Row } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";
import { lastPauseOf, pausesIn } from "./pauses.ts";
import { type NodesSeen, seeNodes } from "./nodes.ts";

/**
 * The sources of `why` and the attention list. There are two:
 *
 *   askingSight   a query for each look; an agent sees only what it may read
 *   companySight  everything that is open in a company, read in a fixed number of queries; only for people. A person who
 *                 looks from a position sees what that position may read
 *
 * Both give the same answers to a person (attention.db.test.ts compares them).
 */
export interface Sight {
  readonly now: number;
  /** A person's sentences say what to do. An agent's name the tool. */
  readonly isPerson: boolean;
  outcome(id: string): Promise<Looked>;
  isLive(outcomeId: string): Promise<boolean>;
  /** The dependencies that the viewer may read, in order. `whole` is false if some are left out. */
  dependencies(id: string): Promise<{ readonly seen: readonly Ref[]; readonly whole: boolean }>;
  /** The live children that the viewer may read. */
  children(id: string): Promise<{ readonly seen: readonly Ref[]; readonly whole: boolean }>;
  /** The live work of an agent that the viewer may read. */
  work(agentId: string): Promise<readonly { readonly id: string }[]>;
  sees(outcomeId: string): Promise<boolean>;
  inbox(agentId: string): Promise<{ readonly id: string } | undefined>;
  agent(id: string): Promise<LookedAgent | undefined>;
  /** Whether the viewer sees more than the status. An agent sees only the status of agents that don't report to it. */
  knows(agent: LookedAgent): boolean;
  approval(agentId: string): Promise<ApprovalRow | undefined>;
  isAtWork(agentId: string): Promise<boolean>;
  isPausedByBudget(agentId: string): Promise<boolean>;
  /** The reason given for the agent's pause. Null if there was none. */
  pauseReason(agentId: string): Promise<string | null>;
  /** Whether the board paused the agent, and not its manager or a budget. Only the board then resumes it. */
  isPausedByBoard(agentId: string): Promise<boolean>;
  /** The budget that the agent lacks. Undefined if the budget suffices. */
  want(agent: LookedAgent): Promise<Want | undefined>;
  missingSecrets(agent: LookedAgent): Promise<readonly string[]>;
  /** The reason why the agent's brain can't work now. */
  trouble(agent: LookedAgent): Promise<Trouble | undefined>;
  /** The nodes of the installation. */
  nodes(): Promise<NodesSeen>;
  /** The broken MCP servers that the agent may use. */
  brokenServers(agent: LookedAgent): Promise<readonly BrokenServer[]>;
}

const looked = [
  "num",
  "id",
  "title",
  "status",
  "kind",
  "responsible_id",
  "delegated",
  "delegated_by",
  "blocked_reason",
  "blocked_until",
  "blocked_on",
  "for_agent_id",
  "reworks",
  "updated_at",
  "budget",
] as const;
export type Looked = Pick<OutcomeRow, (typeof looked)[number]>;

const lookedOfAgent = [
  "id",
  "company_id",
  "name",
  "status",
  "boss_id",
  "brain_type",
  "brain_config",
  "not_before",
] as const;
export type LookedAgent = Pick<Row<"agents">, (typeof lookedOfAgent)[number]>;

export interface Want {
  readonly pool: Pool;
  readonly called: string;
  /** True if the budget is used up or too small for a call. Otherwise running sessions have reserved the rest. */
  readonly isShort: boolean;
  /** This month's request to raise the budget. */
  readonly raise?: ApprovalRow | undefined;
}

/** The part of the secret store that this file needs. */
export interface Resolver {
  /** The node that answers the call. */
  readonly nodeId?: string | undefined;
  /** Finds the secrets among these that have no value. */
  readonly lacking?: LackingSecrets;
  resolve(
    tx: ReadTx,
    agent: Pick<Row<"agents">, "company_id" | "brain_config">,
  ): Promise<{ readonly missing: readonly string[] }>;
  /** Finds the reason why the brain of an agent can't work now. */
  troubleOf?(
    tx: ReadTx,
    agent: Pick<Row<"agents">, "company_id" | "brain_type" | "brain_config">,
  ): Promise<Trouble | undefined>;
}

export function askingSight(tx: ReadTx, viewer: Viewer, secrets: Resolver, isPerson: boolean): Sight {
  const { agentId: me } = viewer;
  return {
    now: tx.now,
    isPerson,
    outcome: (id) => outcomeById(tx, id),
    isLive: async (id) => (await tx.first(liveOutcome, { id })) !== undefined,
    dependencies: async (id) => {
      const all = await dependenciesOf(tx, id);
      const seen = await visibleOutcomes(tx, viewer, all);
      return { seen, whole: seen.length === all.length };
    },
    children: async (id) => {
      const whole = me === null || (await readsBelow(tx, me, id));
      const all = await liveChildrenOf(tx, id);
      return { seen: whole ? all : await visibleOutcomes(tx, viewer, all), whole };
    },
    work: async (agentId) => visibleOutcomes(tx, viewer, await tx.all(liveWork, { responsible_id: agentId })),
    sees: (id) => visible(tx, viewer, `outcome:${id}`),
    inbox: (agentId) => tx.first(openInbox, { responsible_id: agentId }),
    agent: (id) => tx.first(agentRow, { id }),
    knows: ({ id, boss_id }) => me === null || id === me || boss_id === me,
    approval: (agentId) => tx.first(openApprovalOf, { agent_id: agentId }),
    isAtWork: async (agentId) => (await tx.first(liveSession, { agent_id: agentId })) !== undefined,
    isPausedByBudget: async (agentId) => (await tx.first(pauseOf, { agent_id: agentId })) !== undefined,
    pauseReason: async (agentId) => (await lastPauseOf(tx, agentId))?.reason ?? null,
    isPausedByBoard: async (agentId) => (await lastPauseOf(tx, agentId))?.byBoard === true,
    want: async (agent) => {
      const place = await budgetPlaceOf(tx, agent);
      const paused = await tx.first(pauseOf, { agent_id: agent.id });
      const pool = (paused && (await shortAmong(tx, place, paused.pool_id))) ?? lacking(place);
      if (pool === undefined) return undefined;
      const { called } = await poolOwnerOf(tx, pool);
      const raise = await overrideOf(tx, pool);
      return isShort(pool, raise) ? { pool, called, isShort: true, raise } : { pool, called, isShort: false };
    },
    missingSecrets: async (agent) => (await secrets.resolve(tx, agent)).missing,
    trouble: async (agent) => secrets.troubleOf?.(tx, agent),
    nodes: once(() => seeNodes(tx, secrets.nodeId)),
    brokenServers: async ({ id, company_id }) =>
      (await brokenServersIn(tx, company_id, secrets.lacking)).filter(({ agents }) => agents.includes(id)),
  };
}

/** Everything that is open in a company, in memory. */
export interface CompanySight extends Sight {
  /** The viewing position. Null for the board, which sees everything. */
  readonly you: string | null;
  /** The live outcomes that concern the viewer, in the order of creation: those it owns, delegated or decides about. */
  readonly live: readonly Looked[];
  readonly pools: readonly Pool[];
  readonly agents: readonly LookedAgent[];
  /** The number of running sessions. */
  readonly running: number;
  /** The number of live outcomes that an agent is responsible for. */
  loadOf(agentId: string): number;
  readonly broken: readonly BrokenServer[];
  /** The agents that a pool has paused, because it is used up or too small for a call. */
  readonly pausedBy: ReadonlyMap<string, readonly string[]>;
  isShort(pool: Pool): boolean;
  /** The live outcomes that wait for this one: parents, dependents, and those blocked until it ends. */
  waitersOn(id: string): readonly Looked[];
  known(outcomeId: string): Looked | undefined;
  agentNamed(id: string | null): LookedAgent | undefined;
  deciderOf(outcome: Looked): string | null;
}

/** For a position, only the tree below its own and its delegated outcomes is read (capabilities/structure.ts). */
export async function companySight(
  tx: ReadTx,
  companyId: string,
  secrets: Resolver,
  you: string | null = null,
): Promise<CompanySight> {
  const p = { companyId };
  const live = await tx.all(openOutcomes, p);
  const outcomes = new Map(live.map((row) => [row.id, row]));
  for (const row of await tx.all(awaitedOutcomes, p)) outcomes.set(row.id, row);
  const edges = await tx.all(openEdges, p);
  const dependencies = await tx.all(openDependencies, p);
  const agents = new Map((await tx.all(openAgents, p)).map((row) => [row.id, row]));
  const sessions = new Set((await tx.all(atWork, p)).map(({ agent_id }) => agent_id));
  const approvals = new Map((await tx.all(pendingOf, p)).map((row) => [row.agent_id, row]));
  const pauses = await tx.all(budgetPauses, { company_id: companyId });
  const paused = new Map(pauses.map(({ agent_id, pool_id }) => [agent_id, pool_id]));
  const lastPauses = await pausesIn(tx, companyId);
  const pools = await poolsOf(tx, companyId);
  const raises = await overridesIn(tx, companyId);
  const raiseOf = ({ id, measure }: Pool) => raises.get(`${id} ${measure}`);
  const short = (pool: Pool): boolean => isShort(pool, raiseOf(pool));
  const readable =
    you === null ? null : new Set((await tx.all(belowOwn, { agentId: you })).map(({ id }) => id));
  const sees = (id: string): boolean => readable === null || readable.has(id);

  const pick = (ids: readonly string[] | undefined): Looked[] => {
    const found: Looked[] = [];
    for (const id of ids ?? []) {
      const row = outcomes.get(id);
      if (row !== undefined) found.push(row);
    }
    return found;
  };
  const look = (ids: readonly string[] | undefined) => {
    const all = pick(ids);
    const seen = readable === null ? all : all.filter(({ id }) => sees(id));
    return { seen, whole: seen.length === all.length };
  };
  const parents = new Map<string, string[]>();
  for (const { parent_id, id } of edges) add(parents, id, parent_id);
  // Children in the order of creation, which is the order of `live`.
  const below = new Map<string, string[]>();
  for (const { id } of live) for (const parent of parents.get(id) ?? []) add(below, parent, id);
  const before = new Map<string, string[]>();
  const after = new Map<string, string[]>();
  for (const { outcome_id, id } of dependencies) {
    add(before, outcome_id, id);
    add(after, id, outcome_id);
  }
  for (const { id, blocked_on } of live) if (blocked_on !== null) add(after, blocked_on, id);
  const work = Map.groupBy(live, ({ responsible_id }) => responsible_id);

  const poolAt = new Map(pools.map((pool) => [`${pool.id} ${pool.measure}`, pool]));
  const nearestOf = new Map<string | null, Readonly<Record<Measure, Pool | undefined>>>();
  const nearest = (id: string | null, depth = 0): Readonly<Record<Measure, Pool | undefined>> => {
    const known = nearestOf.get(id);
    if (known !== undefined) return known;
    const agent = id === null ? undefined : agents.get(id);
    const isTop = agent === undefined || depth > agents.size;
    const above = isTop ? undefined : nearest(agent.boss_id, depth + 1);
    const owner = isTop ? companyId : agent.id;
    const at = (measure: Measure) => poolAt.get(`${owner} ${measure}`) ?? above?.[measure];
    const found = { usd: at("usd"), tokens: at("tokens"), sessions: at("sessions") };
    nearestOf.set(id, found);
    return found;
  };
  const broken = await brokenServersIn(tx, companyId, secrets.lacking);
  const configs = new Map<string, Promise<readonly string[]>>();
  const troubles = new Map<string, Promise<Trouble | undefined>>();
  const deciderOf = (outcome: Looked): string | null => {
    let decider = outcome.delegated_by;
    for (let level = levelsAbove(outcome); level > 0 && decider !== null; level--)
      decider = agents.get(decider)?.boss_id ?? null;
    return decider;
  };
  const decides = (outcome: Looked): boolean =>
    (outcome.status === "submitted" || isEscalated(outcome)) && deciderOf(outcome) === you;
  return {
    now: tx.now,
    isPerson: true,
    you,
    live:
      you === null
        ? live
        : live.filter((row) => row.responsible_id === you || row.delegated_by === you || decides(row)),
    pools,
    agents: [...agents.values()],
    running: sessions.size,
    loadOf: (agentId) => work.get(agentId)?.length ?? 0,
    broken,
    isShort: short,
    pausedBy: new Map(
      [...Map.groupBy(pauses, ({ pool_id }) => pool_id)].map(([pool, rows]) => [
        pool,
        rows.map(({ agent_id }) => agent_id),
      ]),
    ),
    waitersOn: (id) =>
      [...pick(parents.get(id)), ...pick(after.get(id))].filter(
        ({ id: waiter, status }) => status === "open" && sees(waiter),
      ),
    known: (id) => outcomes.get(id),
    agentNamed: (id) => (id === null ? undefined : agents.get(id)),
    deciderOf,
    outcome: async (id) => {
      const row = outcomes.get(id);
      if (row === undefined) throw notFound("outcome", id);
      return row;
    },
    isLive: async (id) => ["open", "submitted"].includes(outcomes.get(id)?.status ?? ""),
    dependencies: async (id) => look(before.get(id)),
    children: async (id) => look(below.get(id)),
    work: async (agentId) =>
      look(
        (work.get(agentId) ?? [])
          .filter(({ kind }) => kind !== "perpetual" && kind !== "mandate")
          .map(({ id }) => id),
      ).seen,
    sees: async (id) => sees(id),
    inbox: async (agentId) =>
      work.get(agentId)?.find(({ kind, status }) => kind === "inbox" && status === "open"),
    agent: async (id) => agents.get(id),
    knows: ({ id, boss_id }) => you === null || id === you || boss_id === you,
    approval: async (agentId) => approvals.get(agentId),
    isAtWork: async (agentId) => sessions.has(agentId),
    isPausedByBudget: async (agentId) => paused.has(agentId),
    pauseReason: async (agentId) => lastPauses.get(agentId)?.reason ?? null,
    isPausedByBoard: async (agentId) => lastPauses.get(agentId)?.byBoard === true,
    want: async (agent) => {
      const { usd, tokens, sessions: sessionPool } = nearest(agent.id);
      if (usd === undefined || tokens === undefined || sessionPool === undefined) return undefined;
      const own = { usd, tokens, sessions: sessionPool };
      const pool =
        Object.values(own).find((one) => one.id === paused.get(agent.id) && short(one)) ??
        lacking({ companyId, chain: [], pools: own });
      if (pool === undefined) return undefined;
      const raise = short(pool) ? raiseOf(pool) : undefined;
      return { pool, called: poolName(pool, agents.get(pool.id)?.name ?? ""), isShort: short(pool), raise };
    },
    missingSecrets: async (agent) => {
      const missing =
        configs.get(agent.brain_config) ?? secrets.resolve(tx, agent).then((found) => found.missing);
      configs.set(agent.brain_config, missing);
      return missing;
    },
    trouble: async (agent) => {
      const key = `${agent.brain_type} ${agent.brain_config}`;
      const trouble = troubles.get(key) ?? secrets.troubleOf?.(tx, agent) ?? Promise.resolve(undefined);
      troubles.set(key, trouble);
      return trouble;
    },
    nodes: once(() => seeNodes(tx, secrets.nodeId)),
    brokenServers: async ({ id }) => broken.filter(({ agents }) => agents.includes(id)),
  };
}

function once<T>(look: () => Promise<T>): () => Promise<T> {
  let seen: Promise<T> | undefined;
  return () => (seen ??= look());
}

function add(lists: Map<string, string[]>, key: string, id: string): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [id]);
  else list.push(id);
}

const liveOutcome = selection("outcomes", ["id"], sql`and status in ('open', 'submitted')`);
const liveSession = selection("sessions", ["agent_id"], sql`and ended_at is null`);
const openInbox = selection("outcomes", ["responsible_id"], sql`and status = 'open' and kind = 'inbox'`);
const liveWork = selection(
  "outcomes",
  ["responsible_id"],
  sql`and status in ('open', 'submitted') and kind not in ('perpetual', 'mandate') order by num limit 200`,
);

const columnsIn = (table: string, columns: readonly string[]) =>
  sql.join(columns.map((column) => sql.ref(`${table}.${column}`)));
const isLive = (table: string) => sql`${sql.ref(`${table}.status`)} in ('open', 'submitted')`;
type InCompany = { companyId: string };

const checksOfOutcome = checksIn("outcomes").filter(({ as }) => looked.some((column) => column === as));
const openOutcomes = textQuery(
  (p: InCompany) => sql<Looked>`
    select ${columnsIn("o", looked)} from outcomes o
    where o.company_id = ${p.companyId} and ${isLive("o")} order by o.num`,
  { checks: checksOfOutcome },
);
/** The ended outcomes that a live one depends on or is blocked on. */
const awaitedOutcomes = textQuery(
  (p: InCompany) => sql<Looked>`
    select ${columnsIn("o", looked)} from outcomes o where o.status in ('completed', 'closed') and o.id in (
      select d.depends_on_id from outcomes w join dependencies d on d.outcome_id = w.id
        where w.company_id = ${p.companyId} and ${isLive("w")}
      union select w.blocked_on from outcomes w
        where w.company_id = ${p.companyId} and ${isLive("w")} and w.blocked_on is not null)`,
  { checks: checksOfOutcome },
);
/** `id` is the live child. */
const openEdges = textQuery(
  (p: InCompany) => sql<{ parent_id: string; id: string }>`
    select e.parent_id, e.child_id as id from outcomes c join edges e on e.child_id = c.id
    where c.company_id = ${p.companyId} and ${isLive("c")}`,
);
/**
 * The outcomes that a position may read below its own and its delegated ones, like ownsAncestor in capabilities/structure.ts.
 */
const belowOwn = textQuery(
  (p: { agentId: string }) => sql<{ id: string }>`
    with recursive down(id) as (
      select id from outcomes where responsible_id = ${p.agentId} or delegated_by = ${p.agentId}
      union select e.child_id from edges e join down on e.parent_id = down.id)
    select id from down`,
);
/** `id` is the dependency of the live outcome. */
const openDependencies = textQuery(
  (p: InCompany) => sql<{ outcome_id: string; id: string }>`
    select d.outcome_id, o.id from outcomes w join dependencies d on d.outcome_id = w.id
      join outcomes o on o.id = d.depends_on_id
    where w.company_id = ${p.companyId} and ${isLive("w")} order by o.num`,
);
const openAgents = textQuery(
  (p: InCompany) => sql<LookedAgent>`
    select ${columnsIn("a", lookedOfAgent)} from agents a where a.company_id = ${p.companyId}
      and (a.status <> 'terminated' or exists (select 1 from outcomes o where o.responsible_id = a.id and ${isLive("o")})
        or exists (select 1 from outcomes o where o.delegated_by = a.id and ${isLive("o")}))`,
  { checks: checksIn("agents").filter(({ as }) => lookedOfAgent.some((column) => column === as)) },
);
const atWork = selection(
  "sessions",
  [],
  (p: InCompany) => sql`and company_id = ${p.companyId} and ended_at is null`,
);
const pendingOf = selection(
  "approvals",
  [],
  (p: InCompany) =>
    sql`and company_id = ${p.companyId} and agent_id is not null and status in ('pending', 'revision_requested')`,
);
const budgetPauses = selection("budget_pauses", ["company_id"]);

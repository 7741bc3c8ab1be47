import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Compilable, sql } from "kysely";
import { newAgentDefaults } from "../src/agents/table.ts";
import { giveCreator } from "../src/capabilities/grants.ts";
import { type Resource, ranks } from "../src/contract/resources.ts";
import { newId } from "../src/daemon/ids.ts";
import { type Actor, agentActor, system } from "../src/events/ledger.ts";
import { insertFile } from "../src/knowledge/table.ts";
import { insertOutcome } from "../src/outcomes/table.ts";
import { type Db, dynamic } from "../src/store/query.ts";
import type { Schema } from "../src/store/schema.ts";
import type { Store } from "../src/store/store.ts";
import { sequence } from "./timing.ts";

/**
 * Fills a store with rows as the product would write them. If only the size of a table matters, the rows are inserted
 * directly, many in one statement. If content, index or history matter, the product's own functions insert them.
 */
type Row<T extends keyof Schema> = "num" extends keyof Schema[T] ? Omit<Schema[T], "num"> : Schema[T];

/** SQLite allows 32,766 parameters in a statement, and the widest of these tables has 20 columns. */
const rowsPerStatement = 1000;

export async function insertRows<R>(
  store: Store,
  rows: Iterable<R>,
  insert: (db: Db, rows: R[]) => Compilable<unknown>,
): Promise<void> {
  const flush = (slice: R[]) =>
    store.write((tx) =>
      tx.run(
        dynamic((db) => insert(db, slice)),
        {},
      ),
    );
  let slice: R[] = [];
  for (const row of rows) {
    slice.push(row);
    if (slice.length < rowsPerStatement) continue;
    await flush(slice);
    slice = [];
  }
  if (slice.length > 0) await flush(slice);
}

const insertAgents = (db: Db, rows: Row<"agents">[]) => db.insertInto("agents").values(rows);
const insertFiles = (db: Db, rows: Row<"files">[]) => db.insertInto("files").values(rows);
export const insertOutcomes = (db: Db, rows: Row<"outcomes">[]) => db.insertInto("outcomes").values(rows);
export const insertEdges = (db: Db, rows: Row<"edges">[]) => db.insertInto("edges").values(rows);
const insertGrants = (db: Db, rows: Row<"grants">[]) => db.insertInto("grants").values(rows);

export interface Place {
  readonly id: string;
  readonly path: readonly string[];
}

/** Inserts a tree of agents with their mandates below a given root. Each level is four times as wide as the one above. */
export async function fillAgents(
  store: Store,
  companyId: string,
  rootId: string,
  count: number,
  depth: number,
): Promise<Place[]> {
  const places: Place[] = [{ id: rootId, path: [rootId] }];
  for (let above = 0; places.length < count; above++) {
    const boss = places[above];
    if (boss === undefined || boss.path.length >= depth) break;
    // The last level takes the remaining agents, evenly spread.
    const isLast = boss.path.length === depth - 1;
    const bosses = isLast ? places.filter(({ path }) => path.length === depth - 1) : [];
    const wanted = isLast ? Math.ceil((count - places.length) / (bosses.length - bosses.indexOf(boss))) : 4;
    for (let report = 0; report < wanted && places.length < count; report++) {
      const id = newId();
      places.push({ id, path: [...boss.path, id] });
    }
  }
  const made = places.slice(1);
  await insertRows(
    store,
    made.map(({ id, path }, index) => agentRow(companyId, id, path.at(-2) ?? rootId, index)),
    insertAgents,
  );
  await insertRows(
    store,
    made.map(({ id, path }, index) => ({
      ...outcomeRow(companyId, id, `Mandate ${index}`, id),
      kind: "mandate" as const,
      delegated: 1 as const,
      delegated_by: path.at(-2) ?? rootId,
    })),
    insertOutcomes,
  );
  await insertRows(
    store,
    made.map(({ id, path }) => ({ parent_id: path.at(-2) ?? rootId, child_id: id })),
    insertEdges,
  );
  return places;
}

export interface Chain {
  readonly resource: Resource;
  /** The grants from the board's grant to the last one, and the holder of each. */
  readonly grants: readonly string[];
  readonly holders: readonly string[];
  readonly scopeId: string;
}

/** Inserts chains of rights to files, from the root agent down to an agent at the bottom. Each chain has its own outcome. */
export async function fillChains(
  store: Store,
  companyId: string,
  places: readonly Place[],
  grants: number,
): Promise<Chain[]> {
  const depth = Math.max(...places.map(({ path }) => path.length));
  const bottom = places.filter(({ path }) => path.length === depth);
  const pick = sequence(6);
  const chains: Chain[] = [];
  while (chains.length * depth < grants)
    chains.push({
      resource: `kb:${newId()}`,
      grants: Array.from({ length: depth }, () => newId()),
      holders: bottom[pick(bottom.length)]?.path ?? [],
      scopeId: newId(),
    });
  await insertRows(
    store,
    lazily(chains, ({ resource }) => [fileRow(companyId, resource.slice(3))]),
    insertFiles,
  );
  await insertRows(
    store,
    lazily(chains, ({ scopeId, holders }) => [outcomeRow(companyId, scopeId, "Scope", holders[0] ?? null)]),
    insertOutcomes,
  );
  await insertRows(
    store,
    lazily(chains, ({ scopeId, holders }) => [{ parent_id: holders[0] ?? "", child_id: scopeId }]),
    insertEdges,
  );
  await insertRows(
    store,
    lazily(chains, ({ resource, grants, holders, scopeId }) =>
      grants.map((id, link) => ({
        id,
        company_id: companyId,
        grantee_id: holders[link] ?? "",
        resource,
        level: link < 2 ? ranks.write : ranks.read,
        scope_id: scopeId,
        origin: link === 0 ? ("board" as const) : ("boss" as const),
        granted_by: link === 0 ? null : (holders[link - 1] ?? null),
        parent_id: link === 0 ? null : (grants[link - 1] ?? null),
        structural: 0 as const,
        broken: 0,
        created_at: Date.now(),
        revoked_at: null,
      })),
    ),
    insertGrants,
  );
  return chains;
}

/**
 * Inserts a DAG of outcomes below `parentId`: as many subtrees of `size` outcomes as needed, each ten wide. Every twentieth
 * outcome has a second parent. Returns the tops of the subtrees.
 */
export async function fillSubtrees(
  store: Store,
  companyId: string,
  parentId: string,
  responsibleId: string,
  outcomes: number,
  size: number,
): Promise<string[]> {
  const subtrees = Array.from({ length: Math.ceil(outcomes / size) }, () =>
    Array.from({ length: size }, () => newId()),
  );
  await insertRows(
    store,
    lazily(subtrees, (ids) => ids.map((id, n) => outcomeRow(companyId, id, `Outcome ${n}`, responsibleId))),
    insertOutcomes,
  );
  await insertRows(
    store,
    lazily(subtrees, (ids) =>
      ids.flatMap((id, n) => {
        const above = Math.floor((n - 1) / 10);
        const first = n === 0 ? parentId : (ids[above] ?? parentId);
        const second = n > 20 && n % 20 === 0 ? ids[above - 1] : undefined;
        return [first, ...(second === undefined ? [] : [second])].map((parent_id) => ({
          parent_id,
          child_id: id,
        }));
      }),
    ),
    insertEdges,
  );
  return subtrees.flatMap(([top]) => (top === undefined ? [] : [top]));
}

/** Inserts knowledge files with content, version, search index and right. Returns what a writer needs to overwrite each. */
export async function fillFiles(
  store: Store,
  companyId: string,
  creatorId: string,
  count: number,
  content: (index: number) => string,
): Promise<{ id: string; version: number; hash: string }[]> {
  const author: Actor = agentActor(creatorId);
  const files: { id: string; version: number; hash: string }[] = [];
  for (let index = 0; index < count;)
    await store.write(async (tx) => {
      for (const end = Math.min(count, index + 200); index < end; index++) {
        const id = newId();
        const saved = await insertFile(tx, {
          id,
          companyId,
          kind: "file",
          description: `Notes ${index}`,
          mediaType: "text/markdown",
          ownerId: null,
          content: Buffer.from(content(index)),
          author,
        });
        await giveCreator(tx, {
          id: newId(),
          companyId,
          creator: { id: creatorId, mandate_id: creatorId },
          resource: `kb:${id}`,
        });
        files.push({ id, ...saved });
      }
    });
  return files;
}

/** Inserts outcomes with their files. Each parent has at most a hundred children. */
export async function fillOutcomes(
  store: Store,
  companyId: string,
  rootId: string,
  responsibleId: string,
  count: number,
): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count;)
    await store.write(async (tx) => {
      for (const end = Math.min(count, index + 200); index < end; index++) {
        const id = newId();
        ids.push(id);
        await insertOutcome(
          tx,
          {
            id,
            company_id: companyId,
            kind: "work",
            title: `Outcome ${index}`,
            description: "What is to be achieved, in a sentence or two of ordinary length.",
            acceptance: null,
            responsible_id: responsibleId,
            delegated: 0,
            delegated_by: null,
            urgent: index % 7 === 0 ? 1 : 0,
            important: index % 3 === 0 ? 1 : 0,
            parents: [index === 0 ? rootId : (ids[Math.floor((index - 1) / 100)] ?? rootId)],
            dependsOn: [],
          },
          system,
        );
      }
    });
  return ids;
}

/** Updates the planner's statistics, as PostgreSQL's autovacuum would a minute after so many inserts. */
export async function lookAtRows(store: Store): Promise<void> {
  if (store.dialect === "postgres")
    await store.write((tx) =>
      tx.run(
        dynamic((db) => ({ compile: () => sql`analyze`.compile(db) })),
        {},
      ),
    );
}

/** Moves content from the database to files, as the daemon does when it is idle. This skips fsync. */
export function moveContentOut(database: string, folder: string): void {
  const db = new DatabaseSync(database);
  try {
    for (const { file_id, hash, content } of db
      .prepare("select file_id, hash, content from blobs")
      .iterate()) {
      if (!(content instanceof Uint8Array)) continue;
      mkdirSync(join(folder, String(file_id)), { recursive: true, mode: 0o700 });
      writeFileSync(join(folder, String(file_id), String(hash)), content, { mode: 0o600 });
    }
    db.exec("delete from blobs");
  } finally {
    db.close();
  }
}

function* lazily<T, R>(items: readonly T[], rowsOf: (item: T) => readonly R[]): Iterable<R> {
  for (const item of items) yield* rowsOf(item);
}

function agentRow(companyId: string, id: string, bossId: string, index: number): Row<"agents"> {
  return {
    ...newAgentDefaults,
    id,
    company_id: companyId,
    name: `Agent ${index}`,
    name_key: `agent ${index}`,
    slug: `agent-${index}`,
    role: "worker",
    boss_id: bossId,
    mandate_id: id,
    state_file_id: newId(),
    brain_type: "human",
    brain_config: "{}",
    created_at: Date.now(),
  };
}

function fileRow(companyId: string, id: string): Row<"files"> {
  return {
    id,
    company_id: companyId,
    kind: "file",
    description: "A file",
    media_type: "text/markdown",
    version: 1,
    hash: "0".repeat(64),
    size: 1000,
    owner_id: null,
    created_at: Date.now(),
    updated_at: Date.now(),
    deleted_at: null,
  };
}

export function outcomeRow(
  companyId: string,
  id: string,
  title: string,
  responsibleId: string | null,
): Row<"outcomes"> {
  return {
    id,
    company_id: companyId,
    kind: "work",
    title,
    description: "What is to be achieved, in a sentence or two of ordinary length.",
    acceptance: null,
    status: "open",
    rationale: null,
    responsible_id: responsibleId,
    delegated: 0,
    delegated_by: null,
    urgent: 0,
    important: 0,
    blocked_reason: null,
    blocked_until: null,
    blocked_on: null,
    stalls: 0,
    made_by: null,
    own_steps: 0,
    own_parts: 0,
    stale: 0,
    result_id: null,
    for_agent_id: null,
    reply_to: null,
    reworks: 0,
    budget: null,
    created_at: Date.now(),
    updated_at: Date.now(),
  };
}

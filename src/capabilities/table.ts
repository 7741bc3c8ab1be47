import { sql } from "kysely";
import { type GrantableLevel, levelAt, resourceKind, type Resource } from "../contract/resources.ts";
import { unknownValue } from "../store/columns.ts";
import { insertion } from "../store/inserts.ts";
import { query, selection, textQuery, updating } from "../store/query.ts";
import type { Row } from "../store/schema.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { widerThan } from "./hosts.ts";

/**
 * The rows of grants. A grant may be made from another one (`parent_id`), so grants form chains. `broken` counts the present
 * faults along the chain of a grant: revoked grants, scope outcomes that have ended, holders that have left. A grant is valid
 * exactly while `broken` is 0. So a check is one index look-up, however long the chain is.
 *
 * Code that ends or revives one of these (a grant, a scope, a holder) must shift the count of every grant that rests on it, in the
 * same transaction. Rejected: walking the chain at each check, which joins three tables six times and reaches 25,000 checks a
 * second instead of more than 100,000.
 */
export type GrantRow = Row<"grants">;

/** Counts the end (+1) or the reopening (-1) of a scope outcome. */
export async function shiftScope(tx: Tx, scopeId: string, by: 1 | -1): Promise<void> {
  if ((await tx.first(scopedBy, { scope_id: scopeId })) !== undefined)
    await tx.run(shiftByScope, { scopeId, by });
}

/** Announces to the store that the grants of this scope will be looked up. */
export const scopeAhead = (tx: ReadTx, scopeId: string): void => tx.ahead(scopedBy, { scope_id: scopeId });

/** Counts the departure (+1) or the return (-1) of an agent. */
export async function shiftHolder(tx: Tx, agentId: string, by: 1 | -1): Promise<void> {
  await tx.run(shiftByHolder, { agentId, by });
}

export async function markRevoked(tx: Tx, grantId: string): Promise<void> {
  await tx.run(setRevoked, { id: grantId, revoked_at: tx.now });
  await tx.run(shiftByGrant, { id: grantId });
}

/**
 * Revokes every right that was granted for an outcome, because a manager takes it back. The manager's own right stays. Rights
 * of authors on their files stay too, because they have no reason that could end.
 */
export async function revokeFor(tx: Tx, scopeId: string, managerId: string): Promise<void> {
  for (const { id, grantee_id } of await tx.all(grantsFor, { scope_id: scopeId }))
    if (grantee_id !== managerId) await markRevoked(tx, id);
}

const grantsFor = selection("grants", ["scope_id"], sql`and revoked_at is null and origin <> 'creation'`);

/** The chain of a grant from its root down to itself. */
export async function chainOf(tx: ReadTx, id: string): Promise<GrantRow[]> {
  const chain: GrantRow[] = [];
  for (let next: string | null = id; next !== null;) {
    const row: GrantRow | undefined = await tx.first(grantById, { id: next });
    if (row === undefined) break;
    chain.unshift(row);
    next = row.parent_id;
  }
  return chain;
}

export async function rootOf(tx: ReadTx, id: string): Promise<GrantRow> {
  const root = (await chainOf(tx, id))[0];
  if (root === undefined) throw new Error(`grant ${id} is missing`);
  return root;
}

export async function heldOn(tx: ReadTx, agentId: string, resource: Resource): Promise<GrantRow[]> {
  const held = await tx.all(byHolderAndResource, { grantee_id: agentId, resource });
  const wider = widerThan(resource);
  return wider === undefined ? held : [...held, ...(await heldOn(tx, agentId, wider))];
}

/** The grants from this giver to this agent that were not revoked, whether they are valid or not. */
export function givenTo(tx: ReadTx, agentId: string, giverId: string): Promise<GrantRow[]> {
  return tx.all(byHolderAndGiver, { grantee_id: agentId, granted_by: giverId });
}

/** Makes a grant rest on another grant, or on the giver's position. Grants made from it keep resting on it. */
export async function rebase(
  tx: Tx,
  id: string,
  on: Pick<GrantRow, "granted_by" | "parent_id" | "structural">,
): Promise<void> {
  await tx.run(setBase, { id, ...on });
  await recount(tx, id);
}

/** Computes `broken` again from the rows, for this grant and for every grant made from it. */
export async function recount(tx: Tx, id: string): Promise<void> {
  const row = await tx.first(grantById, { id });
  if (row === undefined) return;
  const parent = row.parent_id === null ? undefined : await tx.first(grantById, { id: row.parent_id });
  const frontier = [{ id, broken: parent?.broken ?? 0, structural: parent?.structural ?? row.structural }];
  for (let next = frontier.pop(); next !== undefined; next = frontier.pop()) {
    const reasons = (await tx.first(ownReasons, { id: next.id }))?.count ?? 0;
    const counted = { ...next, broken: next.broken + reasons };
    await tx.run(setCount, counted);
    for (const child of await tx.all(handedOnFrom, { parent_id: next.id }))
      frontier.push({ ...counted, id: child.id });
  }
}

/** The level of a stored row. Its rank must exist for its resource. */
export function levelOf(
  table: "grants" | "permission_requests",
  { resource, level: rank }: Pick<GrantRow, "resource" | "level">,
): GrantableLevel {
  const level = levelAt(resourceKind(resource), rank);
  if (level === null) throw unknownValue(`${table}.level`, rank);
  return level;
}

export const grantById = selection("grants", ["id"]);
export const insertGrant = insertion("grants");
/** A valid grant that was made from no other right. */
export const rootless = {
  granted_by: null,
  parent_id: null,
  structural: 0,
  broken: 0,
  revoked_at: null,
} as const;

const byHolderAndResource = selection("grants", ["grantee_id", "resource"], sql`order by level desc, num`);
const byHolderAndGiver = selection(
  "grants",
  ["grantee_id", "granted_by"],
  sql`and revoked_at is null order by num`,
);
const setBase = updating("grants", ["granted_by", "parent_id", "structural"], ["id"]);

const ownReasons = query((db, p: { id: string }) =>
  db
    .selectFrom("grants as g")
    .innerJoin("outcomes as s", "s.id", "g.scope_id")
    .innerJoin("agents as a", "a.id", "g.grantee_id")
    .select(
      sql<number>`(case when g.revoked_at is null then 0 else 1 end)
        + (case when s.status in ('open', 'submitted') then 0 else 1 end)
        + (case when a.status = 'terminated' then 1 else 0 end)`.as("count"),
    )
    .where("g.id", "=", p.id),
);

const scopedBy = selection("grants", ["scope_id"], sql`limit 1`);
const setCount = updating("grants", ["broken", "structural"], ["id"]);
const handedOnFrom = selection("grants", ["parent_id"], sql`order by num`);
const setRevoked = updating("grants", ["revoked_at"], ["id"]);

/**
 * Shifts `broken` of the grants that one cause touches directly, and of all grants made from those. A grant that is reached
 * twice (through its own scope and through that of an ancestor) is shifted twice, hence `union all`. Grouping counts the times
 * once for all grants. Rejected: a subquery that counts for each grant. For an agent on whose grants 20,000 others rest, it
 * took 24 s instead of 0.2 s.
 */
const carried = (where: "scope_id" | "grantee_id" | "id", value: string) =>
  sql`with recursive carried(id) as (
        select id from grants where ${sql.ref(where)} = ${value}
        union all
        select g.id from grants g join carried c on g.parent_id = c.id)`;

const shift = (where: "scope_id" | "grantee_id" | "id", value: string, by: number | ReturnType<typeof sql>) =>
  sql`${carried(where, value)}
      update grants set broken = broken + ${by} * counted.times
      from (select id, count(*) as times from carried group by id) as counted
      where grants.id = counted.id`;

const shiftByScope = textQuery((p: { scopeId: string; by: number }) =>
  shift("scope_id", p.scopeId, sql`cast(${p.by} as integer)`),
);
const shiftByHolder = textQuery((p: { agentId: string; by: number }) =>
  shift("grantee_id", p.agentId, sql`cast(${p.by} as integer)`),
);
const shiftByGrant = textQuery((p: { id: string }) => shift("id", p.id, sql`1`));

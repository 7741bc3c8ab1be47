import { type RawBuilder, sql } from "kysely";
import { type Resource, resourceId, resourceKind } from "../contract/resources.ts";
import { dynamic } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { widerThan } from "./hosts.ts";
import type { Member } from "./members.ts";
import { upward } from "./structure.ts";

/**
 * The agents that may have a right on a resource, ordered by name: holders of grants, and agents whose position can give the
 * right (structure.ts, pinned.ts). The list may have too many agents, so explain() has to check each one. It must not have too
 * few, because no other check would find the missing one. A test compares the list with a check of every agent.
 */
export function possibleHolders(
  tx: ReadTx,
  companyId: string,
  resource: Resource,
  after: Pick<Member, "id" | "name"> | undefined,
  limit: number,
): Promise<Member[]> {
  const text = sql<Member>`select id, company_id, name, slug, role, boss_id, mandate_id, status from agents a
    where a.company_id = ${companyId} and a.status in ('idle', 'paused') and a.id in (${sql.join(
      candidates(resource).map((query) => sql`select * from (${query}) as c`),
      sql` union `,
    )})
    ${after === undefined ? sql`` : sql`and (a.name > ${after.name} or (a.name = ${after.name} and a.id > ${after.id}))`}
    order by a.name, a.id limit ${limit}`;
  return tx.all(
    dynamic((db) => ({ compile: () => text.compile(db) }), []),
    {},
  );
}

/** Queries for ids of agents that may have a right. */
function candidates(resource: Resource): RawBuilder<unknown>[] {
  const id = resourceId(resource);
  const granted = sql`select grantee_id as id from grants 
    where resource in (${resource}, ${widerThan(resource) ?? resource}) and broken = 0`;
  switch (resourceKind(resource)) {
    case "outcome":
      return [granted, ...aroundOutcomes(sql`select id from outcomes where id = ${id}`)];
    case "kb":
      return [granted, ...aroundFile(id, resource)];
    case "mail":
      return [
        granted,
        id === "board"
          ? sql`select id from agents where boss_id is null`
          : sql`select id from agents where id = ${id} or boss_id = ${id}
              or id = (select boss_id from agents where id = ${id})`,
        sql`select to_id as id from messages
          where ${id === "board" ? sql`from_id is null` : sql`from_id = ${id}`} and to_id is not null`,
      ];
    case "mcp":
    case "repo":
    case "net":
    case "org":
      return [granted];
  }
}

/** The agents that own or delegated one of the outcomes or its ancestors, and those whose live work serves one. */
const aroundOutcomes = (outcomes: RawBuilder<unknown>) => [
  sql`${upward(outcomes)} select o.responsible_id as id from outcomes o join up on up.id = o.id`,
  sql`${upward(outcomes)} select o.delegated_by as id from outcomes o join up on up.id = o.id`,
  sql`with recursive down(id) as (
      ${outcomes} union select e.child_id from edges e join down on down.id = e.parent_id)
    select o.responsible_id as id from outcomes o join down on down.id = o.id where o.status in ('open', 'submitted')`,
];

function aroundFile(id: string, resource: Resource): RawBuilder<unknown>[] {
  const shows = sql`select id from outcomes where id = ${id} or result_id = ${id}`;
  const delivers = sql`select outcome_id as id from deliverables where file_id = ${id}`;
  const dependents = (on: RawBuilder<unknown>) =>
    sql`select o.responsible_id as id from dependencies d join outcomes o on o.id = d.outcome_id
      where d.depends_on_id in (select id from (${on}) as x)`;
  /** The owner and everyone above it. Managers look at their reports, and inherit the files of departed ones. */
  const owners = sql`select owner_id as id from files where id = ${id} and owner_id is not null
    union select grantee_id from grants where resource = ${resource} and origin = 'creation'`;
  const verifiers = sql`select o.delegated_by as id from outcomes o
    where o.id in (select outcome_id from deliverables where file_id = ${id}) and o.delegated_by is not null`;
  const above = (start: RawBuilder<unknown>) =>
    sql`with recursive above(id) as (
      ${start} union select a.boss_id from agents a join above on a.id = above.id where a.boss_id is not null)
      select id from above`;
  return [
    above(owners),
    ...aroundOutcomes(shows),
    dependents(shows),
    ...aroundOutcomes(delivers),
    dependents(delivers),
    above(verifiers),
    sql`select from_id as id from messages where file_id = ${id}`,
    sql`select to_id as id from messages where file_id = ${id}`,
    sql`select m.to_id as id from enclosures e join messages m on m.id = e.message_id where e.file_id = ${id}`,
    sql`select a.id from agents a join files f on f.company_id = a.company_id where f.id = ${id} and f.kind = 'skill'`,
  ];
}

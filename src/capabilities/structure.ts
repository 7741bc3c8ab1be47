import { type RawBuilder, sql } from "kysely";
import { noRight, ranks, type Resource, resourceId, resourceKind } from "../contract/resources.ts";
import { checksIn } from "../store/checks.ts";
import { selection, textQuery } from "../store/query.ts";
import { outcomeRow } from "../store/row-by-id.ts";
import type { Row } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";

/**
 * Rights that need no grant because they follow from an agent's position:
 *
 *   outcome, drive   the agent is responsible for the outcome
 *   outcome, write   it is responsible and the outcome was not delegated to it; or it delegated the outcome itself
 *   outcome, read    it drives or writes the outcome or an ancestor of it (so its own work and everything below,
 *                    delegated work included); or the outcome is an ancestor, through any parent, of live work
 *                    that it is responsible for, and so says why that work is done
 *   file             write: its state document; the files that an agent created which has left, if it is the nearest
 *                    manager above that agent.
 *                    read: its log; the state document and log of such an agent and of its direct reports; the file of
 *                    an outcome it reads; a message it sent or received; the result of an outcome it reads, or that its
 *                    own work depends on; the skills of its company. Rights to one version of a file are in pinned.ts
 *   mail             send to its manager (an agent or the board), to its direct reports and to itself
 *
 * These rights are computed from the rows at each use. Nothing is stored, so nothing can become stale.
 */
export interface OutcomeRights {
  readonly read: boolean;
  readonly write: boolean;
  readonly drive: boolean;
}

export async function outcomeRights(tx: ReadTx, agentId: string, outcomeId: string): Promise<OutcomeRights> {
  const row = await tx.first(outcomeRow, { id: outcomeId });
  if (row === undefined) return { read: false, write: false, drive: false };
  const drive = row.responsible_id === agentId;
  const write = (drive && row.delegated === 0) || row.delegated_by === agentId;
  if (drive || write) return { read: true, write, drive };
  const read =
    (await tx.first(ownsAncestor, { agent: agentId, id: outcomeId })) !== undefined ||
    (await tx.first(isWhyOf, { agent: agentId, id: outcomeId })) !== undefined;
  return { read, write, drive };
}

/** Whether the agent may read everything below this outcome, because it owns or delegated the outcome or an ancestor. */
export async function readsBelow(tx: ReadTx, agentId: string, outcomeId: string): Promise<boolean> {
  return (await tx.first(ownsAncestor, { agent: agentId, id: outcomeId })) !== undefined;
}

export async function structuralRank(tx: ReadTx, agentId: string, resource: Resource): Promise<number> {
  const id = resourceId(resource);
  switch (resourceKind(resource)) {
    case "outcome":
      return outcomeRank(await outcomeRights(tx, agentId, id));
    case "kb": {
      const file = await tx.first(fileSeenBy, { agent: agentId, id });
      if (file === undefined) return noRight;
      if (file.kind === "outcome")
        return Math.min(outcomeRank(await outcomeRights(tx, agentId, id)), ranks.read);
      if (file.kind === "result") return (await readsResult(tx, agentId, id)) ? ranks.read : noRight;
      if (file.kind === "message") return file.sent === 0 ? noRight : ranks.read;
      if (file.kind === "skill")
        return (await tx.first(isOfItsCompany, { agent: agentId, id })) === undefined ? noRight : ranks.read;
      if (file.owner_id !== null && file.owner_id === agentId)
        return file.kind === "log" ? ranks.read : ranks.write;
      if (file.owner_id !== null && (await oversees(tx, agentId, file.owner_id))) return ranks.read;
      if ((await departedOwner(tx, agentId, id)) === undefined) return noRight;
      return file.kind === "file" ? ranks.write : ranks.read;
    }
    case "mail":
      if (id === "board")
        return (await tx.first(answersToBoard, { id: agentId })) === undefined ? noRight : ranks.send;
      return (await tx.first(isNeighbour, { agent: agentId, other: id })) === undefined
        ? noRight
        : ranks.send;
    case "mcp":
    case "repo":
    case "net":
    case "org":
      return noRight;
  }
}

/**
 * The departed agent that owned this file, if this agent owns its files now. The manager of a departed agent becomes the owner
 * of its files. If that manager leaves, its own manager follows.
 */
export async function departedOwner(
  tx: ReadTx,
  agentId: string,
  fileId: string,
): Promise<{ name: string } | undefined> {
  return tx.first(ownerWhoLeft, { agent: agentId, id: fileId, resource: `kb:${fileId}` });
}

/**
 * Whether this agent may look at the sessions, the log and the state document of the other. A manager sees only its direct
 * reports.
 */
export async function oversees(tx: ReadTx, agentId: string, other: string): Promise<boolean> {
  return (
    agentId === other ||
    (await tx.first(isReport, { agent: agentId, other })) !== undefined ||
    (await tx.all(departed, { agent: agentId })).some(({ id }) => id === other)
  );
}

/** The direct reports of an agent, as a query that returns `id`. */
export const reportsBelow = (agentId: string) =>
  sql<{ id: string }>`select id from agents where boss_id = ${agentId} and status <> 'pending_approval'`;

/** The departed agents whose files belong to this agent now, as a query that returns `id`. */
export const departedBelow = (agentId: string) => sql<{ id: string }>`
  with recursive departed(id) as (
    select id from agents where boss_id = ${agentId} and status = 'terminated'
    union select a.id from agents a join departed on a.boss_id = departed.id where a.status = 'terminated')
  select id from departed`;

async function readsResult(tx: ReadTx, agentId: string, fileId: string): Promise<boolean> {
  const outcome = await tx.first(resultOf, { result_id: fileId });
  if (outcome === undefined) return false;
  if ((await outcomeRights(tx, agentId, outcome.id)).read) return true;
  return (await tx.first(dependsOnIt, { agent: agentId, id: outcome.id })) !== undefined;
}

function outcomeRank(rights: OutcomeRights): number {
  return rights.write ? ranks.write : rights.read ? ranks.read : noRight;
}

const resultOf = selection("outcomes", ["result_id"]);

const dependsOnIt = textQuery(
  (p: { agent: string; id: string }) =>
    sql<{ yes: number }>`select 1 as yes from dependencies d join outcomes o on o.id = d.outcome_id
      where d.depends_on_id = ${p.id} and o.responsible_id = ${p.agent} and d.shares = 1 limit 1`,
);

const ownerWhoLeft = textQuery(
  (p: { agent: string; id: string; resource: string }) =>
    sql<{ name: string }>`with recursive line(name, id, boss_id) as (
        select a.name, a.id, a.boss_id from agents a where a.status = 'terminated' and (
            a.id = (select owner_id from files where id = ${p.id})
            or (a.id = (select author_agent_id from versions where file_id = ${p.id} and version = 1)
              and exists (select 1 from grants g where g.grantee_id = a.id and g.resource = ${p.resource}
                and g.origin = 'creation' and g.revoked_at is null)))
        union select line.name, b.id, b.boss_id from agents b join line on b.id = line.boss_id
          where b.status = 'terminated')
      select name from line where boss_id = ${p.agent} limit 1`,
);

/** Starts a query with `up`: the outcomes that `start` selects, and all their ancestors. */
export const upward = (start: RawBuilder<unknown>) =>
  sql`with recursive up(id) as (
    ${start} union select e.parent_id from edges e join up on up.id = e.child_id)`;

const ownsAncestor = textQuery(
  (p: { agent: string; id: string }) =>
    // An exists, not a join: SQLite would start a join with all outcomes of the agent instead of the few ancestors.
    sql<{ yes: number }>`${upward(sql`select id from outcomes where id = ${p.id}`)}
      select 1 as yes from up where exists (select 1 from outcomes o where o.id = up.id
        and (o.responsible_id = ${p.agent} or o.delegated_by = ${p.agent})) limit 1`,
);

const isWhyOf = textQuery((p: { agent: string; id: string }) => {
  const own = sql`select id from outcomes where responsible_id = ${p.agent} and status in ('open', 'submitted')`;
  return sql<{ yes: number }>`${upward(own)} select 1 as yes from up where id = ${p.id} limit 1`;
});

/** `sent` is 1 if this agent wrote the message or received it. */
export const fileSeenBy = textQuery(
  (p: { agent: string; id: string }) =>
    sql<Row<"files"> & { sent: number }>`select f.*, case when exists (
        select 1 from messages m where m.file_id = f.id
          and (m.from_id = ${p.agent} or (m.to_id = ${p.agent} and m.delivered_at is not null))
      ) then 1 else 0 end as sent from files f where f.id = ${p.id}`,
  { checks: checksIn("files"), sees: { files: "id", messages: ["id", "file_id"] } },
);

const isReport = textQuery(
  (p: { agent: string; other: string }) =>
    sql<{ id: string }>`select id from (${reportsBelow(p.agent)}) as r where id = ${p.other}`,
);
const departed = textQuery((p: { agent: string }) => departedBelow(p.agent));

const isOfItsCompany = textQuery(
  (p: { agent: string; id: string }) =>
    sql<{ yes: number }>`select 1 as yes from files f join agents a on a.company_id = f.company_id
      where f.id = ${p.id} and a.id = ${p.agent}`,
);

const answersToBoard = selection("agents", ["id"], sql`and boss_id is null`);

export const isNeighbour = textQuery(
  (p: { agent: string; other: string }) =>
    sql<{ yes: number }>`select 1 as yes from agents a join agents b on b.company_id = a.company_id
      where a.id = ${p.agent} and b.id = ${p.other} and b.status not in ('terminated', 'pending_approval')
        and (a.id = b.id or a.boss_id = b.id or b.boss_id = a.id)`,
);

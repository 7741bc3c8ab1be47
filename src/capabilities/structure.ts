import { type RawBuilder, sql } from "kysely";
import { noRight, ranks, type Resource, resourceId, resourceKind } from "../contract/resources.ts";
import { checksIn } from "../store/checks.ts";
import { query, selection, textQuery } from "../store/query.ts";
import type { Row } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";

/**
 * Rights that need no grant because they follow from an agent's position:
 *
 *   outcome, drive   the agent is responsible for the outcome
 *   outcome, write   it is responsible and the outcome was not delegated to it; or it delegated the outcome itself
 *   outcome, read    it drives or writes the outcome or an ancestor of it (so its own work and everything below,
 *                    delegated work included); or the outcome is an ancestor of live work that was delegated to it,
 *                    and so says why that work is done
 *   file             write: its state document.
 *                    read: its log; the file of an outcome it reads; a message it sent or received; the result of
 *                    an outcome it reads, or that its own work depends on; the skills of its company. A file that
 *                    was sent gives a right to the version that was sent only (visible.ts)
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

/** May the agent read everything below this outcome, because it owns or delegated the outcome or an ancestor? */
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
      return file.owner_id !== agentId ? noRight : file.kind === "log" ? ranks.read : ranks.write;
    }
    case "mail":
      if (id === "board")
        return (await tx.first(answersToBoard, { id: agentId })) === undefined ? noRight : ranks.send;
      return (await tx.first(isNeighbour, { agent: agentId, other: id })) === undefined
        ? noRight
        : ranks.send;
    case "mcp":
    case "repo":
    case "org":
      return noRight;
  }
}

async function readsResult(tx: ReadTx, agentId: string, fileId: string): Promise<boolean> {
  const outcome = await tx.first(resultOf, { result_id: fileId });
  if (outcome === undefined) return false;
  if ((await outcomeRights(tx, agentId, outcome.id)).read) return true;
  return (await tx.first(dependsOnIt, { agent: agentId, id: outcome.id })) !== undefined;
}

function outcomeRank(rights: OutcomeRights): number {
  return rights.write ? ranks.write : rights.read ? ranks.read : noRight;
}

const outcomeRow = query((db, p: { id: string }) =>
  db.selectFrom("outcomes").select(["responsible_id", "delegated", "delegated_by"]).where("id", "=", p.id),
);

const resultOf = selection("outcomes", ["result_id"]);

const dependsOnIt = textQuery(
  (p: { agent: string; id: string }) =>
    sql<{ yes: number }>`select 1 as yes from dependencies d join outcomes o on o.id = d.outcome_id
      where d.depends_on_id = ${p.id} and o.responsible_id = ${p.agent} limit 1`,
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
  const delegated = sql`select id from outcomes where responsible_id = ${p.agent} and delegated = 1
    and status in ('open', 'submitted')`;
  return sql<{ yes: number }>`${upward(delegated)} select 1 as yes from up where id = ${p.id} limit 1`;
});

/** `sent` is 1 if this agent wrote the message or received it. */
const fileSeenBy = textQuery(
  (p: { agent: string; id: string }) =>
    sql<Row<"files"> & { sent: number }>`select f.*, case when exists (
        select 1 from messages m where m.file_id = f.id
          and (m.from_id = ${p.agent} or (m.to_id = ${p.agent} and m.delivered_at is not null))
      ) then 1 else 0 end as sent from files f where f.id = ${p.id}`,
  checksIn("files"),
);

const isOfItsCompany = textQuery(
  (p: { agent: string; id: string }) =>
    sql<{ yes: number }>`select 1 as yes from files f join agents a on a.company_id = f.company_id
      where f.id = ${p.id} and a.id = ${p.agent}`,
);

const answersToBoard = selection("agents", ["id"], sql`and boss_id is null`);

const isNeighbour = textQuery(
  (p: { agent: string; other: string }) =>
    sql<{ yes: number }>`select 1 as yes from agents a join agents b on b.company_id = a.company_id
      where a.id = ${p.agent} and b.id = ${p.other} and b.status not in ('terminated', 'pending_approval')
        and (a.id = b.id or a.boss_id = b.id or b.boss_id = a.id)`,
);

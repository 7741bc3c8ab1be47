import { type RawBuilder, sql } from "kysely";
import { noRight, ranks, type Resource, resourceId, resourceKind } from "../contract/resources.ts";
import { query, textQuery } from "../store/query.ts";
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
        return (await tx.first(answersToBoard, { agent: agentId })) === undefined ? noRight : ranks.send;
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
  const outcome = await tx.first(resultOf, { id: fileId });
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

const resultOf = query((db, p: { id: string }) =>
  db.selectFrom("outcomes").select("id").where("result_id", "=", p.id),
);

const dependsOnIt = query((db, p: { agent: string; id: string }) =>
  db
    .selectFrom("dependencies as d")
    .innerJoin("outcomes as o", "o.id", "d.outcome_id")
    .select(sql<number>`1`.as("yes"))
    .where("d.depends_on_id", "=", p.id)
    .where("o.responsible_id", "=", p.agent)
    .limit(1),
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
const fileSeenBy = query((db, p: { agent: string; id: string }) =>
  db
    .selectFrom("files as f")
    .select((eb) => [
      "f.kind",
      "f.owner_id",
      eb
        .case()
        .when(
          eb.exists(
            eb
              .selectFrom("messages as m")
              .select("m.id")
              .whereRef("m.file_id", "=", "f.id")
              .where((m) =>
                m.or([
                  m("m.from_id", "=", p.agent),
                  m.and([m("m.to_id", "=", p.agent), m("m.delivered_at", "is not", null)]),
                ]),
              ),
          ),
        )
        .then(sql<number>`1`)
        .else(sql<number>`0`)
        .end()
        .as("sent"),
    ])
    .where("f.id", "=", p.id),
);

const isOfItsCompany = query((db, p: { agent: string; id: string }) =>
  db
    .selectFrom("files as f")
    .innerJoin("agents as a", "a.company_id", "f.company_id")
    .select(sql<number>`1`.as("yes"))
    .where("f.id", "=", p.id)
    .where("a.id", "=", p.agent),
);

const answersToBoard = query((db, p: { agent: string }) =>
  db
    .selectFrom("agents")
    .select(sql<number>`1`.as("yes"))
    .where("id", "=", p.agent)
    .where("boss_id", "is", null),
);

const isNeighbour = query((db, p: { agent: string; other: string }) =>
  db
    .selectFrom("agents as a")
    .innerJoin("agents as b", "b.company_id", "a.company_id")
    .select(sql<number>`1`.as("yes"))
    .where("a.id", "=", p.agent)
    .where("b.id", "=", p.other)
    .where("b.status", "not in", ["terminated", "pending_approval"])
    .where((eb) =>
      eb.or([
        eb("a.id", "=", eb.ref("b.id")),
        eb("a.boss_id", "=", eb.ref("b.id")),
        eb("b.boss_id", "=", eb.ref("a.id")),
      ]),
    ),
);

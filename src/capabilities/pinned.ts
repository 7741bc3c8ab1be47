import { type RawBuilder, sql } from "kysely";
import type { Reference } from "../contract/words.ts";
import { query, textQuery } from "../store/query.ts";
import type { Row } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";
import { isActive, isAtOrBelow, type Member, memberById, memberName } from "./members.ts";
import { holds } from "./rights.ts";
import { upward } from "./structure.ts";
import { pinnedBy, type Relation } from "./texts.ts";

/**
 * Rights to one version of a file. They follow from structure, are not stored, and can't be passed on by a grant. There are two
 * sources:
 *
 *   deliverable   The version was delivered with an outcome that is not closed. The owner and the verifier of that outcome
 *                 may read it; while a verdict is escalated, so may the managers above the verifier. Once it was accepted,
 *                 the owners of all ancestors may read it. So may the owners of outcomes that depend on that outcome, if
 *                 its owner or an owner above set the dependency. The author need not be employed any more.
 *   message       The version was sent to the agent, as a message or along with one. It stays readable as long as its
 *                 sender can read it. If the sender has left, the manager that got the sender's files counts instead.
 */
export interface Pin {
  readonly fileId: string;
  readonly version: number;
  /** The structure that gives the right. */
  readonly through: { readonly kind: "outcome" | "message"; readonly id: string };
  readonly how: Relation | "receiver";
}

/** The versions that an agent (null: the board) may read. `asked` lists the agents whose right depends on this answer. */
export async function versionsFor(
  tx: ReadTx,
  agentId: string | null,
  fileId: string,
  asked: readonly string[] = [],
): Promise<"all" | readonly number[]> {
  if (agentId === null || (await holds(tx, agentId, `kb:${fileId}`, "read"))) return "all";
  return [...new Set((await pinsOn(tx, agentId, fileId, asked)).map(({ version }) => version))];
}

/** The rights of an agent to versions of one file, the newest version first. */
export async function pinsOn(
  tx: ReadTx,
  agentId: string,
  fileId: string,
  asked: readonly string[] = [],
): Promise<Pin[]> {
  // If two agents sent a file to each other, neither right may rest on the other.
  if (asked.includes(agentId)) return [];
  const pins = [
    ...(await deliveredPins(tx, agentId, fileId)),
    ...(await sentPins(tx, agentId, fileId, [...asked, agentId])),
  ];
  return pins.toSorted((a, b) => b.version - a.version);
}

/** The files to which an agent may have such a right, as a query that returns `id`. pinsOn() has to check each one. */
export const maybePinned = (agentId: string): RawBuilder<{ id: string }> => sql<{ id: string }>`
  select d.file_id as id from deliverables d join (
      with recursive down(id) as (
        select id from outcomes where responsible_id = ${agentId}
        union select e.child_id from edges e join down on e.parent_id = down.id)
      select id from down) below on below.id = d.outcome_id
  union select d.file_id from deliverables d join outcomes o on o.id = d.outcome_id where o.delegated_by = ${agentId}
  union select d.file_id from outcomes o join deliverables d on d.outcome_id = o.id join (
      with recursive under(id) as (
        select id from agents where boss_id = ${agentId}
        union select a.id from agents a join under on a.boss_id = under.id)
      select id from under) verifier on verifier.id = o.delegated_by where o.reworks >= 2
  union select d.file_id from deliverables d join dependencies w on w.depends_on_id = d.outcome_id and w.shares = 1
    join outcomes o on o.id = w.outcome_id where o.responsible_id = ${agentId}
  union select m.file_id from messages m join files f on f.id = m.file_id
    where m.to_id = ${agentId} and m.delivered_at is not null and f.kind <> 'message'
  union select e.file_id from messages m join enclosures e on e.message_id = m.id
    where m.to_id = ${agentId} and m.delivered_at is not null`;

/** All rights of an agent to versions of files that are not deleted, at most `limit` files, the newest files first. */
export async function pinsOf(tx: ReadTx, agentId: string, limit: number): Promise<Pin[]> {
  const pins: Pin[][] = [];
  let before = Number.MAX_SAFE_INTEGER;
  // Files that turn out to be hidden don't count.
  for (let more = true; more;) {
    const rows = await tx.all(candidates, { agentId, before, limit });
    for (const { id, num } of rows) {
      before = num;
      if (pins.length === limit || (await holds(tx, agentId, `kb:${id}`, "read"))) continue;
      const own = await pinsOn(tx, agentId, id);
      if (own.length > 0) pins.push(own);
    }
    more = rows.length === limit && pins.length < limit;
  }
  return pins.flat();
}

/**
 * Why the agent may read the version, and the thing that the sentence names. Outcomes that the viewer (null: the board) can't
 * read have no title.
 */
export async function reasonOf(
  tx: ReadTx,
  viewer: string | null,
  agent: Pick<Member, "id" | "name">,
  { version, through, how }: Pin,
): Promise<{ because: string; references: Reference[] }> {
  if (how === "receiver") {
    const message = await tx.first(sentMessage, { id: through.id });
    const sender = message?.from_system === 1 ? "Agency" : await memberName(tx, message?.from_id ?? null);
    const references = [{ kind: "message", id: through.id, title: null }];
    return { because: pinnedBy.message(version, agent.name, sender), references };
  }
  const references: Reference[] = [];
  const named = async (id: string): Promise<string> => {
    const isSeen = viewer === null || (await holds(tx, viewer, `outcome:${id}`, "read"));
    const title = isSeen ? (await tx.first(outcomeTitle, { id }))?.title : undefined;
    references.push({ kind: "outcome", id, title: title ?? null });
    return title === undefined ? pinnedBy.unreadable : `"${title}"`;
  };
  const own =
    how === "ancestor"
      ? await tx.first(ownedAncestor, { agent: agent.id, id: through.id })
      : how === "dependent"
        ? await tx.first(ownedDependent, { agent: agent.id, id: through.id })
        : undefined;
  const outcome = await named(through.id);
  const mine = own === undefined ? "" : await named(own.id);
  return { because: pinnedBy.deliverable(how, version, agent.name, outcome, mine), references };
}

async function deliveredPins(tx: ReadTx, agentId: string, fileId: string): Promise<Pin[]> {
  const pins: Pin[] = [];
  for (const row of await tx.all(deliveries, { fileId })) {
    const how = await relationTo(tx, agentId, row);
    if (how !== undefined)
      pins.push({ fileId, version: row.version, through: { kind: "outcome", id: row.id }, how });
  }
  return pins;
}

async function relationTo(tx: ReadTx, agentId: string, row: Delivery): Promise<Relation | undefined> {
  if (row.responsible_id === agentId) return "owner";
  if (row.delegated_by === agentId) return "verifier";
  if (row.reworks >= 2 && (await isAbove(tx, agentId, row.delegated_by))) return "decider";
  if (row.accepted_at === null) return undefined;
  const of = { agent: agentId, id: row.id };
  if ((await tx.first(ownedAncestor, of)) !== undefined) return "ancestor";
  return (await tx.first(ownedDependent, of)) === undefined ? undefined : "dependent";
}

async function sentPins(
  tx: ReadTx,
  agentId: string,
  fileId: string,
  asked: readonly string[],
): Promise<Pin[]> {
  const pins: Pin[] = [];
  for (const { id, version, from_id } of await tx.all(sentTo, { agentId, fileId })) {
    const theirs = await versionsFor(tx, await heirOf(tx, from_id), fileId, asked);
    if (includesVersion(theirs, version))
      pins.push({ fileId, version, through: { kind: "message", id }, how: "receiver" });
  }
  return pins;
}

export const includesVersion = (versions: "all" | readonly number[], version: number): boolean =>
  versions === "all" || versions.includes(version);

/** The agent itself or, if it has left, the nearest manager above it that has not. Null means the board. */
async function heirOf(tx: ReadTx, agentId: string | null): Promise<string | null> {
  const agent = await memberById(tx, agentId);
  return agent === undefined || isActive(agent) ? agentId : heirOf(tx, agent.boss_id);
}

/** Whether the agent is a manager of the other one, at any distance. */
export async function isAbove(tx: ReadTx, agentId: string, otherId: string | null): Promise<boolean> {
  return isAtOrBelow(tx, (await memberById(tx, otherId))?.boss_id ?? null, agentId);
}

type Delivery = Pick<Row<"deliverables">, "version" | "accepted_at"> &
  Pick<Row<"outcomes">, "id" | "responsible_id" | "delegated_by" | "reworks">;

const deliveries = query((db, p: { fileId: string }) =>
  db
    .selectFrom("deliverables as d")
    .innerJoin("outcomes as o", "o.id", "d.outcome_id")
    .select(["d.version", "d.accepted_at", "o.id", "o.responsible_id", "o.delegated_by", "o.reworks"])
    .where("d.file_id", "=", p.fileId)
    .where("o.status", "<>", "closed"),
);

const ownedAncestor = textQuery(
  (p: { agent: string; id: string }) =>
    sql<{ id: string }>`${upward(sql`select parent_id as id from edges where child_id = ${p.id}`)}
      select up.id from up where exists (
        select 1 from outcomes o where o.id = up.id and o.responsible_id = ${p.agent}) limit 1`,
);

const ownedDependent = textQuery(
  (p: { agent: string; id: string }) =>
    sql<{ id: string }>`select o.id from dependencies d join outcomes o on o.id = d.outcome_id
      where d.depends_on_id = ${p.id} and d.shares = 1 and o.responsible_id = ${p.agent} limit 1`,
);

const candidates = textQuery(
  (p: { agentId: string; before: number; limit: number }) =>
    sql<{ id: string; num: number }>`select f.id, f.num from files f where f.id in (${maybePinned(p.agentId)})
      and f.deleted_at is null and f.num < ${p.before} order by f.num desc limit ${p.limit}`,
);

/** Messages to an agent that are the file or enclose it. */
const sentTo = textQuery(
  (p: { agentId: string; fileId: string }) => sql<{ id: string; version: number; from_id: string | null }>`
    select id, version, from_id from messages
      where file_id = ${p.fileId} and to_id = ${p.agentId} and delivered_at is not null
    union select m.id, e.version, m.from_id from enclosures e join messages m on m.id = e.message_id
      where e.file_id = ${p.fileId} and m.to_id = ${p.agentId} and m.delivered_at is not null
    order by id`,
);

const sentMessage = query((db, p: { id: string }) =>
  db.selectFrom("messages").select(["from_id", "from_system"]).where("id", "=", p.id),
);

const outcomeTitle = query((db, p: { id: string }) =>
  db.selectFrom("outcomes").select("title").where("id", "=", p.id),
);

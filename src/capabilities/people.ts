import { sql } from "kysely";
import type { By } from "../contract/actors.ts";
import type { Actor } from "../events/ledger.ts";
import { query, selection } from "../store/query.ts";
import type { Row } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";
import { memberById, membersAhead } from "./members.ts";

/**
 * People and the positions they hold. A position is an active agent with the brain `human` that names the person. It counts
 * only while the person is not removed and not a viewer. So removing a person ends every position in that same transaction,
 * and no row of a company has to change.
 */
export type PersonRow = Row<"people">;

const positionColumns = ["id", "company_id", "name", "slug", "role", "status"] as const;
export type HeldPosition = Pick<Row<"agents">, (typeof positionColumns)[number]> & {
  readonly company_name: string;
};

export function positionsOf(tx: ReadTx, personId: string): Promise<HeldPosition[]> {
  return tx.all(heldBy, { personId });
}

/** The person who holds the agent's position now. */
export async function holderOf(tx: ReadTx, agentId: string | null): Promise<PersonRow | undefined> {
  return agentId === null ? undefined : tx.first(holder, { agentId });
}

/** Finds removed people too, because the record keeps their names. */
export async function personById(tx: ReadTx, id: string | null): Promise<PersonRow | undefined> {
  return id === null ? undefined : tx.first(byId, { id });
}

export function boardPeople(tx: ReadTx): Promise<PersonRow[]> {
  return tx.all(onBoard, {});
}

/** The author of a change, as every view shows it. */
export async function presentBy(
  tx: ReadTx,
  { kind, agentId, personId }: Pick<Actor, "kind" | "agentId" | "personId">,
): Promise<By> {
  const agent = await memberById(tx, agentId);
  const person = await personById(tx, personId);
  return {
    kind,
    ...(agent && { agent: { id: agent.id, name: agent.name } }),
    ...(person && { person: { id: person.id, name: person.name } }),
  };
}

/** Announces to the store that an author will be presented. */
export function byAhead(tx: ReadTx, { agentId, personId }: Pick<Actor, "agentId" | "personId">): void {
  membersAhead(tx, agentId);
  if (personId !== null) tx.ahead(byId, { id: personId });
}

/** The author in a sentence: "Ann", "Ann (for Mill)", "Mill" or "The board". */
export function nameOfBy({ kind, agent, person }: By): string {
  if (agent === undefined) return person?.name ?? (kind === "system" ? "Agency" : "The board");
  return person === undefined ? agent.name : `${person.name} (as ${agent.name})`;
}

const byId = selection("people", ["id"]);

const onBoard = selection("people", [], sql`and role = 'board' and ended_at is null order by created_at, id`);

const heldBy = query((db, p: { personId: string }) =>
  db
    .selectFrom("agents as a")
    .innerJoin("companies as c", "c.id", "a.company_id")
    .innerJoin("people as p", "p.id", "a.person_id")
    .select(["a.id", "a.company_id", "a.name", "a.slug", "a.role", "a.status", "c.name as company_name"])
    .where("a.person_id", "=", p.personId)
    .where("a.brain_type", "=", "human")
    .where("a.status", "in", ["idle", "paused"])
    .where("p.ended_at", "is", null)
    .where("p.role", "<>", "viewer")
    .orderBy("a.created_at")
    .orderBy("a.id"),
);

const holder = query((db, p: { agentId: string }) =>
  db
    .selectFrom("agents as a")
    .innerJoin("people as p", "p.id", "a.person_id")
    .selectAll("p")
    .where("a.id", "=", p.agentId)
    .where("a.brain_type", "=", "human")
    .where("a.status", "in", ["idle", "paused"])
    .where("p.ended_at", "is", null)
    .where("p.role", "<>", "viewer"),
);

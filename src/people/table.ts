import { sql } from "kysely";
import { lookOf, nameKey } from "../contract/names.ts";
import type { Role } from "../contract/people.ts";
import { personById, type PersonRow } from "../capabilities/people.ts";
import { type Actor, append } from "../events/ledger.ts";
import { insertion } from "../store/inserts.ts";
import { query, selection, updating } from "../store/query.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { noSuchPerson } from "./texts.ts";

/** The label of the credential in `board-token`. */
export const boardTokenLabel = "board-token";

/** Adds a person and records it. The caller checks the name. */
export async function addPerson(
  tx: Tx,
  actor: Actor,
  { id, name, role }: { id: string; name: string; role: Role },
): Promise<PersonRow> {
  const row: PersonRow = {
    id,
    name,
    name_key: lookOf(name),
    role,
    created_at: tx.now,
    ended_at: null,
    signed_in_at: null,
  };
  await tx.run(insertPerson, row);
  append(tx, { companyId: "", actor, operation: "person.create", subject: id, data: { name, role } });
  return row;
}

/** The person with this id or name, unless removed. A person whose name only looks like the given one is not found. */
export async function findPerson(tx: ReadTx, given: string): Promise<PersonRow> {
  const found =
    (await personById(tx, given.toLowerCase())) ??
    (await tx.first(personLooking, { name_key: lookOf(given) }));
  const isMeant = found?.id === given.toLowerCase() || (found && nameKey(found.name) === nameKey(given));
  if (found === undefined || isMeant !== true || found.ended_at !== null) throw noSuchPerson(given);
  return found;
}

const insertPerson = insertion("people");
export const updatePersonRow = updating("people", ["name", "name_key", "role", "ended_at"], ["id"]);
export const markSignedIn = updating("people", ["signed_in_at"], ["id"]);

export const personLooking = selection("people", ["name_key"], sql`and ended_at is null`);
export const everyPerson = selection("people", [], sql`and ended_at is null order by created_at, id`);

/** The browsers and programs of a person. */
export const signInsOf = query((db, p: { personId: string }) =>
  db
    .selectFrom("credentials")
    .selectAll()
    .where("person_id", "=", p.personId)
    .where("kind", "in", ["person", "browser"])
    .where("revoked_at", "is", null)
    .orderBy("created_at")
    .orderBy("id"),
);

export const endCredentialsOf = updating(
  "credentials",
  ["revoked_at"],
  ["person_id"],
  sql`and revoked_at is null`,
);
export const endLinksOf = updating(
  "credentials",
  ["revoked_at"],
  ["person_id"],
  sql`and kind = 'link' and revoked_at is null`,
);
export const extendCredential = updating("credentials", ["expires_at"], ["id"]);

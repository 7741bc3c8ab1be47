import { hash } from "node:crypto";
import type { Role } from "../contract/people.ts";
import { nameKey } from "../contract/names.ts";
import type { Operation } from "../contract/operation.ts";
import type { Refusal } from "../contract/refusal.ts";
import { type Actor, agentActor } from "../events/ledger.ts";
import { type HeldPosition, positionsOf } from "../capabilities/people.ts";
import { query } from "../store/query.ts";
import type { Row } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";
import * as texts from "./texts.ts";

/**
 * The credential decides who acts, never an argument. A credential is a random token of 256 bits, of which only the SHA-256 is
 * stored. People have three kinds: `person` (a program such as the command line), `browser` (a cookie and a page key, both
 * needed) and `link` (a one-time code, good only for signing in). Agents have two: `key` (a program that acts for the agent
 * from outside) and `session` (one run of its brain, valid while its epoch is the agent's current one).
 *
 * A board person acts for the board. A member acts as the agent whose position the member holds. A person who acts from one of
 * several positions, or a board person who acts from a position, names it in the call. A viewer reads what the board reads.
 */
export interface Caller {
  readonly actor: Actor;
  /** The company of an agent; null for the board, which governs every company. */
  readonly companyId: string | null;
  /** The folder of a session, from which it may name files. */
  readonly workspace: string | null;
  /** The person behind the credential; undefined for the keys and sessions of agents. */
  readonly person?: CallingPerson;
}

interface CallingPerson {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly credentialId: string;
  /** The call comes with the code of a sign-in link, which allows nothing but signing in. */
  readonly isLink: boolean;
  /** The agent from whose position the person acts. */
  readonly positionId?: string;
  /** Why the person acts neither for the board nor from a position. */
  readonly unplaced?: Refusal;
}

export function hashToken(token: string): string {
  return hash("sha256", token);
}

/** Builds the credential of a browser from its cookie and its page key. */
export function browserToken(cookie: string, pageKey: string): string {
  return `${cookie}.${pageKey}`;
}

/**
 * `as` is the id or slug of the position that the person names. The code of a sign-in link is only for identify() and opens
 * nothing here.
 */
export async function authenticate(tx: ReadTx, token: string | undefined, as?: string): Promise<Caller> {
  const caller = await holderOf(tx, token, as);
  if (caller.person?.isLink === true) throw texts.unauthenticated(texts.credentialInvalid);
  return caller;
}

/** Announces to the store that the caller with this credential will be identified. */
export function callerAhead(tx: ReadTx, token: string | undefined): void {
  if (token !== undefined && token !== "") tx.ahead(byHash, { hash: hashToken(token) });
}

async function holderOf(
  tx: ReadTx,
  token: string | undefined,
  as: string | undefined,
  needs?: Operation["needs"],
): Promise<Caller> {
  const row =
    token === undefined || token === "" ? undefined : await tx.first(byHash, { hash: hashToken(token) });
  if (needs === "link" && row?.kind !== "link") throw texts.linkUnknown();
  if (row === undefined) throw texts.unauthenticated(texts.credentialInvalid);
  const isOver = row.expires_at !== null && row.expires_at <= tx.now;
  if (row.kind === "link" && (isOver || row.revoked_at !== null))
    throw isOver ? texts.linkExpired() : texts.linkUsed();
  if (isOver || row.revoked_at !== null) throw texts.unauthenticated(texts.credentialInvalid);
  if (row.person_id !== null) return personCalling(tx, row, as);
  if (as !== undefined) throw texts.onlyPeopleName();
  if (row.agent_id === null || row.company_id === null || row.status === null)
    throw texts.unauthenticated(texts.credentialInvalid);
  if (row.status === "terminated" || row.status === "pending_approval")
    throw texts.unauthenticated(texts.agentInactive);
  if (row.status === "paused") throw texts.paused(row.name ?? "This agent");
  if (row.kind === "session" && (row.session_ended_at !== null || row.session_epoch !== row.agent_epoch))
    throw texts.unauthenticated(texts.sessionEnded);
  return {
    actor: agentActor(row.agent_id, row.session_id),
    companyId: row.company_id,
    workspace: row.workspace,
  };
}

/**
 * Returns the caller of an operation, or refuses if callers of this kind can't call it. Only this function looks at roles. The
 * rights of agents are checked after it.
 */
export async function identify(
  tx: ReadTx,
  operation: Operation,
  token: string | undefined,
  as: string | undefined,
): Promise<Caller> {
  const { needs, effect } = operation;
  const caller = await holderOf(tx, token, as, needs);
  const { person } = caller;
  if (person === undefined) {
    if (needs === "person") throw texts.peopleOnly(operation);
    return caller;
  }
  if (person.isLink && needs !== "link") throw texts.unauthenticated(texts.credentialInvalid);
  // Operations on a person's own record and credentials don't run from a position.
  if (needs === "person" || needs === "link")
    return { ...caller, actor: boardActor(person.id), companyId: null };
  if (person.unplaced !== undefined) throw person.unplaced;
  if (person.role === "viewer" && effect === "write") throw texts.viewersRead(operation, person.name);
  return caller;
}

const boardActor = (personId: string): Actor => ({
  kind: "board",
  agentId: null,
  sessionId: null,
  personId,
});

async function personCalling(
  tx: ReadTx,
  row: Pick<Row<"credentials">, "id" | "kind" | "person_id"> & {
    readonly role: Role | null;
    readonly person_name: string | null;
    readonly person_ended_at: number | null;
  },
  as: string | undefined,
): Promise<Caller> {
  const { person_id: id, person_name: name, role } = row;
  if (id === null || name === null || role === null || row.person_ended_at !== null)
    throw texts.unauthenticated(texts.credentialInvalid);
  const person = { id, name, role, credentialId: row.id, isLink: row.kind === "link" };
  const here = { workspace: null, person };
  if (as === undefined && role !== "member") return { ...here, actor: boardActor(id), companyId: null };
  const positions = await positionsOf(tx, id);
  const found = positions.filter((position) => as === undefined || isCalled(position, as));
  const [only] = found;
  if (only !== undefined && found.length === 1 && only.status !== "paused")
    return {
      workspace: null,
      person: { ...person, positionId: only.id },
      actor: { ...agentActor(only.id), personId: id },
      companyId: only.company_id,
    };
  const unplaced =
    only === undefined
      ? as === undefined
        ? texts.noPosition(name)
        : texts.notYourPosition(as, positions)
      : found.length > 1
        ? texts.whichPosition(found)
        : texts.paused(only.name);
  // An agent id and a company id that own nothing. If a check forgets `unplaced`, it still finds no right.
  return { ...here, person: { ...person, unplaced }, actor: nobody(id), companyId: "" };
}

const nobody = (personId: string): Actor => ({ kind: "agent", agentId: "", sessionId: null, personId });

const isCalled = ({ id, slug }: HeldPosition, as: string): boolean =>
  [id, slug].includes(nameKey(as.replace(/^@/, "")));

const byHash = query(
  (db, p: { hash: string }) =>
    db
      .selectFrom("credentials as c")
      .leftJoin("agents as a", "a.id", "c.agent_id")
      .leftJoin("sessions as s", "s.id", "c.session_id")
      .leftJoin("people as p", "p.id", "c.person_id")
      .select([
        "c.id",
        "c.kind",
        "c.company_id",
        "c.agent_id",
        "c.session_id",
        "c.person_id",
        "c.expires_at",
        "c.revoked_at",
        "a.status",
        "a.name",
        "a.epoch as agent_epoch",
        "s.epoch as session_epoch",
        "s.ended_at as session_ended_at",
        "s.workspace",
        "p.name as person_name",
        "p.role",
        "p.ended_at as person_ended_at",
      ])
      .where("c.hash", "=", p.hash),
  { sees: { agents: "agent_id", sessions: "session_id", people: "person_id" } },
);

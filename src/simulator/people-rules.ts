import { query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { Broken } from "./broken.ts";
import { changesSomething } from "./company-rules.ts";
import type { EventRow, SignInOf } from "./ledger-rules.ts";

/**
 * Follows the people of the installation in the ledger: their roles, their sign-ins and the one valid link of each. The rules
 * of the product are repeated here on purpose, so a bug in the product can't hide itself.
 */
type Role = "board" | "member" | "viewer";

export interface WatchedPerson {
  readonly id: string;
  readonly name: string;
  role: Role;
  ended: boolean;
  hasSignedIn: boolean;
  /** The valid sign-ins. */
  readonly signIns: Set<string>;
  /** How many links were made for this person. Only the last one is valid, until it is used. */
  links: number;
  linkWorks: boolean;
  linkExpires: number;
}

/** The company and position in which a person's calls run. */
export type Placed =
  | { readonly at: "board" | "watching" | "nowhere" }
  | { readonly at: "position"; readonly agentId: string };

/** Calls about one's own record, which every person may make. */
const own = new Set(["person.link", "person.sign_in", "person.sign_out", "person.me"]);

export class PeopleModel {
  readonly people = new Map<string, WatchedPerson>();

  async see(tx: ReadTx, row: EventRow, data: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#demandActor(tx, row);
    if (!row.operation.startsWith("person.")) return;
    if (row.operation === "person.create") return this.#created(row, data);
    const person = this.people.get(row.subject ?? "");
    if (person === undefined)
      throw new Broken("an event matches what happened", `${row.operation} of an unknown person`);
    switch (row.operation) {
      case "person.update":
        person.role = roleIn(data["after"]);
        break;
      case "person.remove":
        person.ended = true;
        person.signIns.clear();
        person.linkWorks = false;
        break;
      case "person.link":
        this.#linked(row, person, data);
        break;
      case "person.sign_in":
        // The daemon signs its owner in at the first start, without a link.
        if (row.actor_kind !== "system" && (!person.linkWorks || person.linkExpires <= row.at))
          throw new Broken("a sign-in link works once, in time, and only the newest", person.name);
        person.linkWorks = false;
        person.hasSignedIn = true;
        person.signIns.add(String(data["signIn"]));
        break;
      case "person.sign_out":
        person.signIns.delete(String(data["signIn"]));
        break;
      default:
    }
    if (![...this.people.values()].some(({ role, ended }) => role === "board" && !ended))
      throw new Broken("there is always a board person", row.operation);
  }

  /** Whether this credential of a person is valid. */
  accepts({ personId, signIn, link }: SignInOf, now: number): boolean {
    const person = this.people.get(personId);
    if (person === undefined || person.ended) return false;
    if (link !== undefined) return person.linkWorks && person.links === link && now < person.linkExpires;
    return signIn === null || person.signIns.has(signIn);
  }

  /** The place of the person's next call, if it names this position or, for null, none. */
  async placeOf(tx: ReadTx, personId: string, as: string | null): Promise<Placed> {
    const person = this.people.get(personId);
    if (person === undefined || person.ended) return { at: "nowhere" };
    if (as === null && person.role !== "member")
      return { at: person.role === "board" ? "board" : "watching" };
    const held = await this.positionsOf(tx, personId);
    const meant = held.filter(({ id }) => as === null || id === as);
    const [only] = meant;
    return only === undefined || meant.length > 1 || only.status === "paused"
      ? { at: "nowhere" }
      : { at: "position", agentId: only.id };
  }

  async positionsOf(tx: ReadTx, personId: string): Promise<{ id: string; status: string }[]> {
    const person = this.people.get(personId);
    if (person === undefined || person.ended || person.role === "viewer") return [];
    return (await tx.all(boundAgents, { personId })).filter(
      ({ brain_type, status }) => brain_type === "human" && (status === "idle" || status === "paused"),
    );
  }

  #created(row: EventRow, data: Readonly<Record<string, unknown>>): void {
    const id = row.subject ?? "";
    this.people.set(id, {
      id,
      name: String(data["name"]),
      role: roleIn(data),
      ended: false,
      hasSignedIn: row.actor_kind === "system",
      signIns: new Set(),
      links: 0,
      linkWorks: false,
      linkExpires: 0,
    });
  }

  #linked(row: EventRow, person: WatchedPerson, data: Readonly<Record<string, unknown>>): void {
    const maker = this.people.get(row.person_id ?? "");
    if (maker !== person && (person.hasSignedIn || maker?.role !== "board"))
      throw new Broken(
        "a link for another person is made by the board, until that person signs in",
        person.name,
      );
    person.links += 1;
    person.linkWorks = true;
    person.linkExpires = Date.parse(String(data["expiresAt"]));
  }

  /** Demands that the person who caused an event existed and was allowed to cause it. */
  async #demandActor(tx: ReadTx, row: EventRow): Promise<void> {
    const person = this.people.get(row.person_id ?? "");
    const name = `${row.operation} by ${person?.name ?? row.person_id ?? "no one"}`;
    if (row.actor_kind === "board" && person === undefined)
      throw new Broken("every event of the board names its person", name);
    if (person === undefined) return;
    if (person.ended) throw new Broken("a removed person does nothing", name);
    if (row.actor_kind === "agent") {
      const held = await this.positionsOf(tx, person.id);
      // A refusal is recorded after the call. If it needs no position, it names no agent.
      if (row.operation !== "access.refused" && !held.some(({ id }) => id === row.agent_id))
        throw new Broken("a person acts only from a position that is theirs", name);
    } else if (person.role !== "board" && changesSomething(row.operation) && !own.has(row.operation))
      throw new Broken("only board people act for the board", name);
  }
}

function roleIn(data: unknown): Role {
  const { role } = Object(data);
  if (role === "board" || role === "member" || role === "viewer") return role;
  throw new Broken("an event matches what happened", `a person with the role ${String(role)}`);
}

const boundAgents = query((db, p: { personId: string }) =>
  db
    .selectFrom("agents")
    .select(["id", "status", "brain_type"])
    .where("person_id", "=", p.personId)
    .orderBy("created_at")
    .orderBy("id"),
);

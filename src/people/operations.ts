import * as contract from "../contract/people.ts";
import { lookOf, nameKey } from "../contract/names.ts";
import { problemOfName } from "../agents/agent.ts";
import { keepCredential, revokeCredential } from "../agents/keys.ts";
import {
  boardPeople,
  type HeldPosition,
  personById,
  type PersonRow,
  positionsOf,
} from "../capabilities/people.ts";
import type { CallContext } from "../dispatch/context.ts";
import { type Guarded, guarded } from "../dispatch/guarded.ts";
import { browserToken } from "../dispatch/identity.ts";
import { append } from "../events/ledger.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import {
  abilitiesOfRole,
  browserMilliseconds,
  firstLinkMilliseconds,
  mostPeople,
  ownLinkMilliseconds,
} from "./person.ts";
import {
  addPerson,
  boardTokenLabel,
  endCredentialsOf,
  endLinksOf,
  everyPerson,
  extendCredential,
  findPerson,
  markSignedIn,
  personLooking,
  signInsOf,
  updatePersonRow,
} from "./table.ts";
import * as texts from "./texts.ts";

/**
 * Operations on the people of the installation and their sign-ins. All run under the installation's lock, one after another. So
 * two calls can't use one code, and two people can't remove each other and leave no board.
 */

/** `origin` returns the address of the daemon, such as `http://127.0.0.1:4600`. */
export function peopleHandlers(origin: () => string): Guarded[] {
  /** Creates the only valid link for this person. Earlier links end. */
  async function makeLink(call: CallContext, person: PersonRow, milliseconds: number) {
    const { tx } = call;
    const code = `agl_${call.newSecret()}`;
    const expiresAt = tx.now + milliseconds;
    await tx.run(endLinksOf, { person_id: person.id, revoked_at: tx.now });
    await keepCredential(tx, {
      id: call.newId(),
      token: code,
      kind: "link",
      personId: person.id,
      expiresAt,
      label: "sign-in link",
    });
    await call.record(person.id, { expiresAt: iso(expiresAt) }, contract.linkPerson.name);
    return { link: `${origin()}/sign-in#${code}`, code, expiresAt: iso(expiresAt) };
  }

  const onCreate = guarded(contract.createPerson, async (call) => {
    const { tx, actor, input } = call;
    await demandFreeName(tx, input.name, null);
    if ((await tx.all(everyPerson, {})).length >= mostPeople) throw texts.tooManyPeople(mostPeople);
    const person = await addPerson(tx, actor, { id: call.newId(), name: input.name, role: input.role });
    return { ...(await present(tx, person)), signIn: await makeLink(call, person, firstLinkMilliseconds) };
  });

  const onLink = guarded(contract.linkPerson, async (call) => {
    const me = await selfOf(call);
    const { id: given } = call.input;
    const isOwn = given === "me" || given.toLowerCase() === me.id || nameKey(given) === nameKey(me.name);
    if (isOwn) return makeLink(call, me, ownLinkMilliseconds);
    // Answers the same for names that exist and names that don't: only the board knows the people.
    if (me.role !== "board") throw texts.onlyBoardLinks(given);
    const person = await findPerson(call.tx, given);
    if (person.signed_in_at !== null) throw texts.hasSignedIn(person.name);
    return makeLink(call, person, firstLinkMilliseconds);
  });

  return [onMe, onList, onCreate, onUpdate, onRemove, onLink, onSignIn, onSignOut];
}

const onMe = guarded(contract.viewMe, async (call) => {
  const { tx, caller } = call;
  const me = await selfOf(call);
  const held = await positionsOf(tx, me.id);
  const signIns = (await tx.all(signInsOf, { personId: me.id })).filter(
    ({ expires_at }) => expires_at === null || expires_at > tx.now,
  );
  const current = signIns.find(({ id }) => id === caller.person?.credentialId);
  // Extended at most once a day, because each change of the row is written to the disk.
  const until = tx.now + browserMilliseconds;
  if (current?.kind === "browser" && (current.expires_at ?? 0) < until - day)
    await tx.run(extendCredential, { id: current.id, expires_at: until });
  const place = held.find(({ id }) => id === caller.person?.positionId);
  return {
    person: { id: me.id, name: me.name },
    role: me.role,
    positions: held.map(presentPosition),
    actingAs: place === undefined ? null : presentPosition(place),
    abilities: abilitiesOfRole(me.role, held.length),
    signIns: signIns.map((row) => ({
      id: row.id,
      kind: row.kind === "browser" ? ("browser" as const) : ("program" as const),
      label: row.label,
      createdAt: iso(row.created_at),
      expiresAt: row.expires_at === null ? null : iso(row.expires_at),
      current: row.id === current?.id,
    })),
  };
});

const onList = guarded(contract.listPeople, async ({ tx }) => {
  const people = [];
  for (const person of await tx.all(everyPerson, {})) people.push(await present(tx, person));
  return { people };
});

const onUpdate = guarded(contract.updatePerson, async (call) => {
  const { tx, input } = call;
  const before = await personNamed(call, input.id, await selfOf(call));
  const name = input.name ?? before.name;
  const role = input.role ?? before.role;
  if (input.name !== undefined) await demandFreeName(tx, name, before.id);
  if (role !== "board") await demandNotLast(tx, before);
  const after = { ...before, name, name_key: lookOf(name), role };
  const held = await positionsOf(tx, before.id);
  await tx.run(updatePersonRow, after);
  if (role === "viewer") vacate(call, before, held);
  await call.record(before.id, {
    before: { name: before.name, role: before.role },
    after: { name, role },
  });
  return present(tx, after);
});

const onRemove = guarded(contract.removePerson, async (call) => {
  const { tx } = call;
  const person = await personNamed(call, call.input.id, await selfOf(call));
  await demandNotLast(tx, person);
  const held = await positionsOf(tx, person.id);
  await tx.run(updatePersonRow, { ...person, ended_at: tx.now });
  await tx.run(endCredentialsOf, { person_id: person.id, revoked_at: tx.now });
  vacate(call, person, held);
  const positions = held.map(presentPosition);
  await call.record(person.id, { name: person.name, positions: positions.map(({ id }) => id) });
  return { id: person.id, name: person.name, removed: true as const, positions };
});

const onSignIn = guarded(contract.signIn, async (call) => {
  const { tx, input } = call;
  const me = await selfOf(call);
  // The code is used up. So are all other links: each was made to reach this person once.
  await tx.run(endLinksOf, { person_id: me.id, revoked_at: tx.now });
  await tx.run(markSignedIn, { id: me.id, signed_in_at: me.signed_in_at ?? tx.now });
  const id = call.newId();
  const isBrowser = input.kind === "browser";
  const label = input.label ?? input.kind;
  const [cookie, pageKey, token] = [`agw_${call.newSecret()}`, call.newSecret(), `agp_${call.newSecret()}`];
  const expiresAt = isBrowser ? tx.now + browserMilliseconds : null;
  await keepCredential(tx, {
    id,
    token: isBrowser ? browserToken(cookie, pageKey) : token,
    kind: isBrowser ? "browser" : "person",
    personId: me.id,
    label,
    ...(expiresAt !== null && { expiresAt }),
  });
  await call.record(me.id, { signIn: id, kind: input.kind, label });
  return {
    person: { id: me.id, name: me.name },
    role: me.role,
    ...(isBrowser ? { pageKey, cookie } : { token }),
    expiresAt: expiresAt === null ? null : iso(expiresAt),
  };
});

const onSignOut = guarded(contract.signOut, async (call) => {
  const { tx, caller, input } = call;
  const me = await selfOf(call);
  const own = caller.person?.credentialId ?? "";
  const id = input.id ?? own;
  const row = (await tx.all(signInsOf, { personId: me.id })).find((each) => each.id === id);
  if (row === undefined) throw texts.noSuchSignIn(id);
  if (row.label === boardTokenLabel && row.kind === "person") throw texts.boardTokenStays();
  await tx.run(revokeCredential, { id, now: tx.now });
  await call.record(me.id, { signIn: id, label: row.label });
  return { id, signedOut: true as const, ...(id === own && { cookie: "" }) };
});

/** The person who calls. */
async function selfOf({ tx, actor }: CallContext): Promise<PersonRow> {
  const me = await personById(tx, actor.personId);
  if (me === undefined) throw new Error("an operation of people was called without a person");
  return me;
}

async function personNamed({ tx }: CallContext, given: string, me: PersonRow): Promise<PersonRow> {
  return given === "me" ? me : findPerson(tx, given);
}

async function demandFreeName(tx: ReadTx, name: string, id: string | null): Promise<void> {
  const problem = problemOfName(name);
  if (problem !== undefined) throw problem;
  const alike = await tx.first(personLooking, { name_key: lookOf(name) });
  if (alike !== undefined && alike.id !== id) throw texts.personNameTaken(name, alike.name);
}

async function demandNotLast(tx: ReadTx, person: PersonRow): Promise<void> {
  // A person who has never signed in may have lost the link, and then could not govern.
  const board = (await boardPeople(tx)).filter(({ signed_in_at }) => signed_in_at !== null);
  if (board.length === 1 && board[0]?.id === person.id) throw texts.lastBoardPerson(person.name);
}

/**
 * Records in each company which positions are vacant now. Nothing else has to be stored: a position is vacant when its person
 * can't hold it.
 */
function vacate({ tx, actor }: CallContext, person: PersonRow, held: readonly HeldPosition[]): void {
  for (const { id, company_id: companyId } of held)
    append(tx, {
      companyId,
      actor,
      operation: "agent.vacate",
      subject: id,
      data: { person: person.id, name: person.name },
    });
}

async function present(tx: Tx | ReadTx, row: PersonRow) {
  return {
    id: row.id,
    name: row.name,
    role: row.role,
    positions: (await positionsOf(tx, row.id)).map(presentPosition),
    createdAt: iso(row.created_at),
    signedInAt: row.signed_in_at === null ? null : iso(row.signed_in_at),
  };
}

const presentPosition = ({ id, name, slug, role, company_id, company_name }: HeldPosition) => ({
  id,
  name,
  slug,
  role,
  company: { id: company_id, name: company_name },
});

const iso = (time: number): string => new Date(time).toISOString();
const day = 24 * 3_600_000;

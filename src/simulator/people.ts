import { updateAgent } from "../contract/agents.ts";
import { createAgent } from "../contract/hiring.ts";
import { listOutcomes } from "../contract/outcomes.ts";
import * as contract from "../contract/people.ts";
import { actorFor, randomDeed } from "./agent-turn.ts";
import { boardTurn } from "./board-turn.ts";
import { Broken } from "./broken.ts";
import { call, type SimulatedCaller } from "./calling.ts";
import type { Who } from "./ledger-rules.ts";
import type { WatchedPerson } from "./people-rules.ts";
import { type AgentView, look } from "./view.ts";
import type { World } from "./world.ts";

/** People join, sign in, get another role or position, are removed, and act with what they have. */

const mostPeople = 6;

/** One person does something: for the board, from a position, or in vain. */
export async function personTurn(world: World): Promise<void> {
  const { chance, watch, store } = world;
  const works = world.people.filter((one) => watch.accepts(one, world.now));
  // A link that was replaced by a newer one, for a person who has not signed in yet.
  const replaced = world.people.filter(({ person }) => {
    const { links = 0, hasSignedIn } = watch.people.people.get(person?.personId ?? "") ?? {};
    return person?.link !== undefined && person.link < links && hasSignedIn === false;
  });
  const credential =
    (chance.flip(0.3) ? chance.pick(replaced) : undefined) ??
    (chance.flip(0.85) ? chance.pick(works) : chance.pick(world.people));
  if (credential?.person === undefined) return governPeople(world);
  const { personId, link } = credential.person;
  if (link !== undefined) return signIn(world, credential);
  const held = await store.read((tx) => watch.people.positionsOf(tx, personId));
  const position = chance.flip(0.6) ? chance.pick(held) : undefined;
  const who = position === undefined ? credential : { ...credential, as: position.id };
  const place = await store.read((tx) => watch.people.placeOf(tx, personId, who.as ?? null));
  if (place.at !== "position") return chance.flip(0.15) ? watchOn(world, who) : boardTurn(world, who);
  const actor = await actorFor(world, { ...who, agentId: place.agentId }, world.company.id, true);
  if (actor !== undefined) await randomDeed(actor);
}

/** Everyone may read, except a removed person and a member without a position. */
async function watchOn(world: World, who: Who): Promise<void> {
  const view = await look(world.store, world.company.id);
  const seen = await call({ world, who, view, alone: true }, listOutcomes, { companyId: world.company.id });
  const role = world.watch.people.people.get(who.person?.personId ?? "")?.role;
  const may = who.as === undefined && role !== "member" && world.watch.accepts(who, world.now);
  if (may && seen.kind === "refused")
    throw new Broken("board people and viewers can read everything", `${who.label}: ${seen.refusal.message}`);
}

/** A board person changes the list of people. */
export async function governPeople(world: World): Promise<void> {
  const { chance, watch } = world;
  const view = await look(world.store, world.company.id);
  const board: SimulatedCaller = { world, who: world.board, view, alone: true };
  const here = [...watch.people.people.values()].filter(({ ended }) => !ended);
  const others = here.filter(({ id }) => id !== world.board.person?.personId);
  const person = chance.pick(others);
  const deeds: [number, () => Promise<unknown>][] = [
    [here.length < mostPeople ? 6 : 0, () => add(board)],
    [3, () => link(board, chance.flip(0.7) ? chance.pick(others.filter((one) => !one.hasSignedIn)) : person)],
    [3, () => changeRole(board, person)],
    [here.length > 2 ? 3 : 1, () => remove(board, person)],
    [8, () => bind(board, chance.pick(others.filter(({ role }) => role !== "viewer")) ?? person)],
    [1, () => leaveAll(board, here)],
    [2, () => signOut(world)],
  ];
  await chance.weighted(deeds)();
}

async function add(board: SimulatedCaller): Promise<unknown> {
  const { world } = board;
  const role = world.chance.weighted<"board" | "member" | "viewer">([
    [4, "board"],
    [4, "member"],
    [2, "viewer"],
  ]);
  const name = world.chance.pick(names) ?? "";
  const answer = await call(board, contract.createPerson, { name, role });
  if (answer.kind === "ok")
    await keepLink(world, answer.value.id, answer.value.name, answer.value.signIn.code);
  return answer;
}

/** A link for another person, or for oneself. */
async function link(board: SimulatedCaller, person: WatchedPerson | undefined): Promise<unknown> {
  const { world } = board;
  if (person === undefined) return;
  const own = world.people.find(
    (one) => one.person?.personId === person.id && one.person.link === undefined && world.watch.accepts(one),
  );
  const who = own !== undefined && world.chance.flip(0.5) ? own : world.board;
  const answer = await call({ ...board, who }, contract.linkPerson, { id: person.id });
  if (answer.kind === "ok") await keepLink(world, person.id, person.name, answer.value.code);
  const mayLink = who === own || !person.hasSignedIn;
  if (answer.kind === "refused" && mayLink)
    throw new Broken(
      "a person who has not signed in, or asks for themselves, gets a link",
      answer.refusal.message,
    );
  return answer;
}

/** The answer to a repeated call shows no code. */
async function keepLink(world: World, personId: string, name: string, code: string): Promise<void> {
  await world.watch.follow();
  const person = world.watch.people.people.get(personId);
  if (person === undefined || !code.startsWith("agl_")) return;
  const label = `link ${person.links} of ${name}`;
  const who = { personId, signIn: null, link: person.links };
  world.people.push({ label, token: code, agentId: null, sessionId: null, person: who });
}

/** Uses the code of a link to sign in, or tries to use it for something else. */
async function signIn(world: World, who: Who): Promise<void> {
  const view = await look(world.store, world.company.id);
  const caller: SimulatedCaller = { world, who, view, alone: true };
  if (world.chance.flip(0.1)) {
    await call(caller, listOutcomes, { companyId: world.company.id });
    return;
  }
  const personId = who.person?.personId ?? "";
  const before = new Set(world.watch.people.people.get(personId)?.signIns);
  const answer = await call(caller, contract.signIn, { code: who.token, kind: "program" });
  await world.watch.follow();
  const made = [...(world.watch.people.people.get(personId)?.signIns ?? [])].find((id) => !before.has(id));
  if (answer.kind !== "ok" || answer.value.token?.startsWith("agp_") !== true || made === undefined) return;
  const { person, token } = answer.value;
  const signed = { personId, signIn: made };
  world.people.push({ label: person.name, token, agentId: null, sessionId: null, person: signed });
}

async function signOut(world: World): Promise<unknown> {
  const who = world.chance.pick(world.people.filter(({ person }) => person?.link === undefined));
  if (who === undefined) return;
  const view = await look(world.store, world.company.id);
  return call({ world, who, view, alone: true }, contract.signOut, {});
}

async function changeRole(board: SimulatedCaller, person: WatchedPerson | undefined): Promise<unknown> {
  const role = board.world.chance.pick(contract.roles.filter((one) => one !== person?.role));
  return person === undefined || role === undefined
    ? undefined
    : call(board, contract.updatePerson, { id: person.id, role });
}

async function remove(board: SimulatedCaller, person: WatchedPerson | undefined): Promise<unknown> {
  return person === undefined ? undefined : call(board, contract.removePerson, { id: person.id });
}

/** The last board person can't leave or step down. Called directly, because a delayed call could find another board person. */
async function leaveAll({ world }: SimulatedCaller, here: readonly WatchedPerson[]): Promise<unknown> {
  if (here.filter(({ role }) => role === "board").length > 1) return;
  return world.chance.flip(0.5)
    ? world.ask(world.board, contract.removePerson, { id: "me" })
    : world.ask(world.board, contract.updatePerson, { id: "me", role: "member" });
}

/** Gives a person a position, which may be new, or makes a position vacant. */
async function bind(board: SimulatedCaller, person: WatchedPerson | undefined): Promise<unknown> {
  const { world, view } = board;
  const { chance } = world;
  const isThere = ({ status }: AgentView): boolean => status === "idle" || status === "paused";
  const humans = view.agents.filter((agent) => isThere(agent) && agent.brain_type === "human");
  const vacant = humans.filter(({ person_id }) => person_id === null);
  const agent = chance.pick(vacant.length > 0 && chance.flip(0.7) ? vacant : humans);
  if (person === undefined) return;
  if (agent !== undefined && (humans.length > 1 || chance.flip(0.6))) {
    const given = agent.person_id !== null && chance.flip(0.3) ? null : person.id;
    return call(board, updateAgent, { id: agent.id, person: given });
  }
  const boss = chance.pick(view.agents.filter(isThere));
  return boss === undefined
    ? undefined
    : call(board, createAgent, {
        companyId: world.company.id,
        name: chance.pick(positions) ?? "",
        role: "manager",
        reportsTo: boss.id,
        adapterType: "human",
        person: person.id,
      });
}

const names = ["Wanda", "Xaver", "Yuki", "Zoe", "Arno", "Berta", "Carl", "Dora"];
const positions = ["Office", "Studio", "Workshop", "Counter"];

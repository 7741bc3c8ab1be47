import { z } from "zod";
import { unarchiveCompany } from "../contract/companies.ts";
import type { Operation } from "../contract/operation.ts";
import { query } from "../store/query.ts";
import { Broken } from "./broken.ts";
import { isWritable, readableVersions, type Versions } from "./reading.ts";
import { type AgentView, isLiveStatus, type OutcomeView, type View } from "./view.ts";
import type { Who } from "./ledger-rules.ts";
import type { AnswerOf, Made, World } from "./world.ts";

/**
 * Calls of agents and programs over an unreliable network. Some fail at the store, some answers are lost and the call is
 * repeated, some calls arrive late or twice. Each result is compared with the rights of the caller.
 */
export interface SimulatedCaller {
  readonly world: World;
  readonly who: Who;
  readonly view: View;
  /** True if nothing else happens at the same time: the view from before the call is then still true during it. */
  readonly alone: boolean;
}

/** An agent's process in a session, or a program with the agent's key. */
export interface Player extends SimulatedCaller {
  readonly me: AgentView;
}

export type Deed = (actor: Player) => Promise<unknown>;

export async function call<I extends z.ZodObject, O extends z.ZodType>(
  caller: SimulatedCaller,
  operation: Operation<I, O>,
  input: z.input<I>,
): Promise<AnswerOf<z.infer<O>>> {
  const { world, who } = caller;
  const { chance } = world;
  const key = operation.effect === "write" && chance.flip(0.85) ? world.newKey() : undefined;
  const attempt = { who, operation, input, key };
  if (caller.alone && world.faults && chance.flip(0.02)) {
    world.say(`${who.label} ${operation.name} is on its way`);
    world.delayed.push({ attempt, answer: { kind: "lost" } });
    return { kind: "lost" };
  }
  if (caller.alone && world.faults && operation.effect === "write" && chance.flip(0.04))
    world.prepareCall(chance.flip(0.5) ? "fail" : "lost");
  const rule = (await mustFail(world, who, operation)) ?? closedTo(world, who, operation);
  const before = { head: world.watch.head, refusals: world.watch.refusals.get(who.agentId ?? "") ?? 0 };
  const answer = await world.attempt(attempt);
  world.prepareCall("go");
  if (caller.alone) {
    demandAcceptance(who, operation.name, rule, answer);
    await world.watch.follow();
    demandRecord(world, attempt, before, answer);
  }
  // A caller without an answer repeats the call at once, later or never. It needs an idempotency key for that.
  if (answer.kind === "lost")
    return key !== undefined && chance.flip(0.6)
      ? again(caller, operation, attempt)
      : late(world, attempt, answer);
  if (answer.kind === "ok" && key !== undefined && world.faults && chance.flip(0.05))
    world.delayed.push({ attempt, answer });
  if (answer.kind === "refused") return answer;
  return { kind: "ok", value: operation.output.parse(answer.value) };
}

async function again<O extends z.ZodType>(
  { world }: SimulatedCaller,
  operation: Operation<z.ZodObject, O>,
  attempt: Made["attempt"],
): Promise<AnswerOf<z.infer<O>>> {
  const answer = await world.attempt(attempt);
  return answer.kind === "ok" ? { kind: "ok", value: operation.output.parse(answer.value) } : answer;
}

function late(world: World, attempt: Made["attempt"], answer: AnswerOf<never>): AnswerOf<never> {
  if (attempt.key !== undefined && world.chance.flip(0.7)) world.delayed.push({ attempt, answer });
  return answer;
}

/** A delayed or repeated call arrives. */
export async function arrive(world: World, { attempt, answer: first }: Made): Promise<void> {
  const { who, operation, key } = attempt;
  // Several calls may arrive one after another, and each may end the session of the next.
  await world.watch.follow();
  if (!(await isPlacedAsBefore(world, who, operation))) return;
  const rule = await mustFail(world, who, operation);
  const answer = await world.attempt(attempt);
  demandAcceptance(who, operation.name, rule, answer);
  if (first.kind !== "ok" || key === undefined || rule !== undefined) return;
  const same = answer.kind === "ok" && shownAgain(operation, answer) === shownAgain(operation, first);
  if (!same)
    throw new Broken(
      "repeating a call with the same key returns the first answer",
      `${operation.name} (${key}) answered ${JSON.stringify(answer).slice(0, 500)}`,
    );
}

/** An answer without the parts that only the first call is shown. */
function shownAgain({ shownOnce = [], output }: Operation, answer: AnswerOf<unknown>): string {
  const value: unknown = answer.kind === "ok" ? output.parse(answer.value) : undefined;
  return JSON.stringify(value, (key, inner: unknown) => (shownOnce.includes(key) ? "" : inner));
}

/** The rule that any call of this caller would break if it were answered. Undefined if the caller is accepted. */
async function mustFail(world: World, who: Who, operation: Operation): Promise<string | undefined> {
  const { watch, store, now } = world;
  const { person } = who;
  if (!watch.accepts(who, now))
    return person === undefined
      ? "only the newest live session of an active agent is accepted"
      : "a person's credential works until it is used up, signed out or the person is removed";
  if (person === undefined) return undefined;
  if (person.link !== undefined && operation.needs !== "link")
    return "a sign-in link is good only for signing in";
  if (operation.needs === "person" || operation.needs === "link") return undefined;
  const { at } = await store.read((tx) => watch.people.placeOf(tx, person.personId, who.as ?? null));
  if (at === "nowhere") return "a member acts only from its own position, while that is not paused";
  return at === "watching" && operation.effect === "write" ? "a viewer changes nothing" : undefined;
}

/** The rule that a new call would break because its company is frozen or archived. A repeated one may get its first answer. */
function closedTo(world: World, who: Who, operation: Operation): string | undefined {
  if (operation.effect !== "write" || operation.within === "installation") return undefined;
  const { agentId } = who;
  const state = stateFor(world, who);
  if (state === "frozen" && agentId !== null) return "agents change nothing in a frozen company";
  return state === "archived" && operation.name !== unarchiveCompany.name
    ? "an archived company is only read"
    : undefined;
}

/** Whether the caller could change its company now, if it had the right. */
export function isOpenTo(world: World, who: Who): boolean {
  const { watch, now } = world;
  const state = stateFor(world, who);
  const isBoard = watch.people.people.get(who.person?.personId ?? "")?.role === "board";
  const isPlaced = who.agentId !== null || (isBoard && who.as === undefined);
  const isOpen = state === "active" || (state === "frozen" && who.agentId === null);
  return watch.accepts(who, now) && isPlaced && isOpen;
}

/** The state of the company in which the caller acts. People act only in the first company. */
const stateFor = ({ watch, company }: World, { agentId }: Who) =>
  watch.companies.stateOf(watch.members.get(agentId ?? "")?.companyId ?? company.id);

/** A late call of a person whose position has changed since would be a call of another agent. It does not arrive. */
async function isPlacedAsBefore(
  { watch, store }: World,
  { person, agentId, as }: Who,
  { needs }: Operation,
): Promise<boolean> {
  if (person === undefined || needs === "person" || needs === "link") return true;
  const place = await store.read((tx) => watch.people.placeOf(tx, person.personId, as ?? null));
  return place.at === "nowhere" || (place.at === "position" ? place.agentId : null) === agentId;
}

function demandAcceptance(
  who: Who,
  operation: string,
  rule: string | undefined,
  answer: AnswerOf<unknown>,
): void {
  if (rule !== undefined && answer.kind === "ok") throw new Broken(rule, `${who.label} ${operation}`);
  if (rule === undefined && answer.kind === "refused" && answer.refusal.code === "unauthenticated")
    throw new Broken(
      "the credential of a live session or a person is accepted",
      `${who.label} ${operation}: ${answer.refusal.message}`,
    );
}

/** Demands an event for every write and for every refusal. */
function demandRecord(
  { watch }: World,
  { who, operation }: Made["attempt"],
  before: { head: string; refusals: number },
  answer: AnswerOf<unknown>,
): void {
  const name = `${who.label} ${operation.name}`;
  // An agent that requests a permission it already has, or a helper with a name that is taken, is told so without an event.
  const isAnswered = operation.name === "permission.request" || operation.name === "agent.request";
  if (answer.kind === "ok" && operation.effect === "write" && !isAnswered && watch.head === before.head)
    throw new Broken("every write leaves an event", name);
  const denied = ["forbidden", "refused", "not_found", "gone"];
  if (answer.kind !== "refused" || who.agentId === null || !denied.includes(answer.refusal.code)) return;
  // The call of a paused agent is rejected before its operation is known.
  if (!watch.accepts(who)) return;
  if ((watch.refusals.get(who.agentId) ?? 0) === before.refusals)
    throw new Broken("every refusal leaves an event", `${name}: ${answer.refusal.message}`);
}

export const drives = (agentId: string | null, outcome: OutcomeView): boolean =>
  outcome.responsible_id === agentId;

export const writes = (agentId: string | null, outcome: OutcomeView): boolean =>
  (outcome.responsible_id === agentId && outcome.delegated === 0) ||
  (outcome.delegated === 1 && outcome.delegated_by === agentId);

/** Calls an operation on an outcome. If it succeeds, the caller must have been entitled to it. */
export async function onOutcome<I extends z.ZodObject, O extends z.ZodType>(
  caller: SimulatedCaller,
  operation: Operation<I, O>,
  outcome: OutcomeView,
  needs: "drive" | "write" | "either",
  input: z.input<I>,
): Promise<AnswerOf<z.infer<O>>> {
  const { agentId } = caller.who;
  const allowed =
    agentId === null ||
    (needs !== "write" && drives(agentId, outcome)) ||
    (needs !== "drive" && writes(agentId, outcome));
  const answer = await call(caller, operation, input);
  if (caller.alone && answer.kind === "ok" && !allowed)
    throw new Broken(
      "a delegated outcome is changed only by agents entitled to it",
      `${caller.who.label} ${operation.name} ${caller.world.trace.name("outcome", outcome.id)}`,
    );
  if (caller.alone && answer.kind === "ok") await demandConsequences(caller, operation.name, outcome);
  return answer;
}

/** An agent that waits for a delegated outcome must not retire. A reclaimed outcome must leave no right behind. */
export async function demandConsequences(
  { world, view }: SimulatedCaller,
  operation: string,
  outcome: OutcomeView,
): Promise<void> {
  const { id } = outcome;
  const owner = view.agents.find(
    ({ mandate_id, made_for_mandate, status }) =>
      mandate_id === id && made_for_mandate === 1 && status !== "terminated",
  );
  const waits = view.outcomes.find(
    (one) =>
      one.delegated_by === owner?.id && one.kind !== "mandate" && isLiveStatus(one) && one.delegated === 1,
  );
  if (operation === "outcome.complete" && owner !== undefined && waits !== undefined)
    throw new Broken(
      "an agent that waits for a delegated outcome does not retire",
      `${owner.name} waits for ${world.trace.name("outcome", waits.id)}`,
    );
  if (operation !== "outcome.reclaim") return;
  const left = await world.store.read((tx) =>
    tx.first(rightsFor, { id, keeper: outcome.delegated_by ?? "" }),
  );
  if (left !== undefined)
    throw new Broken("a reclaimed outcome leaves no right behind", world.trace.name("grant", left.id));
}

const rightsFor = query((db, p: { id: string; keeper: string }) =>
  db
    .selectFrom("grants")
    .select("id")
    .where("scope_id", "=", p.id)
    .where("grantee_id", "<>", p.keeper)
    .where("broken", "=", 0)
    .limit(1),
);

/** Calls an operation on a file. It succeeds exactly if the caller has the right, and shows only versions it may read. */
export async function onFile<I extends z.ZodObject, O extends z.ZodType>(
  caller: SimulatedCaller,
  operation: Operation<I, O>,
  file: { id: string; version?: number },
  needs: "read" | "write",
  input: z.input<I>,
): Promise<AnswerOf<z.infer<O>>> {
  const { world, who } = caller;
  const { agentId } = who;
  const allowed =
    agentId === null || !caller.alone
      ? undefined
      : await world.store.read(async (tx): Promise<Versions | boolean> =>
          needs === "read" ? readableVersions(tx, agentId, file.id) : isWritable(tx, agentId, file.id),
        );
  const expected = world.watch.accepts(who, world.now);
  const answer = await call(caller, operation, input);
  if (allowed === undefined || answer.kind === "lost") return answer;
  const name = `${who.label} ${operation.name} ${world.trace.name("file", file.id)}`;
  const isRefused = answer.kind === "refused" && ["not_found", "forbidden"].includes(answer.refusal.code);
  if (typeof allowed === "boolean" || allowed === "all") {
    if (answer.kind === "ok" && allowed === false)
      throw new Broken("a file is read and written only with a right", name);
    if (isRefused && allowed !== false && expected)
      throw new Broken("an agent with the right can read and write a file", name);
    return answer;
  }
  const wanted = file.version;
  const shown = answer.kind === "ok" ? Shown.parse(answer.value) : undefined;
  // Only a call without a version number says that it chose a delivered one.
  const isUnmarked = wanted === undefined && shown?.pinned !== true;
  if (shown !== undefined && (!allowed.has(shown.version) || isUnmarked))
    throw new Broken(
      "an agent sees only the versions that were delivered or sent to it",
      `${name}, version ${shown.version}`,
    );
  const isThere = wanted === undefined ? allowed.size > 0 : allowed.has(wanted);
  if (isRefused && isThere && expected)
    throw new Broken("what was delivered or sent to an agent can be opened", name);
  return answer;
}

const Shown = z.object({ version: z.number(), pinned: z.boolean().optional() });

import type { z } from "zod";
import type { Operation } from "../contract/operation.ts";
import { query } from "../store/query.ts";
import { Broken } from "./broken.ts";
import { type AgentView, isLiveStatus, type OutcomeView, type View } from "./view.ts";
import type { Who } from "./ledger-rules.ts";
import type { Answer, Made, World } from "./world.ts";

/**
 * Calls of agents and programs, as they really go: some fail at the store, some are lost on the way back and repeated, some
 * arrive late or twice. What came of each is compared with who was allowed to do it.
 */
export interface SimulatedCaller {
  readonly world: World;
  readonly who: Who;
  readonly view: View;
  /** Nothing else happens meanwhile, so what was seen before the call was true during it. */
  readonly alone: boolean;
}

/** An agent's session process, or a program with the agent's key (then there is no process). */
export interface Player extends SimulatedCaller {
  readonly me: AgentView;
}

export type Deed = (actor: Player) => Promise<unknown>;

export async function call<I extends z.ZodObject, O extends z.ZodType>(
  caller: SimulatedCaller,
  operation: Operation<I, O>,
  input: z.input<I>,
): Promise<Answer<z.infer<O>>> {
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
  const expected = world.watch.accepts(who);
  const before = { head: world.watch.head, refusals: world.watch.refusals.get(who.agentId ?? "") ?? 0 };
  const answer = await world.attempt(attempt);
  world.prepareCall("go");
  if (caller.alone) {
    demandAcceptance(who, operation.name, expected, answer);
    await world.watch.follow();
    demandRecord(world, attempt, before, answer);
  }
  // Who hears nothing asks again, if it has a key to ask with: at once, later, or never.
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
): Promise<Answer<z.infer<O>>> {
  const answer = await world.attempt(attempt);
  return answer.kind === "ok" ? { kind: "ok", value: operation.output.parse(answer.value) } : answer;
}

function late(world: World, attempt: Made["attempt"], answer: Answer<never>): Answer<never> {
  if (attempt.key !== undefined && world.chance.flip(0.7)) world.delayed.push({ attempt, answer });
  return answer;
}

/** A call that was on its way, or that is sent a second time, arrives. */
export async function arrive(world: World, { attempt, answer: first }: Made): Promise<void> {
  const { who, operation, key } = attempt;
  // Several may come after each other, and each may end somebody whose call comes next.
  await world.watch.follow();
  const expected = world.watch.accepts(who);
  const answer = await world.attempt(attempt);
  demandAcceptance(who, operation.name, expected, answer);
  if (first.kind !== "ok" || key === undefined || !expected) return;
  const same = answer.kind === "ok" && JSON.stringify(answer.value) === JSON.stringify(first.value);
  if (!same)
    throw new Broken(
      "the same call with the same key has the first result",
      `${operation.name} (${key}) answered ${JSON.stringify(answer).slice(0, 500)}`,
    );
}

function demandAcceptance(who: Who, operation: string, expected: boolean, answer: Answer<unknown>): void {
  if (!expected && answer.kind === "ok")
    throw new Broken("only the newest live session of an active agent is heard", `${who.label} ${operation}`);
  if (expected && answer.kind === "refused" && answer.refusal.code === "unauthenticated")
    throw new Broken("a live session is heard", `${who.label} ${operation}: ${answer.refusal.message}`);
}

/** What was done is on record, and so is what was refused. */
function demandRecord(
  { watch }: World,
  { who, operation }: Made["attempt"],
  before: { head: string; refusals: number },
  answer: Answer<unknown>,
): void {
  const name = `${who.label} ${operation.name}`;
  // Who asks for what it has is told so, and nothing happens.
  const isAnswered = operation.name === "permission.request";
  if (answer.kind === "ok" && operation.effect === "write" && !isAnswered && watch.head === before.head)
    throw new Broken("what is done goes on record", name);
  const denied = ["forbidden", "refused", "not_found", "gone"];
  if (answer.kind !== "refused" || who.agentId === null || !denied.includes(answer.refusal.code)) return;
  // A paused agent is turned away before anybody knows what it wants.
  if (!watch.accepts(who)) return;
  if ((watch.refusals.get(who.agentId) ?? 0) === before.refusals)
    throw new Broken("what is refused goes on record", `${name}: ${answer.refusal.message}`);
}

export const drives = (agentId: string | null, outcome: OutcomeView): boolean =>
  outcome.responsible_id === agentId;

export const writes = (agentId: string | null, outcome: OutcomeView): boolean =>
  (outcome.responsible_id === agentId && outcome.delegated === 0) ||
  (outcome.delegated === 1 && outcome.delegated_by === agentId);

/** The delegation boundary: what was done to an outcome, whoever did it was entitled to. */
export async function onOutcome<I extends z.ZodObject, O extends z.ZodType>(
  caller: SimulatedCaller,
  operation: Operation<I, O>,
  outcome: OutcomeView,
  needs: "drive" | "write" | "either",
  input: z.input<I>,
): Promise<Answer<z.infer<O>>> {
  const { agentId } = caller.who;
  const allowed =
    agentId === null ||
    (needs !== "write" && drives(agentId, outcome)) ||
    (needs !== "drive" && writes(agentId, outcome));
  const answer = await call(caller, operation, input);
  if (caller.alone && answer.kind === "ok" && !allowed)
    throw new Broken(
      "nobody reaches over the boundary of a delegation",
      `${caller.who.label} ${operation.name} ${caller.world.trace.name("outcome", outcome.id)}`,
    );
  if (caller.alone && answer.kind === "ok") await demandConsequences(caller, operation.name, outcome);
  return answer;
}

/** Whoever still waits for what it delegated is not let go, and what is taken back leaves no right behind. */
async function demandConsequences(
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
  const ended = operation === "outcome.complete" || operation === "outcome.close";
  if (ended && owner !== undefined && waits !== undefined)
    throw new Broken(
      "nobody retires who waits for what it delegated",
      `${owner.name} waits for ${world.trace.name("outcome", waits.id)}`,
    );
  if (operation !== "outcome.reclaim") return;
  const left = await world.store.read((tx) =>
    tx.first(rightsFor, { id, keeper: outcome.delegated_by ?? "" }),
  );
  if (left !== undefined)
    throw new Broken("what is taken back leaves no right behind", world.trace.name("grant", left.id));
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

/** Reading and writing a file needs a right that stands. */
export async function onFile<I extends z.ZodObject, O extends z.ZodType>(
  caller: SimulatedCaller,
  operation: Operation<I, O>,
  file: { id: string },
  level: 1 | 2,
  input: z.input<I>,
): Promise<Answer<z.infer<O>>> {
  const { world, who } = caller;
  const answer = await call(caller, operation, input);
  if (!caller.alone || answer.kind !== "ok" || who.agentId === null) return answer;
  const agentId = who.agentId;
  const right = await world.store.read((tx) =>
    tx.first(rightTo, { agentId, resource: `kb:${file.id}`, fileId: file.id, level }),
  );
  if (right === undefined)
    throw new Broken(
      "a file is used only by right",
      `${who.label} ${operation.name} ${world.trace.name("file", file.id)}`,
    );
  return answer;
}

const rightTo = query((db, p: { agentId: string; resource: `kb:${string}`; fileId: string; level: number }) =>
  db
    .selectFrom("grants")
    .select("id")
    .where("grantee_id", "=", p.agentId)
    .where("resource", "=", p.resource)
    .where("level", ">=", p.level)
    .where("broken", "=", 0)
    .union(
      db.selectFrom("agents").select("id").where("id", "=", p.agentId).where("state_file_id", "=", p.fileId),
    )
    .union(
      db
        .selectFrom("messages")
        .select("id")
        .where("file_id", "=", p.fileId)
        .where((eb) => eb(eb.val(p.level), "=", 1))
        .where((eb) =>
          eb.or([
            eb("from_id", "=", p.agentId),
            eb.and([eb("to_id", "=", p.agentId), eb("delivered_at", "is not", null)]),
          ]),
        ),
    ),
);

import type { z } from "zod";
import type { Operation } from "../contract/operation.ts";
import { query } from "../store/query.ts";
import { Broken } from "./broken.ts";
import { type AgentView, isLiveStatus, type OutcomeView, type View } from "./view.ts";
import type { Who } from "./ledger-rules.ts";
import type { Answer, Made, World } from "./world.ts";

/**
 * Calls of agents and programs over an unreliable network. Some fail at the store, some answers are lost and the call is
 * repeated, some calls arrive late or twice. Each result is compared with what the caller was allowed to do.
 */
export interface SimulatedCaller {
  readonly world: World;
  readonly who: Who;
  readonly view: View;
  /** Nothing else happens at the same time, so the view from before the call is still true during it. */
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
): Promise<Answer<z.infer<O>>> {
  const answer = await world.attempt(attempt);
  return answer.kind === "ok" ? { kind: "ok", value: operation.output.parse(answer.value) } : answer;
}

function late(world: World, attempt: Made["attempt"], answer: Answer<never>): Answer<never> {
  if (attempt.key !== undefined && world.chance.flip(0.7)) world.delayed.push({ attempt, answer });
  return answer;
}

/** A delayed or repeated call arrives. */
export async function arrive(world: World, { attempt, answer: first }: Made): Promise<void> {
  const { who, operation, key } = attempt;
  // Several calls may arrive one after another, and each may end the session of the next.
  await world.watch.follow();
  const expected = world.watch.accepts(who);
  const answer = await world.attempt(attempt);
  demandAcceptance(who, operation.name, expected, answer);
  if (first.kind !== "ok" || key === undefined || !expected) return;
  const same = answer.kind === "ok" && JSON.stringify(answer.value) === JSON.stringify(first.value);
  if (!same)
    throw new Broken(
      "repeating a call with the same key returns the first answer",
      `${operation.name} (${key}) answered ${JSON.stringify(answer).slice(0, 500)}`,
    );
}

function demandAcceptance(who: Who, operation: string, expected: boolean, answer: Answer<unknown>): void {
  if (!expected && answer.kind === "ok")
    throw new Broken(
      "only the newest live session of an active agent is accepted",
      `${who.label} ${operation}`,
    );
  if (expected && answer.kind === "refused" && answer.refusal.code === "unauthenticated")
    throw new Broken("a live session is accepted", `${who.label} ${operation}: ${answer.refusal.message}`);
}

/** Demands an event for every write and for every refusal. */
function demandRecord(
  { watch }: World,
  { who, operation }: Made["attempt"],
  before: { head: string; refusals: number },
  answer: Answer<unknown>,
): void {
  const name = `${who.label} ${operation.name}`;
  // An agent that requests a permission it already has is told so, without an event.
  const isAnswered = operation.name === "permission.request";
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
): Promise<Answer<z.infer<O>>> {
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

/** Calls an operation on a file. If it succeeds, the caller must hold a valid right. */
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
      "a file is read and written only with a right",
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

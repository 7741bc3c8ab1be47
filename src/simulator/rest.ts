import { approve, reject } from "../contract/approvals.ts";
import { listOutcomes } from "../contract/outcomes.ts";
import { updateCompany } from "../contract/companies.ts";
import { resumeAgent } from "../contract/agents.ts";
import { verifyLedger } from "../contract/ledger.ts";
import { sql } from "kysely";
import { query } from "../store/query.ts";
import { type Mood, workOff } from "./agent-turn.ts";
import { openApprovals } from "./approving.ts";
import { Broken } from "./broken.ts";
import { arrive } from "./calling.ts";
import { checkStep, checkWhy, nextTimes, startable } from "./checks.ts";
import { demandInvariants } from "./demands.ts";
import { goOnWorking } from "./stopping.ts";
import { goOn, noticeExit, start, tickToTheEnd } from "./steps.ts";
import { look } from "./view.ts";
import type { World } from "./world.ts";

/**
 * Ends a run: the faults stop, no agent creates new work, and all agents except the lazy ones finish theirs. The world must
 * then come to rest: no session, no process, no due message or alarm, and no agent with work to start for. For every
 * open outcome, `why` must name what it waits for.
 */
export async function comeToRest(world: World, mood: Mood): Promise<void> {
  world.faults = false;
  world.say("no more faults");
  for (const made of world.delayed.splice(0)) await arrive(world, made);
  await goOnWorking(world);
  await world.ask(world.board, updateCompany, { companyId: world.company.id, maxSessions: 4 });
  for (const agent of (await look(world.store, world.company.id)).agents)
    if (agent.status === "paused") await world.ask(world.board, resumeAgent, { id: agent.id });
  for (let round = 0; round < mostRounds; round++) {
    await oneRound(world, mood);
    await world.quiet();
    await checkStep(world, false);
    if (await isAtRest(world)) return demandRest(world);
  }
  const left = world.processes().map(({ sessionId }) => world.trace.name("session", sessionId));
  throw new Broken(
    "the organization comes to rest when faults stop",
    `after ${mostRounds} rounds these processes still live: ${left.join(", ") || "none"}`,
  );
}

const mostRounds = 300;

async function oneRound(world: World, mood: Mood): Promise<void> {
  for (const node of world.nodes) {
    node.machine.failNextStart = false;
    node.doom(null);
    if (node.state === "down") await start(world, node, false);
    if (node.state === "paused") await goOn(world, node);
    await tickToTheEnd(world, node);
    await checkStep(world, false);
    for (const process of node.machine.unnoticed()) await noticeExit(world, process);
  }
  await decideAll(world);
  const free = world.processes().filter(({ released }) => released);
  for (const process of free) await workOff(world, mood, process);
  if (free.length > 0) {
    world.now += 100;
    return;
  }
  // No agent works. Advance to the next timed event, but by at most 20 seconds, because sweeps run and leases expire in
  // between.
  const { now } = world;
  const times = await world.store.read((tx) => tx.first(nextTimes, { now }));
  const next = [times?.mail, times?.alarm, times?.expiry, times?.agent].filter(
    (time) => typeof time === "number",
  );
  world.now = Math.max(now + 1, Math.min(...next, now + 20_000));
  if (next.length > 0 && Math.min(...next) > now + 20_000 && (await isAtRest(world, true)))
    world.now = Math.min(...next);
}

/** At last, people decide every request. */
async function decideAll(world: World): Promise<void> {
  await world.watch.follow();
  for (const { id } of openApprovals(world)) {
    const answer = await world.ask(world.board, approve, { id });
    await world.watch.follow();
    if (answer.kind === "refused" && openApprovals(world).some((open) => open.id === id))
      await world.ask(world.board, reject, { id, decisionNote: answer.refusal.message.slice(0, 500) });
    await world.watch.follow();
  }
}

/** Whether nothing happens any more. With `butForLater`, messages and alarms for a later time may still be pending. */
async function isAtRest(world: World, butForLater = false): Promise<boolean> {
  const { now } = world;
  if (world.processes().length > 0 || world.nodes.some(({ running }) => running > 0)) return false;
  return world.store.read(async (tx) => {
    const left = await tx.first(unfinished, {});
    if (left !== undefined) return false;
    if ((await tx.first(startable, { now })) !== undefined) return false;
    const times = await tx.first(nextTimes, { now });
    return (
      butForLater || [times?.mail, times?.alarm, times?.expiry, times?.agent].every((time) => time === null)
    );
  });
}

/** Checks what must hold at rest. */
async function demandRest(world: World): Promise<void> {
  await checkStep(world, true);
  await world.store.read((tx) => demandInvariants(tx, ["bytes"], world.trace));
  await checkWhy(world, true);
  const lost = await world.store.read((tx) => tx.first(lostMessage, {}));
  if (lost !== undefined) throw new Broken("no message is lost", world.trace.name("message", lost.id));
  for (const id of world.taken)
    if (!world.watch.mail.ends.has(id))
      throw new Broken("an accepted message is delivered or fails", world.trace.name("message", id));
  const verified = await world.askQuietly(world.board, verifyLedger, {});
  if (!verified.ok)
    throw new Broken("the hash chain of the ledger verifies", JSON.stringify(verified.problems));
  await world.askQuietly(world.board, listOutcomes, { companyId: world.company.id, status: "open" });
}

const unfinished = query((db, _: Record<never, never>) =>
  db
    .selectFrom("sessions")
    .select("id")
    .where((eb) => eb.or([eb("ended_at", "is", null), eb("settled", "=", 0)]))
    .limit(1),
);

const lostMessage = query((db, _: Record<never, never>) =>
  db
    .selectFrom("messages")
    .select("id")
    .where("delivered_at", "is", null)
    .where((eb) => eb.or([eb("failure", "is", null), eb("failure", "=", sql<string>`''`)]))
    .limit(1),
);

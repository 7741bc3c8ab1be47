import { agentTurn, keyTurn, type Mood, workOff } from "./agent-turn.ts";
import { openApprovals } from "./approving.ts";
import { boardTurn, decisionTurn } from "./board-turn.ts";
import { Broken } from "./broken.ts";
import { pauseAgent } from "../contract/agents.ts";
import { arrive, call } from "./calling.ts";
import type { Weighted } from "./chance.ts";
import { checkAfterTurn, nextTimes } from "./checks.ts";
import type { Interruption } from "./life.ts";
import type { Process } from "./machine.ts";
import type { SimulatedNode, Turn } from "./node.ts";
import { correspond } from "./conversing.ts";
import { dispute } from "./disputing.ts";
import { governPeople, personTurn } from "./people.ts";
import { archive, standsStill, stopOrGo } from "./stopping.ts";
import { look } from "./view.ts";
import type { World } from "./world.ts";

/** Chooses the next action at random and performs it. */
export async function step(world: World, mood: Mood): Promise<void> {
  const { chance } = world;
  const up = world.nodes.filter(({ state }) => state === "up");
  const free = world.processes().filter(({ released, hung }) => released && !hung);
  const unnoticed = world.nodes.flatMap(({ machine }) => machine.unnoticed());
  const one: One = (list, weight, deed) => [
    list.length === 0 ? 0 : weight,
    async () => {
      const chosen = chance.pick(list);
      if (chosen !== undefined) await deed(chosen);
    },
  ];
  const choices: Step[] = [
    one(up, 20, (node) => (chance.flip(0.5) ? tickToTheEnd(world, node) : tick(world, node))),
    one(free, world.calm ? 12 : 40, (process) => agentTurn(world, mood, process, true)),
    one(unnoticed, 10, (process) => noticeExit(world, process)),
    [world.calm ? 30 : 9, () => boardTurn(world)],
    [world.calm ? 6 : 7, () => personTurn(world)],
    [3, () => governPeople(world)],
    [3, () => dispute(world)],
    [1.5, () => correspond(world)],
    [standsStill(world) || up.length === 0 ? 0 : 0.5, () => putAside(world, up)],
    [standsStill(world) ? 12 : 0, () => liftStop(world)],
    [openApprovals(world).length > 0 ? (world.calm ? 12 : 8) : 0, () => decisionTurn(world)],
    [10, () => passTime(world)],
    one(world.delayed, 4, async (made) => {
      // A call with an idempotency key may arrive a third time.
      if (made.attempt.key === undefined || chance.flip(0.8))
        world.delayed.splice(world.delayed.indexOf(made), 1);
      await arrive(world, made);
    }),
    one(world.keys, world.calm ? 20 : 6, (who) => keyTurn(world, world.company.id, who)),
    [up.length + free.length > 1 ? 6 : 0, () => together(world, mood, up, free)],
    ...(world.calm ? [one(free, 12, () => workAllOff(world, mood, free))] : mishaps(world, one)),
  ];
  await chance.weighted(choices)();
  if (world.calm) await tickAll(world);
}

/** Archives the company, lets some time pass and mail become due, and ticks. */
async function putAside(world: World, up: readonly SimulatedNode[]): Promise<void> {
  const view = await look(world.store, world.company.id);
  await archive({ world, who: world.board, view, alone: true });
  // Less than the time between two renewals of a lease.
  world.now += world.chance.between(1000, 4000);
  const node = world.chance.pick(up);
  if (node !== undefined) await tickToTheEnd(world, node);
}

/** A stopped company soon continues. */
async function liftStop(world: World): Promise<void> {
  const view = await look(world.store, world.company.id);
  await stopOrGo({ world, who: world.board, view, alone: true });
}

/** Every agent finishes its work. An agent that gets work afterwards has to be woken. */
async function workAllOff(world: World, mood: Mood, free: readonly Process[]): Promise<void> {
  for (const process of free) await workOff(world, mood, process);
  for (const { machine } of world.nodes)
    for (const process of machine.unnoticed()) await noticeExit(world, process);
}

/** Ticks all nodes, as the daemon does after each commit. An agent that no event woke then shows up in the checks. */
async function tickAll(world: World): Promise<void> {
  await world.quiet();
  for (const node of world.nodes) if (node.state === "up") await tickToTheEnd(world, node);
}

type Step = Weighted<() => Promise<void>>;
type One = <T>(list: readonly T[], weight: number, deed: (chosen: T) => Promise<void>) => Step;

function mishaps(world: World, one: One): Step[] {
  const up = world.nodes.filter(({ state }) => state === "up");
  const down = world.nodes.filter(({ state }) => state === "down");
  const paused = world.nodes.filter(({ state }) => state === "paused");
  return [
    one(up, 4, (node) => doom(world, node)),
    one(up, 0.3, (node) => crash(world, node)),
    one(up, 0.8, (node) => pause(world, node)),
    one(up, 0.5, (node) => stop(world, node)),
    one(up, 0.3, async (node) => {
      node.machine.failNextStart = true;
    }),
    one(down, 7, (node) => start(world, node)),
    one(paused, 4, (node) => goOn(world, node)),
    one(gated(world, paused), 4, (process) => pauseAtGate(world, process)),
    one(paused, 0.5, (node) => crash(world, node)),
  ];
}

/** Processes of the company that wait at their gates because their nodes stand still. */
const gated = ({ watch, company }: World, paused: readonly SimulatedNode[]): Process[] =>
  paused
    .flatMap(({ machine }) => machine.alive())
    .filter(({ released, agentId }) => !released && watch.members.get(agentId)?.companyId === company.id);

/** Ends the session of such a process, by pausing its agent. Its node must not release it when it continues. */
async function pauseAtGate(world: World, { agentId }: Process): Promise<void> {
  const view = await look(world.store, world.company.id);
  world.count("an agent is paused whose process waits at its gate");
  await call({ world, who: world.board, view, alone: true }, pauseAgent, { id: agentId });
}

const steps = ["intent", "intended", "spawned", "recorded", "exited", "delivery", "delivered"];

/** Draws an interruption in the middle of a node's work. */
function interruption({ chance }: World): Interruption {
  const what = chance.weighted<Interruption["what"]>([
    [3, "crash"],
    [2, "crash after"],
    [3, "pause"],
    [2, "fail"],
    [3, "lost"],
  ]);
  // What happens while a process waits at its gate is rare otherwise: it takes a start, a pause and the end of the session.
  const step =
    what === "pause" && chance.flip(0.4)
      ? "spawned"
      : (what === "crash" || what === "pause") && chance.flip(0.6)
        ? chance.pick(steps)
        : undefined;
  return { what, where: step ?? chance.between(1, 4) };
}

async function doom(world: World, node: SimulatedNode): Promise<void> {
  const plan = interruption(world);
  node.doom(plan);
  const { what, where } = plan;
  world.say(
    `planned for node ${node.name}: ${what} at ${typeof where === "number" ? `write ${where}` : where}`,
  );
  world.count(`doom: ${what} at ${typeof where === "number" ? "a write" : where}`);
}

function report(world: World, node: SimulatedNode, what: string, turn: Turn): void {
  world.say(`node ${node.name} ${what} → ${turn.kind}`);
  world.count(`${what} → ${turn.kind}`);
}

async function tick(world: World, node: SimulatedNode): Promise<void> {
  report(world, node, "ticks", await node.tick());
}

/** Ticks until a tick changes nothing, as the daemon does. */
export async function tickToTheEnd(world: World, node: SimulatedNode): Promise<void> {
  for (let round = 0; round < 12; round++) {
    const before = world.watch.head;
    const turn = await node.tick();
    await world.quiet();
    await world.watch.follow();
    report(world, node, "ticks", turn);
    if (turn.kind !== "done") return;
    if (world.watch.head === before) return checkAfterTurn(world, node, turn.next);
  }
  throw new Broken(
    "a node runs out of work",
    `12 ticks of node ${node.name} in a row each changed something`,
  );
}

export async function start(world: World, node: SimulatedNode, faults = true): Promise<void> {
  const turn = await node.start(faults && world.chance.flip(0.2) ? interruption(world) : null);
  report(world, node, "starts", turn);
  await world.quiet();
  // A daemon that can't start exits.
  if (turn.kind === "failed") node.crash();
  if (turn.kind !== "done") return;
  for (const { life, sessionId } of node.machine.alive())
    if (!node.isCurrent(life))
      throw new Broken(
        "a node that starts ends its orphan processes",
        world.trace.name("session", sessionId),
      );
}

export async function goOn(world: World, node: SimulatedNode): Promise<void> {
  report(world, node, "continues", await node.goOn());
}

async function crash(world: World, node: SimulatedNode): Promise<void> {
  node.crash();
  world.say(`node ${node.name} crashes`);
  world.count("node crashes");
}

async function pause(world: World, node: SimulatedNode): Promise<void> {
  node.pause();
  world.say(`node ${node.name} is paused`);
  world.count("node is paused");
}

async function stop(world: World, node: SimulatedNode): Promise<void> {
  await node.stop();
  await world.quiet();
  node.putDown();
  world.say(`node ${node.name} stops`);
  world.count("node stops");
  const left = node.machine.alive().find(({ released }) => released);
  if (left !== undefined)
    throw new Broken(
      "a node that stops leaves no process behind",
      world.trace.name("session", left.sessionId),
    );
}

export async function noticeExit(world: World, process: Process): Promise<void> {
  const node = world.nodes.find(({ machine }) => machine.processes.includes(process));
  if (node === undefined) return;
  node.machine.tell(process);
  await world.quiet();
  world.say(
    `node ${node.name} learns that ${world.trace.name("session", process.sessionId)} exited → ${node.state}`,
  );
  world.count(`learns of an exit → ${node.state}`);
}

/** Runs ticks of several nodes and calls of several processes at the same time. */
async function together(
  world: World,
  mood: Mood,
  up: readonly SimulatedNode[],
  free: readonly Process[],
): Promise<void> {
  const { chance } = world;
  const nodes = up.filter(() => chance.flip(0.8));
  const processes = free.filter(() => chance.flip(0.6)).slice(0, 3);
  world.say(`at the same time: ${nodes.length} ticks, ${processes.length} agents`);
  world.count("at once");
  await Promise.all([
    ...nodes.map((node) => tick(world, node)),
    ...processes.map((process) => agentTurn(world, mood, process, false)),
  ]);
}

async function passTime(world: World): Promise<void> {
  const { chance, now } = world;
  const times = await world.store.read((tx) => tx.first(nextTimes, { now }));
  const next = [times?.mail, times?.alarm, times?.expiry, times?.agent].filter(
    (time) => typeof time === "number",
  );
  const wanted = chance.weighted<() => number>([
    [40, () => chance.between(1, 1000)],
    [25, () => chance.between(1000, 20_000)],
    [15, () => Math.max(1, (chance.pick(next) ?? now + 1) - now + chance.between(-1, 1))],
    [12, () => chance.between(30_000, 120_000)],
    [5, () => chance.between(600_000, 3 * 3600_000)],
  ])();
  // A healthy node renews its leases in time. They expire only if the whole machine sleeps.
  const asleep = !world.calm && chance.flip(0.1);
  const awake = world.nodes.filter(({ state, running }) => state === "up" && running > 0);
  const passed = awake.length > 0 && !asleep ? Math.min(wanted, 14_000) : wanted;
  world.now += passed;
  world.say(`${passed} ms pass`);
  world.count("time passes");
  if (passed > 5000 && !asleep) for (const node of awake) if (node.state === "up") await tick(world, node);
}

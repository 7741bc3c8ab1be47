import * as knowledge from "../contract/knowledge.ts";
import * as mail from "../contract/mail.ts";
import { submitSummary } from "../contract/sessions.ts";
import type { Exit } from "../processes/runner.ts";
import { call, type Deed, onFile, type Player } from "./calling.ts";
import { diligentTurn } from "./diligence.ts";
import type { Process } from "./machine.ts";
import { orders } from "./outcome-deeds.ts";
import { dealings } from "./other-deeds.ts";
import { fileNow, isLiveStatus, look, waitingMessages } from "./view.ts";
import type { Who } from "./ledger-rules.ts";
import type { World } from "./world.ts";

/**
 * One turn of an agent's process. A process draws its temper at its first turn. A lazy agent stays lazy in all its sessions:
 * only then does the product have to stop it.
 */
type Temper = "diligent" | "random" | "lazy" | "crashing";

export interface Mood {
  readonly tempers: Map<string, Temper>;
  readonly lazyAgents: Map<string, boolean>;
}

export const newMood = (): Mood => ({ tempers: new Map(), lazyAgents: new Map() });

export async function agentTurn(world: World, mood: Mood, process: Process, alone: boolean): Promise<void> {
  const deeds = alone ? world.chance.between(1, 3) : 1;
  for (let deed = 0; deed < deeds && process.exit === null && !process.hung; deed++)
    await oneDeed(world, mood, process, alone);
}

async function oneDeed(world: World, mood: Mood, process: Process, alone: boolean): Promise<void> {
  const who = whoIs(world, process);
  const temper = temperOf(world, mood, process);
  if (temper === "lazy") return giveUp(world, process);
  if (temper === "crashing") return leave(world, process, who, exits.crash);
  const actor = await actorFor(world, who, process.companyId, alone);
  if (actor === undefined) return;
  spend(world, process, who);
  if (temper === "diligent") {
    if (!(await diligentTurn(actor))) await finish(actor, process);
    return;
  }
  const { chance } = world;
  if (chance.flip(0.08))
    return chance.weighted<() => Promise<void>>([
      [5, () => finish(actor, process, lastWords(actor))],
      [3, async () => giveUp(world, process)],
      [3, async () => leave(world, process, who, exits.crash)],
      [world.calm ? 0 : 2, async () => hang(world, process, who)],
      [2, async () => summarize(actor)],
    ])();
  await randomDeed(actor);
}

const mostTurns = 60;

/** The process does all its work and ends. A lazy one ends at once. */
export async function workOff(world: World, mood: Mood, process: Process): Promise<void> {
  const lazy = mood.lazyAgents.get(process.agentId) ?? false;
  process.hung = false;
  for (let turn = 0; turn < mostTurns && process.exit === null; turn++) {
    const actor = await actorFor(world, whoIs(world, process), process.companyId, true);
    if (actor === undefined) return;
    // The session is over and the process is about to be killed.
    if (!world.watch.accepts(actor.who)) return;
    if (lazy) giveUp(world, process);
    else if (!(await diligentTurn(actor))) await finish(actor, process);
    await world.watch.follow();
  }
}

/** A program acts with an agent's key. The agent may have left. */
export async function keyTurn(world: World, companyId: string, who: Who): Promise<void> {
  const actor = await actorFor(world, who, companyId, true);
  if (actor !== undefined) await randomDeed(actor);
}

export async function actorFor(
  world: World,
  who: Who,
  companyId: string,
  alone: boolean,
): Promise<Player | undefined> {
  const view = await look(world.store, companyId);
  const me = view.agents.find(({ id }) => id === who.agentId);
  return me === undefined ? undefined : { world, who, view, alone, me };
}

export function whoIs(world: World, { sessionId, agentId, token }: Process): Who {
  const label = `${world.trace.name("agent", agentId)} in ${world.trace.name("session", sessionId)}`;
  return { label, token, agentId, sessionId };
}

/** The orderly end: the process writes the state document, submits the summary and exits. */
export async function finish(actor: Player, process: Process, output = ""): Promise<void> {
  await saveState(actor);
  await summarize(actor);
  leave(actor.world, process, actor.who, output === "" ? exits.done : { ...exits.done, output });
}

/** The final output. Sometimes it has instructions, as a brain without tools prints them. */
function lastWords({ world, me, view }: Player): string {
  const { chance } = world;
  if (chance.flip(0.5)) return "";
  const near = view.agents.filter(({ boss_id, status }) => boss_id === me.id && status !== "terminated");
  const whom = chance.flip(0.8) ? chance.pick(near) : chance.pick(view.agents);
  const judged = chance.pick(view.outcomes.filter(({ status }) => status === "submitted"));
  const few = view.agents.filter(({ status }) => status !== "terminated").length < 8;
  const room = view.outcomes.filter(isLiveStatus).length <= world.mostLive;
  return [
    ...(few && chance.flip(0.3) ? [`HIRE[${chance.flip(0.5) ? "editor" : "printer"}]: Helps.`] : []),
    ...(room && chance.flip(0.6) ? [`DELEGATE[${whom?.id ?? "printer"}]: ${world.newKey()}`] : []),
    ...(judged !== undefined && chance.flip(0.5)
      ? [`VERDICT[${judged.id}]: ${chance.flip(0.5) ? "PASS" : "REWORK more of it"}`]
      : []),
    ...(chance.flip(0.1) ? ["DELEGATE[ghost] at all"] : []),
  ].join("\n");
}

/** The process exits without having done anything. */
export function giveUp(world: World, process: Process): void {
  leave(world, process, whoIs(world, process), exits.nothing);
}

function leave(world: World, process: Process, who: Who, exit: Exit): void {
  world.say(`${who.label}: ${exit.reason}`);
  world.count(exit.reason);
  for (const { machine } of world.nodes) if (machine.processes.includes(process)) machine.end(process, exit);
}

/** The process uses tokens and reports them. The report is lost if its node is gone. */
function spend(world: World, process: Process, who: Who): void {
  const { chance } = world;
  if (!chance.flip(0.2) || !process.life.alive || process.life.frozen) return;
  process.used += chance.between(1, 60);
  world.say(`${who.label} has used ${process.used} tokens`);
  world.count("a report of usage");
  const costUsd = process.used / 1e6;
  process.report({ inputTokens: process.used, outputTokens: 0, costUsd });
}

function hang(world: World, process: Process, who: Who): void {
  world.say(`${who.label} hangs`);
  world.count("a process hangs");
  process.hung = true;
}

const exits = {
  done: {
    code: 0,
    reason: "exited with code 0",
    output: "done",
    usage: { inputTokens: 10, outputTokens: 5, costUsd: 0.01 },
  },
  nothing: { code: 0, reason: "exited with code 0 at once", output: "" },
  crash: { code: 1, reason: "exited with code 1", output: "" },
} satisfies Record<string, Exit>;

function temperOf(world: World, mood: Mood, process: Process): Temper {
  const known = mood.tempers.get(process.sessionId);
  if (known !== undefined) return known;
  const { chance } = world;
  const lazy = mood.lazyAgents.get(process.agentId) ?? chance.flip(0.12);
  mood.lazyAgents.set(process.agentId, lazy);
  const temper: Temper = lazy
    ? "lazy"
    : chance.weighted<Temper>([
        [world.diligence, "diligent"],
        [90 - world.diligence, "random"],
        [5, "lazy"],
        [5, "crashing"],
      ]);
  mood.tempers.set(process.sessionId, temper);
  return temper;
}

/** Draws up to five times, until an action is possible. */
export async function randomDeed(actor: Player): Promise<void> {
  for (let draw = 0; draw < 5; draw++) {
    const deed = actor.world.chance.weighted<Deed>([
      [20, triage],
      [4, saveState],
      [54, orders],
      [26, dealings],
    ]);
    if ((await deed(actor)) !== undefined) return;
  }
}

/** Reads the inbox or acknowledges a message with a result. */
async function triage(actor: Player): Promise<unknown> {
  const { world, me } = actor;
  const waiting = await world.store.read((tx) => tx.all(waitingMessages, { agentId: me.id }));
  if (world.chance.flip(waiting.length === 0 ? 0.1 : 0.25)) return call(actor, mail.readInbox, {});
  const message = world.chance.pick(waiting);
  return message === undefined
    ? undefined
    : call(actor, mail.acknowledgeMessage, { id: message.id, result: "noted" });
}

async function saveState(actor: Player): Promise<unknown> {
  const { world, me } = actor;
  const file = await world.store.read((tx) => tx.first(fileNow, { id: me.state_file_id }));
  if (file === undefined) return;
  const { id, version, hash } = file;
  return onFile(actor, knowledge.writeFile, file, "write", {
    id,
    version,
    hash,
    content: `# State at ${world.now}`,
  });
}

async function summarize(actor: Player): Promise<void> {
  await call(actor, submitSummary, { summary: "It did what it could." });
}

import * as capabilities from "../contract/capabilities.ts";
import * as knowledge from "../contract/knowledge.ts";
import * as mail from "../contract/mail.ts";
import * as agents from "../contract/agents.ts";
import { viewOutcome } from "../contract/outcomes.ts";
import type { Operation } from "../contract/operation.ts";
import type { Player, Deed } from "./calling.ts";
import { Broken } from "./broken.ts";
import { followUp, requestHelp, wasSentBack } from "./approving.ts";
import { call, onFile } from "./calling.ts";
import { answer, cancel } from "./conversing.ts";
import { reorganize, undoOne } from "./reorganizing.ts";
import { type AgentView, deliveredFiles, deliveredTo, filesMade, grantsAround } from "./view.ts";

/** An agent's actions with mail, knowledge, rights and reports, including some that must be refused. */
export async function dealings(actor: Player): Promise<unknown> {
  const deed = actor.world.chance.weighted<Deed>([
    [6, send],
    [8, sendLater],
    [4, makeFile],
    [4, useFile],
    [5, openDelivered],
    [4, grant],
    [3, revoke],
    [1, request],
    [2, pauseReport],
    [2, resumeReport],
    [2, (boss) => reorganize(boss, companyOf(boss), boss.me.id)],
    [1, (boss) => undoOne(boss, companyOf(boss), boss.me.id)],
    [2, pry],
    [5, requestHelp],
    [wasSentBack(actor) ? 60 : 5, followUp],
    [5, answer],
    [2, cancel],
  ]);
  return deed(actor);
}

const isReport = (actor: Player, agent: AgentView): boolean =>
  agent.boss_id === actor.me.id && agent.status !== "terminated";

/** An agent that this one can write to only because the board opened a mail route. */
function openedRoute({ world, me }: Player): string | undefined {
  const opened = [...world.watch.mail.routes].filter((route) => route.startsWith(me.id));
  return world.chance.flip(0.6) ? world.chance.pick(opened)?.slice(me.id.length + 1) : undefined;
}

function receiver(actor: Player): string | undefined {
  const { chance } = actor.world;
  if (chance.flip(0.3)) return "boss";
  const reports = actor.view.agents.filter((agent) => isReport(actor, agent));
  return (chance.flip(0.8) ? chance.pick(reports) : chance.pick(actor.view.agents))?.id;
}

async function send(actor: Player): Promise<unknown> {
  const to = openedRoute(actor) ?? receiver(actor);
  if (to === undefined) return;
  return call(actor, mail.sendMessage, { to, body: actor.world.newKey() });
}

async function sendLater(actor: Player): Promise<unknown> {
  const { world } = actor;
  const to = openedRoute(actor) ?? (world.chance.flip(0.5) ? "self" : receiver(actor));
  if (to === undefined) return;
  const soon = world.chance.flip(0.5);
  const wait = world.chance.between(-1000, soon ? 60_000 : 2 * 3600_000);
  const deliverAt = new Date(world.now + wait).toISOString();
  return call(actor, mail.sendDeferredMessage, { to, body: world.newKey(), deliverAt });
}

async function makeFile(actor: Player): Promise<unknown> {
  return call(actor, knowledge.createFile, { description: actor.world.newKey(), content: "As found." });
}

/** Reads or writes a file, sometimes with a wrong version number. */
async function useFile(actor: Player): Promise<unknown> {
  const { world } = actor;
  const { chance } = world;
  const files = await world.store.read((tx) => tx.all(filesMade, { companyId: companyOf(actor) }));
  const file = chance.pick(files);
  if (file === undefined) return;
  const { id, hash } = file;
  if (chance.flip(0.5)) return onFile(actor, knowledge.readFile, { id }, "read", { id });
  const version = chance.flip(0.2) ? file.version + 1 : file.version;
  const saved = await onFile(actor, knowledge.writeFile, { id }, "write", {
    id,
    version,
    hash,
    content: `At ${world.now}`,
  });
  if (actor.alone && saved.kind === "ok" && version !== file.version)
    throw new Broken(
      "a write based on another version than the newest is refused",
      `${actor.who.label} ${id}`,
    );
  return saved;
}

/**
 * Opens a file that was delivered or sent to any agent, in one of its versions. It must fail for siblings and succeed for
 * readers. Prefers files that were delivered to the agent itself, and among these the ones of an outcome that was closed since.
 */
async function openDelivered(actor: Player): Promise<unknown> {
  const { world, me } = actor;
  const { chance } = world;
  const { near, all } = await world.store.read(async (tx) => ({
    near: await tx.all(deliveredTo, { agentId: me.id }),
    all: await tx.all(deliveredFiles, { companyId: companyOf(actor) }),
  }));
  const closed = near.filter(({ status }) => status === "closed");
  const one =
    (chance.flip(0.4) ? chance.pick(closed) : undefined) ??
    (chance.flip(0.6) ? chance.pick(near) : undefined) ??
    chance.pick(all);
  if (one === undefined) return;
  const { file_id: id, version } = one;
  if (chance.flip(0.5)) return onFile(actor, knowledge.readFile, { id }, "read", { id });
  return onFile(actor, knowledge.readVersion, { id, version }, "read", { id, version });
}

async function grant(actor: Player): Promise<unknown> {
  const { world, me, view } = actor;
  const { chance } = world;
  const grants = await world.store.read((tx) => tx.all(grantsAround, { agentId: me.id }));
  const held = chance.flip(0.85)
    ? grants.filter((one) => one.grantee_id === me.id && one.broken === 0)
    : grants;
  const one = chance.pick(held);
  const to = chance.flip(0.85)
    ? chance.pick(view.agents.filter((agent) => isReport(actor, agent)))
    : chance.pick(view.agents);
  if (one === undefined || to === undefined) return;
  const isFile = one.resource.startsWith("kb:");
  return call(actor, capabilities.grantPermission, {
    to: to.id,
    resource: one.resource,
    ...(isFile ? { level: chance.flip(0.5) ? ("read" as const) : ("write" as const) } : {}),
  });
}

async function revoke(actor: Player): Promise<unknown> {
  const { world, me } = actor;
  const grants = await world.store.read((tx) => tx.all(grantsAround, { agentId: me.id }));
  const given = world.chance.flip(0.8) ? grants.filter((one) => one.granted_by === me.id) : grants;
  const one = world.chance.pick(given);
  // The root agent keeps its right to hire, or the company could not grow.
  if (one === undefined || (one.resource === "org:hire" && me.boss_id === null && one.grantee_id === me.id))
    return;
  return call(actor, capabilities.revokePermission, { id: one.id });
}

async function request(actor: Player): Promise<unknown> {
  return call(actor, capabilities.requestPermission, { resource: "org:hire", reason: actor.world.newKey() });
}

async function pauseReport(actor: Player): Promise<unknown> {
  const { chance } = actor.world;
  const reports = actor.view.agents.filter((agent) => isReport(actor, agent));
  const report = chance.flip(0.9) ? chance.pick(reports) : chance.pick(actor.view.agents);
  if (report === undefined || report.boss_id === null) return;
  const answer = await call(actor, agents.pauseAgent, { id: report.id });
  if (actor.alone && answer.kind === "ok" && report.boss_id !== actor.me.id)
    throw new Broken("an agent can pause only its own reports", `${actor.who.label} ${report.name}`);
  return answer;
}

async function resumeReport(actor: Player): Promise<unknown> {
  const paused = actor.view.agents.filter((agent) => isReport(actor, agent) && agent.status === "paused");
  const report = actor.world.chance.pick(paused);
  return report === undefined ? undefined : call(actor, agents.resumeAgent, { id: report.id });
}

/** Asks for an object of another company and for a missing one. Both answers must be the same. */
async function pry(actor: Player): Promise<void> {
  const { world } = actor;
  const foreign = world.chance.pick([world.foreign.agentId, world.foreign.outcomeId, world.foreign.fileId]);
  if (foreign === undefined || companyOf(actor) !== world.company.id || !actor.alone) return;
  const nowhere = `${foreign.slice(0, 24)}${"f".repeat(12)}`;
  const [operation, input]: [Operation, (id: string) => Record<string, unknown>] = world.chance.weighted<
    [Operation, (id: string) => Record<string, unknown>]
  >([
    [1, [viewOutcome, (id) => ({ id })]],
    [1, [knowledge.readFile, (id) => ({ id })]],
    [1, [agents.viewAgent, (id) => ({ id })]],
    [1, [mail.sendMessage, (id) => ({ to: id, body: "hello" })]],
    [1, [capabilities.grantPermission, (id) => ({ to: id, resource: "org:hire" })]],
  ]);
  const ask = async (id: string): Promise<string> => {
    const answer = await world.attempt({ who: actor.who, operation, input: input(id), key: undefined });
    return answer.kind === "refused"
      ? `${answer.refusal.code} ${answer.refusal.message} ${answer.refusal.hint}`.replaceAll(id, "it")
      : answer.kind;
  };
  const [there, here] = [await ask(foreign), await ask(nowhere)];
  if (there !== here || there === "ok")
    throw new Broken(
      "an object of another company looks as if it did not exist",
      `${operation.name} answers "${there}", but "${here}" for an id that does not exist`,
    );
}

function companyOf({ world, me }: Player): string {
  return world.watch.members.get(me.id)?.companyId ?? "";
}

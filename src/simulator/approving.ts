import * as contract from "../contract/approvals.ts";
import { deleteAgent } from "../contract/agents.ts";
import { requestAgent, waitForApproval } from "../contract/create-agent.ts";
import { hireAgent } from "../contract/hiring.ts";
import { Broken } from "./broken.ts";
import { call, type Player, type SimulatedCaller } from "./calling.ts";
import type { WatchedApproval } from "./approval-rules.ts";
import type { World } from "./world.ts";

/** Requests of agents and decisions of people. */

const isOpen = ({ status }: WatchedApproval): boolean =>
  status === "pending" || status === "revision_requested";

export const openApprovals = (world: World): WatchedApproval[] => world.watch.approvals().filter(isOpen);

/** The requests of the company in which people act. */
const here = ({ watch, company }: World): WatchedApproval[] =>
  watch.approvals().filter(({ companyId }) => companyId === company.id);

/** A person decides, asks for a revision or comments, sometimes too late, or on an earlier version of the request. */
export async function decide(board: SimulatedCaller): Promise<unknown> {
  const { world } = board;
  const { chance } = world;
  const all = here(world);
  const open = all.filter(isOpen);
  // A person who asked from a position must leave the decision to another.
  const own = open.filter(({ requesterPerson }) => requesterPerson === board.who.person?.personId);
  const approval =
    (chance.flip(0.3) ? chance.pick(own) : undefined) ??
    (chance.flip(0.9) ? chance.pick(open) : chance.pick(all));
  if (approval === undefined) return;
  const { id, payloadHash, status } = approval;
  const outdated = chance.flip(0.1);
  const seen = outdated ? "0".repeat(64) : payloadHash;
  const input = {
    id,
    decisionNote: world.newKey(),
    ...(chance.flip(0.5) || outdated ? { payloadHash: seen } : {}),
  };
  const operation = chance.weighted([
    [11, contract.approve],
    [4, contract.reject],
    [4, contract.requestRevision],
    [1, contract.cancelApproval],
    [status === "revision_requested" ? 2 : 0, contract.resubmit],
  ]);
  if (chance.flip(0.15)) return call(board, contract.commentOnApproval, { id, body: world.newKey() });
  const answer = await call(board, operation, input);
  if (board.alone && answer.kind === "ok" && outdated)
    throw new Broken("a decision on another version of the request is refused", `${operation.name} ${id}`);
  return answer;
}

/** The board deletes a rejected agent, or tries to delete another one. */
export async function deleteDenied(board: SimulatedCaller): Promise<unknown> {
  const { world } = board;
  const { chance } = world;
  const denied = here(world).filter(({ status }) => status === "rejected" || status === "cancelled");
  const approval = chance.flip(0.9) ? chance.pick(denied) : chance.pick(here(world));
  return approval === undefined || approval.agentId === null
    ? undefined
    : call(board, deleteAgent, { id: approval.agentId });
}

/** An agent asks for another agent, in one of the two ways. */
export async function requestHelp(actor: Player): Promise<unknown> {
  const { world, view, me } = actor;
  const { chance } = world;
  const employed = view.agents.filter(({ status }) => status !== "terminated");
  if (employed.length >= mostAgents) return;
  const name = chance.pick(names) ?? "";
  const below = chance.pick(employed.filter(({ boss_id }) => boss_id === me.id));
  if (chance.flip(0.5))
    return call(actor, hireAgent, {
      name,
      role: chance.flip(0.5) ? "clerk" : "cook",
      ...(below !== undefined && chance.flip(0.3) ? { reportsTo: below.id } : {}),
      ...(chance.flip(0.3) ? { grants: [{ resource: "org:hire" as const }] } : {}),
    });
  const next = chance.flip(0.4) ? chance.pick(employed) : undefined;
  const answer = await call(actor, requestAgent, {
    name,
    waitSeconds: 0,
    ...(next === undefined ? {} : { nextAgent: next.id }),
  });
  if (
    actor.alone &&
    answer.kind === "ok" &&
    answer.value.status === "created" &&
    !wasApproved(world, answer.value.agent?.id)
  )
    throw new Broken(
      "create_agent creates an agent only when a person approves",
      `${actor.who.label} ${name}`,
    );
  return answer;
}

function wasApproved(world: World, agentId: string | undefined): boolean {
  return world.watch.approvals().some((one) => one.agentId === agentId && one.status === "approved");
}

/** Requests of the agent that a person wants revised. They come before others, because they expire and a run is short. */
const sentBack = ({ world, me }: Player): WatchedApproval[] =>
  world.watch
    .approvals()
    .filter(({ requester, status }) => requester === me.id && status === "revision_requested");

export const wasSentBack = (actor: Player): boolean => sentBack(actor).length > 0;

/** What an agent does with its requests: it waits, resubmits, cancels, comments, or tries to decide. */
export async function followUp(actor: Player): Promise<unknown> {
  const { world, me } = actor;
  const { chance } = world;
  const back = sentBack(actor);
  const mine = world.watch.approvals().filter(({ requester }) => requester === me.id);
  const approval = chance.flip(0.85)
    ? chance.pick(back.length > 0 ? back : mine.filter(isOpen))
    : chance.pick(world.watch.approvals());
  if (approval === undefined) return;
  const { id, type, status } = approval;
  const isBack = status === "revision_requested";
  const deeds: [number, () => Promise<unknown>][] = [
    [isBack ? 8 : 1, () => call(actor, contract.resubmit, { id })],
    [1, () => call(actor, contract.cancelApproval, { id })],
    [2, () => call(actor, contract.commentOnApproval, { id, body: world.newKey() })],
    [type === "create_agent" ? 4 : 0, () => call(actor, waitForApproval, { requestId: id, waitSeconds: 0 })],
    [1, () => call(actor, chance.flip(0.5) ? contract.approve : contract.reject, { id })],
  ];
  return chance.weighted(deeds)();
}

const names = ["Quin", "Rea", "Sol", "Tea", "Uwe", "Vic"];
const mostAgents = 9;

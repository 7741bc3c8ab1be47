import * as outcomes from "../contract/outcomes.ts";
import { delegateOutcome, reclaimOutcome } from "../contract/delegation.ts";
import { planWork } from "../contract/delegation.ts";
import type { Player, Deed } from "./calling.ts";
import { drives, onOutcome, writes } from "./calling.ts";
import { judge } from "./deciding.ts";
import { filesBy, filesMade, grantsAround, isLiveStatus, type OutcomeView } from "./view.ts";

/** An agent's actions with outcomes: mostly its own, sometimes those of other agents, which must be refused. */
export async function orders(actor: Player): Promise<unknown> {
  const deed = actor.world.chance.weighted<Deed>([
    [9, create],
    [4, change],
    [8, block],
    [1, unblock],
    [9, submit],
    [14, complete],
    [3, close],
    [14, judge],
    [2, reopen],
    [9, delegate],
    [6, hire],
    [5, divide],
    [3, reclaim],
  ]);
  return deed(actor);
}

const mostAgents = 8;
const names = ["Cy", "Dee", "Eli", "Fay", "Gus", "Hal"];

/** Picks an outcome that fits, and sometimes any other one. */
function choose(actor: Player, fits: (outcome: OutcomeView) => boolean): OutcomeView | undefined {
  const { chance } = actor.world;
  const { outcomes } = actor.view;
  return chance.flip(0.9) ? chance.pick(outcomes.filter(fits)) : chance.pick(outcomes);
}

const own =
  ({ me }: Player) =>
  (outcome: OutcomeView): boolean =>
    isLiveStatus(outcome) && drives(me.id, outcome);

/** Whether the outcome is the agent's own, or delegated by it. */
const near =
  (actor: Player) =>
  (outcome: OutcomeView): boolean =>
    own(actor)(outcome) || (isLiveStatus(outcome) && outcome.delegated_by === actor.me.id);

/** Picks an outcome to wait for, near or anywhere. An agent that waits for another's outcome must be told of its end. */
function awaited(actor: Player): OutcomeView | undefined {
  const { chance } = actor.world;
  return chance.flip(0.5)
    ? choose(actor, near(actor))
    : chance.pick(
        actor.view.outcomes.filter((one) => isLiveStatus(one) && one.responsible_id !== actor.me.id),
      );
}

async function create(actor: Player): Promise<unknown> {
  const { world, view } = actor;
  const { chance } = world;
  if (view.outcomes.filter(isLiveStatus).length > world.mostLive) return complete(actor);
  const parent = choose(actor, (outcome) => own(actor)(outcome) && outcome.kind !== "inbox");
  if (parent === undefined) return;
  const second = chance.flip(0.15) ? choose(actor, own(actor)) : undefined;
  const before = chance.flip(0.3) ? awaited(actor) : undefined;
  const parents = [...new Set([parent.id, ...(second === undefined ? [] : [second.id])])];
  return onOutcome(actor, outcomes.createOutcome, parent, "drive", {
    title: world.newKey(),
    parents,
    ...(before === undefined ? {} : { dependsOn: [before.id] }),
    ...(chance.flip(0.3) ? { urgent: true } : {}),
    ...(chance.flip(0.3) ? { important: true } : {}),
  });
}

async function change(actor: Player): Promise<unknown> {
  const { chance } = actor.world;
  const outcome = choose(actor, (one) => isLiveStatus(one) && writes(actor.me.id, one));
  if (outcome === undefined) return;
  const { id } = outcome;
  const other = choose(actor, own(actor));
  const input =
    chance.flip(0.4) || other === undefined
      ? { description: "Better said." }
      : chance.flip(0.5)
        ? { dependsOn: [other.id] }
        : { parents: [other.id] };
  return onOutcome(actor, outcomes.updateOutcome, outcome, "write", { id, ...input });
}

async function block(actor: Player): Promise<unknown> {
  const { world } = actor;
  const { chance } = world;
  const outcome = choose(actor, (one) => own(actor)(one) && one.status === "open" && one.kind !== "inbox");
  const other = awaited(actor);
  if (outcome === undefined) return;
  const until = new Date(
    world.now + chance.between(1000, chance.flip(0.8) ? 60_000 : 3 * 3600_000),
  ).toISOString();
  const blocked = {
    reason: "It has to wait.",
    ...(chance.flip(0.4) ? { until } : other === undefined ? {} : { on: other.id }),
  };
  return onOutcome(actor, outcomes.updateOutcome, outcome, "either", { id: outcome.id, blocked });
}

async function unblock(actor: Player): Promise<unknown> {
  const outcome = choose(actor, (one) => own(actor)(one) && one.blocked_reason !== null);
  if (outcome === undefined) return;
  return onOutcome(actor, outcomes.updateOutcome, outcome, "either", { id: outcome.id, blocked: null });
}

async function submit(actor: Player): Promise<unknown> {
  const outcome = choose(
    actor,
    (one) => own(actor)(one) && one.status === "open" && one.delegated === 1 && one.kind === "work",
  );
  if (outcome === undefined) return;
  return onOutcome(actor, outcomes.submitOutcome, outcome, "drive", {
    id: outcome.id,
    ...(await resultsOf(actor)),
  });
}

/** Files to deliver: mostly the agent's own, sometimes those of any agent, which may be refused. */
export async function resultsOf({ world, me }: Player): Promise<{ files?: string[] }> {
  const { chance } = world;
  if (chance.flip(0.3)) return {};
  const own = await world.store.read((tx) => tx.all(filesBy, { agentId: me.id }));
  const any = await world.store.read((tx) => tx.all(filesMade, { companyId: world.company.id }));
  const file = chance.flip(0.9) ? chance.pick(own) : chance.pick(any);
  return file === undefined ? {} : { files: [file.id] };
}

async function complete(actor: Player): Promise<unknown> {
  const outcome = choose(
    actor,
    (one) =>
      (one.kind === "work" || one.kind === "integration") &&
      (one.status === "submitted" || (one.status === "open" && one.delegated === 0)) &&
      writes(actor.me.id, one),
  );
  if (outcome === undefined) return;
  return onOutcome(actor, outcomes.completeOutcome, outcome, "write", {
    id: outcome.id,
    ...(drives(actor.me.id, outcome) ? await resultsOf(actor) : {}),
  });
}

async function close(actor: Player): Promise<unknown> {
  const outcome = choose(
    actor,
    (one) =>
      isLiveStatus(one) && (one.kind === "work" || one.kind === "integration") && writes(actor.me.id, one),
  );
  if (outcome === undefined) return;
  return onOutcome(actor, outcomes.closeOutcome, outcome, "write", {
    id: outcome.id,
    rationale: "It did not work out.",
  });
}

async function reopen(actor: Player): Promise<unknown> {
  const outcome = choose(actor, (one) => one.status !== "open" && writes(actor.me.id, one));
  if (outcome === undefined) return;
  return onOutcome(actor, outcomes.reopenOutcome, outcome, "write", {
    id: outcome.id,
    reason: "Not good enough.",
  });
}

const delegable =
  (actor: Player) =>
  (one: OutcomeView): boolean =>
    own(actor)(one) && one.status === "open" && one.kind === "work" && one.delegated === 0;

async function delegate(actor: Player): Promise<unknown> {
  const { world, me, view } = actor;
  const { chance } = world;
  const reports = view.agents.filter(({ boss_id, status }) => boss_id === me.id && status !== "terminated");
  const to = chance.flip(0.9) ? chance.pick(reports) : chance.pick(view.agents);
  const outcome = choose(actor, delegable(actor));
  if (outcome === undefined || to === undefined) return;
  const grants = await world.store.read((tx) => tx.all(grantsAround, { agentId: me.id }));
  const held = chance.pick(grants.filter(({ grantee_id, broken }) => grantee_id === me.id && broken === 0));
  return onOutcome(actor, delegateOutcome, outcome, "drive", {
    id: outcome.id,
    to: to.id,
    ...(held !== undefined && chance.flip(0.5) ? { grants: [{ resource: held.resource }] } : {}),
    ...(chance.flip(0.5) ? { message: `Please see to it. ${world.newKey()}` } : {}),
  });
}

async function hire(actor: Player): Promise<unknown> {
  const { world, view } = actor;
  const { chance } = world;
  const outcome = choose(actor, delegable(actor));
  const employed = view.agents.filter(({ status }) => status !== "terminated");
  if (outcome === undefined || employed.length >= mostAgents) return;
  const answer = await onOutcome(actor, delegateOutcome, outcome, "drive", {
    id: outcome.id,
    hire: { name: chance.pick(names) ?? "", role: chance.flip(0.5) ? "writer" : "tester" },
    ...(chance.flip(0.4) ? { grants: [{ resource: "org:hire" as const }] } : {}),
    ...(chance.flip(0.5) ? { message: `You are new here. ${world.newKey()}` } : {}),
  });
  return answer;
}

/** Divides an outcome into parts for reports, for the agent itself, and for a role that has to be hired first. */
async function divide(actor: Player): Promise<unknown> {
  const { world, me, view } = actor;
  const { chance } = world;
  const outcome = choose(actor, (one) => own(actor)(one) && one.status === "open" && one.kind === "work");
  if (outcome === undefined || view.outcomes.filter(isLiveStatus).length > world.mostLive) return;
  const employed = view.agents.filter(({ status }) => status !== "terminated");
  const reports = employed.filter(({ boss_id }) => boss_id === me.id).map(({ id }) => id);
  const others = ["self", ...(employed.length < mostAgents ? ["editor"] : [])];
  const tasks = Array.from({ length: chance.between(1, 3) }, (_, place) => ({
    title: world.newKey(),
    assignee: chance.pick(chance.flip(0.7) && reports.length > 0 ? reports : others) ?? "self",
    ...(place > 0 && chance.flip(0.4) ? { dependsOn: [place - 1] } : {}),
  }));
  return onOutcome(actor, planWork, outcome, "drive", { outcome: outcome.id, tasks });
}

async function reclaim(actor: Player): Promise<unknown> {
  const { chance } = actor.world;
  const isMandate = (id: string): boolean => actor.view.agents.some(({ mandate_id }) => mandate_id === id);
  // Reclaiming a mandate ends agents, so it happens less often.
  const spare = chance.flip(0.6);
  const outcome = choose(
    actor,
    (one) =>
      isLiveStatus(one) &&
      one.delegated === 1 &&
      one.delegated_by === actor.me.id &&
      !(spare && isMandate(one.id)),
  );
  if (outcome === undefined) return;
  return onOutcome(actor, reclaimOutcome, outcome, "write", {
    id: outcome.id,
    reason: "I do it myself.",
  });
}

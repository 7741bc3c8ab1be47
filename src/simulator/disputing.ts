import { createFile, readFile } from "../contract/knowledge.ts";
import { submitOutcome } from "../contract/outcomes.ts";
import { actorFor } from "./agent-turn.ts";
import { call, onFile, type Player } from "./calling.ts";
import { decideOn } from "./deciding.ts";
import { look, type OutcomeView } from "./view.ts";
import type { World } from "./world.ts";

/**
 * An owner and a reviewer disagree: the owner submits, the reviewer sends the work back, and both insist. Programs with the
 * keys of both agents do it in one go, because chance seldom leads two agents that far.
 */
export async function dispute(world: World): Promise<void> {
  const { chance, watch, company } = world;
  const keyOf = (agentId: string | null) =>
    world.keys.find((who) => who.agentId === agentId && watch.accepts(who));
  const { outcomes } = await look(world.store, company.id);
  const outcome = chance.pick(
    outcomes.filter(
      ({ kind, status, delegated, blocked_reason, responsible_id, delegated_by }) =>
        kind === "work" &&
        delegated === 1 &&
        (status === "submitted" || (status === "open" && blocked_reason === null)) &&
        keyOf(responsible_id) !== undefined &&
        keyOf(delegated_by) !== undefined,
    ),
  );
  if (outcome?.status === "open" && chance.flip(0.3))
    return deliverInVain(world, outcome, keyOf(outcome.responsible_id), keyOf(outcome.delegated_by));
  for (let round = chance.between(1, 2); outcome !== undefined && round > 0; round--) {
    await play(world, keyOf(outcome.responsible_id), outcome, async (owner, { id, status }) => {
      if (status === "open") await call(owner, submitOutcome, { id });
    });
    await play(world, keyOf(outcome.delegated_by), outcome, async (reviewer, now) => {
      if (now.status === "submitted") await decideOn(reviewer, now, "rework");
    });
    // Once the work is escalated, the reviewer can no longer decide.
    await play(world, keyOf(outcome.delegated_by), outcome, async (reviewer, now) => {
      if (now.reworks > 1 && now.blocked_reason !== null && chance.flip(0.5))
        await decideOn(reviewer, now, "close");
    });
  }
}

/** The owner delivers a file, which the reviewer opens and then gives up together with the work. */
async function deliverInVain(world: World, outcome: OutcomeView, owner: Key, reviewer: Key): Promise<void> {
  const files: string[] = [];
  await play(world, owner, outcome, async (side, { id }) => {
    const made = await call(side, createFile, { description: world.newKey(), content: "As wanted." });
    if (made.kind !== "ok") return;
    files.push(made.value.id);
    await call(side, submitOutcome, { id, files });
  });
  const open = async (side: Player): Promise<void> => {
    for (const id of files) await onFile(side, readFile, { id }, "read", { id });
  };
  await play(world, reviewer, outcome, async (side, now) => {
    await open(side);
    if (now.status === "submitted") await decideOn(side, now, "close");
  });
  await play(world, reviewer, outcome, open);
}

type Key = World["keys"][number] | undefined;

/** Lets one side act on the present state of the outcome. */
async function play(
  world: World,
  who: Key,
  { id }: OutcomeView,
  deed: (side: Player, now: OutcomeView) => Promise<void>,
): Promise<void> {
  await world.watch.follow();
  const side = who && (await actorFor(world, who, world.company.id, true));
  const now = side?.view.outcomes.find((one) => one.id === id);
  if (side !== undefined && now !== undefined) await deed(side, now);
}

import { createFile, readFile } from "../contract/knowledge.ts";
import * as mail from "../contract/mail.ts";
import * as outcomes from "../contract/outcomes.ts";
import type { Player } from "./calling.ts";
import { call, onFile, onOutcome } from "./calling.ts";
import { decideOn } from "./deciding.ts";
import { resultsOf } from "./outcome-deeds.ts";
import { deliveredTo, type OutcomeView, waitingMessages } from "./view.ts";

/**
 * One action of a diligent agent. It verifies submitted work first, then handles its inbox, then finishes its own outcomes.
 * Returns false when nothing is left. Diligent agents create no new work, so a company of them comes to rest.
 */
export async function diligentTurn(actor: Player): Promise<boolean> {
  const { world, me, view } = actor;
  const [message] = await world.store.read((tx) => tx.all(waitingMessages, { agentId: me.id }));
  const submitted = view.outcomes.find(
    ({ status, delegated_by, responsible_id }) =>
      status === "submitted" && delegated_by === me.id && responsible_id !== me.id,
  );
  // Verification comes first: the message about a submission must not be acknowledged before the work is verified.
  if (submitted !== undefined) {
    await verify(actor, submitted);
    return true;
  }
  if (message !== undefined) {
    if (message.read_at === null) await call(actor, mail.readInbox, {});
    else await call(actor, mail.acknowledgeMessage, { id: message.id, result: "done" });
    return true;
  }
  const answer = await call(actor, outcomes.myOutcomes, { status: "open", limit: 50 });
  const next = answer.kind === "ok" ? answer.value.outcomes.find(({ workable }) => workable) : undefined;
  const work = next === undefined ? undefined : view.outcomes.find(({ id }) => id === next.id);
  if (work === undefined || work.kind === "inbox") return false;
  const { id } = work;
  if (work.delegated === 1 && world.chance.flip(0.3)) {
    await call(actor, createFile, { description: world.newKey(), content: "As wanted." });
    return true;
  }
  const ended =
    work.delegated === 1
      ? await onOutcome(actor, outcomes.submitOutcome, work, "drive", { id, ...(await resultsOf(actor)) })
      : await onOutcome(actor, outcomes.completeOutcome, work, "write", { id });
  if (ended.kind === "refused")
    await onOutcome(actor, outcomes.updateOutcome, work, "either", {
      id,
      blocked: { reason: `cannot continue: ${ended.refusal.message}`.slice(0, 900) },
    });
  return true;
}

/** Opens the submitted work and accepts it. Work that can't be accepted yet is sent back. */
async function verify(actor: Player, submitted: OutcomeView): Promise<void> {
  const { world, me } = actor;
  const { id } = submitted;
  const delivered = await world.store.read((tx) => tx.all(deliveredTo, { agentId: me.id }));
  const file = world.chance.pick(delivered.filter(({ outcome_id }) => outcome_id === id));
  if (file !== undefined) await onFile(actor, readFile, { id: file.file_id }, "read", { id: file.file_id });
  // Even diligent agents find faults, until the world comes to rest.
  if (world.faults && world.chance.flip(0.3)) {
    await decideOn(actor, submitted, "rework");
    return;
  }
  const done = world.chance.flip(0.5)
    ? await decideOn(actor, submitted, "pass")
    : await onOutcome(actor, outcomes.completeOutcome, submitted, "write", { id, note: "verified" });
  if (done.kind === "refused")
    await onOutcome(actor, outcomes.reopenOutcome, submitted, "write", { id, reason: "not yet" });
}

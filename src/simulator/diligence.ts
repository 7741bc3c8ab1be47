import * as mail from "../contract/mail.ts";
import * as outcomes from "../contract/outcomes.ts";
import type { Player } from "./calling.ts";
import { call, onOutcome } from "./calling.ts";
import { waitingMessages } from "./view.ts";

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
    const { id } = submitted;
    const done = await onOutcome(actor, outcomes.completeOutcome, submitted, "write", {
      id,
      note: "verified",
    });
    if (done.kind === "refused")
      await onOutcome(actor, outcomes.reopenOutcome, submitted, "write", { id, reason: "not yet" });
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
  const ended =
    work.delegated === 1
      ? await onOutcome(actor, outcomes.submitOutcome, work, "drive", { id })
      : await onOutcome(actor, outcomes.completeOutcome, work, "write", { id });
  if (ended.kind === "refused")
    await onOutcome(actor, outcomes.updateOutcome, work, "either", {
      id,
      blocked: { reason: `cannot continue: ${ended.refusal.message}`.slice(0, 900) },
    });
  return true;
}

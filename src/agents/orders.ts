import type { Writing } from "../dispatch/context.ts";
import { post } from "../mail/post.ts";
import type { OutcomeRow } from "../outcomes/outcome.ts";
import type { AgentRow } from "./table.ts";

/** Tells an agent what it was given to do. A person works from the inbox: without a word it would lie there unseen. */
export async function sendOrder(
  call: Writing,
  from: string,
  to: Pick<AgentRow, "id" | "brain_type">,
  outcome: OutcomeRow,
  message: string | undefined,
): Promise<void> {
  if (message === undefined && to.brain_type !== "human") return;
  const text = [
    message ?? "This is yours now.",
    "",
    `Outcome: "${outcome.title}" kb://${outcome.id}`,
    ...(outcome.acceptance === null ? [] : ["", "Acceptance criteria:", outcome.acceptance]),
  ].join("\n");
  const letter = {
    id: call.newId(),
    companyId: call.companyId,
    from,
    to: to.id,
    content: { fileId: call.newId(), text },
    deliverAt: call.tx.now,
  };
  await post(call.tx, letter, call.newId);
}

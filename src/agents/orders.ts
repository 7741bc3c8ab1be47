import type { Writing } from "../dispatch/context.ts";
import { post } from "../mail/post.ts";
import type { OutcomeRow } from "../outcomes/outcome.ts";
import type { AgentRow } from "./table.ts";
import { order, workForYou } from "./texts.ts";

/**
 * Sends the message that comes with delegated work. A model finds its work in the briefing, so it gets a message only if the
 * manager wrote one. A person works from the inbox and always gets a message.
 */
export async function sendOrder(
  call: Writing,
  /** Null for the board. */
  from: string | null,
  to: Pick<AgentRow, "id" | "brain_type">,
  outcome: OutcomeRow,
  message: string | undefined,
): Promise<void> {
  if (message === undefined && to.brain_type !== "human") return;
  await post(call, { from, to: to.id, content: { text: order(message ?? workForYou, outcome) } });
}

import { type Surroundings } from "../capabilities/guarded.ts";
import { Refusal } from "../contract/refusal.ts";
import { tellOfLimit, tellOnce } from "../mail/notices.ts";
import { notify } from "../mail/operations.ts";
import { post } from "../mail/post.ts";
import { messageById } from "../mail/table.ts";
import { endingsOf } from "../outcomes/ending.ts";
import type { OutcomeRow } from "../outcomes/outcome.ts";
import { demandDone, retire } from "./leaving.ts";

/** How outcomes end here, with all that follows from it for agents and mail. */
export const endings = endingsOf({ notify, tellOnce, retire, demandDone, answer });

/** A person gets it from the agent itself; to an agent it is a notice, which needs no answer. */
async function answer(call: Surroundings, outcome: OutcomeRow, text: string): Promise<void> {
  const { tx, companyId, newId } = call;
  if (outcome.reply_to === null) return;
  const asked = await messageById(tx, outcome.reply_to);
  const autoTurn = asked.auto_turn + 1;
  if (asked.from_id !== null || outcome.responsible_id === null)
    return notify(call, asked.from_id, text, autoTurn);
  const content = { fileId: newId(), text };
  const from = outcome.responsible_id;
  const letter = { id: newId(), companyId, from, to: null, content, deliverAt: tx.now, autoTurn };
  try {
    await tx.attempt(() => post(tx, letter, newId));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    // The board has too much of this agent's lying there; what came out is with the outcome.
    await tellOfLimit(call, from, error);
  }
}

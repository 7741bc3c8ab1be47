import type { Client } from "../client/client.ts";
import { approve, listApprovals, reject, viewApproval } from "../contract/approvals.ts";
import { Refusal } from "../contract/refusal.ts";
import { indented } from "./show.ts";
import { howToDecide } from "./texts.ts";

/** How to put pending approvals before the person at the terminal. */
export interface Asking {
  /** Approve everything without asking. */
  readonly yes: boolean;
  /** Absent if the terminal is not interactive. Approvals are then only announced. */
  readonly ask?: (question: string) => Promise<string>;
  readonly say: (text: string) => void;
}

/** Decides each pending approval, or announces it once. Returns how many are still pending. */
export async function decidePending(
  client: Client,
  companyId: string,
  asking: Asking,
  told: Set<string>,
): Promise<number> {
  const { approvals } = await client.call(listApprovals, { companyId, status: "pending", limit: 100 });
  let waiting = 0;
  for (const { id } of approvals.toReversed()) {
    const { changes, payloadHash } = await client.call(viewApproval, { id });
    const what = changes.map((change) => `  ${indented(change)}`).join("\n");
    if (!asking.yes && asking.ask === undefined) {
      waiting++;
      if (!told.has(id)) asking.say(`Approval ${id} needs your decision:\n${what}\n${howToDecide(id)}\n`);
      told.add(id);
      continue;
    }
    const says = asking.yes ? "y" : await asking.ask?.(`Approval ${id}:\n${what}\nApprove? [y/N] `);
    const isYes = /^\s*y(es)?\s*$/i.test(says ?? "");
    try {
      // The hash ties the decision to what was shown. If the request has changed since, it is shown again.
      await client.call(isYes ? approve : reject, { id, payloadHash });
      asking.say(`${isYes ? "Approved" : "Rejected"}:\n${what}\n`);
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== "conflict") throw error;
      waiting++;
    }
  }
  return waiting;
}

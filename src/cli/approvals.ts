import type { Client } from "../client/client.ts";
import { approve, listApprovals, reject, viewApproval } from "../contract/approvals.ts";
import { Refusal } from "../contract/refusal.ts";

/** What waits for the board, put before whoever sits at the terminal. */
export interface Asking {
  /** Say yes to everything. */
  readonly yes: boolean;
  /** Absent where nobody can be asked. */
  readonly ask?: (question: string) => Promise<string>;
  readonly say: (text: string) => void;
}

/** Each pending approval is decided, or told of once; answers how many still wait. */
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
    const what = changes.map((line) => `  ${line}`).join("\n");
    if (!asking.yes && asking.ask === undefined) {
      waiting++;
      if (!told.has(id))
        asking.say(
          `Waits for you (approval ${id}):\n${what}\n  agency approve ${id}, or agency reject ${id}\n`,
        );
      told.add(id);
      continue;
    }
    const says = asking.yes ? "y" : await asking.ask?.(`Approval ${id}:\n${what}\nApprove? [y/N] `);
    const isYes = /^\s*y(es)?\s*$/i.test(says ?? "");
    try {
      // On what was shown: if it has changed since, it comes up again.
      await client.call(isYes ? approve : reject, { id, payloadHash });
      asking.say(`${isYes ? "Approved" : "Rejected"}:\n${what}\n`);
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== "conflict") throw error;
      waiting++;
    }
  }
  return waiting;
}

import { requestApproval } from "../contract/approvals.ts";
import { Refusal } from "../contract/refusal.ts";
import { restore } from "../capabilities/redaction.ts";
import type { ApprovalKind } from "./operations.ts";
import { payloadOf } from "./table.ts";

/** The root agent's plan. A yes changes nothing by itself: the root agent is told, and works by it. */
export const strategy: ApprovalKind = {
  approve: async () => undefined,
  deny: async () => undefined,
  redraft: async (_, approval, changes) => {
    const former = payloadOf(approval);
    const { requestedByAgentId: _r, revision: _n, ...given } = { ...Object(restore(changes, former)) };
    const parsed = requestApproval.input.shape.payload.safeParse({ plan: former["plan"], ...given });
    if (!parsed.success)
      throw new Refusal("invalid", "A plan is Markdown text.", 'Send {"payload":{"plan":"…"}}.');
    return { ...former, ...parsed.data };
  },
  changes: async (_, approval) => {
    const { plan } = payloadOf(approval);
    return ["The root agent works by this plan:", typeof plan === "string" ? plan : ""];
  },
  title: () => "Your plan",
};

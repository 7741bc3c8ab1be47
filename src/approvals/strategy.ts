import { JsonObject } from "../contract/words.ts";
import { requestApproval } from "../contract/approvals.ts";
import { restore } from "../redaction/redact.ts";
import type { ApprovalKind } from "./kinds.ts";
import { payloadOf } from "./approval.ts";
import { notAPlan, strategyChanges } from "./texts.ts";

/** A plan that the root agent proposes. Approving it changes no rows: the root agent is told, and follows the plan. */
export const strategy: ApprovalKind = {
  approve: async () => undefined,
  deny: async () => undefined,
  redraft: async (_, approval, changes) => {
    const former = payloadOf(approval);
    const { requestedByAgentId: _r, revision: _n, ...given } = JsonObject.parse(restore(changes, former));
    const parsed = requestApproval.input.shape.payload.safeParse({ plan: former["plan"], ...given });
    if (!parsed.success) throw notAPlan();
    return { ...former, ...parsed.data };
  },
  summary: async (_, approval) => {
    const { plan } = payloadOf(approval);
    return strategyChanges(typeof plan === "string" ? plan : "");
  },
};

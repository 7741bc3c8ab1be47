import * as contract from "../contract/approvals.ts";
import { deleteAgent } from "../contract/agents.ts";
import { callTo } from "../contract/operation.ts";
import { memberById } from "../capabilities/members.ts";
import { personById } from "../capabilities/people.ts";
import type { Viewer } from "../capabilities/visible.ts";
import type { ReadTx } from "../store/store.ts";
import { type ApprovalRow, isRevisable, openStatuses } from "./approval.ts";
import { otherMustDecide } from "./thread.ts";

type Call = ReturnType<typeof callTo>;
type Caller = contract.ApprovalAbility["by"][number];

/** Which calls on an approval are possible now, by its state and type, and who can make them. */
export async function abilitiesOf(
  tx: ReadTx,
  approval: ApprovalRow,
  viewer: Viewer & { readonly personId?: string | null },
): Promise<contract.ApprovalAbility[]> {
  const { id, status, type, agent_id, payload_hash: payloadHash } = approval;
  const person = await personById(tx, viewer.personId ?? null);
  const isOver = approval.expires_at !== null && approval.expires_at <= tx.now;
  const isPending = status === "pending" && !isOver;
  const isOpen = openStatuses.includes(status) && !isOver;
  const isDenied = type === "hire_agent" && (status === "rejected" || status === "cancelled");
  const denied = isDenied ? await memberById(tx, agent_id) : undefined;
  const isOthers = isOpen && (await otherMustDecide(tx, person?.id ?? null, approval)) !== undefined;
  const mayBe = (when: boolean, call: Call, ...by: Caller[]): contract.ApprovalAbility[] => {
    const isRequester = by.includes("requester") && viewer.agentId === approval.requested_by;
    const isTheirs = viewer.agentId === null || by.includes("reader") || isRequester;
    return when ? [{ ...call, by, yours: isTheirs && person?.role !== "viewer" }] : [];
  };
  const decided = (when: boolean, call: Call): contract.ApprovalAbility[] =>
    mayBe(when, call, "board").map((ability) => ({ ...ability, yours: ability.yours && !isOthers }));
  const seen = { id, payloadHash };
  return [
    ...decided(isPending, callTo(contract.approve, seen)),
    ...decided(isOpen, callTo(contract.reject, seen)),
    ...decided(isPending && isRevisable(type), callTo(contract.requestRevision, seen)),
    ...mayBe(
      isOpen && status === "revision_requested",
      callTo(contract.resubmit, seen),
      "board",
      "requester",
    ),
    ...mayBe(isOpen, callTo(contract.cancelApproval, seen), "board", "requester"),
    ...mayBe(true, callTo(contract.commentOnApproval, { id }), "reader"),
    ...mayBe(denied !== undefined, callTo(deleteAgent, { id: agent_id ?? "" }), "board"),
  ];
}

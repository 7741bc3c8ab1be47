import { query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { Broken } from "./broken.ts";
import type { EventRow, ShownEvent, WatchedMember } from "./ledger-rules.ts";
import type { PeopleModel } from "./people-rules.ts";

/**
 * Follows approvals in the ledger. The states are repeated here on purpose, so a bug in the product can't hide itself:
 *
 *   pending ─▶ approved, rejected, cancelled, revision_requested        revision_requested ─▶ pending, rejected, cancelled
 */
type Status = "pending" | "revision_requested" | "approved" | "rejected" | "cancelled";

export interface WatchedApproval {
  readonly id: string;
  readonly companyId: string;
  readonly type: string;
  /** The requesting agent. Null for a person. */
  readonly requester: string | null;
  /** The requesting person, for the board or from a position. */
  readonly requesterPerson: string | null;
  /** The agent that the request is about. For create_agent, this agent exists only after the approval. */
  agentId: string | null;
  status: Status;
  payloadHash: string;
  comments: number;
}

const openings = new Set(["approval.create", "approval.request"]);
const moves: Readonly<Record<string, { readonly from: readonly Status[]; readonly to: Status }>> = {
  "approval.approve": { from: ["pending"], to: "approved" },
  "approval.reject": { from: ["pending", "revision_requested"], to: "rejected" },
  "approval.cancel": { from: ["pending", "revision_requested"], to: "cancelled" },
  "approval.expire": { from: ["pending", "revision_requested"], to: "rejected" },
  "approval.request_revision": { from: ["pending"], to: "revision_requested" },
  "approval.resubmit": { from: ["revision_requested"], to: "pending" },
};
/** Only people decide. No agent decides for them. */
const decisions = new Set(["approval.approve", "approval.reject", "approval.request_revision"]);

export class ApprovalModel {
  readonly approvals = new Map<string, WatchedApproval>();
  readonly #members: ReadonlyMap<string, WatchedMember>;
  readonly #people: PeopleModel;

  constructor(members: ReadonlyMap<string, WatchedMember>, people: PeopleModel) {
    this.#members = members;
    this.#people = people;
  }

  async see(...[tx, row, data, batch]: ShownEvent): Promise<void> {
    if (row.operation === "agent.create" && typeof data["approval"] === "string")
      return this.#created(row, data["approval"], batch);
    if (row.operation === "agent.create_key" || row.operation === "permission.grant")
      return this.#demandEmployed(row, batch);
    if (row.operation === "reorganization.undo") return this.#restored(tx);
    if (!row.operation.startsWith("approval.")) return;
    const id = String(data["approval"]);
    if (openings.has(row.operation)) {
      const stored = await tx.first(approvalRow, { id });
      if (stored === undefined)
        throw new Broken("an event matches what happened", `there is no approval ${id}`);
      this.approvals.set(id, {
        id,
        companyId: row.company_id,
        type: stored.type,
        requester: stored.requested_by,
        requesterPerson: stored.requested_person_id,
        agentId: stored.type === "create_agent" ? null : stored.agent_id,
        status: "pending",
        payloadHash: String(data["payloadHash"]),
        comments: 0,
      });
      return;
    }
    const approval = this.approvals.get(id);
    if (approval === undefined)
      throw new Broken("an event matches what happened", `${row.operation} of the unknown approval ${id}`);
    if (row.operation === "approval.comment") {
      approval.comments += 1;
      return;
    }
    const move = moves[row.operation];
    if (move === undefined) return;
    this.#demandMove(row, approval, move.from);
    if (row.operation === "approval.resubmit") this.#resubmitted(approval, String(data["payloadHash"]));
    approval.status = move.to;
    if (!decisions.has(row.operation)) return;
    await demandTold(tx, row, approval, this.#members);
    await this.#demandOther(tx, row, approval);
  }

  /** Whether an approval follows later in the same step. Its changes are recorded before the decision. */
  isApprovedIn(batch: readonly EventRow[], { seq }: EventRow, ...about: readonly string[]): boolean {
    return batch.some(
      (one) => one.seq > seq && one.operation === "approval.approve" && about.includes(one.subject ?? ""),
    );
  }

  #demandMove(row: EventRow, approval: WatchedApproval, from: readonly Status[]): void {
    const name = `${row.operation} of ${approval.id}, which was ${approval.status}`;
    if (!from.includes(approval.status))
      throw new Broken("an approval is decided once, and moves only between its states", name);
    if (decisions.has(row.operation) && row.actor_kind !== "board")
      throw new Broken("only people decide approvals, never the requester", name);
    if (row.operation === "approval.expire" && row.actor_kind !== "system")
      throw new Broken("an approval expires by itself", name);
    const isRequesters = row.operation === "approval.resubmit";
    if (isRequesters && row.actor_kind === "agent" && row.agent_id !== approval.requester)
      throw new Broken("an agent resubmits only its own requests", name);
  }

  /** Demands that no person decides a request of their own position while another board person can. */
  async #demandOther(
    tx: ReadTx,
    row: EventRow,
    { id, requester, requesterPerson }: WatchedApproval,
  ): Promise<void> {
    const decider = row.person_id ?? "";
    const held = await this.#people.positionsOf(tx, decider);
    const isOwn = requesterPerson === decider || held.some((position) => position.id === requester);
    const others = [...this.#people.people.values()].filter(
      (person) => person.id !== decider && person.role === "board" && !person.ended,
    );
    if (requester !== null && isOwn && others.length > 0)
      throw new Broken(
        "no person decides a request of their own position while another can",
        `${row.operation} of ${id}`,
      );
  }

  #resubmitted(approval: WatchedApproval, hash: string): void {
    if (hash === approval.payloadHash) throw new Broken("a resubmitted request has a new hash", approval.id);
    approval.payloadHash = hash;
  }

  /** A reorganization ended requests together with their agents. Undoing it opens those requests again. */
  async #restored(tx: ReadTx): Promise<void> {
    for (const approval of this.approvals.values()) {
      if (approval.status !== "cancelled") continue;
      const stored = await tx.first(approvalRow, { id: approval.id });
      if (stored?.status === "pending" || stored?.status === "revision_requested")
        approval.status = stored.status;
    }
  }

  /** A create_agent request was approved. It creates one agent. */
  #created(row: EventRow, id: string, batch: readonly EventRow[]): void {
    const approval = this.approvals.get(id);
    if (approval === undefined)
      throw new Broken(
        "an event matches what happened",
        `an agent was created for the unknown approval ${id}`,
      );
    if (approval.agentId !== null)
      throw new Broken("an approval creates one agent", `${id} created a second one`);
    approval.agentId = row.subject;
    if (approval.status !== "pending" || !this.isApprovedIn(batch, row, id, row.subject ?? ""))
      throw new Broken("create_agent creates an agent only when a person approves", id);
  }

  #demandEmployed(row: EventRow, batch: readonly EventRow[]): void {
    const member = this.#members.get(row.subject ?? "");
    if (member?.status !== "pending" || this.isApprovedIn(batch, row, member.id)) return;
    throw new Broken("a pending agent gets no key and no right", `${row.operation} for ${member.id}`);
  }
}

/** Demands that the requester is told of every decision in the same transaction. */
async function demandTold(
  tx: ReadTx,
  row: EventRow,
  { id, requester }: WatchedApproval,
  members: ReadonlyMap<string, WatchedMember>,
): Promise<void> {
  const member = members.get(requester ?? "");
  if (requester === null || member === undefined || member.status === "terminated") return;
  if ((await tx.first(toldOf, { to: requester, at: row.at })) === undefined)
    throw new Broken("the requester is told of every decision", id);
}

const approvalRow = query((db, p: { id: string }) =>
  db
    .selectFrom("approvals")
    .select(["type", "agent_id", "requested_by", "requested_person_id", "status"])
    .where("id", "=", p.id),
);
const toldOf = query((db, p: { to: string; at: number }) =>
  db
    .selectFrom("messages")
    .select("id")
    .where("to_id", "=", p.to)
    .where("from_system", "=", 1)
    .where("sent_at", ">=", p.at)
    .limit(1),
);

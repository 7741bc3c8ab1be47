import { markSeen, newEvents, parseData, type Seen } from "../events/ledger.ts";
import { genesis, hashOf } from "../store/chain.ts";
import { query } from "../store/query.ts";
import type { ReadTx, Store } from "../store/store.ts";
import { ApprovalModel, type WatchedApproval } from "./approval-rules.ts";
import { Broken } from "./broken.ts";
import { CompanyModel } from "./company-rules.ts";
import type { EventRow, WatchedMember, Who } from "./ledger-rules.ts";
import { MailModel } from "./mail-rules.ts";
import { OutcomeModel } from "./outcome-rules.ts";
import { PeopleModel } from "./people-rules.ts";
import { SessionModel } from "./session-rules.ts";
import type { Trace } from "./trace.ts";

/**
 * Follows the ledger and derives from it alone the reporting lines, who is active, and which session is the newest. Each event
 * is checked against the state at the time it was written. The checks must hold in whatever order nodes and callers act. Checks
 * about one noun are in the model of that noun.
 */

export class LedgerWatch {
  readonly members = new Map<string, WatchedMember>();
  readonly people = new PeopleModel();
  readonly companies = new CompanyModel();
  readonly mail = new MailModel();
  readonly sessions: SessionModel;
  readonly outcomes: OutcomeModel;
  readonly #approvals = new ApprovalModel(this.members, this.people);
  /** The number of recorded refusals for each agent. */
  readonly refusals = new Map<string, number>();
  /** Whether outcomes, agents or rights have changed. The check of these resets it. */
  changed = false;
  readonly #store: Store;
  readonly #trace: Trace;
  readonly #seen: Seen = new Map();
  readonly #heads = new Map<string, string>();

  constructor(store: Store, trace: Trace) {
    this.#store = store;
    this.#trace = trace;
    this.sessions = new SessionModel(this.members, trace);
    this.outcomes = new OutcomeModel(this.members, this.sessions, (id) => this.#name(id));
  }

  /** The last hashes of all chains. Equal ones mean equal histories. */
  get head(): string {
    return [...this.#heads.values()].join(" ");
  }

  /** Reads the events since the last call. */
  async follow(): Promise<void> {
    await this.#store.read(async (tx) => {
      for (
        let rows = await newEvents(tx, this.#seen);
        rows.length > 0;
        rows = await newEvents(tx, this.#seen)
      )
        for (const row of rows) {
          this.changed ||= /^(?:outcome|agent|permission|company)\./.test(row.operation);
          this.#verify(tx, row);
          const batch = rows.filter(({ company_id }) => company_id === row.company_id);
          await this.#see(tx, row, batch);
        }
    });
  }

  /** Whether this credential is valid now. */
  accepts(who: Who, now = Number.NEGATIVE_INFINITY): boolean {
    if (who.person !== undefined) return this.people.accepts(who.person, now);
    const member = this.members.get(who.agentId ?? "");
    if (member === undefined || member.status !== "idle") return false;
    return who.keyId === undefined ? member.session === who.sessionId : member.keys.has(who.keyId);
  }

  approvals(): WatchedApproval[] {
    return [...this.#approvals.approvals.values()];
  }

  #verify(tx: ReadTx, row: EventRow): void {
    const { company_id, seq } = row;
    const right =
      seq === (this.#seen.get(company_id) ?? 0) + 1 &&
      row.previous === (this.#heads.get(company_id) ?? genesis) &&
      row.hash === hashOf(tx.mac, row);
    if (!right)
      throw new Broken("the hash chain of the ledger verifies", `event ${seq} does not continue it`);
    markSeen(this.#seen, [row]);
    this.#heads.set(company_id, row.hash);
  }

  async #see(tx: ReadTx, row: EventRow, batch: readonly EventRow[]): Promise<void> {
    const data = parseData(row.data);
    this.#demandAccepted(row);
    await this.people.see(tx, row, data);
    this.companies.see(row, this.#name(row.agent_id));
    this.sessions.stalls.see(row);
    await this.#approvals.see(tx, row, data, batch);
    await this.#member(tx, row, data, batch);
    await this.sessions.see(tx, row, data, batch);
    await this.outcomes.see(tx, row, data, batch);
    await this.mail.see(tx, row, data, batch, {
      members: this.members,
      isApproved: (id) => this.#approvals.isApprovedIn(batch, row, id),
      name: (kind, id) => this.#trace.name(kind, id),
    });
    if (row.operation === "access.refused")
      this.refusals.set(row.agent_id ?? "", (this.refusals.get(row.agent_id ?? "") ?? 0) + 1);
  }

  /** Follows who is employed, under which manager and with which keys. */
  async #member(
    tx: ReadTx,
    row: EventRow,
    data: Readonly<Record<string, unknown>>,
    batch: readonly EventRow[],
  ): Promise<void> {
    const subject = row.subject ?? "";
    const member = this.members.get(subject);
    switch (row.operation) {
      case "company.create":
        await this.#join(tx, String(data["rootAgent"]), null, subject);
        break;
      case "agent.create":
        await this.#join(tx, subject, String(data["boss"]), row.company_id);
        if (data["pending"] === true) this.#mustKnow(subject).status = "pending";
        break;
      case "approval.approve":
        if (member?.status === "pending") member.status = "idle";
        break;
      case "agent.delete":
        this.#demandWas(member, "terminated", "only an agent that was not approved is deleted");
        break;
      case "agent.pause":
        this.#leave(member, "paused");
        break;
      case "agent.resume":
        this.#demandWas(member, "paused", "a pending agent becomes active only by its approval");
        if (member !== undefined) member.status = "idle";
        break;
      case "outcome.delegate":
        this.#delegated(row, String(data["to"]), batch);
        break;
      case "agent.reclaim":
        this.#leave(member, "terminated");
        break;
      case "agent.terminate":
      case "agent.retire":
        this.#leave(member, "terminated");
        for (const other of this.members.values())
          if (other.boss === subject && other.status !== "terminated") other.boss = String(data["boss"]);
        break;
      case "approval.update":
      case "agent.move":
        if (member !== undefined) member.boss = String(data["boss"]);
        break;
      case "agent.return":
        this.#comeBack(member, data);
        break;
      case "agent.create_key":
        member?.keys.add(String(data["key"]));
        break;
      case "agent.revoke_key":
        member?.keys.delete(String(data["key"]));
        break;
      case "agent.hand_over":
        if (member !== undefined) member.session = null;
        break;
      case "permission.grant":
        this.#granted(row, String(data["resource"]), batch);
        break;
      case "outcome.create":
        this.#trace.name("outcome", subject);
        break;
      default:
    }
  }

  async #join(tx: ReadTx, id: string, boss: string | null, companyId: string): Promise<void> {
    const row = await tx.first(agentRow, { id });
    if (row === undefined) throw new Broken("an event matches what happened", `there is no agent ${id}`);
    this.#trace.call(id, `${row.name}${row.generation === 1 ? "" : ` (${row.generation})`}`);
    this.members.set(id, {
      id,
      companyId,
      stateFileId: row.state_file_id,
      boss,
      status: "idle",
      session: null,
      epoch: 0,
      keys: new Set(),
    });
  }

  #mustKnow(id: string): WatchedMember {
    const member = this.members.get(id);
    if (member === undefined) throw new Broken("an event matches what happened", `there is no agent ${id}`);
    return member;
  }

  #demandWas(member: WatchedMember | undefined, status: WatchedMember["status"], rule: string): void {
    if (member?.status !== status)
      throw new Broken(rule, `${this.#name(member?.id ?? null)} was ${member?.status}`);
  }

  /** Until it is approved, a pending agent is responsible only for the outcome it was hired for. */
  #delegated(row: EventRow, to: string, batch: readonly EventRow[]): void {
    const member = this.members.get(to);
    if (member?.status !== "pending" || row.subject === to || this.#approvals.isApprovedIn(batch, row, to))
      return;
    const isHired = batch.some(
      ({ operation, subject, seq }) => operation === "agent.create" && subject === to && seq < row.seq,
    );
    if (!isHired)
      throw new Broken(
        "a pending agent is assigned no work",
        `${this.#name(to)} got ${this.#name(row.subject)}`,
      );
  }

  #leave(member: WatchedMember | undefined, status: "paused" | "terminated"): void {
    if (member === undefined) throw new Broken("an event matches what happened", "an unknown agent left");
    member.status = status;
    member.session = null;
    if (status === "terminated") member.keys.clear();
  }

  /** An agent's departure was undone. Its earlier sessions stay ended, and its keys revoked. */
  #comeBack(member: WatchedMember | undefined, data: Readonly<Record<string, unknown>>): void {
    if (member?.status !== "terminated")
      throw new Broken("an event matches what happened", "the agent that came back had not left");
    member.status = data["status"] === "paused" ? "paused" : "idle";
    member.boss = String(data["boss"]);
  }

  /** An agent may act only from its newest live session, with a key while it is active, or through its person. */
  #demandAccepted(row: EventRow): void {
    // A refusal is recorded after the call, when the session may already have ended.
    if (row.actor_kind !== "agent" || row.operation === "access.refused") return;
    const member = this.members.get(row.agent_id ?? "");
    if (member === undefined || member.status !== "idle")
      throw new Broken(
        "a call is accepted only from an active agent",
        `${row.operation} of ${this.#name(row.agent_id)}, who is ${member?.status ?? "unknown"}`,
      );
    if (row.session_id === null && row.person_id === null && member.keys.size === 0)
      throw new Broken(
        "a key that was revoked is never accepted again",
        `${row.operation} of ${this.#name(row.agent_id)}, who has no valid key`,
      );
    if (row.session_id !== null && member.session !== row.session_id)
      throw new Broken(
        "a call is accepted only from an agent's newest live session",
        `${row.operation} from ${this.#trace.name("session", row.session_id)} of ${this.#name(row.agent_id)}`,
      );
  }

  #granted(row: EventRow, resource: string, batch: readonly EventRow[]): void {
    const receiver = this.members.get(row.subject ?? "");
    // In a reorganization, the new manager's manager gives the right, but the actor is the agent that reorganizes. The same
    // holds for a hire for a manager further down: the rights come from that manager.
    const isMoved = batch.some(
      ({ operation, agent_id, seq, subject }) =>
        agent_id === row.agent_id &&
        ((operation === "reorganization.apply" && seq > row.seq) ||
          (operation === "agent.create" && subject === row.subject)),
    );
    if (row.actor_kind === "agent" && receiver?.boss !== row.agent_id && !isMoved)
      throw new Broken(
        "a right is granted only by a boss to a direct report",
        `${this.#name(row.agent_id)} gave ${this.#name(row.subject)} ${resource}`,
      );
  }

  #name(id: string | null): string {
    return this.#trace.name("agent", id);
  }
}

const agentRow = query((db, p: { id: string }) =>
  db.selectFrom("agents").select(["name", "generation", "state_file_id"]).where("id", "=", p.id),
);

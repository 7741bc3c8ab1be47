import { markSeen, newEvents, parseData, type Seen } from "../events/ledger.ts";
import { endReasons } from "../runtime/texts.ts";
import { genesis, hashOf } from "../store/chain.ts";
import { query } from "../store/query.ts";
import type { ReadTx, Store } from "../store/store.ts";
import { Broken } from "./broken.ts";
import { type EventRow, routeAllows, StallModel, type WatchedMember, type Who } from "./ledger-rules.ts";
import type { Trace } from "./trace.ts";

/**
 * Follows the ledger and derives from it alone who reports to whom, who is active, and which session is the newest. Each
 * event is checked against the state at the time it was written. This must hold in whatever order nodes and callers act.
 */

export class LedgerWatch {
  readonly members = new Map<string, WatchedMember>();
  /** Mail routes that the board opened, as `from to`. */
  readonly routes = new Set<string>();
  readonly delivered = new Set<string>();
  readonly sessions = new Map<string, { readonly agentId: string; readonly first: string | null }>();
  /** Sessions that submitted their summary. */
  readonly summarized = new Set<string>();
  /** The number of recorded refusals for each agent. */
  readonly refusals = new Map<string, number>();
  /** The outcomes that sessions were started for, until checks.ts has looked at them. */
  readonly startedFor: { readonly session: string; readonly outcome: string; readonly agentId: string }[] =
    [];
  /** Sessions that another node took over, until checks.ts has looked at them. */
  readonly takenOver: { readonly session: string; readonly at: number }[] = [];
  readonly #ends = new Set<string>();
  /** Whether outcomes, agents or rights have changed. The check of these resets it. */
  changed = false;
  readonly #store: Store;
  readonly #trace: Trace;
  readonly #maxSessions = new Map<string, number>();
  readonly #stalls = new StallModel();
  readonly #seen: Seen = new Map();
  readonly #heads = new Map<string, string>();

  constructor(store: Store, trace: Trace) {
    this.#store = store;
    this.#trace = trace;
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

  /** Whether a call with this credential would be accepted now. */
  accepts(who: Who): boolean {
    if (who.agentId === null) return true;
    const member = this.members.get(who.agentId);
    if (member === undefined || member.status !== "idle") return false;
    return who.keyId === undefined ? member.session === who.sessionId : member.keys.has(who.keyId);
  }

  liveSessions(companyId: string): number {
    return [...this.members.values()].filter(
      (member) => member.companyId === companyId && member.session !== null,
    ).length;
  }

  maxSessions(companyId: string): number {
    return this.#maxSessions.get(companyId) ?? 4;
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
    this.#stalls.see(row, this.members.get(row.agent_id ?? "")?.stateFileId);
    const subject = row.subject ?? "";
    const member = this.members.get(subject);
    switch (row.operation) {
      case "company.create":
        await this.#join(tx, String(data["rootAgent"]), null, subject);
        break;
      case "company.update":
        if (typeof data["maxSessions"] === "number") this.#maxSessions.set(subject, data["maxSessions"]);
        break;
      case "agent.create":
        await this.#join(tx, subject, String(data["boss"]), row.company_id ?? "");
        break;
      case "agent.pause":
        this.#leave(member, "paused");
        break;
      case "agent.resume":
        if (member !== undefined) member.status = "idle";
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
      case "session.start":
        await this.#started(tx, row, data, batch);
        break;
      case "session.end":
        await this.#ended(tx, row, data, batch);
        break;
      case "session.submit_summary":
        this.summarized.add(row.session_id ?? "");
        break;
      case "access.refused":
        this.refusals.set(row.agent_id ?? "", (this.refusals.get(row.agent_id ?? "") ?? 0) + 1);
        break;
      case "mail.deliver":
      case "mail.fail":
        await this.#mail(tx, row, String(data["message"]), batch);
        break;
      case "permission.grant":
        this.#granted(row, String(data["resource"]), batch);
        break;
      case "permission.revoke":
        this.routes.delete(`${subject} ${String(data["resource"]).slice("mail:".length)}`);
        break;
      case "outcome.reclaim":
        this.#stopped(data["moved"], this.members.values());
        break;
      case "outcome.move":
        this.#stopped(data["moved"], [this.members.get(String(data["from"]))]);
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

  #leave(member: WatchedMember | undefined, status: "paused" | "terminated"): void {
    if (member === undefined) throw new Broken("an event matches what happened", "an unknown agent left");
    member.status = status;
    member.session = null;
    if (status === "terminated") member.keys.clear();
  }

  /** Someone's departure was undone. The agent's earlier sessions stay ended, and its keys revoked. */
  #comeBack(member: WatchedMember | undefined, data: Record<string, unknown>): void {
    if (member?.status !== "terminated")
      throw new Broken("an event matches what happened", "the agent that came back had not left");
    member.status = data["status"] === "paused" ? "paused" : "idle";
    member.boss = String(data["boss"]);
  }

  /** Sessions that were started for a reclaimed outcome end with it. */
  #stopped(moved: unknown, members: Iterable<WatchedMember | undefined>): void {
    if (!Array.isArray(moved)) return;
    for (const member of members) {
      const first = this.sessions.get(member?.session ?? "")?.first;
      if (member !== undefined && first !== undefined && moved.includes(first)) member.session = null;
    }
  }

  /** An agent may act only from its newest live session, or with a key while it is active. */
  #demandAccepted(row: EventRow): void {
    // A refusal is recorded after the call, when the session may already have ended.
    if (row.actor_kind !== "agent" || row.operation === "access.refused") return;
    const member = this.members.get(row.agent_id ?? "");
    if (member === undefined || member.status !== "idle")
      throw new Broken(
        "a call is accepted only from an active agent",
        `${row.operation} of ${this.#name(row.agent_id)}, who is ${member?.status ?? "unknown"}`,
      );
    if (row.session_id === null && member.keys.size === 0)
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

  async #started(
    tx: ReadTx,
    row: EventRow,
    data: Record<string, unknown>,
    batch: readonly EventRow[],
  ): Promise<void> {
    const member = this.members.get(row.subject ?? "");
    const id = String(data["session"]);
    const session = await tx.first(sessionRow, { id });
    const name = `${this.#trace.name("session", id)} of ${this.#name(row.subject)}`;
    if (member === undefined || session === undefined)
      throw new Broken("an event matches what happened", `${name} has no agent or no row`);
    if (member.status !== "idle")
      throw new Broken("only active agents start sessions", `${name}: ${member.status}`);
    if (member.session !== null)
      throw new Broken("an agent has at most one session", `${name} starts while another lives`);
    if (session.epoch <= member.epoch || Number(data["epoch"]) !== session.epoch)
      throw new Broken("epochs only increase", `${name} has ${session.epoch} after ${member.epoch}`);
    if (session.first_outcome_id === null)
      throw new Broken("a session starts for an outcome", `${name} has nothing to work on`);
    this.#stalls.demandBackOff(row, name);
    member.session = id;
    member.epoch = session.epoch;
    this.sessions.set(id, { agentId: member.id, first: session.first_outcome_id });
    // A later event of the same step may have changed the outcome, so the check would not see the state at the start.
    if (!batch.some(({ seq, operation }) => seq > row.seq && /^(?:outcome|agent|mail)\./.test(operation)))
      this.startedFor.push({ session: id, outcome: session.first_outcome_id, agentId: member.id });
    const most = this.maxSessions(member.companyId);
    if (this.liveSessions(member.companyId) > most)
      throw new Broken("no more than maxSessions run", `${name} exceeds the limit of ${most}`);
  }

  async #ended(
    tx: ReadTx,
    row: EventRow,
    data: Record<string, unknown>,
    batch: readonly EventRow[],
  ): Promise<void> {
    const id = String(data["session"]);
    const member = this.members.get(row.subject ?? "");
    if (this.#ends.has(id)) throw new Broken("a session ends only once", this.#trace.name("session", id));
    this.#ends.add(id);
    if (data["reason"] === endReasons.nodeSilent) this.takenOver.push({ session: id, at: row.at });
    if (member?.session === id) member.session = null;
    const first = this.sessions.get(id)?.first;
    const outcome =
      first === undefined || first === null ? undefined : await tx.first(outcomeRow, { id: first });
    // A later event of the same step may have changed the outcome, which the end of the session did not see.
    const later = batch.some(
      ({ seq, subject, operation }) => seq > row.seq && subject === first && operation.startsWith("outcome."),
    );
    if (outcome !== undefined && member !== undefined)
      this.#stalls.ended(
        row,
        id,
        member,
        { ...outcome, status: later ? "unknown" : outcome.status },
        this.#name(first ?? null),
      );
  }

  async #mail(tx: ReadTx, row: EventRow, id: string, batch: readonly EventRow[]): Promise<void> {
    const message = await tx.first(messageRow, { id });
    const name = this.#trace.name("message", id);
    if (message === undefined) throw new Broken("an event matches what happened", `${name} is missing`);
    const opened = `mail:${message.to_id ?? "board"}` as const;
    const grant = await tx.first(standingRoute, { agentId: message.from_id ?? "", resource: opened });
    // A right that a later event of the same step changed says nothing about this moment.
    const changed = batch.some(({ seq, operation }) => seq > row.seq && changesRights.test(operation));
    const line = routeAllows(this, message);
    // A person asked for this automatic reply, so it needs no route.
    const isAnswer = message.to_id === null && message.auto_turn > 0;
    const allowed = isAnswer
      ? undefined
      : line === "with a grant"
        ? grant !== undefined
          ? true
          : changed
            ? undefined
            : false
        : line;
    if (this.delivered.has(id)) throw new Broken("a message is delivered only once", name);
    this.delivered.add(id);
    if (row.at < message.deliver_at)
      throw new Broken("no message is delivered early", `${name}, by ${message.deliver_at - row.at} ms`);
    const route = `${name} from ${this.#name(message.from_id)} to ${this.#name(message.to_id)}`;
    if (row.operation === "mail.deliver" && allowed === false)
      throw new Broken("mail is delivered only along allowed routes", route);
    if (row.operation === "mail.fail" && allowed === true)
      throw new Broken("mail on an allowed route does not fail", route);
  }

  #granted(row: EventRow, resource: string, batch: readonly EventRow[]): void {
    const receiver = this.members.get(row.subject ?? "");
    // In a reorganization the new manager's manager gives the right, but the agent that reorganizes is the actor.
    const isMoved = batch.some(
      ({ operation, agent_id, seq }) =>
        operation === "reorganization.apply" && agent_id === row.agent_id && seq > row.seq,
    );
    if (row.actor_kind === "agent" && receiver?.boss !== row.agent_id && !isMoved)
      throw new Broken(
        "a right is granted only by a boss to a direct report",
        `${this.#name(row.agent_id)} gave ${this.#name(row.subject)} ${resource}`,
      );
    if (resource.startsWith("mail:"))
      this.routes.add(`${row.subject ?? ""} ${resource.slice("mail:".length)}`);
  }

  #name(id: string | null): string {
    return this.#trace.name("agent", id);
  }
}

const changesRights = /^(?:permission|agent)\.|^outcome\.(?:complete|close|reopen|delegate|reclaim)$/;

const agentRow = query((db, p: { id: string }) =>
  db.selectFrom("agents").select(["name", "generation", "state_file_id"]).where("id", "=", p.id),
);
const sessionRow = query((db, p: { id: string }) =>
  db.selectFrom("sessions").select(["epoch", "first_outcome_id"]).where("id", "=", p.id),
);
const outcomeRow = query((db, p: { id: string }) =>
  db.selectFrom("outcomes").select(["id", "status"]).where("id", "=", p.id),
);
const standingRoute = query((db, p: { agentId: string; resource: `mail:${string}` }) =>
  db
    .selectFrom("grants")
    .select("id")
    .where("grantee_id", "=", p.agentId)
    .where("resource", "=", p.resource)
    .where("broken", "=", 0)
    .limit(1),
);
const messageRow = query((db, p: { id: string }) =>
  db
    .selectFrom("messages")
    .select(["from_id", "from_system", "to_id", "deliver_at", "auto_turn"])
    .where("id", "=", p.id),
);

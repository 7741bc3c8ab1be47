import { endReasons } from "../runtime/texts.ts";
import { query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { Broken } from "./broken.ts";
import { type EventRow, type ShownEvent, StallModel, type WatchedMember } from "./ledger-rules.ts";
import type { Trace } from "./trace.ts";

/** Follows the sessions of all agents in the ledger: who may start one, for which outcome, and how it ends. */
export class SessionModel {
  readonly sessions = new Map<
    string,
    { readonly agentId: string; readonly first: string | null; readonly startedAt: number }
  >();
  /** Sessions that submitted their summary. */
  readonly summarized = new Set<string>();
  /** The outcomes that sessions were started for, until checks.ts has looked at them. */
  readonly startedFor: { readonly session: string; readonly outcome: string; readonly agentId: string }[] =
    [];
  /** Sessions that another node took over, until checks.ts has looked at them. */
  readonly takenOver: { readonly session: string; readonly at: number }[] = [];
  readonly stalls = new StallModel();
  readonly #maxSessions = new Map<string, number>();
  readonly #ends = new Set<string>();
  /** Sessions that ended because their company was frozen. They count neither for nor against their agents. */
  readonly #frozenOut = new Set<string>();
  readonly #archived = new Set<string>();
  readonly #members: ReadonlyMap<string, WatchedMember>;
  readonly #trace: Trace;

  constructor(members: ReadonlyMap<string, WatchedMember>, trace: Trace) {
    this.#members = members;
    this.#trace = trace;
  }

  async see(...[tx, row, data, batch]: ShownEvent): Promise<void> {
    switch (row.operation) {
      case "company.update":
        if (typeof data["maxSessions"] === "number")
          this.#maxSessions.set(row.subject ?? "", data["maxSessions"]);
        return;
      case "company.archive":
        this.#archived.add(row.subject ?? "");
        return this.#freeze(row.subject ?? "");
      case "company.unarchive":
        this.#archived.delete(row.subject ?? "");
        return;
      case "company.freeze":
        return this.#freeze(row.subject ?? "");
      case "session.start":
        return this.#started(tx, row, data, batch);
      case "session.end":
        return this.#ended(tx, row, data, batch);
      case "mail.deliver":
        if ((await tx.first(ofPerson, { id: String(data["message"]) })) !== undefined)
          this.stalls.endPause(row.subject ?? "");
        return;
      case "outcome.update":
        if (row.actor_kind === "board" && data["blocked"] === null)
          this.stalls.endPause((await tx.first(outcomeRow, { id: row.subject ?? "" }))?.responsible_id ?? "");
        return;
      case "session.submit_summary":
        this.summarized.add(row.session_id ?? "");
        return;
      case "outcome.reclaim":
        return this.#stopped(data["moved"], this.#members.values());
      case "outcome.move":
        return this.#stopped(data["moved"], [this.#members.get(String(data["from"]))]);
      default:
    }
  }

  live(companyId: string): number {
    return [...this.#members.values()].filter(
      (member) => member.companyId === companyId && member.session !== null,
    ).length;
  }

  most(companyId: string): number {
    return this.#maxSessions.get(companyId) ?? 4;
  }

  /** Freezing a company ends its sessions at once. */
  #freeze(companyId: string): void {
    for (const member of this.#members.values()) {
      if (member.companyId !== companyId || member.session === null) continue;
      this.#frozenOut.add(member.session);
      member.session = null;
    }
  }

  /** Sessions that were started for a reclaimed outcome end with it. */
  #stopped(moved: unknown, members: Iterable<WatchedMember | undefined>): void {
    if (!Array.isArray(moved)) return;
    for (const member of members) {
      const first = this.sessions.get(member?.session ?? "")?.first;
      if (member !== undefined && first !== undefined && moved.includes(first)) member.session = null;
    }
  }

  async #started(
    tx: ReadTx,
    row: EventRow,
    data: Readonly<Record<string, unknown>>,
    batch: readonly EventRow[],
  ): Promise<void> {
    const member = this.#members.get(row.subject ?? "");
    const id = String(data["session"]);
    const session = await tx.first(sessionRow, { id });
    const name = `${this.#trace.name("session", id)} of ${this.#trace.name("agent", row.subject)}`;
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
    this.stalls.demandBackOff(row, session.first_outcome_id, name);
    member.session = id;
    member.epoch = session.epoch;
    this.sessions.set(id, { agentId: member.id, first: session.first_outcome_id, startedAt: row.at });
    // A later event of the same step may have changed the outcome. The check would then not see the state at the start.
    if (!batch.some(({ seq, operation }) => seq > row.seq && /^(?:outcome|agent|mail)\./.test(operation)))
      this.startedFor.push({ session: id, outcome: session.first_outcome_id, agentId: member.id });
    const most = this.most(member.companyId);
    if (this.live(member.companyId) > most)
      throw new Broken("no more than maxSessions run", `${name} exceeds the limit of ${most}`);
  }

  async #ended(
    tx: ReadTx,
    row: EventRow,
    data: Readonly<Record<string, unknown>>,
    batch: readonly EventRow[],
  ): Promise<void> {
    const id = String(data["session"]);
    const member = this.#members.get(row.subject ?? "");
    if (this.#ends.has(id)) throw new Broken("a session ends only once", this.#trace.name("session", id));
    this.#ends.add(id);
    if (data["reason"] === endReasons.nodeSilent) this.takenOver.push({ session: id, at: row.at });
    if (member?.session === id) member.session = null;
    const first = this.sessions.get(id)?.first;
    const outcome =
      first === undefined || first === null ? undefined : await tx.first(outcomeRow, { id: first });
    // A later event of the same step may have changed the outcome, which the end of the session could not see.
    const later = batch.some(
      ({ seq, subject, operation }) => seq > row.seq && subject === first && operation.startsWith("outcome."),
    );
    if (outcome !== undefined && member !== undefined)
      this.stalls.ended(
        row,
        id,
        member,
        { ...outcome, status: later ? "unknown" : outcome.status },
        this.#trace.name("agent", first ?? null),
        {
          progress: data["progress"] === true,
          // In an archived company nothing is blocked, even if its session exited before.
          wasAsked:
            data["wasAsked"] === true ||
            this.#frozenOut.has(id) ||
            this.#archived.has(member.companyId) ||
            byNodes.has(String(data["reason"])) ||
            String(data["reason"]).startsWith(endReasons.nodeFailed("")),
          startedAt: this.sessions.get(id)?.startedAt ?? 0,
        },
      );
  }
}

/** Endings that the agent did not cause. */
const byNodes: ReadonlySet<string> = new Set([
  endReasons.nodeSilent,
  endReasons.daemonRestarted,
  endReasons.daemonStopped,
  endReasons.processGone,
]);

const sessionRow = query((db, p: { id: string }) =>
  db.selectFrom("sessions").select(["epoch", "first_outcome_id"]).where("id", "=", p.id),
);
const outcomeRow = query((db, p: { id: string }) =>
  db
    .selectFrom("outcomes")
    .select(["id", "kind", "status", "responsible_id", "blocked_reason"])
    .where("id", "=", p.id),
);
/** A message of a person ends the pause of its receiver. */
const ofPerson = query((db, p: { id: string }) =>
  db
    .selectFrom("messages as m")
    .leftJoin("agents as a", "a.id", "m.from_id")
    .select("m.id")
    .where("m.id", "=", p.id)
    .where("m.from_system", "=", 0)
    .where((eb) => eb.or([eb("m.from_id", "is", null), eb("a.brain_type", "=", "human")])),
);

import { query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { Broken } from "./broken.ts";
import type { EventRow, ShownEvent, WatchedMember } from "./ledger-rules.ts";
import type { SessionModel } from "./session-rules.ts";

/**
 * The effects of outcomes in the ledger: owners are told of changes by others, sessions whose work has ended are asked to stop,
 * every escalation reaches a decider, and only people end goals.
 */
export class OutcomeModel {
  /** Outcomes that the board created for the root agent and verifies itself. */
  readonly goals = new Set<string>();
  readonly #members: ReadonlyMap<string, WatchedMember>;
  readonly #sessions: SessionModel;
  readonly #name: (id: string | null) => string;

  constructor(
    members: ReadonlyMap<string, WatchedMember>,
    sessions: SessionModel,
    name: (id: string | null) => string,
  ) {
    this.#members = members;
    this.#sessions = sessions;
    this.#name = name;
  }

  async see(...[tx, row, data, batch]: ShownEvent): Promise<void> {
    const id = row.subject ?? "";
    switch (row.operation) {
      case "outcome.create":
        return this.#created(tx, row, id);
      case "outcome.complete":
      case "outcome.close":
        if (this.goals.has(id) && row.actor_kind !== "board" && data["with"] === undefined)
          throw new Broken("only people end a goal", `${row.operation} of ${this.#name(id)}`);
        if (row.operation === "outcome.close")
          await this.#demandTold(tx, row, typeof data["with"] === "string" ? data["with"] : id, batch);
        return;
      case "outcome.reopen":
        if ("escalatedTo" in data) await this.#demandAsked(tx, row, data["escalatedTo"]);
        return this.#demandTold(tx, row, id, batch);
      case "outcome.update":
        // Indirect effects give their reason, and the owner is told of that reason.
        if ([data["note"], data["reason"], data["rationale"]].some((why) => typeof why === "string")) return;
        if (Object.keys(Object(data["changes"])).length > 0) await this.#demandTold(tx, row, id, batch);
        return;
      default:
    }
  }

  async #created(tx: ReadTx, row: EventRow, id: string): Promise<void> {
    const outcome = await tx.first(outcomeRow, { id });
    if (outcome?.kind !== "work" || outcome.delegated !== 1 || outcome.delegated_by !== null) return;
    this.goals.add(id);
    if (row.actor_kind !== "board") throw new Broken("only people create goals", this.#name(id));
  }

  /**
   * Checks that the owner is told what another agent or the board did with its outcome, and that its session is asked to stop
   * if the outcome ended.
   */
  async #demandTold(tx: ReadTx, row: EventRow, about: string, batch: readonly EventRow[]): Promise<void> {
    const id = row.subject ?? "";
    const outcome = await tx.first(outcomeRow, { id });
    const owner = this.#members.get(outcome?.responsible_id ?? "");
    const isWork = outcome?.kind === "work" || outcome?.kind === "integration";
    if (owner === undefined || !isWork || owner.id === row.agent_id || row.actor_kind === "system") return;
    // An agent that left in the same step may have passed the outcome on, and a pending agent gets no mail.
    if (owner.status === "terminated" || owner.status === "pending" || batch.some(movesWork)) return;
    const topic = `change:${about}`;
    if ((await tx.first(noticeOf, { topic, to: owner.id, at: row.at })) === undefined)
      throw new Broken(
        "an owner is told what others did with its outcome",
        `${row.operation} of ${this.#name(id)}, ${this.#name(owner.id)} was not told`,
      );
    if (row.operation !== "outcome.close" || this.#sessions.sessions.get(owner.session ?? "")?.first !== id)
      return;
    if (!(await tx.first(endOf, { id: owner.session ?? "" })))
      throw new Broken(
        "a session whose work has ended is asked to stop",
        `${this.#name(owner.id)} works for ${this.#name(id)}`,
      );
  }

  /** Checks that every escalation is told to the deciding agent or, for null, to the board. */
  async #demandAsked(tx: ReadTx, row: EventRow, to: unknown): Promise<void> {
    const decider = typeof to === "string" ? to : "";
    const status = this.#members.get(decider)?.status ?? "idle";
    if (status === "terminated" || status === "pending") return;
    const topic = `decide:${row.subject ?? ""}`;
    if ((await tx.first(noticeOf, { topic, to: decider, at: row.at })) === undefined)
      throw new Broken(
        "every escalation reaches someone who can decide",
        `${this.#name(row.subject)}, to ${this.#name(to === null ? null : decider)}`,
      );
  }
}

const movesWork = ({ operation }: EventRow): boolean =>
  /^agent\.(?:retire|terminate|reclaim|return)$|^reorganization\.|^outcome\.(?:reclaim|delegate)$/.test(
    operation,
  );

const outcomeRow = query((db, p: { id: string }) =>
  db
    .selectFrom("outcomes")
    .select(["kind", "delegated", "delegated_by", "responsible_id"])
    .where("id", "=", p.id),
);
/** A notice that was sent, or got a new text, at that time. */
const noticeOf = query((db, p: { topic: string; to: string; at: number }) =>
  db
    .selectFrom("messages")
    .select("id")
    .where("topic", "=", p.topic)
    .where((eb) => eb(eb.fn.coalesce("to_id", eb.val("")), "=", p.to))
    .where("sent_at", ">=", p.at)
    .limit(1),
);
/** A session that has ended or was asked to stop. */
const endOf = query((db, p: { id: string }) =>
  db
    .selectFrom("sessions")
    .select("id")
    .where("id", "=", p.id)
    .where((eb) => eb.or([eb("ended_at", "is not", null), eb("end_by", "is not", null)])),
);

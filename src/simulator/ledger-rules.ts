import type { ReadTx } from "../store/store.ts";
import type { Row } from "../store/schema.ts";
import { Broken } from "./broken.ts";

export type EventRow = Row<"events">;
/** The input of a model of the ledger: an event, its data, and the events of the same commit. */
export type ShownEvent = [
  tx: ReadTx,
  row: EventRow,
  data: Readonly<Record<string, unknown>>,
  batch: readonly EventRow[],
];

export interface WatchedMember {
  readonly id: string;
  readonly companyId: string;
  readonly stateFileId: string;
  boss: string | null;
  status: "pending" | "idle" | "paused" | "terminated";
  /** The session whose calls are accepted. */
  session: string | null;
  epoch: number;
  /** The valid keys. */
  readonly keys: Set<string>;
}

/** A caller and its credential. */
export interface Who {
  readonly label: string;
  readonly token: string;
  /** Null for people who act from no position. */
  readonly agentId: string | null;
  /** Null for people and for keys. */
  readonly sessionId: string | null;
  /** Only for keys. */
  readonly keyId?: string;
  /** Only for people. With `agentId`, the person acts from the position of that agent. */
  readonly person?: SignInOf;
  /** The position that the call names. */
  readonly as?: string;
}

/** A person's credential: a sign-in, the board token (null), or the code of a link, by its number. */
export interface SignInOf {
  readonly personId: string;
  readonly signIn: string | null;
  readonly link?: number;
}

/** A session without any of these made no progress. Files, mail and edits don't count. */
const mayBeProgress = new Set([
  "outcome.submit",
  "outcome.complete",
  "outcome.close",
  "outcome.create",
  "outcome.reopen",
  "mail.acknowledge",
]);
const mostStalls = 3;
const longestBackOff = 3_600_000;
const longRest = 12 * 3_600_000;

/** Demands that only certain deeds count as progress, and that sessions without progress lead to pauses and blocks. */
export class StallModel {
  readonly #mayProgress = new Set<string>();
  readonly #stalls = new Map<string, number>();
  readonly #agents = new Map<string, { idle: number; notBefore: number }>();
  readonly #mailed = new Map<string, number>();
  /** The outcome that was just blocked. The next session end in the ledger belongs to the same transaction. */
  #blocked: string | null = null;

  see(row: EventRow): void {
    if (row.session_id !== null && mayBeProgress.has(row.operation)) this.#mayProgress.add(row.session_id);
    const subject = row.subject ?? "";
    if (["outcome.update", "outcome.reopen", "outcome.stall"].includes(row.operation))
      this.#stalls.set(subject, 0);
    if (row.operation === "outcome.stall") this.#blocked = subject;
    if (row.operation === "agent.wakeup" || row.operation === "agent.resume") this.endPause(subject);
    if (row.operation === "mail.deliver") this.#mailed.set(subject, row.at);
  }

  /** A person wakes the agent or writes to it. */
  endPause(agentId: string): void {
    this.#agents.delete(agentId);
  }

  demandBackOff(start: EventRow, outcomeId: string, name: string): void {
    const { notBefore } = this.#agents.get(start.subject ?? "") ?? { notBefore: 0 };
    if (start.at < notBefore)
      throw new Broken(
        "after sessions without progress an agent waits before its next session",
        `${name} starts ${notBefore - start.at} ms too soon`,
      );
    if (start.at - notBefore < longRest) return;
    this.endPause(start.subject ?? "");
    this.#stalls.set(outcomeId, 0);
  }

  ended(
    end: EventRow,
    sessionId: string,
    { id: agentId, status }: WatchedMember,
    outcome: Pick<Row<"outcomes">, "id" | "kind" | "responsible_id" | "blocked_reason"> & { status: string },
    name: string,
    {
      progress,
      wasAsked,
      startedAt,
    }: {
      /** As the product judged. */
      readonly progress: boolean;
      /** True if it was asked to stop. It then counts neither for nor against its agent. */
      readonly wasAsked: boolean;
      readonly startedAt: number;
    },
  ): void {
    const blocked = this.#blocked === outcome.id;
    this.#blocked = null;
    if (progress && !this.#mayProgress.has(sessionId))
      throw new Broken(
        "only what brings an outcome closer is progress",
        `${name} only wrote files, mail or edits`,
      );
    if (progress) {
      this.#stalls.set(outcome.id, 0);
      this.#agents.delete(agentId);
      return;
    }
    if (blocked) {
      this.#agents.delete(agentId);
      return;
    }
    if (wasAsked || status === "terminated") return;
    if (outcome.status === "unknown" || outcome.responsible_id !== agentId) return;
    // A session that was only shown notices counts neither for nor against its agent.
    if (outcome.kind === "inbox" && outcome.status === "completed") return;
    // A message that came during the session gives it another try.
    const isNews = outcome.kind === "inbox" && (this.#mailed.get(agentId) ?? 0) >= startedAt;
    const isExempt = outcome.status !== "open" || outcome.blocked_reason !== null || isNews;
    const stalls = isExempt ? 0 : (this.#stalls.get(outcome.id) ?? 0) + 1;
    if (stalls >= mostStalls)
      throw new Broken(
        "three sessions without progress block an outcome",
        `${name} had ${stalls} and is not blocked`,
      );
    this.#stalls.set(outcome.id, stalls);
    const streak = (this.#agents.get(agentId)?.idle ?? 0) + 1;
    this.#agents.set(agentId, {
      idle: streak,
      notBefore: end.at + Math.min(1000 * 2 ** (streak - 1), longestBackOff),
    });
  }
}

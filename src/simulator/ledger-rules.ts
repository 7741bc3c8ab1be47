import type { Row } from "../store/schema.ts";
import { Broken } from "./broken.ts";

export type EventRow = Row<"events">;

export interface WatchedMember {
  readonly id: string;
  readonly companyId: string;
  readonly stateFileId: string;
  boss: string | null;
  status: "idle" | "paused" | "terminated";
  /** The session whose calls are accepted. */
  session: string | null;
  epoch: number;
  /** Its keys that are valid. */
  readonly keys: Set<string>;
}

/** A caller and its credential. */
export interface Who {
  readonly label: string;
  readonly token: string;
  /** Null for the board. */
  readonly agentId: string | null;
  /** Null for the board and for keys. */
  readonly sessionId: string | null;
  /** Only for keys. */
  readonly keyId?: string;
}

/**
 * Whether the reporting lines in the ledger allow this message. "with a grant" means only with a mail route. This repeats a
 * rule of the product on purpose, so a bug there can't hide itself.
 */
export function routeAllows(
  watch: { readonly members: ReadonlyMap<string, WatchedMember> },
  message: { from_id: string | null; from_system: number; to_id: string | null },
): boolean | "with a grant" {
  const receiver = message.to_id === null ? null : watch.members.get(message.to_id);
  if (receiver === undefined || receiver?.status === "terminated") return false;
  if (message.from_id === null || message.from_system === 1) return true;
  const sender = watch.members.get(message.from_id);
  if (sender === undefined || sender.status === "terminated") return false;
  const neighbours =
    receiver === null
      ? sender.boss === null
      : receiver.id === sender.id || receiver.boss === sender.id || sender.boss === receiver.id;
  return neighbours || "with a grant";
}

/** Operations that leave an event but count as no progress. */
const idle = new Set([
  "access.refused",
  "knowledge.read",
  "knowledge.read_version",
  "session.submit_summary",
  "permission.request",
]);
const mostStalls = 3;
const longestBackOff = 5 * 60_000;

/** Tracks which sessions made progress, and demands back-off and blocking for those that did not. */
export class StallModel {
  readonly #progressed = new Set<string>();
  readonly #stalls = new Map<string, number>();
  readonly #agents = new Map<string, { idle: number; notBefore: number }>();
  /** The outcome that was just blocked. The next session end in the ledger belongs to the same transaction. */
  #blocked: string | null = null;

  see(row: EventRow, stateFileId: string | undefined): void {
    if (row.session_id !== null && !idle.has(row.operation) && row.subject !== stateFileId)
      this.#progressed.add(row.session_id);
    const subject = row.subject ?? "";
    if (["outcome.update", "outcome.reopen", "outcome.stall"].includes(row.operation))
      this.#stalls.set(subject, 0);
    if (row.operation === "outcome.stall") this.#blocked = subject;
    if (row.operation === "agent.wakeup" || row.operation === "agent.resume") this.#agents.delete(subject);
  }

  demandBackOff(start: EventRow, name: string): void {
    const { notBefore } = this.#agents.get(start.subject ?? "") ?? { notBefore: 0 };
    if (start.at < notBefore)
      throw new Broken(
        "after sessions without progress an agent waits before its next session",
        `${name} starts ${notBefore - start.at} ms too soon`,
      );
  }

  ended(
    end: EventRow,
    sessionId: string,
    { id: agentId, status }: WatchedMember,
    outcome: { id: string; status: string },
    name: string,
  ): void {
    const blocked = this.#blocked === outcome.id;
    this.#blocked = null;
    if (this.#progressed.has(sessionId)) {
      this.#stalls.set(outcome.id, 0);
      this.#agents.delete(agentId);
      return;
    }
    if (blocked) {
      this.#agents.delete(agentId);
      return;
    }
    if (outcome.status !== "open" || status === "terminated") return;
    const stalls = (this.#stalls.get(outcome.id) ?? 0) + 1;
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

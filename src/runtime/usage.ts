import { bySystem, writeIn } from "../dispatch/context.ts";
import { distrust, halt } from "../budgets/halting.ts";
import { stopAtLimit } from "../budgets/outcome-limits.ts";
import { type Allowance, isIncredible, isUsed } from "../budgets/budget.ts";
import type { Usage } from "../contract/budgets.ts";
import { reportUsage } from "../budgets/reservations.ts";
import type { Store, Tx } from "../store/store.ts";
import type { InCompany } from "./lanes.ts";
import { sessionById, type SessionRow } from "./sessions.ts";

/**
 * Records the usage that sessions report while they run. Each report covers the whole session so far. While one report is being
 * written, only the newest of the following ones is kept. So a process that reports very often costs one transaction at a time.
 *
 * A session without any budget left is ended in the transaction of its report, and its process right after that. A
 * session that has used its reserved share is suspended (SIGSTOP) at once, until it gets another share or is ended. So a
 * slow store makes a session wait and never lets it overspend.
 */
export interface UsageMeter {
  /** A session starts with this reserved share. */
  begin(sessionId: string, share: Allowance): void;
  heard(session: Pick<SessionRow, "id" | "company_id">, usage: Usage): void;
  /** Waits until every report is written. Reports whose writing failed are tried again. */
  catchUp(run: InCompany): Promise<void>;
  /** Drops all memory of a session whose end is recorded. */
  forget(sessionId: string): void;
}

export function createMeter(parts: {
  readonly store: Store;
  readonly newId: () => string;
  readonly stop: (sessionId: string) => void;
  /** Suspends the process, or lets it continue. */
  readonly hold: (sessionId: string, still: boolean) => void;
  readonly reportBug: (error: unknown, about: string) => void;
}): UsageMeter {
  /** The newest report of each session that is not written, and the write that is under way. */
  const pending = new Map<string, { companyId: string; usage: Usage }>();
  const writing = new Map<string, Promise<void>>();
  /** How much each session may use before it must be suspended. Grows with each share it gets. */
  const allowances = new Map<string, Allowance>();
  /** The sessions whose processes are suspended until their report is written. */
  const held = new Set<string>();

  function write(id: string): Promise<void> {
    const underWay =
      writing.get(id) ??
      writeAll(id)
        .catch((error: unknown) => parts.reportBug(error, `usage of session ${id}`))
        .finally(() => writing.delete(id));
    writing.set(id, underWay);
    return underWay;
  }

  async function writeAll(id: string): Promise<void> {
    for (let next = pending.get(id); next !== undefined; next = pending.get(id)) {
      const { companyId, usage } = next;
      const { mayContinue, allowance } = await writeIn(parts.store, companyId, parts.newId, ({ tx }) =>
        noteUsage(tx, id, usage, parts.newId),
      );
      const newest = pending.get(id);
      if (newest === next) pending.delete(id);
      if (!mayContinue) parts.stop(id);
      const now = { ...allowances.get(id), ...allowance };
      if (allowances.has(id)) allowances.set(id, now);
      if (mayContinue && !isUsed(now, newest?.usage ?? usage) && held.delete(id)) parts.hold(id, false);
    }
  }

  return {
    begin: (id, share) => void allowances.set(id, share),
    heard: ({ id, company_id }, usage) => {
      if (isUsed(allowances.get(id) ?? {}, usage) && !held.has(id)) {
        held.add(id);
        parts.hold(id, true);
      }
      pending.set(id, { companyId: company_id, usage });
      void write(id);
    },
    catchUp: async (run) => {
      for (const [id, { companyId }] of pending) await run(companyId, () => write(id));
    },
    forget: (id) => {
      pending.delete(id);
      allowances.delete(id);
      held.delete(id);
    },
  };
}

/** `mayContinue` is false if this report ended the session: its budget is used up, or the report can't be true. */
export async function noteUsage(
  tx: Tx,
  id: string,
  usage: Usage,
  newId: () => string,
): Promise<{ mayContinue: boolean; allowance: Allowance }> {
  const session = await sessionById(tx, id);
  if (session === undefined) return { mayContinue: true, allowance: {} };
  const writing = bySystem(tx, session.company_id, newId);
  if (isIncredible(usage)) {
    if (session.ended_at === null) await distrust(writing, session.agent_id);
    return { mayContinue: false, allowance: {} };
  }
  const { allowance, lacks } = await reportUsage(writing, session, usage);
  const mayContinue = lacks === undefined || session.ended_at !== null;
  if (!mayContinue) await halt(writing, session.agent_id, lacks);
  const isStopped = await stopAtLimit(writing, session.work_outcome_id);
  return { mayContinue: mayContinue && (!isStopped || session.ended_at !== null), allowance };
}

import { bySystem } from "../dispatch/context.ts";
import { distrust, halt } from "../budgets/halting.ts";
import { type Allowance, isIncredible, isUsed, type Usage } from "../budgets/budget.ts";
import { reportUsage } from "../budgets/reservations.ts";
import type { Store, Tx } from "../store/store.ts";
import { sessionById, type SessionRow } from "./sessions.ts";

/**
 * Takes down what sessions say they have used, while they run. Of a session whose report is being written only the newest
 * next one is kept, since each is of all use so far: however fast a process talks, one transaction at a time is about it.
 * A session for which nothing is left is ended in the transaction of its report, and its process right after. One that has
 * used its share is held still at once, until it has another or is ended: a slow store makes it wait, not spend.
 */
export interface Meter {
  /** A session begins with this share. */
  begin(sessionId: string, share: Allowance): void;
  heard(session: Pick<SessionRow, "id" | "company_id">, usage: Usage): void;
  /** Until all is written that was heard; what could not be written before is tried again. */
  catchUp(): Promise<void>;
  /** Nothing more is to be written about it. */
  forget(sessionId: string): void;
}

export function createMeter(parts: {
  readonly store: Store;
  readonly newId: () => string;
  readonly stop: (sessionId: string) => void;
  /** Holds its process still, or lets it go on. */
  readonly hold: (sessionId: string, still: boolean) => void;
  readonly reportBug: (error: unknown, about: string) => void;
}): Meter {
  const pending = new Map<string, { companyId: string; usage: Usage }>();
  const writing = new Map<string, Promise<void>>();
  const allowances = new Map<string, Allowance>();
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
      const { goesOn, allowance } = await parts.store.write(async (tx) => {
        await tx.lock(companyId);
        return noteUsage(tx, id, usage, parts.newId);
      });
      const newest = pending.get(id);
      if (newest === next) pending.delete(id);
      if (!goesOn) parts.stop(id);
      const now = { ...allowances.get(id), ...allowance };
      if (allowances.has(id)) allowances.set(id, now);
      if (goesOn && !isUsed(now, newest?.usage ?? usage) && held.delete(id)) parts.hold(id, false);
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
    catchUp: async () => {
      for (const id of pending.keys()) await write(id);
    },
    forget: (id) => {
      pending.delete(id);
      allowances.delete(id);
      held.delete(id);
    },
  };
}

/** It does not go on when it has ended for want of a budget. */
export async function noteUsage(
  tx: Tx,
  id: string,
  usage: Usage,
  newId: () => string,
): Promise<{ goesOn: boolean; allowance: Allowance }> {
  const session = await sessionById(tx, id);
  if (session === undefined) return { goesOn: true, allowance: {} };
  const writing = bySystem(tx, session.company_id, newId);
  if (isIncredible(usage)) {
    if (session.ended_at === null) await distrust(writing, session.agent_id);
    return { goesOn: false, allowance: {} };
  }
  const { allowance, lacks } = await reportUsage(writing, session, usage);
  const goesOn = lacks === undefined || session.ended_at !== null;
  if (!goesOn) await halt(writing, session.agent_id, lacks);
  return { goesOn, allowance };
}

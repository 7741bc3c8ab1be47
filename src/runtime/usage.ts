import { bySystem, halt } from "../agents/halting.ts";
import type { Usage } from "../budgets/budget.ts";
import { report } from "../budgets/sessions.ts";
import type { Store, Tx } from "../store/store.ts";
import { sessionById, type SessionRow } from "./sessions.ts";

/**
 * Takes down what sessions say they have used, while they run. Of a session whose report is being written only the newest
 * next one is kept, since each is of all use so far: however fast a process talks, one transaction at a time is about it.
 * A session for which nothing is left is ended in the transaction of its report, and its process right after.
 */
export interface Meter {
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
  readonly reportBug: (error: unknown, about: string) => void;
}): Meter {
  const pending = new Map<string, { companyId: string; usage: Usage }>();
  const writing = new Map<string, Promise<void>>();

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
      const goesOn = await parts.store.write(async (tx) => {
        await tx.lock(companyId);
        return noteUsage(tx, id, usage, parts.newId);
      });
      if (pending.get(id) === next) pending.delete(id);
      if (!goesOn) parts.stop(id);
    }
  }

  return {
    heard: ({ id, company_id }, usage) => {
      pending.set(id, { companyId: company_id, usage });
      void write(id);
    },
    catchUp: async () => {
      for (const id of pending.keys()) await write(id);
    },
    forget: (id) => void pending.delete(id),
  };
}

/** False: the session has ended for want of a budget. */
export async function noteUsage(tx: Tx, id: string, usage: Usage, newId: () => string): Promise<boolean> {
  const session = await sessionById(tx, id);
  if (session === undefined) return true;
  const scene = bySystem(tx, session.company_id, newId);
  const lacks = await report(scene, session, usage);
  if (lacks === undefined || session.ended_at !== null) return true;
  await halt(scene, session.agent_id, lacks);
  return false;
}

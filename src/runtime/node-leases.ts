import { writeIn } from "../dispatch/context.ts";
import { leaseMilliseconds } from "../readers/nodes.ts";
import type { NodeParts } from "./node-parts.ts";
import { type Ending, endSession, renewLeases, sessionById, type SessionKey } from "./sessions.ts";
import { endReasons } from "./texts.ts";

/**
 * If the leases of a node are older than this, it ends its sessions, before another node may take them over. On SQLite no other
 * node can, so a disk that is full for a while need not end sessions.
 */
const good = { sqlite: 60_000, postgres: 15_000 };

/** An end that the agent did not cause. */
export const byNode = (reason: string): Ending => ({ reason, exitCode: null, isBlameless: true });

/** The leases through which nodes take over sessions from each other. */
export function createNodeLeases(
  parts: NodeParts,
  hasProcesses: () => boolean,
  /** Called when a session ended: its company may have a place for another. */
  freed: (companyId: string) => void,
) {
  const { store, nodeId, runner, newId } = parts;

  /**
   * Begins a lease with the next transaction. After the commit, the caller calls the result, and the processes may live as long
   * as the lease.
   */
  function begin(): () => void {
    const confirm = runner.leaseRenewal();
    return () => confirm(good[store.dialect]);
  }

  return {
    begin,
    /** Returns the time of the renewal. */
    renew: async (): Promise<number> => {
      // On PostgreSQL this write also shows whether the database answers, and replaces connections that died silently.
      const beat = parts.heart?.beat();
      if (!hasProcesses() && store.dialect === "sqlite" && beat === undefined)
        return store.read(async (tx) => tx.now);
      const confirm = begin();
      const now = await store.write(async (tx) => {
        if (hasProcesses())
          await tx.run(renewLeases, { node_id: nodeId, lease_until: tx.now + leaseMilliseconds });
        await beat?.write(tx);
        return tx.now;
      }, "leases");
      beat?.written();
      confirm();
      return now;
    },
    /** Checks the lease again inside the transaction, because its node may have returned meanwhile. */
    takeOver: async ({ id, company_id }: SessionKey): Promise<void> => {
      await writeIn(store, company_id, newId, async ({ tx }) => {
        const session = await sessionById(tx, id);
        if (session === undefined || session.ended_at !== null || session.lease_until >= tx.now) return;
        await endSession(tx, id, byNode(endReasons.nodeSilent), newId);
      });
      freed(company_id);
    },
  };
}

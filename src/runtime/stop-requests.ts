import { askToStop } from "../agents/table.ts";
import { writeIn } from "../dispatch/context.ts";
import { hasOtherRights } from "./briefing.ts";
import type { InCompany } from "./lanes.ts";
import type { NodeParts } from "./node-parts.ts";
import { liveOn, sessionById, type SessionKey } from "./sessions.ts";
import { endReasons } from "./texts.ts";

/** Asks sessions of this node to stop. They may save their state first. */
export function stopRequests({ store, nodeId, newId }: NodeParts, run: InCompany) {
  return {
    /** Asks the sessions whose rights have changed since they were started. Returns false if not all could be asked. */
    outdated: async (sessions: readonly SessionKey[]): Promise<boolean> => {
      let all = true;
      for (const { id, company_id } of sessions) {
        const isFree = await run(company_id, () =>
          writeIn(store, company_id, newId, async (call) => {
            const session = await sessionById(call.tx, id);
            if (session?.ended_at === null && (await hasOtherRights(call.tx, session)))
              await askToStop(call, session, endReasons.otherServers);
          }),
        );
        all &&= isFree;
      }
      return all;
    },
    /** Asks all sessions, because the node stops. They may save their state for this long. */
    all: async (milliseconds: number): Promise<void> => {
      for (const { id, company_id } of await store.read((tx) => tx.all(liveOn, { node_id: nodeId })))
        await run(company_id, () =>
          writeIn(store, company_id, newId, async (call) => {
            const session = await sessionById(call.tx, id);
            if (session?.ended_at === null)
              await askToStop(call, session, endReasons.nodeStops, milliseconds);
          }),
        );
    },
  };
}

import { writeIn } from "../dispatch/context.ts";
import type { Exit } from "../processes/runner.ts";
import type { InCompany } from "./lanes.ts";
import { byNode } from "./node-leases.ts";
import type { NodeParts } from "./node-parts.ts";
import { type Ending, forgetProcess, liveOn, processesOn, type SessionKey } from "./sessions.ts";
import { endReasons } from "./texts.ts";

/** The functions with which this run of the node ends sessions. */
interface Endings {
  readonly run: InCompany;
  readonly isOwn: (sessionId: string) => boolean;
  /** Records how a process ended, and the end of its session. */
  readonly finished: (session: SessionKey, exit: Exit) => Promise<void>;
  /** Gives up this session, because the end of its process can't be recorded. */
  readonly giveUp: (sessionId: string) => void;
  readonly settle: (session: SessionKey, ending: Ending) => Promise<void>;
  readonly removing: (removal: Promise<void>) => void;
}

/**
 * Ends the sessions and processes that an earlier run of this node left. Processes come first: if a pause or another node ended
 * a session meanwhile, its process may still be here.
 */
export async function endEarlierRun(parts: NodeParts, endings: Endings): Promise<void> {
  const { store, nodeId, runner, newId } = parts;
  const { run, isOwn, finished, giveUp, settle, removing } = endings;
  const { left, live } = await store.read(async (tx) => ({
    left: await tx.all(processesOn, { node_id: nodeId }),
    live: await tx.all(liveOn, { node_id: nodeId }),
  }));
  for (const { id, pid, pid_started } of left) {
    if (pid !== null && pid_started !== null) runner.killOrphan(pid, pid_started, id);
  }
  const unsettled = new Set(live.map(({ id }) => id));
  let isSwept = false;
  const endOne = async (session: SessionKey): Promise<void> => {
    // A session that had finished keeps its output, so its work need not be done again.
    const exit = runner.takeExit(session.id);
    if (exit !== undefined)
      await finished(session, exit).catch((error: unknown) => {
        parts.reportBug(error, `end of session ${session.id}`);
        giveUp(session.id);
      });
    await settle(session, byNode(endReasons.daemonRestarted));
    unsettled.delete(session.id);
    if (isSwept) removing(runner.cleanUp(session.id));
  };
  const companies = new Set([...left, ...live].map(({ company_id }) => company_id));
  // If the lock of a company is held elsewhere, the company's lane finishes the work later.
  await Promise.all(
    [...companies].map((companyId) =>
      run(companyId, async () => {
        for (const { id, company_id } of left)
          if (company_id === companyId)
            await writeIn(store, companyId, newId, ({ tx }) => forgetProcess(tx, id));
        for (const session of live) if (session.company_id === companyId) await endOne(session);
      }),
    ),
  );
  removing(runner.cleanUpOthers((id) => isOwn(id) || unsettled.has(id)));
  isSwept = true;
}

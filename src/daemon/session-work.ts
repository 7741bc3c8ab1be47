import { hostname } from "node:os";
import { providerUsed } from "../brains/registry.ts";
import type { Courier } from "../gateway/courier.ts";
import { processRunner, type ProcessOptions } from "../processes/processes.ts";
import type { Runner } from "../processes/runner.ts";
import { shareTranscripts } from "../processes/shared-transcripts.ts";
import { keepWatchdog } from "../processes/watchdog.ts";
import type { Mirrors } from "../repos/mirrors.ts";
import { salvageSession } from "../repos/salvage.ts";
import { mirrorOf, repoNamed } from "../repos/table.ts";
import type { FailPoint } from "../runtime/fail-points.ts";
import { keepHeart } from "../runtime/heart.ts";
import { keepNodeTrouble } from "../runtime/node-trouble.ts";
import { createScheduler } from "../runtime/scheduler.ts";
import type { SecretStore } from "../secrets/secrets.ts";
import type { Store } from "../store/store.ts";
import type { NodeBrains } from "./brain-health.ts";
import { keepBeating, runScheduler } from "./drive.ts";
import type { Home } from "./home.ts";
import { newId, newSecret } from "./ids.ts";
import { version } from "./version.ts";

export interface WorkParts {
  readonly options: { readonly schedule?: boolean; readonly maxSessions?: number | undefined };
  readonly store: Store;
  readonly home: Home;
  readonly node: string;
  readonly address: () => string;
  readonly running: Pick<ProcessOptions, "home" | "url" | "sandbox" | "onDoor" | "path" | "notes">;
  readonly mirrors: Mirrors;
  readonly courier: Pick<Courier, "wake">;
  readonly secrets: SecretStore;
  readonly brains: NodeBrains;
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  readonly failing: FailPoint | undefined;
  readonly reportBug: (error: unknown, about: string) => string;
  /** Called if the data needs a newer version since this node stood still. */
  readonly tooOld: (error: unknown) => void;
}

/**
 * Starts the sessions of agents on this node, unless the node has no scheduler. In both cases its row shows that the node runs.
 */
export async function startWork(parts: WorkParts) {
  const { options, store, home, node, mirrors, courier, secrets, brains, sleep, failing, reportBug } = parts;
  const watchdog = keepWatchdog();
  const transcripts = shareTranscripts({ store, folder: home.transcripts, sleep, reportBug });
  const processes = processRunner({
    ...parts.running,
    workspaces: home.workspaces,
    transcripts: home.transcripts,
    onTranscript: transcripts.written,
    agentHomes: home.agentHomes,
    watchdog,
    beforeRemoval: (id, workspace) => salvageSession({ store, mirrors, newId }, id, workspace),
  });
  const runner: Runner = {
    ...processes,
    start: (session) => {
      if (providerUsed(session.agent.brain_type, session.agent.brain_config) !== undefined) courier.wake();
      return processes.start(session);
    },
  };
  const trouble = keepNodeTrouble();
  const heart = keepHeart({
    store,
    id: node,
    name: hostname(),
    version,
    capacity: options.schedule === false ? 0 : (options.maxSessions ?? null),
    address: parts.address,
    canStart: (type) => runner.canStart(type),
    lacks: brains.lacks,
    trouble: trouble.says,
    tooOld: parts.tooOld,
  });
  const scheduling =
    options.schedule === false
      ? await keepBeating({ store, heart, sleep, reportBug })
      : await runScheduler({
          store,
          scheduler: createScheduler({
            store,
            nodeId: node,
            runner,
            heart,
            trouble,
            ...(options.maxSessions === undefined ? {} : { capacity: options.maxSessions }),
            mirrorOf: async (tx, companyId, name) => {
              const row = await repoNamed(tx, companyId, name);
              const mirror = row && mirrorOf(row);
              return mirror && mirrors.has(mirror) ? mirrors.folderOf(mirror) : undefined;
            },
            secrets,
            brains,
            newId,
            newSecret,
            patience: (signal) => sleep(1000, signal),
            ...(failing === undefined ? {} : { at: (step: string) => failing.at(step) }),
            reportBug,
          }),
          sleep,
          reportBug,
        });
  return {
    /** Starts no new sessions. Running ones may work for this long. */
    drain: (milliseconds: number) => scheduling.drain(milliseconds),
    async stop(): Promise<void> {
      await scheduling.stop();
      await transcripts.stop();
      // If the row stays, it soon counts as silent, and is deleted later.
      await heart.stop().catch(() => undefined);
      await watchdog.stop();
    },
  };
}

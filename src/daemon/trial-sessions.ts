import { rmSync } from "node:fs";
import { join } from "node:path";
import { agentById, type AgentRow } from "../agents/table.ts";
import { companyState, settingsOf } from "../dispatch/company-settings.ts";
import type { Caller } from "../dispatch/identity.ts";
import { agentActor } from "../events/ledger.ts";
import type { OpenTrial } from "../gateway/trial.ts";
import { type ProcessOptions, processRunner } from "../processes/processes.ts";
import type { Exit, Runner } from "../processes/runner.ts";
import { keepWatchdog, type Watchdog } from "../processes/watchdog.ts";
import type { SecretStore } from "../secrets/secrets.ts";
import type { Store } from "../store/store.ts";
import { trialBriefing, trialPrompt } from "./texts.ts";

/**
 * Runs a brain for a test in the same way as a session: the same command, the same sandbox, the same doors. The only
 * difference: there is no session row, because an agent has one session at a time and the root agent may be working. The token
 * of a trial lists the tools that every agent has and can ask models (gateway/trial.ts). Every call of a tool is refused, so a
 * test changes nothing.
 */
export interface TrialSessions {
  /** Undefined for every other token. */
  readonly callerOf: (token: string | undefined) => Caller | undefined;
  readonly trialOf: (token: string | undefined) => OpenTrial | undefined;
  readonly run: (brain: TrialBrain) => Promise<TrialEnd>;
  readonly stop: () => Promise<void>;
}

export interface TrialBrain {
  readonly companyId: string;
  /** The root agent, which pays. */
  readonly agentId: string;
  readonly type: string;
  /** The configuration as JSON. It has the values of its secrets, which exist only in memory. */
  readonly config: string;
  readonly model: string | null;
  readonly effort: AgentRow["effort"];
}

export interface TrialEnd {
  readonly exit: Exit;
  readonly calls: OpenTrial["calls"];
  readonly milliseconds: number;
  /** True if it had to be stopped. */
  readonly isLate: boolean;
  /** True if it was ended because the company was frozen meanwhile. */
  readonly isFrozen: boolean;
}

/** The call that asks for the test waits a little longer. */
export const trialPatience = 80_000;
const renewEvery = 2000;
const lease = 15_000;

export function keepTrials(parts: {
  readonly store: Store;
  readonly newId: () => string;
  readonly newSecret: () => string;
  readonly secrets: Pick<SecretStore, "valuesOf">;
  /** The folder is emptied when no trial runs. */
  readonly folder: string;
  readonly running: Pick<ProcessOptions, "home" | "url" | "sandbox" | "onDoor" | "path">;
}): TrialSessions {
  const { store, newId, newSecret, secrets, folder } = parts;
  const open = new Map<string, OpenTrial & { readonly caller: Caller }>();
  const running = new Set<() => void>();
  let isStopped = false;
  let started: { runner: Runner; watchdog: Watchdog } | undefined;
  rmSync(folder, { recursive: true, force: true });

  const processes = (): { runner: Runner; watchdog: Watchdog } => {
    if (started !== undefined) return started;
    const watchdog = keepWatchdog();
    const at = (name: string): string => join(folder, name);
    const places = { workspaces: at("workspaces"), transcripts: at("transcripts"), agentHomes: at("homes") };
    return (started = { watchdog, runner: processRunner({ ...parts.running, ...places, watchdog }) });
  };

  async function run(brain: TrialBrain): Promise<TrialEnd> {
    const { companyId, agentId, type, config, model, effort } = brain;
    const [id, token] = [newId(), `ags_${newSecret()}`];
    const { root, settings } = await store.read(async (tx) => ({
      root: await agentById(tx, agentId),
      settings: await settingsOf(tx, companyId),
    }));
    const calls: OpenTrial["calls"] = [];
    const caller = { actor: agentActor(agentId), companyId, workspace: null };
    open.set(token, { companyId, agentId, type, config, model, calls, caller });
    const { runner, watchdog } = processes();
    const renew = (): void => watchdog.renewal()(lease);
    const renewing = setInterval(renew, renewEvery);
    renew();
    let late: NodeJS.Timeout | undefined;
    let [isLate, isFrozen] = [false, false];
    let watching: NodeJS.Timeout | undefined;
    const begun = performance.now();
    try {
      const session = await runner.start({
        id,
        token,
        // The test has a separate home, which is removed with it.
        agent: { ...root, id, brain_type: type, brain_config: config, model, effort },
        secrets: secrets.valuesOf(companyId),
        workspace: runner.workspaceFor(id),
        briefing: {
          text: trialBriefing,
          assignment: "",
          systemPrompt: trialPrompt,
          situation: {},
          mcpServers: [],
          mayConsult: false,
        },
        limits: {
          processes: settings.maxSessionProcesses,
          memoryMb: settings.maxSessionMemoryMb,
          diskMb: settings.maxSessionDiskMb,
        },
        skills: [],
        onUsage: () => undefined,
      });
      const kill = (): void => session.kill();
      running.add(kill);
      if (isStopped) session.kill();
      // Another node may freeze the company. If a look fails, the next one follows.
      const endIfFrozen = async (): Promise<void> => {
        if ((await store.read((tx) => companyState(tx, companyId))).state === "active") return;
        isFrozen = true;
        kill();
      };
      watching = setInterval(() => void endIfFrozen().catch(() => undefined), renewEvery);
      session.release();
      late = setTimeout(() => {
        isLate = true;
        session.stop(renewEvery);
      }, trialPatience);
      const exit = await session.exited;
      running.delete(kill);
      return { exit, calls, isLate, isFrozen, milliseconds: Math.round(performance.now() - begun) };
    } finally {
      clearTimeout(late);
      clearInterval(renewing);
      clearInterval(watching);
      open.delete(token);
      await runner.cleanUp(id);
      if (open.size === 0) rmSync(folder, { recursive: true, force: true });
    }
  }

  return {
    callerOf: (token) => open.get(token ?? "")?.caller,
    trialOf: (token) => open.get(token ?? ""),
    run,
    stop: async () => {
      isStopped = true;
      for (const kill of running) kill();
      await started?.watchdog.stop();
    },
  };
}

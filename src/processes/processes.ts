import { mkdirSync, existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import type { Server } from "node:net";
import { join } from "node:path";
import { launchBrain, runsPrograms, secretsOf } from "../brains/registry.ts";
import { killGroups, makeGroup, removeAbandonedGroups, removeGroups } from "./cgroups.ts";
import { exitFile, exitOf, takeExit } from "./exits.ts";
import { behindSandboxGate, behindShellGate, filesUpTo } from "./starting.ts";
import { hearing } from "./hearing.ts";
import { leftoverKiller, type Sweep, sweeper } from "./leftovers.ts";
import { family, killGroup, programOf, sendSignal, startTimeOf } from "./process-table.ts";
import { remover } from "./removal.ts";
import { readsOf } from "./reads.ts";
import type { Runner, Running, StartSpec } from "./runner.ts";
import type { SandboxKeeper } from "./sandbox.ts";
import { settingsIn, writeSettings } from "./settings.ts";
import { andHomeEmptied, memoryUsedUp, processesUsedUp } from "./texts.ts";
import { writeTranscript } from "./transcript.ts";
import type { Watchdog } from "./watchdog.ts";

/**
 * Runs sessions as processes of this machine. Each session has its own process group, its own workspace and its own
 * environment, which inherits nothing from the daemon. A brain that runs programs runs in a sandbox (sandbox.ts). Without a
 * sandbox it does not start, unless the installation allows that.
 *
 * The gate: a process starts behind a gate, which becomes the command when the daemon opens it. The daemon opens it only after the
 * pid is recorded. If the daemon dies before that, the gate ends without having run anything. So the next start of the daemon knows
 * every process that ever ran a command. In a sandbox the gate is gate.ts, otherwise a line of shell.
 */
/** The usage and the failures of a session, as the daemon knows them. */
export type SessionNote = { readonly kind: "usage" | "error"; readonly text: string };

export interface ProcessOptions {
  readonly workspaces: string;
  readonly transcripts: string;
  /** Called when there is something new in the transcript of a session. */
  readonly onTranscript?: (sessionId: string, closed: Promise<void>) => void;
  /** For each session, a function that writes a note of the daemon into its transcript. */
  readonly notes?: Map<string, (entry: SessionNote) => void>;
  /** A home for each agent, which outlives its sessions. */
  readonly agentHomes: string;
  readonly home: string;
  readonly url: () => string;
  readonly sandbox: Pick<SandboxKeeper, "report" | "wrap" | "filter">;
  /** Called with the socket on which a session in a sandbox reaches the daemon. A sandbox has its own network. */
  readonly onDoor: (door: Server) => void;
  readonly watchdog: Watchdog;
  readonly path: string;
  /** Called before the workspace of a session that has ended is removed. */
  readonly beforeRemoval?: (sessionId: string, workspace: string) => Promise<void>;
}

/** How long a process may take after it was asked to end. */
const patience = 10_000;

export function processRunner(options: ProcessOptions): Runner {
  mkdirSync(options.transcripts, { recursive: true, mode: 0o700 });
  const killLeftovers = leftoverKiller();
  const sweep = sweeper();
  const remove = remover();
  void removeAbandonedGroups();
  return {
    workspaceFor: (id) => join(options.workspaces, id),
    canStart: (brainType) => {
      const { status, unsandboxedAllowed } = options.sandbox.report();
      return status === "works" || unsandboxedAllowed || !runsPrograms(brainType);
    },
    isolates: (brainType) => runsPrograms(brainType) && options.sandbox.report().status === "works",
    leaseRenewal: () => options.watchdog.renewal(),
    start: async (session) => startProcess(options, session, sweep, remove),
    killOrphan: (pid, started, id) => {
      const found = startTimeOf(pid);
      if (found === started) killGroup(pid);
      if (process.platform === "linux") killLeftovers(join(options.workspaces, id));
      // A pid is not reused while a process group has that number. If the leader is gone, the group consists of the processes
      // it left.
      else if (found === undefined) killGroup(pid);
    },
    takeExit: (id) => takeExit(exitFile(options.transcripts, id)),
    cleanUp: async (id) => {
      rmSync(exitFile(options.transcripts, id), { force: true });
      await options.beforeRemoval?.(id, join(options.workspaces, id));
      await remove(join(options.workspaces, id));
      await remove(oldHome(options, id));
    },
    cleanUpOthers: async (own) => {
      if (!existsSync(options.workspaces)) return;
      for (const id of readdirSync(options.workspaces))
        if (!own(id)) {
          await options.beforeRemoval?.(id, join(options.workspaces, id));
          await remove(join(options.workspaces, id));
        }
    },
  };
}

/** The place for the home of an agent that took too much space. It is removed with the workspace of the session. */
const oldHome = ({ workspaces }: ProcessOptions, id: string): string => join(workspaces, `${id}.home`);

async function moveAway(home: string, to: string, remove: (path: string) => Promise<void>): Promise<void> {
  try {
    renameSync(home, to);
  } catch {
    // Failed, for example because it is another disk. A home that can't be removed either must not keep the session from being
    // settled.
    await remove(home).catch(() => undefined);
  }
}

async function startProcess(
  options: ProcessOptions,
  session: StartSpec,
  sweep: Sweep,
  remove: (path: string) => Promise<void>,
): Promise<Running> {
  mkdirSync(session.workspace, { recursive: true, mode: 0o700 });
  const temporary = join(session.workspace, ".tmp");
  mkdirSync(temporary, { mode: 0o700 });
  const { brain_type: type, brain_config: config } = session.agent;
  const home = join(options.agentHomes, session.agent.id);
  // A brain keeps its conversations in the home. Without a home, there is no conversation to resume.
  const resume = existsSync(home) ? session.resume : undefined;
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const brain = launchBrain(type, config, {
    id: session.id,
    token: session.token,
    workspace: session.workspace,
    home,
    model: session.agent.model,
    effort: session.agent.effort,
    contextTokens: session.contextTokens ?? null,
    mayConsult: session.briefing.mayConsult,
    resume,
    url: options.url(),
    ...settingsIn(session.workspace),
    briefing: session.briefing.text,
    assignment: session.briefing.assignment,
  });
  if (brain === null) throw new Error(`the brain ${type} is never started`);
  const { launch } = brain;
  const command = [launch.command, ...launch.args];
  const env = {
    PATH: options.path,
    HOME: home,
    TMPDIR: temporary,
    LANG: "C.UTF-8",
    AGENCY_URL: options.url(),
    AGENCY_TOKEN: session.token,
    AGENCY_WORKSPACE: session.workspace,
    ...proxyVariables(options.url(), session.token),
    ...launch.env,
  };
  const isBoxed = runsPrograms(type) && options.sandbox.report().status === "works";
  const group = makeGroup(session.id, session.limits);
  const before = `${group?.join ?? ""}${filesUpTo(session.limits)}`;
  const reads = [
    ...(launch.reads ?? []),
    ...(launch.starts === undefined ? [] : readsOf(launch.starts, options)),
  ];
  const { child, open } = isBoxed
    ? behindSandboxGate(options, session, { command, env, before, home, reads })
    : behindShellGate(session.workspace, { command, env, before });
  const spawned = new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
  // While the gate starts, the daemon prepares the rest.
  try {
    writeSettings(session, options.url());
    brain.prepare();
  } catch (error) {
    spawned.catch(() => undefined);
    if (child.pid !== undefined) killGroup(child.pid);
    void removeGroups(group?.folders ?? []);
    throw error;
  }
  await spawned;
  const { pid } = child;
  if (pid === undefined) throw new Error("the process has no pid");
  const secrets = [session.token, ...secretsOf(type, config), ...session.secrets];
  const transcript = writeTranscript(options.transcripts, session.id, secrets, () =>
    options.onTranscript?.(session.id, transcript.closed),
  );
  const failures = new Set<string>();
  options.notes?.set(session.id, (entry) => {
    // A repeated failure says nothing new.
    if (entry.kind === "error" && failures.has(entry.text)) return;
    if (entry.kind === "error") failures.add(entry.text);
    transcript.add(entry);
  });
  void transcript.closed.then(() => options.notes?.delete(session.id));
  const { onUsage, onThread = () => undefined } = session;
  const heard = hearing(child, transcript, { ear: brain.ear, secrets, onUsage, onThread });
  // A sandbox ends with everything in it. Without one, a process may have left the group.
  const endRest = async (): Promise<void> => {
    killGroups(group?.folders ?? []);
    if (!isBoxed) await sweep(session.workspace);
  };
  const kill = (): void => {
    killGroup(pid);
    void endRest();
  };
  let isClosed = false;
  child.once("close", () => (isClosed = true));
  let excess: string | undefined;
  let isHomeFull = false;
  const started = startTimeOf(pid) ?? "";
  const forget = options.watchdog.watch(
    {
      id: session.id,
      pid,
      started,
      folders: [session.workspace, home],
      workspace: session.workspace,
      limits: session.limits,
      groups: group?.folders ?? [],
    },
    (reason, full) => {
      isHomeFull = full.includes(home);
      excess = isHomeFull ? andHomeEmptied(reason) : reason;
      kill();
    },
  );
  const whyStopped = (): string | undefined => {
    const reached = group?.reached();
    if (excess !== undefined) return excess;
    if (reached?.memory === true) return memoryUsedUp(session.limits.memoryMb);
    return reached?.processes === true ? processesUsedUp(session.limits.processes) : undefined;
  };
  const clear = async (): Promise<void> => {
    await endRest();
    // The home outlives its sessions. If it stayed, the next ones would be ended for the same reason, for ever.
    if (isHomeFull) await moveAway(home, oldHome(options, session.id), remove);
    forget();
    void removeGroups(group?.folders ?? []);
  };
  return {
    pid,
    started,
    exited: exitOf(child, heard, exitFile(options.transcripts, session.id), {
      judge: brain.judge,
      excess: whyStopped,
      clear,
    }),
    release: () => {
      open();
      child.stdin?.on("error", () => undefined);
      child.stdin?.end(launch.stdin);
    },
    hold: (still) => {
      const signal = still ? "SIGSTOP" : "SIGCONT";
      sendSignal(-pid, signal);
      // Processes in a sandbox (--new-session) are not in this group.
      for (const inner of family(pid)) sendSignal(inner, signal);
    },
    stop: (milliseconds = patience) => {
      // The sandbox itself must stay until all processes in it have ended.
      const asked = family(pid).filter((inner) => programOf(inner) !== "bwrap");
      if (!isBoxed) sendSignal(-pid, "SIGTERM");
      for (const inner of asked) sendSignal(inner, "SIGTERM");
      // After it has closed, its number may be that of another process.
      if (isClosed) return;
      const last = setTimeout(kill, milliseconds).unref();
      child.once("close", () => clearTimeout(last));
    },
    kill,
  };
}

/**
 * The variables by which programs find the proxy to other hosts (gateway/relay.ts). Node's own fetch uses them only if told to.
 */
export function proxyVariables(url: string, token: string): Record<string, string> {
  const { host, hostname } = new URL(url);
  const proxy = `http://session:${token}@${host}`;
  const none = `127.0.0.1,localhost,::1,${hostname}`;
  return {
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    http_proxy: proxy,
    https_proxy: proxy,
    NO_PROXY: none,
    no_proxy: none,
    NODE_USE_ENV_PROXY: "1",
  };
}

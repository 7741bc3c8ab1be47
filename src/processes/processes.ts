import { JsonObject } from "../contract/words.ts";
import { type ChildProcess, spawn } from "node:child_process";
import {
  createWriteStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { Server } from "node:net";
import { release } from "node:os";
import { join } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { z } from "zod";
import { launchBrain, runsPrograms, secretsOf } from "../brains/registry.ts";
import { furthest, type Usage } from "../budgets/budget.ts";
import { hiderOf, type Scrubber, scrubber } from "../redaction/transcripts.ts";
import type { Exit, Runner, Running, SessionLimits, StartSpec } from "./runner.ts";
import {
  byWorkspace,
  descendants,
  killGroup,
  processTable,
  sendSignal,
  startTimeOf,
  workspaceOf,
} from "./process-table.ts";
import { readsOf } from "./reads.ts";
import { remover } from "./removal.ts";
import type { SandboxKeeper } from "./sandbox.ts";
import { memoryUsedUp, processesUsedUp } from "./texts.ts";
import type { Watchdog } from "./watchdog.ts";
import { killGroups, makeGroup, removeAbandonedGroups, removeGroups } from "./cgroups.ts";
import { writeSettings } from "./settings.ts";

/**
 * Runs sessions as processes of this machine. Each session has its own process group, its own workspace and its own
 * environment, which inherits nothing from the daemon. A brain that runs programs runs in a sandbox (sandbox.ts). Where there
 * is none, it does not start, unless the installation allows that.
 *
 * The gate: a process starts behind a gate, which becomes the command when the daemon says so. The daemon says so only after
 * the pid is recorded. If the daemon dies before that, the gate ends without having run anything. So the next start of the
 * daemon knows every process that ever ran a command. In a sandbox the gate is gate.ts, otherwise a line of shell.
 */
export interface ProcessOptions {
  readonly workspaces: string;
  readonly transcripts: string;
  readonly home: string;
  readonly url: () => string;
  readonly sandbox: Pick<SandboxKeeper, "report" | "wrap">;
  /** A sandbox has its own network. Called with the socket on which its session looks for the daemon. */
  readonly onDoor: (door: Server) => void;
  readonly watchdog: Watchdog;
  readonly path: string;
}

const shellGate = 'read -r go <&3 && exec 3<&- && exec "$@"';
const mostOutput = 64 * 1024;
const mostTranscript = 8 * 1024 * 1024;

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
    confirmLeases: (milliseconds) => options.watchdog.confirm(milliseconds),
    start: async (session) => startProcess(options, session, sweep),
    killOrphan: (pid, started, id) => {
      const found = startTimeOf(pid);
      if (found === started) killGroup(pid);
      if (process.platform === "linux") killLeftovers(join(options.workspaces, id));
      // A pid is not reused while a process group has that number. If the leader is gone, the group is what it left.
      else if (found === undefined) killGroup(pid);
    },
    takeExit: (id) => {
      const exit = exitIn(exitFile(options, id));
      rmSync(exitFile(options, id), { force: true });
      return exit;
    },
    cleanUp: async (id) => {
      rmSync(exitFile(options, id), { force: true });
      await remove(join(options.workspaces, id));
    },
    cleanUpOthers: async (own) => {
      if (!existsSync(options.workspaces)) return;
      for (const id of readdirSync(options.workspaces))
        if (!own(id)) await remove(join(options.workspaces, id));
    },
  };
}

export function readTranscript(
  folder: string,
  sessionId: string,
): { transcript: string; truncated: boolean } {
  const file = join(folder, `${sessionId}.log`);
  if (!existsSync(file)) return { transcript: "", truncated: false };
  const text = readFileSync(file, "utf8");
  const most = 1024 * 1024;
  return text.length <= most
    ? { transcript: text, truncated: false }
    : { transcript: text.slice(-most).toWellFormed(), truncated: true };
}

async function startProcess(options: ProcessOptions, session: StartSpec, sweep: Sweep): Promise<Running> {
  mkdirSync(session.workspace, { recursive: true, mode: 0o700 });
  const temporary = join(session.workspace, ".tmp");
  mkdirSync(temporary, { mode: 0o700 });
  const files = writeSettings(session, options.url());
  const launch = launchBrain(session.agent.brain_type, session.agent.brain_config, {
    workspace: session.workspace,
    url: options.url(),
    ...files,
    briefing: session.briefing.text,
    assignment: session.briefing.assignment,
  });
  if (launch === null) throw new Error(`the brain ${session.agent.brain_type} is never started`);
  const command = [launch.command, ...launch.args];
  const env = {
    PATH: options.path,
    HOME: session.workspace,
    TMPDIR: temporary,
    LANG: "C.UTF-8",
    AGENCY_URL: options.url(),
    AGENCY_TOKEN: session.token,
    AGENCY_WORKSPACE: session.workspace,
    ...launch.env,
  };
  const isBoxed = runsPrograms(session.agent.brain_type) && options.sandbox.report().status === "works";
  const group = makeGroup(session.id, session.limits);
  const before = `${group?.join ?? ""}${filesUpTo(session.limits)}`;
  const { child, open } = isBoxed
    ? behindSandboxGate(options, session, { command, env, before })
    : behindShellGate(session.workspace, { command, env, before });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
  const { pid } = child;
  if (pid === undefined) throw new Error("the process has no pid");
  const own = secretsOf(session.agent.brain_type, session.agent.brain_config);
  const secrets = [session.token, ...own, ...session.secrets];
  const transcript = join(options.transcripts, `${session.id}.log`);
  const output = watch(child, transcript, secrets, session.onUsage);
  // A sandbox ends with everything in it. Without one, a process may have left the group.
  const endRest = async (): Promise<void> => {
    killGroups(group?.folders ?? []);
    if (!isBoxed) await sweep(session.workspace);
  };
  const kill = (): void => {
    killGroup(pid);
    void endRest();
  };
  let excess: string | undefined;
  const started = startTimeOf(pid) ?? "";
  const forget = options.watchdog.watch(
    {
      id: session.id,
      pid,
      started,
      workspace: session.workspace,
      limits: session.limits,
      groups: group?.folders ?? [],
    },
    (reason) => {
      excess = reason;
      kill();
    },
  );
  const reason = (): string | undefined => {
    const reached = group?.reached();
    if (excess !== undefined) return excess;
    if (reached?.memory === true) return memoryUsedUp(session.limits.memoryMb);
    return reached?.processes === true ? processesUsedUp(session.limits.processes) : undefined;
  };
  const clear = async (): Promise<void> => {
    await endRest();
    forget();
    void removeGroups(group?.folders ?? []);
  };
  return {
    pid,
    started,
    exited: exitOf(child, output, exitFile(options, session.id), { reason, clear }),
    release: () => {
      open();
      child.stdin?.on("error", () => undefined);
      child.stdin?.end(launch.stdin);
    },
    hold: (still) => {
      const signal = still ? "SIGSTOP" : "SIGCONT";
      sendSignal(-pid, signal);
      // Processes in a sandbox (--new-session) are not in this group.
      for (const inner of descendants(processTable(), pid)) sendSignal(inner.pid, signal);
    },
    kill,
  };
}

/** No file may become larger than all files together may be. The unit of the shell is half a kilobyte. */
const filesUpTo = ({ diskMb }: SessionLimits): string => `ulimit -c 0; ulimit -f ${diskMb * 2048}; `;

interface Gated {
  readonly child: ChildProcess;
  /** Lets the gate become the command. */
  readonly open: () => void;
}

interface Start {
  readonly command: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** What the shell does first: join the group and set limits. */
  readonly before: string;
}

function behindShellGate(workspace: string, { command, env, before }: Start): Gated {
  const child = spawn("/bin/sh", ["-c", `${before}${shellGate}`, "agency-session", ...command], {
    cwd: workspace,
    detached: true,
    stdio: ["pipe", "pipe", "pipe", "pipe"],
    env,
  });
  const pipe = child.stdio[3];
  return {
    child,
    open: () => {
      if (pipe === null || pipe === undefined || !("write" in pipe)) return;
      pipe.on("error", () => undefined);
      pipe.end("go\n");
    },
  };
}

/** The environment goes through the channel, because everyone can see who has which command line, and root every environment. */
function behindSandboxGate(
  options: ProcessOptions,
  { workspace, limits }: StartSpec,
  { command, env, before }: Start,
): Gated {
  const { path, home, sandbox, url } = options;
  const box = { workspace, reads: readsOf(command, { path, home }) };
  const args = [...sandbox.wrap(box, processesUpTo(limits)), url()];
  const child = spawn("/bin/sh", ["-c", `${before}exec bwrap "$@"`, "agency-session", ...args], {
    cwd: workspace,
    detached: true,
    stdio: ["pipe", "pipe", "pipe", "ipc"],
    env: { PATH: path, AGENCY_WORKSPACE: workspace },
  });
  child.once("message", (_, door) => {
    if (!(door instanceof Server)) return;
    options.onDoor(door);
    child.once("exit", () => door.close());
  });
  return { child, open: () => void child.send({ command, env }, () => undefined) };
}

/**
 * Inside, because it counts the processes of the sandbox's user, and since Linux 5.14 only those in the sandbox. It does not hold
 * for a daemon that runs as root. Shells disagree about the letter.
 */
function processesUpTo({ processes }: SessionLimits): string {
  const [major = 0, minor = 0] = release().split(".").map(Number);
  const counts = major > 5 || (major === 5 && minor >= 14);
  return counts ? `ulimit -p ${processes} 2>/dev/null || ulimit -u ${processes} 2>/dev/null; ` : "";
}

interface Watched {
  readonly tail: () => string;
  readonly usage: () => Usage | undefined;
  readonly close: () => void;
}

/** Writes all output to the transcript, up to its limit, keeps the end of it, and passes on the lines that report usage. */
function watch(
  child: ChildProcess,
  transcript: string,
  secrets: readonly string[],
  onUsage: StartSpec["onUsage"],
): Watched {
  const file = createWriteStream(transcript, { mode: 0o600 });
  file.on("error", () => undefined);
  let written = 0;
  let tail = "";
  let usage: Usage | undefined;
  const hear = (line: string): void => {
    const said = usageIn(line);
    if (said === undefined) return;
    const before = usage;
    usage = furthest(before, said);
    if (JSON.stringify(usage) !== JSON.stringify(before)) onUsage(usage);
  };
  const [scrubOutput, scrubErrors] = [scrubber(secrets), scrubber(secrets)];
  const see = (scrub: Scrubber, chunk: Buffer): void => {
    if (written < mostTranscript) file.write(scrub.write(chunk));
    written += chunk.byteLength;
  };
  // Only stdout is the final output. Usage counts on stderr too.
  const [output, errors] = [listener(hear), listener(hear)];
  child.stdout?.on("data", (chunk: Buffer) => {
    see(scrubOutput, chunk);
    tail = (tail + output(chunk)).slice(-mostOutput);
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    see(scrubErrors, chunk);
    errors(chunk);
  });
  return {
    tail: () => hiderOf(secrets)(tail),
    usage: () => usage,
    close: () => file.end(scrubOutput.end() + scrubErrors.end()),
  };
}

/** Assembles lines. A pipe may cut anywhere, even inside a character, and some brains never end their last line. */
function listener(hear: (line: string) => void): (chunk: Buffer) => string {
  const decoder = new StringDecoder("utf8");
  let line = "";
  return (chunk) => {
    const text = decoder.write(chunk);
    line += text;
    for (let end = line.indexOf("\n"); end >= 0; end = line.indexOf("\n")) {
      hear(line.slice(0, end));
      line = line.slice(end + 1);
    }
    line = line.slice(-mostOutput);
    if (line.trimEnd().endsWith("}")) hear(line);
    return text;
  };
}

/** The usage that a line reports. A value that is not a number counts as 0. budgets/ decides whether it can be true. */
export function usageIn(line: string): Usage | undefined {
  if (!line.includes('"usage"')) return undefined;
  try {
    const parsed = Fields.parse(JSON.parse(line));
    if (!("usage" in parsed)) return undefined;
    const said = Fields.parse(parsed["usage"]);
    return {
      ...amounts(said),
      ...("consultants" in said ? { consultants: amounts(said["consultants"]) } : {}),
    };
  } catch {
    return undefined;
  }
}

function amounts(said: unknown): Omit<Usage, "consultants"> {
  const { inputTokens, outputTokens, costUsd } = Fields.parse(said);
  return { inputTokens: amount(inputTokens), outputTokens: amount(outputTokens), costUsd: amount(costUsd) };
}

/** A process may print anything: where it should have printed an object and did not, nothing was said. */
const Fields = JsonObject.catch({});

function amount(value: unknown): number {
  return typeof value === "number" && value >= 0 ? value : 0;
}

const exitFile = ({ transcripts }: ProcessOptions, id: string): string => join(transcripts, `${id}.exit`);

/** Renamed only when complete, so a crash while writing leaves no half-written file. */
function keepExit(file: string, exit: Exit): void {
  try {
    writeFileSync(`${file}.part`, JSON.stringify(exit), { mode: 0o600 });
    renameSync(`${file}.part`, file);
  } catch {
    // The disk is full, for example. If the daemon dies before the session is settled, its output is lost.
  }
}

function exitIn(file: string): Exit | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return KeptExit.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch {
    // After a power failure the file may exist without its content.
    return undefined;
  }
}

const spent = { inputTokens: z.number(), outputTokens: z.number(), costUsd: z.number() };
const KeptExit = z.object({
  code: z.number().nullable(),
  reason: z.string(),
  output: z.string(),
  usage: z.object({ ...spent, consultants: z.object(spent).exactOptional() }).exactOptional(),
});

function exitOf(
  child: ChildProcess,
  output: Watched,
  file: string,
  { reason, clear }: { reason: () => string | undefined; clear: () => Promise<void> },
): Promise<Exit> {
  return new Promise((resolve) => {
    child.once("close", (code, signal) => {
      output.close();
      // Kills what the process left behind in its group.
      if (child.pid !== undefined) killGroup(child.pid);
      const usage = output.usage();
      const exit = {
        code,
        reason:
          (code === 0 ? undefined : reason()) ??
          (signal === null ? `exited with code ${code ?? "unknown"}` : `ended by ${signal}`),
        output: output.tail().toWellFormed(),
        ...(usage === undefined ? {} : { usage }),
      };
      keepExit(file, exit);
      void clear().then(() => resolve(exit));
    });
    // A grandchild may hold the output pipes open. That must not keep the session alive.
    child.once("exit", () => {
      setTimeout(() => {
        child.stdout?.destroy();
        child.stderr?.destroy();
      }, 1000).unref();
    });
  });
}

/**
 * A process that ended while no daemon was running may have left others behind, in its group or outside. All processes are read
 * once for all sessions. Each is read again before it is killed, because pids are reused.
 */
function leftoverKiller(): (workspace: string) => void {
  let seen: Map<string, number[]> | undefined;
  return (workspace) => {
    seen ??= byWorkspace();
    for (const pid of seen.get(workspace) ?? [])
      if (workspaceOf(pid) === workspace) sendSignal(pid, "SIGKILL");
  };
}

type Sweep = (workspace: string) => Promise<void>;

/**
 * Kills processes that left the group of a session, such as a background server, but kept its environment. Reading all
 * processes takes a while, and sessions often end together, so all that end within 10 ms share one reading.
 */
function sweeper(): Sweep {
  const wanted = new Set<string>();
  let look: Promise<void> | undefined;
  return async (workspace) => {
    if (process.platform !== "linux") return;
    wanted.add(workspace);
    look ??= new Promise((resolve) => {
      setTimeout(() => {
        look = undefined;
        const all = byWorkspace();
        for (const one of wanted) for (const pid of all.get(one) ?? []) sendSignal(pid, "SIGKILL");
        wanted.clear();
        resolve();
      }, 10);
    });
    await look;
  };
}

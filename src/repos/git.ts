import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, createReadStream, createWriteStream, existsSync, openSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Origin } from "./repository.ts";

/**
 * Runs git as if an attacker wrote everything that git reads:
 *   settings    no configuration of the system or of a user; a repository's configuration can start nothing (hooks, fsmonitor, filters)
 *   transports  only those that the call names; never `ext::` or helpers of other names
 *   arguments   a list, never a shell; options end with `--` before anything that a caller chose
 *   prompts     none
 *   limits      of time and output, for the process and everything it started
 * If there is a sandbox, commands that read a session's own repository or check out files run in it as well.
 */
export interface GitRun {
  readonly args: readonly string[];
  readonly input?: string;
  /** The file to read as input. */
  readonly inputFile?: string;
  /** The file for the output. Default: the output is returned. */
  readonly output?: string;
  readonly mostBytes?: number;
  readonly seconds?: number;
  /** The transport that may be used. Default: none. */
  readonly transport?: Origin["transport"];
  readonly credential?: Credential;
  readonly way?: OriginWay;
  readonly env?: Readonly<Record<string, string>>;
  /** The limit of address space in megabytes. */
  readonly memoryMb?: number;
  readonly within?: Enclosure;
}

/** How git reaches the address of an origin (origin-way.ts). */
export interface OriginWay {
  readonly settings: readonly string[];
  /** Options for ssh. */
  readonly ssh: readonly string[];
}

/** The sandbox of a command. */
export interface Enclosure {
  readonly program: string;
  /** Arguments before the command. */
  readonly args: readonly string[];
  /** The file that the sandbox gets as descriptor 4. */
  readonly filter: string;
}

export interface GitResult {
  readonly ok: boolean;
  readonly out: string;
  /** The complaints of git. */
  readonly says: string;
  /** The limit that ended git, if one did. */
  readonly cut: "size" | "time" | null;
}

/** A value for one origin. For https a token or user:password, for ssh a private key. */
export interface Credential {
  readonly origin: Origin;
  readonly value: string;
}

const settings = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.protectHFS=true",
  "core.protectNTFS=true",
  "core.askPass=",
  "credential.helper=",
  "protocol.ext.allow=never",
  "submodule.recurse=false",
  "fetch.recurseSubmodules=false",
  "push.recurseSubmodules=no",
  "push.gpgSign=false",
  "http.followRedirects=false",
  "http.lowSpeedLimit=1000",
  "http.lowSpeedTime=30",
  "gc.auto=0",
  "maintenance.auto=false",
  "transfer.fsckObjects=true",
  // Old histories contain these, and they are harmless.
  ...["zeroPaddedFilemode", "badTimezone", "missingSpaceBeforeDate", "missingNameBeforeEmail"].map(
    (wart) => `fetch.fsck.${wart}=ignore`,
  ),
  "advice.detachedHead=false",
  "init.defaultBranch=main",
];

export async function runGit(run: GitRun): Promise<GitResult> {
  const { credential } = run;
  if (credential?.origin.transport !== "ssh") return start(run, {});
  return withKey(credential.value, (socket) => start(run, { SSH_AUTH_SOCK: socket }));
}

async function start(run: GitRun, more: Readonly<Record<string, string>>): Promise<GitResult> {
  const { args, within, credential, seconds = 60, mostBytes = 16 * 1024 * 1024 } = run;
  const isSecret = credential !== undefined && credential.origin.transport !== "ssh";
  const command = [
    "git",
    ...[
      ...settings,
      ...(run.way?.settings ?? []),
      ...(isSecret ? [helperFor(credential.origin)] : []),
    ].flatMap((each) => ["-c", each]),
    ...args,
  ];
  const limits = `ulimit -c 0; ${run.memoryMb === undefined ? "" : `ulimit -v ${run.memoryMb * 1024}; `}`;
  const shell = ["-c", `${limits}exec "$@"`, "agency-git"];
  const filter = within === undefined ? undefined : openSync(within.filter, "r");
  const child = spawn(
    "/bin/sh",
    [...shell, ...(within ? [within.program, ...within.args] : []), ...command],
    {
      cwd: "/",
      detached: true,
      stdio: [
        run.input === undefined && run.inputFile === undefined ? "ignore" : "pipe",
        "pipe",
        "pipe",
        isSecret ? "pipe" : "ignore",
        filter ?? "ignore",
      ],
      env: { ...environment(run), ...more, ...run.env },
    },
  );
  if (filter !== undefined) closeSync(filter);
  let cut: GitResult["cut"] = null;
  const end = (why: "size" | "time"): void => {
    cut ??= why;
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // The process has ended.
    }
  };
  const timer = setTimeout(end, seconds * 1000, "time");
  timer.unref();
  const closed = once(child, "close").then(([code]) => code === 0);
  feed(child.stdin, run);
  const secretPipe = child.stdio[3];
  if (isSecret && secretPipe && "end" in secretPipe) {
    secretPipe.on("error", () => undefined);
    secretPipe.end(loginOf(credential.value));
  }
  try {
    const [out, says] = await Promise.all([
      take(child.stdout, mostBytes, run.output, () => end("size")),
      take(child.stderr, 64 * 1024, undefined, () => undefined),
    ]);
    const ok = (await closed) && cut === null;
    return { ok, out, says: said(says, cut, seconds), cut };
  } finally {
    clearTimeout(timer);
  }
}

function feed(stdin: NodeJS.WritableStream | null, { input, inputFile }: GitRun): void {
  if (stdin === null) return;
  stdin.on("error", () => undefined);
  if (inputFile === undefined) stdin.end(input ?? "");
  else
    createReadStream(inputFile)
      .on("error", () => stdin.end())
      .pipe(stdin);
}

async function take(
  stream: Readable | null,
  most: number,
  file: string | undefined,
  full: () => void,
): Promise<string> {
  if (stream === null) return "";
  const sink = file === undefined ? undefined : createWriteStream(file, { mode: 0o600, flush: true });
  const failed =
    sink === undefined ? undefined : once(sink, "error").then(([error]) => Promise.reject(error));
  failed?.catch(() => undefined);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    if (!Buffer.isBuffer(chunk)) continue;
    bytes += chunk.byteLength;
    if (bytes > most) {
      full();
      continue;
    }
    if (sink === undefined) chunks.push(chunk);
    else if (!sink.write(chunk)) await Promise.race([once(sink, "drain"), failed]);
  }
  if (sink === undefined) return Buffer.concat(chunks).toString("utf8");
  sink.end();
  await Promise.race([once(sink, "close"), failed]);
  return "";
}

/** The lines of git that say what went wrong, without its advice. */
function said(text: string, cut: GitResult["cut"], seconds: number): string {
  if (cut === "time") return `git did not finish within ${seconds} s`;
  if (cut === "size") return "the output of git is larger than allowed";
  const lines = text
    .split("\n")
    .map((line) => line.replace(/^(?:fatal|error|warning|remote|hint): */i, "").trim())
    .filter((line) => line !== "" && !line.startsWith("Cloning into"));
  return lines.slice(0, 4).join("; ").slice(0, 600);
}

function environment({ transport, credential, way }: GitRun): NodeJS.ProcessEnv {
  const path = process.env["PATH"] ?? "/usr/bin:/bin";
  const own = transport === "ssh" && credential === undefined ? process.env["SSH_AUTH_SOCK"] : undefined;
  return {
    PATH: path,
    // Only ssh looks into the home. Git's own files are named below.
    HOME: transport === "ssh" ? homedir() : "/nonexistent",
    LANG: "C.UTF-8",
    LC_ALL: "C.UTF-8",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_SYSTEM: "/dev/null",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_TERMINAL_PROMPT: "0",
    GIT_ASKPASS: "/bin/false",
    SSH_ASKPASS: "/bin/false",
    GIT_ALLOW_PROTOCOL: transport ?? "",
    GIT_PROTOCOL_FROM_USER: "0",
    GIT_NO_REPLACE_OBJECTS: "1",
    GIT_LFS_SKIP_SMUDGE: "1",
    GIT_SSH_COMMAND: sshCommand([...sshOptions, ...(way?.ssh ?? [])], credential !== undefined),
    ...(own === undefined ? {} : { SSH_AUTH_SOCK: own }),
  };
}

const sshOptions = [
  "BatchMode=yes",
  "ConnectTimeout=10",
  "StrictHostKeyChecking=accept-new",
  "PermitLocalCommand=no",
  "ForwardAgent=no",
];

/**
 * The ssh command, which git passes to a shell. `isAlone` leaves out the configuration and the keys of the person who started
 * the daemon.
 */
const sshCommand = (options: readonly string[], isAlone: boolean): string => {
  const all = isAlone ? [...options, "IdentityFile=none"] : options;
  const quoted = all.map((each) => `-o '${each.replaceAll("'", `'\\''`)}'`);
  return ["ssh", ...(isAlone ? ["-F none"] : []), ...quoted].join(" ");
};

/** The program that git asks for the login of the origin's host. The value comes through a pipe that only this process has. */
const helperFor = ({ transport, host }: Origin): string =>
  `credential.${transport}://${host ?? ""}.helper=!f() { test "$1" = get && cat <&3; }; f`;

function loginOf(value: string): string {
  const [, user, password] = /^([^:\s]+):(\S+)$/.exec(value.trim()) ?? [];
  return `username=${user ?? "x-access-token"}\npassword=${password ?? value.trim()}\n`;
}

/**
 * Ssh takes a key from a file or from an agent. A file would hold the key in plain text, so an agent runs for this one call.
 */
async function withKey<T>(key: string, work: (socket: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "agency-ssh-"));
  const socket = join(folder, "agent");
  const env = {
    PATH: process.env["PATH"] ?? "/usr/bin:/bin",
    SSH_AUTH_SOCK: socket,
    SSH_ASKPASS: "/bin/false",
  };
  const agent = spawn("ssh-agent", ["-D", "-a", socket], { stdio: "ignore", env });
  const failed = once(agent, "error").then(() => undefined);
  try {
    for (let tries = 0; !existsSync(socket) && tries < 100; tries++) await Promise.race([sleep(20), failed]);
    const adding = spawn("ssh-add", ["-q", "-"], { stdio: ["pipe", "ignore", "ignore"], env });
    adding.on("error", () => undefined);
    adding.stdin.on("error", () => undefined);
    adding.stdin.end(key.endsWith("\n") ? key : `${key}\n`);
    await once(adding, "close");
    return await work(socket);
  } finally {
    agent.kill("SIGKILL");
    await rm(folder, { recursive: true, force: true });
  }
}

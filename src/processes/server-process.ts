import { existsSync, mkdirSync, rmSync, statSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { join } from "node:path";
import { once } from "node:events";
import { killGroups, makeGroup, removeGroups } from "./cgroups.ts";
import { sweeper } from "./leftovers.ts";
import { killGroup, startTimeOf } from "./process-table.ts";
import { type ProcessOptions, proxyVariables } from "./processes.ts";
import { isApartFrom } from "./reads.ts";
import { remover } from "./removal.ts";
import type { SessionLimits } from "./runner.ts";
import { behindSandboxGate, behindShellGate, filesUpTo } from "./starting.ts";
import { itWrote, noSandboxForServer, pathMissing, pathOfAgency } from "./texts.ts";

/**
 * Runs the MCP servers that are programs: each in a sandbox, in a folder that is removed with it. A server has secrets, so it
 * shares nothing with the session it works for: no files, no processes, and only the hosts that its record names.
 */
export interface ServerSpec {
  readonly id: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  readonly limits: SessionLimits;
  /** The token with which the server reaches other hosts (gateway/relay.ts). */
  readonly token: string;
}

export interface ServerProcess {
  readonly pid: number;
  readonly input: Writable;
  readonly output: Readable;
  /** Resolves with how it ended and the last lines of its standard error. By then everything it left is gone. */
  readonly exited: Promise<string>;
  kill(): void;
}

export type StartServer = (spec: ServerSpec) => Promise<ServerProcess>;

/** More than is shown: a value that is cut off could not be found and hidden. */
const mostComplaint = 64 * 1024;

export function serverStarter(
  options: Omit<ProcessOptions, "workspaces" | "transcripts" | "agentHomes"> & { readonly servers: string },
): StartServer {
  const sweep = sweeper();
  const remove = remover();
  // Remove the folders of an earlier run.
  rmSync(options.servers, { recursive: true, force: true });
  return async (spec) => {
    const { status, unsandboxedAllowed } = options.sandbox.report();
    const isBoxed = status === "works";
    if (!isBoxed && !unsandboxedAllowed) throw new Error(noSandboxForServer);
    const { reads, writes, limits } = spec;
    for (const path of [...reads, ...writes]) {
      if (!existsSync(path)) throw new Error(pathMissing(path));
      if (!isApartFrom(path, options.home)) throw new Error(pathOfAgency(path));
    }
    const workspace = join(options.servers, spec.id);
    const home = join(workspace, "home");
    mkdirSync(home, { recursive: true, mode: 0o700 });
    const env = {
      PATH: options.path,
      HOME: home,
      TMPDIR: isBoxed ? "/tmp" : home,
      LANG: "C.UTF-8",
      AGENCY_WORKSPACE: workspace,
      ...proxyVariables(options.url(), spec.token),
      ...spec.env,
    };
    const group = makeGroup(`server-${spec.id}`, limits);
    const before = `${group?.join ?? ""}${filesUpTo(limits)}`;
    const start = { command: spec.command, env, before };
    const { child, open } = isBoxed
      ? behindSandboxGate(
          options,
          { workspace, limits },
          { ...start, home, reads, writes: writes.filter(isFolder) },
        )
      : behindShellGate(workspace, start);
    await once(child, "spawn");
    const { pid, stdin, stdout, stderr } = child;
    if (pid === undefined || stdin === null || stdout === null || stderr === null)
      throw new Error("the process has no pid");
    stdin.on("error", () => undefined);
    let complaint = "";
    stderr
      .setEncoding("utf8")
      .on("data", (piece: string) => (complaint = (complaint + piece).slice(-mostComplaint)));
    let excess: string | undefined;
    const kill = (): void => {
      killGroup(pid);
      killGroups(group?.folders ?? []);
    };
    const forget = options.watchdog.watch(
      {
        id: spec.id,
        pid,
        started: startTimeOf(pid) ?? "",
        folders: [workspace],
        workspace,
        limits,
        groups: group?.folders ?? [],
      },
      (reason) => {
        excess = reason;
        kill();
      },
    );
    const exited = once(child, "close").then(async ([code, signal]: unknown[]) => {
      kill();
      if (!isBoxed) await sweep(workspace);
      forget();
      void removeGroups(group?.folders ?? []);
      await remove(workspace).catch(() => undefined);
      const how =
        excess ??
        (typeof signal === "string" ? `It was ended by ${signal}.` : `It ended with code ${String(code)}.`);
      const whole =
        complaint.length < mostComplaint ? complaint : complaint.slice(complaint.indexOf("\n") + 1);
      return whole.trim() === "" ? how : `${how}${itWrote}${whole.trim()}`;
    });
    open();
    return { pid, input: stdin, output: stdout, exited, kill };
  };
}

const isFolder = (path: string): boolean => statSync(path).isDirectory();

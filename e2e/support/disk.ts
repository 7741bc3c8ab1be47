// A small separate disk, which a test fills up. A process keeps a mount namespace with a file system in memory. Both end with
// the test process. This needs no rights outside if user namespaces are allowed, and root otherwise.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface SmallDisk {
  /** A path that is valid inside and outside of the namespace. */
  readonly path: string;
  /** The prefix of a command that runs where the disk is mounted at this path. */
  readonly enter: readonly [string, ...string[]];
  readonly free: () => number;
  /** Writes junk until the disk is full. */
  fill(): void;
  /** Removes the junk. */
  empty(): void;
  /** Makes the disk larger, so space returns. */
  grow(megabytes: number): Promise<void>;
  remove(): Promise<void>;
}

export async function smallDisk(megabytes: number): Promise<SmallDisk> {
  const isRoot = process.getuid?.() === 0;
  const flags = isRoot ? ["--mount"] : ["--user", "--map-root-user", "--mount"];
  const script = `mount -t tmpfs -o size=${megabytes}m,mode=0755 tmpfs /mnt && echo ready && exec cat`;
  const keeper = spawn("unshare", [...flags, "sh", "-c", script], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(keeper, "exit");
  await Promise.race([
    once(createInterface({ input: keeper.stdout }), "line"),
    ended.then(() => Promise.reject(new Error("this system does not allow a mount namespace"))),
  ]);
  const pid = String(keeper.pid);
  const path = join("/proc", pid, "root", "mnt");
  const junk = join(path, "junk");
  const free = (): number => {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize;
  };
  const nsenter = ["-t", pid, ...(isRoot ? [] : ["-U", "--preserve-credentials"]), "-m", "--"];
  return {
    path,
    enter: ["nsenter", ...nsenter],
    grow: async (size) => {
      const remount = ["mount", "-o", `remount,size=${size}m`, "/mnt"];
      const [code]: unknown[] = await once(spawn("nsenter", [...nsenter, ...remount]), "exit");
      if (code !== 0) throw new Error("the disk did not grow");
    },
    free,
    fill: () => {
      for (let size = 1024 * 1024; size >= 4096; size = size > 4096 ? 4096 : 0)
        try {
          for (;;) writeFileSync(junk, new Uint8Array(size), { flag: "a" });
        } catch {
          // The disk is full.
        }
    },
    empty: () => rmSync(junk, { force: true }),
    remove: async () => {
      keeper.stdin.end();
      await ended;
    },
  };
}

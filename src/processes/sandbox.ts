import { execFileSync } from "node:child_process";

/**
 * Wraps a command in bubblewrap. The session sees the system read-only and can write only to its workspace. The home folder
 * with the data of all companies is empty for it. Its processes have their own pid namespace, which ends with the daemon.
 */
export function sandboxed(command: readonly string[], at: { home: string; workspace: string }): string[] {
  return [
    "bwrap",
    "--die-with-parent",
    "--unshare-pid",
    "--unshare-ipc",
    "--new-session",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--tmpfs",
    at.home,
    "--bind",
    at.workspace,
    at.workspace,
    "--chdir",
    at.workspace,
    "--",
    ...command,
  ];
}

/** Tries bubblewrap. Being installed is not enough: some systems forbid the namespaces it needs. */
export function sandboxWorks(): boolean {
  try {
    execFileSync(
      "bwrap",
      ["--unshare-pid", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--", "true"],
      {
        stdio: "ignore",
        timeout: 5000,
      },
    );
    return true;
  } catch {
    return false;
  }
}

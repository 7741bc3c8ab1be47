import { execFileSync } from "node:child_process";

/**
 * bubblewrap, where it is there and allowed to work: the session sees the system read-only, its own workspace, and nothing
 * of the home folder; its processes have a pid namespace of their own that ends with the daemon.
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

/** Does it work here? Being installed is not enough: some systems forbid the namespaces it needs. */
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

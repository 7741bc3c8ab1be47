/**
 * The first program in a sandbox. It does nothing until the daemon opens it, and then becomes the command.
 *
 * The sandbox has its own loopback without a way out. The gate listens there, at the port where the daemon listens outside, and
 * passes the listening socket to the daemon. So the daemon answers at the address in AGENCY_URL, and no process has to relay bytes.
 *
 * Started without a channel, the gate ends after it has listened: that proves that the sandbox works. If the daemon dies, the
 * channel closes, and the gate ends without having run anything.
 */
import { closeSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";

/** O_CLOEXEC, as Linux shows it. */
const closeOnExec = 0o2000000;

const { hostname, port } = new URL(process.argv[2] ?? "");
const door = createServer();
const listening = new Promise<void>((resolve, reject) => {
  door.once("error", reject);
  door.listen(Number(port), hostname.replaceAll(/[[\]]/g, ""), resolve);
});

// Node emits no "disconnect" while a socket it sent is not acknowledged, so the gate checks the connection itself.
if (process.send !== undefined) setInterval(() => process.connected || process.exit(1), 100);
process.once("message", (order: { readonly command: readonly string[]; readonly env: NodeJS.ProcessEnv }) => {
  void listening.then(() => {
    closeInherited();
    // The shell finds the command, and reports what is wrong if it can't be run.
    process.execve?.("/bin/sh", ["sh", "-c", 'exec "$@"', "agency-session", ...order.command], order.env);
  });
});
await listening;
if (process.send === undefined) door.close();
else process.send("door", door);

/** Node marks its own descriptors to be closed. Other descriptors come from the program that started the daemon. */
function closeInherited(): void {
  for (const name of readdirSync("/proc/self/fd")) {
    if (Number(name) <= 2) continue;
    try {
      const flags = /^flags:\s+(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${name}`, "utf8"))?.[1] ?? "0";
      if ((Number.parseInt(flags, 8) & closeOnExec) === 0) closeSync(Number(name));
    } catch {
      // This was the descriptor of the list itself.
    }
  }
}

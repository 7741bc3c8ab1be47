import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { text } from "node:stream/consumers";

/** PgBouncer in transaction mode in front of a database. All its clients share a few connections of the server. */
export interface PgBouncer {
  readonly url: string;
  stop(): Promise<void>;
}

const nobody = 65534;

export async function startPgBouncer(
  program: string,
  databaseUrl: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<PgBouncer> {
  const { hostname, port, username, password, pathname } = new URL(databaseUrl);
  const isRoot = process.getuid?.() === 0;
  // PgBouncer refuses to run as root, so its folder must be accessible to another user.
  const folder = mkdtempSync(join(isRoot ? "/tmp" : tmpdir(), "agency-pgbouncer-"));
  chmodSync(folder, 0o755);
  const own = await freePort();
  const all = {
    listen_addr: "127.0.0.1",
    listen_port: String(own),
    unix_socket_dir: "",
    auth_type: "any",
    pool_mode: "transaction",
    default_pool_size: "3",
    max_client_conn: "200",
    ...settings,
  };
  const file = join(folder, "pgbouncer.ini");
  writeFileSync(
    file,
    `[databases]\nagency = host=${hostname} port=${port} dbname=${pathname.slice(1)} user=${username} password=${password}\n[pgbouncer]\n${Object.entries(
      all,
    )
      .map(([name, value]) => `${name} = ${value}\n`)
      .join("")}`,
    { mode: 0o600 },
  );
  if (isRoot) chownSync(file, nobody, nobody);
  const child = spawn(program, ["-q", file], {
    cwd: folder,
    stdio: ["ignore", "ignore", "pipe"],
    ...(isRoot ? { uid: nobody, gid: nobody } : {}),
  });
  const endWithUs = (): void => void child.kill("SIGKILL");
  process.once("exit", endWithUs);
  const said = text(child.stderr);
  const ended = once(child, "exit");
  while (!(await listens(own))) {
    if (child.exitCode !== null) throw new Error(`PgBouncer did not start: ${await said}`);
    await sleep(20);
  }
  return {
    url: `postgres://agency@127.0.0.1:${own}/agency`,
    stop: async () => {
      child.kill("SIGKILL");
      await ended;
      process.off("exit", endWithUs);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => (socket.destroy(), resolve(true)));
    socket.once("error", () => resolve(false));
  });

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}

// A hostile agent tries to escape from its sandbox (support/hostile.mjs). It runs as a normal user and, if the tests run as
// root, also as root.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { createServer, type Server } from "node:net";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { hostname, networkInterfaces } from "node:os";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { updateCompany } from "../src/contract/companies.ts";
import { terminateAgent } from "../src/contract/agents.ts";
import { createAgent } from "../src/contract/hiring.ts";
import { createFile, readFile } from "../src/contract/knowledge.ts";
import { viewInstallation } from "../src/contract/installation.ts";
import { sendMessage } from "../src/contract/mail.ts";
import { type BuiltDaemon, startDaemon, temporaryFolder } from "./support/daemon.ts";
import { sleeper } from "./support/agents.ts";
import { gone, type SessionProcess, sessionProcesses } from "./support/processes.ts";

const built = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));
const program = fileURLToPath(new URL("support/hostile.mjs", import.meta.url));
const leastAttempts = 60;
const isRoot = process.getuid?.() === 0;
const other = 65_534;

// covers KB-13
for (const user of isRoot ? ["root", "a normal user"] : ["a normal user"])
  test(`a hostile session of ${user} reads and reaches nothing outside, and leaves nothing behind`, (t) =>
    withHost(t, async (host) => {
      const home = temporaryFolder("hostile");
      const isOther = isRoot && user !== "root";
      if (isOther) chownSync(home.path, other, other);
      const as = ["setpriv", `--reuid=${other}`, `--regid=${other}`, "--clear-groups"] as const;
      const daemon = await startDaemon({
        home: home.path,
        env: { AGENCY_ALLOW_UNSANDBOXED: "" },
        // The program that starts the daemon may leave a descriptor open. A session must not get it.
        command: [
          "bash",
          "-c",
          'exec 40<"$0"; exec "$@"',
          host.secret,
          ...(isOther ? as : []),
          process.execPath,
          built,
        ],
      }).ready;
      try {
        await play(t, daemon, host);
      } finally {
        await daemon.stop();
        home.remove();
      }
    }));

interface Host {
  readonly secret: string;
  readonly places: Record<string, unknown>;
}

async function play(t: TestContext, daemon: BuiltDaemon, host: Host): Promise<void> {
  const { board, companyId, home } = daemon;
  assert.equal((await board.call(viewInstallation, {})).sandbox.status, "works");
  await board.call(updateCompany, { companyId, maxSessionDiskMb: 64 });
  const sibling = await hire(daemon, "Sibling", sleeper.adapterConfig);
  const [beside] = await waitFor(() =>
    sessionProcesses(home).filter(({ command }) => command.startsWith("sleep")),
  );
  assert.ok(beside !== undefined);
  // A session must not reach the files of the store, not even those it may write with the knowledge tool.
  const description = "kept in the store";
  const { id: kept, hash } = await board.call(createFile, { companyId, description, content: description });
  const stored = join(home, "knowledge", kept, hash);
  await waitFor(() => [stored].filter((path) => existsSync(path)));
  // Unique, but a number: it is how many seconds the remaining processes would live.
  const mark = 1_000_000 + Math.floor(Math.random() * 1_000_000_000);
  const hidden = [home, dirname(host.secret), program, process.execPath].map(
    (path) => path.split("/")[1] ?? "",
  );
  const places = {
    ...host.places,
    home,
    stored,
    mark,
    daemon: daemon.pid,
    test: process.pid,
    hostname: hostname(),
    sibling: join(home, "workspaces", beside.sessionId, "system-prompt.md"),
    siblingHome: join(home, "homes", sibling.id),
    siblingPid: beside.pid,
    programFolder: dirname(program),
    tops: hidden,
    temporary: [home, program, process.execPath]
      .filter((path) => path.startsWith("/tmp/"))
      .map((path) => path.split("/")[2]),
  };
  const hostile = await hire(daemon, "Hostile", {
    command: process.execPath,
    // A sandbox shows files that arguments name, but none of Agency's home.
    args: [program, join(home, "board-token")],
    env: { HOSTILE: JSON.stringify(places) },
  });
  const said = await waitFor(() => {
    const texts = readdirSync(join(home, "transcripts")).map((name) =>
      readFileSync(join(home, "transcripts", name), "utf8")
        .split("\n")
        .filter((line) => line.startsWith("{") && line.endsWith("}"))
        .map((line): string => Object(JSON.parse(line)).text ?? "")
        .join(""),
    );
    return texts.filter((text) => /^attempts: \d+$/m.test(text));
  });
  const lines = said.join("\n").split("\n");
  const through = lines.filter((line) => line.startsWith("THROUGH"));
  const held = lines.filter((line) => line.startsWith("held"));
  t.diagnostic(`${held.length} attempts held, ${through.length} got through`);
  assert.deepEqual(through, []);
  assert.ok(held.length >= leastAttempts, `${held.length} attempts`);
  assert.equal(Number(/^attempts: (\d+)$/m.exec(said.join("\n"))?.[1]), held.length);
  assert.ok(!said.join("\n").includes("canary"));
  assert.deepEqual(readdirSync(dirname(stored)), [hash]);
  assert.equal((await board.call(readFile, { id: kept })).content, description);
  for (const path of ["x", "workspaces/x"]) assert.ok(!existsSync(join(home, path)), path);

  const left = (): SessionProcess[] =>
    readdirSync("/proc").flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
        const isLeft = command.startsWith(`sleep ${mark}`);
        return isLeft ? [{ pid: Number(pid), sessionId: "hostile", command }] : [];
      } catch {
        return [];
      }
    });
  // The shells that it started continue to start them.
  await waitFor(() => (left().length >= 6 ? left() : []));
  for (const { id } of [hostile, sibling]) await board.call(terminateAgent, { id });
  // Processes that were hidden from the first list are in the second.
  const took = await gone(() => [...sessionProcesses(home), ...left()], 5000, "force-stop");
  t.diagnostic(`no process ${Math.round(took)} ms after the force-stop`);
  assert.equal((await fetch(`${daemon.url}/api/health`)).status, 200);
  assert.equal(daemon.log(), "");
}

async function hire(
  { board, companyId }: BuiltDaemon,
  name: string,
  adapterConfig: { command: string; args: readonly string[]; env?: Record<string, string> },
): Promise<{ id: string }> {
  const config = { ...adapterConfig, args: [...adapterConfig.args] };
  const agent = await board.call(createAgent, {
    companyId,
    name,
    role: "Tester",
    adapterType: "process",
    adapterConfig: config,
  });
  await board.call(sendMessage, { companyId, to: agent.id, body: "begin" });
  return agent;
}

/** Things that a hostile program could find on a person's machine: files, sockets and services. */
async function withHost(t: TestContext, run: (host: Host) => Promise<void>): Promise<void> {
  const folder = temporaryFolder("person");
  const secret = join(folder.path, "notes.txt");
  const shared = join("/dev/shm", `agency-canary-${process.pid}`);
  const abstract = `agency-hostile-${randomUUID()}`;
  const servers: Server[] = [];
  const udp = createSocket("udp4", (_, from) => udp.send("pong", from.port, from.address));
  const memory = /\d+/.exec(execFileSync("ipcmk", ["-M", "4096"], { encoding: "utf8" }))?.[0] ?? "";
  try {
    writeFileSync(secret, "canary of a person");
    writeFileSync(shared, "canary in shared memory");
    // Readable by every user, so only the sandbox can keep the program from it.
    for (const path of [secret, shared]) chmodSync(path, 0o644);
    chmodSync(folder.path, 0o755);
    const listen = async (where: object): Promise<Server> => {
      const server = createServer((socket) => socket.end("canary"));
      servers.push(server);
      server.listen(where);
      await once(server, "listening");
      return server;
    };
    const service = (await listen({ port: 0, host: "::" })).address();
    assert.ok(typeof service === "object" && service !== null);
    const socket = join(folder.path, "socket");
    await listen({ path: socket });
    chmodSync(socket, 0o777);
    await listen({ path: `\0${abstract}` });
    udp.bind(0, "127.0.0.1");
    await once(udp, "listening");
    const addresses = Object.values(networkInterfaces())
      .flatMap((list) => list ?? [])
      .filter(({ internal, family }) => !internal && family === "IPv4")
      .map(({ address }) => address);
    await run({
      secret,
      places: {
        secret,
        shared,
        socket,
        abstract,
        addresses,
        port: service.port,
        udpPort: udp.address().port,
      },
    });
  } finally {
    for (const server of servers) server.close();
    udp.close();
    rmSync(shared, { force: true });
    execFileSync("ipcrm", ["-m", memory]);
    folder.remove();
  }
}

async function waitFor<T>(look: () => readonly T[]): Promise<readonly T[]> {
  for (let tries = 0; tries < 1200; tries++) {
    const found = look();
    if (found.length > 0) return found;
    await sleep(100);
  }
  throw new Error("nothing came within 2 minutes");
}

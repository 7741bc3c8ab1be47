// A session in the real sandbox reaches another host only through the relay, and only with the right that names the host. The
// hosts are addresses of loopback. The session's program is a shell with curl.
import assert from "node:assert/strict";
import { chownSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { once } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { grantPermission } from "../src/contract/capabilities.ts";
import { createAgent } from "../src/contract/hiring.ts";
import { viewInstallation } from "../src/contract/installation.ts";
import { listEvents } from "../src/contract/ledger.ts";
import { sendMessage } from "../src/contract/mail.ts";
import { listAgentSessions, viewTranscript } from "../src/contract/sessions.ts";
import { allowed } from "../src/testing/allowed.ts";
import { type BuiltDaemon, startDaemon, temporaryFolder } from "./support/daemon.ts";

const built = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));
const [here, there] = ["127.0.0.2", "127.0.0.3"];
const isRoot = process.getuid?.() === 0;
const other = 65_534;

for (const user of isRoot ? ["root", "a normal user"] : ["a normal user"])
  test(`a session of ${user} reaches a host only with the right to that host, by every route, and each connection is recorded`, async () => {
    const home = temporaryFolder("relay");
    const isOther = isRoot && user !== "root";
    if (isOther) chownSync(home.path, other, other);
    const as = ["setpriv", `--reuid=${other}`, `--regid=${other}`, "--clear-groups"] as const;
    const far = await listening(there, () => ({ body: "far" }));
    const second = await listening(here, () => ({ body: "second" }));
    const near = await listening(here, (path) =>
      path === "/away" ? { location: `http://${there}:${far.port}/` } : { body: "near" },
    );
    const daemon = await startDaemon({
      home: home.path,
      env: { AGENCY_ALLOW_UNSANDBOXED: "" },
      command: isOther ? [...as, process.execPath, built] : [process.execPath, built],
    }).ready;
    const attempts = {
      plain: `curl -s http://${here}:${near.port}/`,
      tunnel: `curl -s --proxytunnel http://${here}:${near.port}/`,
      port: `curl -s --proxytunnel http://${here}:${second.port}/`,
      other: `curl -s http://${there}:${far.port}/`,
      otherTunnel: `curl -s --proxytunnel http://${there}:${far.port}/`,
      redirect: `curl -sL http://${here}:${near.port}/away`,
      number: `curl -s --proxytunnel http://2130706434:${near.port}/`,
      name: `curl -s --noproxy '' http://localhost:${near.port}/`,
      direct: `curl -s --noproxy '*' http://${here}:${near.port}/`,
      lying: `curl -s -H 'Host: ${here}' http://${there}:${far.port}/`,
    };
    try {
      assert.equal((await daemon.board.call(viewInstallation, {})).sandbox.status, "works");
      const without = await played(daemon, "Ada", attempts, []);
      const refusal = (host: string): string => `403 This agent has no right to reach ${host}.`;
      assert.deepEqual(
        Object.keys(without.found).filter((name) => /near|second|far/.test(without.found[name] ?? "")),
        [],
      );
      for (const name of ["plain", "other", "redirect", "lying", "name"])
        assert.match(without.found[name] ?? "", /^403 This agent has no right/, name);
      assert.deepEqual(
        [near, second, far].map(({ asked }) => asked),
        [0, 0, 0],
      );
      assert.ok(without.events.length > 0 && without.events.every((line) => line.startsWith("net.refuse")));

      const given = await played(daemon, "Ben", attempts, [`net:${here}`]);
      const { found } = given;
      // The right names the host, whatever the port and the form of the address.
      assert.deepEqual(
        ["plain", "tunnel", "port", "number"].map((name) => found[name]),
        ["200 near", "200 near", "200 second", "200 near"],
      );
      for (const name of ["other", "redirect", "lying"])
        assert.ok(found[name]?.startsWith(refusal(there)), `${name}: ${found[name]}`);
      assert.ok(found["name"]?.startsWith(refusal("localhost")), String(found["name"]));
      for (const name of ["otherTunnel", "direct"]) assert.equal(found[name], "000 ", name);
      assert.equal(far.asked, 0);
      for (const line of [
        `net.connect ${here}:${near.port}`,
        `net.connect ${here}:${second.port}`,
        `net.refuse ${there}:${far.port}`,
      ])
        assert.ok(given.events.includes(line), `${line} is not among ${given.events.join(", ")}`);
      assert.ok(given.events.every((line) => line !== `net.connect ${there}:${far.port}`));
      assert.equal(daemon.log(), "");
    } finally {
      await daemon.stop();
      for (const { server } of [near, second, far]) server.close();
      home.remove();
    }
  });

/** Lets an agent with these rights make all attempts. Returns the status and the body of each, and the recorded events. */
async function played(
  { board, companyId }: BuiltDaemon,
  name: string,
  attempts: Readonly<Record<string, string>>,
  rights: readonly string[],
): Promise<{ found: Readonly<Record<string, string>>; events: readonly string[] }> {
  const lines = Object.entries(attempts).map(
    ([attempt, command]) =>
      `body=$(${command} -m 60 -w '\\n%{http_code}'); echo "${attempt}: $(echo "$body" | tail -1) $(echo "$body" | head -n -1 | head -1)"`,
  );
  const agent = await board.call(createAgent, {
    companyId,
    name,
    role: "Traveller",
    adapterType: "process",
    adapterConfig: { command: "/bin/sh", args: ["-c", [...lines, "echo tried: all"].join("\n")] },
  });
  for (const resource of rights) await board.call(grantPermission, { companyId, to: agent.id, resource });
  await board.call(sendMessage, { companyId, to: agent.id, body: "begin" });
  for (const start = performance.now(); performance.now() - start < allowed(180_000); await sleep(200)) {
    const { sessions } = await board.call(listAgentSessions, { id: agent.id });
    const first = sessions.at(-1);
    if (first === undefined || first.endedAt === null) continue;
    const { entries } = await board.call(viewTranscript, { id: first.id });
    const said = entries.map(({ text }) => text).join("");
    if (!said.includes("tried: all")) throw new Error(`the session ended early: ${said}`);
    const { events } = await board.call(listEvents, { companyId, subject: agent.id, limit: 200 });
    return {
      found: Object.fromEntries([...said.matchAll(/^(\w+): (.*)$/gm)].map(([, key, value]) => [key, value])),
      events: events
        .filter(({ operation }) => operation.startsWith("net."))
        .map(({ operation, data }) => `${operation} ${Object(data).host}:${Object(data).port}`),
    };
  }
  throw new Error("the session has not ended");
}

interface Host {
  readonly server: Server;
  readonly port: number;
  asked: number;
}

async function listening(
  address: string,
  answer: (path: string) => { readonly body?: string; readonly location?: string },
): Promise<Host> {
  const server = createServer((request, response) => {
    host.asked++;
    const { body = "", location } = answer(request.url ?? "/");
    if (location !== undefined) response.writeHead(302, { location });
    response.end(body);
  });
  const host: Host = { server, port: 0, asked: 0 };
  server.listen(0, address);
  await once(server, "listening");
  const place = server.address();
  return Object.assign(host, { port: typeof place === "object" ? (place?.port ?? 0) : 0 });
}

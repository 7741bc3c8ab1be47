import { sendSignal } from "../src/processes/process-table.ts";
import { allowed } from "../src/testing/allowed.ts";
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { once } from "node:events";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { pauseAgent, resumeAgent } from "../src/contract/agents.ts";
import { viewAttention } from "../src/contract/attention.ts";
import { grantPermission, revokePermission } from "../src/contract/capabilities.ts";
import { listEvents } from "../src/contract/ledger.ts";
import { closeOutcome, createOutcome } from "../src/contract/outcomes.ts";
import { why } from "../src/contract/why.ts";
import { listMcpServers, putMcpServer, testMcpServer } from "../src/contract/servers.ts";
import { setSecret } from "../src/contract/secrets.ts";
import { fixedPort, tokensOf } from "./support/agents.ts";
import { withCrowd } from "./support/stops.ts";

const packages = fileURLToPath(new URL("../node_modules/@modelcontextprotocol", import.meta.url));
const everything = join(packages, "server-everything/dist/index.js");
const filesystem = join(packages, "server-filesystem/dist/index.js");
const canary = "canary-7Hq2-Zx81mQ-pl4nted";

describe("third-party MCP servers behind the broker", () => {
  // covers SEC-03, SEC-04, SEC-06, SEC-07, CAP-20
  test("a grant gives a session the server, a revocation or a closed outcome ends a running call, and a killed server restarts", (t) =>
    withCrowd(t, { sandbox: "on", leads: 0, workers: 0 }, async ({ daemon, sessions, boss }) => {
      const { board, companyId, home, url } = daemon;
      const [first] = sessions;
      assert.ok(first !== undefined);
      const port = await fixedPort();
      const remote = spawn(process.execPath, [everything, "streamableHttp"], {
        env: { PORT: String(port), PATH: process.env["PATH"] ?? "" },
        stdio: "ignore",
      });
      try {
        await board.call(setSecret, { companyId, name: "EVERYTHING_KEY", value: canary });
        const command = process.execPath;
        const env = { KEY: { secret: "EVERYTHING_KEY" }, OTHER: "pl4in-Value-99-also-hidden" };
        const put = (name: string, config: (typeof putMcpServer)["input"]["_output"]["config"]) =>
          board.call(putMcpServer, { companyId, name, config });
        const kept = await put("every", { command, args: [everything, "stdio"], env });
        assert.ok(!JSON.stringify(kept).includes("pl4in"), "a plain value becomes a secret");
        await put("files", { command, args: [filesystem, packages], reads: [packages] });
        await put("remote", { type: "http", url: `http://127.0.0.1:${port}/mcp` });
        await put("broken", { command: "/bin/sh", args: ["-c", "echo no licence >&2; exit 3"] });
        await listening(port);
        for (const [name, works] of [
          ["every", true],
          ["files", true],
          ["remote", true],
          ["broken", false],
        ] as const) {
          const tested = await board.call(testMcpServer, { companyId, name });
          t.diagnostic(
            `test of ${name}: ${tested.status}, ${tested.tools.length} tools, ${tested.milliseconds} ms`,
          );
          assert.equal(tested.status, works ? "works" : "fails", tested.says);
          assert.equal(tested.tools.length > 3, works);
          if (!works) assert.match(tested.says, /no licence/);
        }
        assert.deepEqual(serverFolders(home), [], "a test leaves nothing");

        // Without the right: refused, and recorded.
        const denied = await rawCall(url, first.token, "every", "echo", { message: "hi" });
        assert.match(
          denied,
          /"code":"forbidden","message":"This call needs use on mcp:every.*"isError":true/,
        );
        const work = await board.call(createOutcome, {
          companyId,
          title: "use it",
          parents: [boss.mandateId],
        });
        const grants = new Map<string, string>();
        for (const name of ["every", "files", "remote"]) {
          const outcome = name === "remote" ? { outcome: work.id } : {};
          const { id } = await board.call(grantPermission, {
            companyId,
            to: boss.id,
            resource: `mcp:${name}`,
            ...outcome,
          });
          grants.set(name, id);
        }
        // A new session has the servers. The running one would be asked to end within 60 seconds (settings-change.test.ts).
        await board.call(pauseAgent, { id: boss.id });
        await board.call(resumeAgent, { id: boss.id });
        const said = await tokensOf(home, 2);
        const session = said.find(({ token }) => token !== first.token);
        assert.ok(session !== undefined);
        const settings = readFileSync(join(home, "workspaces", session.id, ".mcp.json"), "utf8");
        for (const name of grants.keys()) assert.ok(settings.includes(`${url}/mcp/${name}"`), name);
        assert.ok(!settings.includes(canary));

        const connect = async (path: string): Promise<Client> => {
          const client = new Client({ name: "scripted", version: "1" });
          const headers = { authorization: `Bearer ${session.token}` };
          await client.connect(
            new StreamableHTTPClientTransport(new URL(url + path), { requestInit: { headers } }),
          );
          return client;
        };
        const every = await connect("/mcp/every");
        const answer = await every.callTool({ name: "echo", arguments: { message: "hello" } });
        assert.match(JSON.stringify(answer.content), /data, not an instruction.*Echo: hello/);
        const shown = JSON.stringify(await every.callTool({ name: "get-env", arguments: {} }));
        assert.ok(shown.includes('\\"KEY\\"'), "the server has its variable");
        assert.ok(!shown.includes(canary) && !shown.includes("pl4in-Value"), "its value is hidden");
        const files = await connect("/mcp/files");
        const path = join(packages, "server-everything/package.json");
        const read = await files.callTool({ name: "read_text_file", arguments: { path } });
        assert.match(JSON.stringify(read.content), /server-everything/);
        // The door /mcp has the tools of all servers.
        const all = await connect("/mcp");
        const { tools } = await all.listTools();
        for (const name of ["every__echo", "files__read_text_file", "remote__echo", "create_agent"])
          assert.ok(
            tools.some((tool) => tool.name === name),
            name,
          );
        assert.match(
          JSON.stringify(await all.callTool({ name: "remote__echo", arguments: { message: "far" } })),
          /Echo: far/,
        );

        // Progress and cancellation.
        const long = { name: "trigger-long-running-operation", arguments: { duration: 20, steps: 40 } };
        const progress: number[] = [];
        const stop = new AbortController();
        const cancelled = every.callTool(long, {
          signal: stop.signal,
          onprogress: (update) => {
            progress.push(update.progress);
            if (progress.length === 2) stop.abort();
          },
        });
        await assert.rejects(cancelled);
        await recorded("cancelled");

        // The right is revoked during a call.
        const remoteClient = await connect("/mcp/remote");
        for (const [client, end, says] of [
          [
            every,
            () => board.call(revokePermission, { id: grants.get("every") ?? "" }),
            /MCP server every ended/,
          ],
          [
            remoteClient,
            () => board.call(closeOutcome, { id: work.id, rationale: "not needed" }),
            /MCP server remote ended/,
          ],
        ] as const) {
          const begins = Promise.withResolvers<void>();
          const running = client.callTool(long, {
            timeout: allowed(60_000),
            onprogress: () => begins.resolve(),
          });
          await begins.promise;
          await end();
          const begun = performance.now();
          const result = await running;
          const took = Math.round(performance.now() - begun);
          t.diagnostic(`the call ended ${took} ms after the change`);
          assert.equal(result.isError, true);
          assert.match(JSON.stringify(result), says);
          assert.ok(took < allowed(5000), `${took} ms`);
        }
        await recorded("cut");
        assert.match(await rawCall(url, session.token, "every", "echo", { message: "again" }), /forbidden/);
        await none(() => serverFolders(home).length > 1, "the server of the revoked right");

        // A killed server restarts. Meanwhile `why` and the attention list name it: it is killed until both have been seen.
        const named = await until(async () => {
          for (const pid of serverPids(home)) sendSignal(pid, "SIGKILL");
          const { says } = await board.call(why, { id: boss.id });
          const { items } = await board.call(viewAttention, { companyId, kind: "server" });
          const isListed = items.some(({ subject }) => subject.id === "files");
          return says.includes("MCP server files") && isListed ? says : undefined;
        });
        t.diagnostic(`why: ${named}`);
        await until(async () => {
          const { servers } = await board.call(listMcpServers, { companyId });
          return servers.find(({ name }) => name === "files")?.status === "works" ? true : undefined;
        });
        assert.doesNotMatch((await board.call(why, { id: boss.id })).says, /MCP server files/);
        const again = await files.callTool({ name: "read_text_file", arguments: { path } });
        assert.match(JSON.stringify(again.content), /server-everything/);

        // Every call is recorded, without values.
        const { events } = await board.call(listEvents, { companyId, limit: 1000 });
        const calls = events.filter(({ operation }) => operation === "mcp_server.call");
        const answers = events.filter(({ operation }) => operation === "mcp_server.answer");
        t.diagnostic(`${calls.length} calls and ${answers.length} answers on record`);
        assert.ok(calls.length >= 8 && answers.length === calls.length);
        assert.ok(!JSON.stringify(events).includes(canary));
        for (const client of [every, files, all, remoteClient]) await client.close();

        async function recorded(status: string): Promise<void> {
          await until(async () => {
            const page = await board.call(listEvents, { companyId, limit: 1000 });
            return page.events.some(
              ({ operation, data }) => operation === "mcp_server.answer" && data["status"] === status,
            )
              ? true
              : undefined;
          });
        }
      } finally {
        await ended(remote);
      }
    }));
});

async function rawCall(
  url: string,
  token: string,
  server: string,
  name: string,
  args: object,
): Promise<string> {
  const answer = await fetch(`${url}/mcp/${server}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } }),
  });
  return answer.text();
}

const serverFolders = (home: string): string[] => {
  try {
    return readdirSync(join(home, "servers"));
  } catch {
    return [];
  }
};

/** The processes of servers of this home. */
function serverPids(home: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, "utf8").includes(
          `AGENCY_WORKSPACE=${join(home, "servers")}/`,
        );
      } catch {
        return false;
      }
    });
}

async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < 1500; tries++) {
    const found = await look();
    if (found !== undefined) return found;
    await sleep(100);
  }
  throw new Error("it did not happen in time");
}

const none = (isThere: () => boolean, what: string): Promise<true> =>
  until(async () => (isThere() ? undefined : true)).catch(() => assert.fail(`${what} is still there`));

const listening = (port: number): Promise<true> =>
  until(() =>
    fetch(`http://127.0.0.1:${port}/mcp`).then(
      () => true as const,
      () => undefined,
    ),
  );

async function ended(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}

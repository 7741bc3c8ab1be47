import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, request as ask, type Server } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { after, describe, test } from "node:test";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { listEvents } from "../contract/ledger.ts";
import { explainAccess, grantPermission, revokePermission } from "../contract/capabilities.ts";
import { newId } from "../daemon/ids.ts";
import { authenticate } from "../dispatch/identity.ts";
import { allowed } from "../testing/allowed.ts";
import { createOrganization, openTestStore, refusal, storeKinds } from "../testing/organization.ts";
import { internetRelay } from "./relay.ts";

/** The addresses of some names. The target listens on loopback, which stands for a private network. */
const names: Readonly<Record<string, readonly string[]>> = {
  "inside.example": ["127.0.0.1"],
  "both.example": ["93.184.216.34", "10.0.0.1"],
  "metadata.example": ["169.254.169.254"],
};

for (const kind of storeKinds)
  describe(`the relay on ${kind}`, () => {
    async function scene(resolve = async (host: string): Promise<readonly string[]> => names[host] ?? []) {
      const opened = await openTestStore(kind);
      const org = await createOrganization(opened.store);
      const { companyId, board } = org;
      const agent = await org.agent("Ada");
      const { token } = await org.session(agent.id);
      const asked: string[] = [];
      const target = await listening(
        createServer((request, response) => {
          asked.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`);
          response.end(`hello from ${request.headers.host ?? ""}`);
        }),
      );
      const relay = internetRelay({
        store: opened.store,
        newId,
        authenticate: (given) => opened.store.read((tx) => authenticate(tx, given)),
        admit: (given) => opened.store.read((tx) => authenticate(tx, given)),
        reportBug: (error) => {
          throw error;
        },
        resolve,
      });
      const proxy = await listening(createServer((request, response) => relay.forward(request, response)));
      proxy.server.on("connect", relay.connect);
      after(async () => {
        relay.stop();
        for (const { server } of [proxy, target]) {
          server.closeAllConnections();
          server.close();
        }
        await opened.close();
      });
      const grant = (resource: string) => board(grantPermission, { companyId, to: agent.id, resource });
      /** The status of CONNECT, and the tunnel. */
      const tunnel = async (
        to: string,
        credential = token,
      ): Promise<{ status: number; socket: Socket; said: string }> => {
        const socket = connect(proxy.port, "127.0.0.1");
        socket.on("error", () => undefined);
        const basic = Buffer.from(`session:${credential}`).toString("base64");
        socket.write(`CONNECT ${to} HTTP/1.1\r\nHost: ${to}\r\nProxy-Authorization: Basic ${basic}\r\n\r\n`);
        const [first] = await once(socket, "data");
        const said = String(first);
        return { status: Number(said.split(" ")[1]), socket, said };
      };
      const get = async (url: string, credential = token) => {
        const basic = Buffer.from(`session:${credential}`).toString("base64");
        const sent = ask({
          host: "127.0.0.1",
          port: proxy.port,
          path: url,
          headers: { "proxy-authorization": `Basic ${basic}`, host: new URL(url).host },
        });
        sent.end();
        const [answer]: IncomingMessage[] = await once(sent, "response");
        assert.ok(answer !== undefined);
        return { status: answer.statusCode, body: await text(answer) };
      };
      return { org, agent, token, target, asked, grant, tunnel, get, companyId, board };
    }

    test("a host is reached only with the right to that host, and connections and refusals are recorded", async () => {
      const { target, tunnel, get, grant, asked, board, companyId, agent } = await scene();
      const to = `127.0.0.1:${target.port}`;
      const refused = await tunnel(to);
      assert.equal(refused.status, 403);
      assert.match(refused.said, /no right to reach 127\.0\.0\.1\. Ask your manager/);
      assert.equal((await get(`http://${to}/page`)).status, 403);
      assert.deepEqual(asked, []);

      await grant("net:127.0.0.1");
      const { status, socket } = await tunnel(to);
      assert.equal(status, 200);
      socket.write("GET /inside HTTP/1.1\r\nhost: target\r\nconnection: close\r\n\r\n");
      assert.match(await text(socket), /hello from target/);
      const plain = await get(`http://${to}/page?a=1`);
      assert.deepEqual([plain.status, plain.body], [200, `hello from ${to}`]);
      assert.equal(asked.length, 2);
      assert.doesNotMatch(asked.join("\n"), /proxy-authorization/i);

      const { events } = await board(listEvents, { companyId, limit: 200 });
      const seen = events.filter(({ operation }) => operation.startsWith("net."));
      assert.deepEqual(
        seen.map(({ operation, subject, data }) => [operation, subject, Object(data).host]),
        [
          ["net.refuse", agent.id, "127.0.0.1"],
          ["net.connect", agent.id, "127.0.0.1"],
        ],
      );
    });

    test("a host name, and the right to all hosts, reach only public addresses", async () => {
      const { tunnel, grant, target } = await scene();
      await grant("net:*");
      for (const host of ["inside.example", "both.example", "metadata.example"])
        assert.equal((await tunnel(`${host}:80`)).status, 403, host);
      for (const host of [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "10.1.2.3",
        "169.254.169.254",
        "[fe80::1]",
        "[64:ff9b::7f00:1]",
        "0.0.0.0",
        "localhost",
      ])
        assert.notEqual((await tunnel(`${host}:${target.port}`)).status, 200, host);
      assert.equal((await tunnel("nowhere.example:80")).status, 502);
      for (const host of ["a b:80", "a/b:80", "user@host:80", "host:99999", "host", ""])
        assert.notEqual((await tunnel(host)).status, 200, host);
    });

    test("no right reaches the addresses of the network itself", async () => {
      const { tunnel, grant } = await scene();
      await grant("net:169.254.169.254");
      const { status, said } = await tunnel("169.254.169.254:80");
      assert.equal(status, 403);
      assert.match(said, /No agent may reach the address/);
    });

    test("open connections end with the right, and with the session", async () => {
      const { target, tunnel, grant, board } = await scene();
      const to = `127.0.0.1:${target.port}`;
      const given = await grant("net:127.0.0.1");
      const { status, socket } = await tunnel(to);
      assert.equal(status, 200);
      await board(revokePermission, { id: given.id });
      await Promise.race([
        once(socket, "close"),
        sleep(allowed(8000), undefined, { ref: false }).then(() => assert.fail("it stays open")),
      ]);
      assert.equal((await tunnel(to)).status, 403);
    });

    test("a session has 64 connections at most, also while their names are looked up", async () => {
      const lookups: (() => void)[] = [];
      const { tunnel, grant } = await scene(
        (host) => new Promise((resolve) => lookups.push(() => resolve(names[host] ?? []))),
      );
      await grant("net:slow.example");
      const ask = () => tunnel("slow.example:443").then(({ status }) => status);
      const asked = Array.from({ length: 100 }, ask);
      const refused: number[] = [];
      for (const each of asked) void each.then((status) => refused.push(status));
      while (lookups.length + refused.length < 100) await sleep(10);
      assert.equal(lookups.length, 64);
      assert.deepEqual(new Set(refused), new Set([429]));
      // The name has no address. Each attempt that ended frees its place.
      for (const found of lookups) found();
      await Promise.all(asked);
      const again = ask();
      while (lookups.length < 65) await sleep(10);
      lookups.at(-1)?.();
      assert.notEqual(await again, 429);
    });

    test("only the token of a running session is a password", async () => {
      const { org, tunnel, grant, target, agent } = await scene();
      await grant("net:127.0.0.1");
      const to = `127.0.0.1:${target.port}`;
      for (const credential of ["wrong", org.boardToken]) {
        const { status, said } = await tunnel(to, credential);
        assert.equal(status, 407);
        assert.match(said, /proxy-authenticate: Basic/);
      }
      assert.equal((await tunnel(to, agent.token)).status, 407);
    });

    test("the right to every host includes each of them when it is granted further, but no private address", async () => {
      const { org, agent, grant } = await scene();
      await grant("net:*");
      const report = await org.agent("Bob", agent.id);
      const ada = agent.call;
      await ada(grantPermission, { to: report.id, resource: "net:Example.COM." });
      const explained = await report.call(explainAccess, { resource: "net:example.com" });
      assert.equal(explained.allowed, true);
      assert.equal(explained.chain.length, 2);
      await refusal(ada(grantPermission, { to: report.id, resource: "net:10.0.0.7" }), "refused");
      for (const resource of ["net:", "net:a b", "net:*.example.com", "net:example.com:443", "net:http://a"])
        await assert.rejects(ada(grantPermission, { to: report.id, resource }), resource);
    });
  });

async function listening(server: Server): Promise<{ server: Server; port: number }> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address: AddressInfo = Object(server.address());
  return { server, port: address.port };
}

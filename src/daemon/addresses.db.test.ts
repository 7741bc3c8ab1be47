import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { createServer } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { json } from "node:stream/consumers";
import { createClient } from "../client/client.ts";
import { createPerson, linkPerson } from "../contract/people.ts";
import { refusal } from "../testing/organization.ts";
import { addressesOf } from "./addresses.ts";
import { startDaemon } from "./daemon.ts";
import { takeLocalName } from "./local-name.ts";

test("an address other than loopback needs an origin, and an origin needs TLS", async () => {
  const refused = (given: Parameters<typeof addressesOf>[0], code: RegExp) =>
    assert.throws(() => addressesOf(given), code, JSON.stringify(given));
  assert.deepEqual(addressesOf({}), { address: "127.0.0.1", origins: [] });
  assert.deepEqual(addressesOf({ address: "::1" }).address, "::1");
  for (const address of ["0.0.0.0", "::", "10.0.0.5", "fd00::1", "128.0.0.1"]) {
    refused({ address }, /can.t listen on .* without --origin/);
    refused({ address, origins: [] }, /can.t listen on .* without --origin/);
    assert.deepEqual(addressesOf({ address, origins: ["https://Agency.example:443/"] }), {
      address,
      origins: ["https://agency.example"],
    });
  }
  for (const address of ["localhost", "agency.example", "", "127.0.0.1:80"])
    refused({ address, origins: ["https://a.example"] }, /not an IP address/);
  for (const origin of [
    "agency.example",
    "https://a.example/path",
    "https://a.example?x",
    "https://a.example/#x",
    "https://me:secret@a.example",
    "ftp://a.example",
    "https://*",
    "*",
    "",
  ])
    refused({ origins: [origin] }, /is not an origin/);
  refused({ origins: ["http://agency.example"] }, /has no TLS/);
  refused({ origins: ["http://127.0.0.1.evil.example"] }, /has no TLS/);
  assert.deepEqual(addressesOf({ origins: ["http://localhost:8080"] }).origins, ["http://localhost:8080"]);
});

test("a daemon on an open address without an origin does not start, and leaves no files", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "agency-address-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const home = join(folder, "home");
  const log = (): void => undefined;
  const starting = startDaemon({ home, port: 0, address: "0.0.0.0", log });
  // If the daemon started after all, it must not outlive the test.
  t.after(() =>
    starting.then(
      (daemon) => daemon.stop(),
      () => undefined,
    ),
  );
  await refusal(starting, "invalid");
  assert.ok(!existsSync(home));
});

test("through a proxy, links have its address, cookies are secure, and other names are refused", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "agency-address-"));
  const daemon = await startDaemon({
    home,
    port: 0,
    address: "0.0.0.0",
    origins: ["https://agency.example", "https://second.example"],
    schedule: false,
    log: () => undefined,
  });
  t.after(async () => {
    await daemon.stop();
    rmSync(home, { recursive: true });
  });
  const { port, hostname } = new URL(daemon.url);
  assert.equal(hostname, "127.0.0.1");
  assert.equal(daemon.origin, "https://agency.example");

  /** Asks as a proxy does: the Host header is the name that the browser used. */
  const ask = async (path: string, headers: Record<string, string>, body?: object) => {
    const asking = request({ host: "127.0.0.1", port, path, headers, method: body ? "POST" : "GET" });
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    asking.once("response", resolve).once("error", reject);
    asking.end(body === undefined ? undefined : JSON.stringify(body));
    const response = await promise;
    return {
      status: response.statusCode ?? 0,
      cookie: response.headers["set-cookie"]?.join("\n") ?? "",
      body: await json(response),
    };
  };
  const board = createClient(daemon);
  const { signIn } = await board.call(createPerson, { name: "Ann", role: "board" });
  assert.ok(signIn.link.startsWith("https://agency.example/sign-in#"), signIn.link);

  const page = {
    host: "agency.example",
    origin: "https://agency.example",
    "content-type": "application/json",
  };
  const signedIn = await ask("/api/sign-in", page, { code: signIn.code, kind: "browser" });
  assert.equal(signedIn.status, 200, JSON.stringify(signedIn.body));
  assert.match(
    signedIn.cookie,
    /^__Host-agency_session_443=[^;]+; HttpOnly; Secure; SameSite=Strict; Path=\//,
  );
  const pageKey = String(Object(signedIn.body)["pageKey"]);
  const credential = { cookie: signedIn.cookie.split(";", 1)[0] ?? "", "x-agency-page": pageKey };
  const status = async (headers: Record<string, string>) =>
    (await ask("/api/me", { ...credential, ...headers })).status;
  assert.equal(await status(page), 200);
  assert.equal(await status({ host: "agency.example" }), 200);
  for (const origin of ["http://agency.example", "https://second.example", "https://evil.example", "null"])
    assert.equal(await status({ host: "agency.example", origin }), 403, origin);
  for (const host of ["evil.example", `0.0.0.0:${port}`, "agency.example:80"])
    assert.equal(await status({ host }), 403, host);
  assert.equal(await status({ host: "evil.example", "x-forwarded-host": "agency.example" }), 403);
  // A cookie for one name is not valid for another.
  assert.equal(await status({ host: `localhost:${port}` }), 401);
});

test("links use the local name if it leads to the daemon, which then also listens on [::1]", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "agency-address-"));
  const log = (): void => undefined;
  const asked: string[] = [];
  const daemon = await startDaemon({
    home,
    port: 0,
    schedule: false,
    log,
    resolve: async (name) => {
      asked.push(name);
      return ["127.0.0.1", "::1"];
    },
  });
  t.after(async () => {
    await daemon.stop();
    rmSync(home, { recursive: true });
  });
  const { port, hostname } = new URL(daemon.url);
  assert.deepEqual([hostname, asked], ["127.0.0.1", ["agency.localhost"]]);
  assert.equal(daemon.origin, `http://agency.localhost:${port}`);
  const { link } = await createClient(daemon).call(linkPerson, { id: "me" });
  assert.ok(link.startsWith(`http://agency.localhost:${port}/sign-in#agl_`), link);
  for (const host of ["127.0.0.1", "[::1]"])
    assert.equal((await fetch(`http://${host}:${port}/api/me`)).status, 401, host);
});

test("a name that leads elsewhere or nowhere, or whose other address is taken, is not used", async (t) => {
  const doors: { close(): unknown }[] = [];
  t.after(() => doors.forEach((door) => door.close()));
  const other = createServer().listen(0, "::1");
  doors.push(other);
  await once(other, "listening");
  const taken = { address: "127.0.0.1", port: Number(Object(other.address()).port) };
  const here = { address: "127.0.0.1", port: 0 };
  const both = async () => ["127.0.0.1", "::1"];
  const origin = async (...[at, resolve]: [typeof here, (() => Promise<string[]>)?]) => {
    const name = await takeLocalName(at, resolve, (door) => doors.push(door));
    name.stop();
    return name.origin;
  };
  assert.equal(await origin(here, both), "http://agency.localhost:0");
  assert.equal(await origin(taken, both), undefined);
  assert.equal(await origin(here), undefined);
  assert.equal(await origin({ ...here, address: "::1" }, both), undefined);
  for (const found of [[], ["127.0.0.1", "192.0.2.7"]])
    assert.equal(await origin(here, async () => found), undefined, found.join());
  const nowhere = () => Promise.reject(new Error("ENOTFOUND"));
  assert.equal(await origin(here, nowhere), undefined);
});

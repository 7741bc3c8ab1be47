import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { json } from "node:stream/consumers";
import { createClient } from "../client/client.ts";
import { createPerson } from "../contract/people.ts";
import { refusal } from "../testing/organization.ts";
import { addressesOf } from "./addresses.ts";
import { startDaemon } from "./daemon.ts";

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

test("a daemon that would be reached without a name does not start, and leaves nothing", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "agency-address-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const home = join(folder, "home");
  const log = (): void => undefined;
  const starting = startDaemon({ home, port: 0, address: "0.0.0.0", log });
  // If it started after all, it must not outlive the test.
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

  /** What a proxy passes on: the Host header is the name that the browser used. */
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
  // The cookie of one name is not that of another.
  assert.equal(await status({ host: `localhost:${port}` }), 401);
});

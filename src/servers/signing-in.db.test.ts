import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, createClient } from "../client/client.ts";
import { viewAttention } from "../contract/attention.ts";
import { grantPermission } from "../contract/capabilities.ts";
import { listEvents } from "../contract/ledger.ts";
import { why } from "../contract/why.ts";
import { createPerson, removePerson, signIn as signInPerson } from "../contract/people.ts";
import { listSecrets, removeSecret } from "../contract/secrets.ts";
import {
  listMcpServers,
  putMcpServer,
  removeMcpServer,
  signInMcpServer,
  testMcpServer,
} from "../contract/servers.ts";
import { type Daemon, startDaemon } from "../daemon/daemon.ts";
import { allowed } from "../testing/allowed.ts";
import { type GuardedServer, startGuardedServer } from "../testing/guarded-server.ts";
import { createOrganization, type Organization, refusal } from "../testing/organization.ts";

/** One MCP server with a sign-in, in one daemon. The tests are steps of one story, except the last ones. */
describe("a sign-in for a remote MCP server", () => {
  const home = mkdtempSync(join(tmpdir(), "agency-sign-in-"));
  const bugs: unknown[] = [];
  let guarded: GuardedServer;
  let daemon: Daemon;
  let org: Organization;
  let board: Client;
  let agent: { id: string; token: string };
  const name = "calendar";

  before(async () => {
    guarded = await startGuardedServer();
    daemon = await startDaemon({ home, port: 0, schedule: false, log: (line) => bugs.push(line) });
    org = await createOrganization(daemon.store);
    board = createClient({ url: daemon.url, token: org.boardToken });
    agent = await org.agent("Ada");
    const { companyId } = org;
    await board.call(putMcpServer, { companyId, name, config: { type: "http", url: guarded.url } });
    await board.call(grantPermission, { companyId, to: agent.id, resource: `mcp:${name}` });
  });
  after(async () => {
    await daemon.stop();
    await guarded.stop();
    rmSync(home, { recursive: true, force: true });
    assert.deepEqual(bugs, []);
  });

  const entry = async () =>
    (await board.call(listMcpServers, { companyId: org.companyId })).servers.find((one) => one.name === name);
  const link = async (): Promise<string> => {
    const { status, url } = await board.call(signInMcpServer, { companyId: org.companyId, name });
    assert.equal(status, "waiting");
    return url ?? "";
  };
  /** Does what the person's browser does. Returns the address to which the service's page sends it back. */
  const backFrom = async (url: string): Promise<string> => {
    const answer = await fetch(url, { redirect: "manual" });
    assert.equal(answer.status, 302, await answer.text());
    return answer.headers.get("location") ?? "";
  };
  const call = async (): Promise<string> => {
    const answer = await fetch(`${daemon.url}/mcp/${name}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${agent.token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: "whoami", arguments: {} },
      }),
    });
    return answer.text();
  };
  async function until(isSo: () => Promise<boolean>): Promise<void> {
    for (const end = Date.now() + allowed(20_000); !(await isSo()); await sleep(50))
      assert.ok(Date.now() < end, "it takes too long");
  }

  test("before the sign-in, the server, `why` and the attention list name the command that helps", async () => {
    assert.match(await call(), /agency servers signin calendar/);
    await until(async () => (await entry())?.status === "signed_out");
    assert.match((await entry())?.says ?? "", /no person of the board has signed in yet\. Sign in: agency/);
    assert.match((await board.call(why, { id: agent.id })).says, /agency servers signin calendar/);
    const { items } = await board.call(viewAttention, { companyId: org.companyId, kind: "server" });
    assert.deepEqual(
      items[0]?.abilities.map(({ name: ability }) => ability),
      ["mcp_server.sign_in"],
    );
  });

  test("the link leads back to the daemon only, with a state and PKCE", async () => {
    const url = new URL(await link());
    const redirect = url.searchParams.get("redirect_uri");
    assert.equal(redirect, `${daemon.url}/oauth/callback`);
    assert.match(url.searchParams.get("state") ?? "", /^.{32,}$/);
    assert.equal(url.searchParams.get("code_challenge_method"), "S256");
    assert.equal(url.searchParams.get("resource"), guarded.url);
  });

  test("a page with a wrong, used or older state is refused, and no token is stored", async () => {
    const older = await backFrom(await link());
    const back = await backFrom(await link());
    const wrong = new URL(back);
    wrong.searchParams.set("state", "guessed");
    const asked = guarded.asked.length;
    for (const url of [
      older,
      wrong.href,
      `${daemon.url}/oauth/callback`,
      `${daemon.url}/oauth/callback?state=`,
    ]) {
      const answer = await fetch(url);
      assert.equal(answer.status, 422, await answer.text());
      assert.equal(answer.headers.get("content-type"), "text/plain; charset=utf-8");
    }
    const elsewhere = await fetch(`${daemon.url}/oauth/callback/more${new URL(back).search}`);
    assert.equal(elsewhere.status, 404);
    const denied = new URL(back);
    denied.searchParams.delete("code");
    denied.searchParams.set("error", "access_denied");
    denied.searchParams.set("error_description", "<script>alert(1)</script>");
    const refused = await fetch(denied);
    assert.match(await refused.text(), /did not succeed\. It says: "access_denied: <script>/);
    // The state is used up by the refusal.
    assert.equal((await fetch(back)).status, 422);
    assert.deepEqual(guarded.asked.slice(asked), [], "no code was sent to the service");
    assert.deepEqual((await board.call(listSecrets, { companyId: org.companyId })).secrets, []);
  });

  test("another service can't answer in its place", async () => {
    const back = new URL(await backFrom(await link()));
    back.searchParams.set("iss", "https://evil.example");
    const asked = guarded.asked.length;
    assert.equal((await fetch(back)).status, 422);
    assert.deepEqual(guarded.asked.slice(asked), []);
  });

  test("a sign-in works once, gives agents the server at once, and never shows the tokens", async () => {
    const back = await backFrom(await link());
    const page = await fetch(back);
    assert.equal(page.status, 200);
    assert.match(await page.text(), /^You are signed in for the MCP server calendar/);
    assert.equal((await fetch(back)).status, 422, "a second time");
    await until(async () => (await entry())?.status === "works");
    const answered = await call();
    assert.match(answered, /You hold \[redacted\]/);
    const { secrets } = await board.call(listSecrets, { companyId: org.companyId });
    assert.deepEqual(
      secrets.map((one) => [one.name, one.usedBy]),
      [["signin.calendar", ["MCP server calendar"]]],
    );
    const { events } = await board.call(listEvents, { companyId: org.companyId, limit: 500 });
    assert.ok(events.some(({ operation }) => operation === "mcp_server.signed_in"));
    const said = JSON.stringify([events, secrets, await entry(), answered]);
    for (const value of [guarded.accessToken(), guarded.refreshToken()]) assert.ok(!said.includes(value));
  });

  test("an expired token is renewed once for all who use it", async () => {
    guarded.expire();
    const before = guarded.asked.filter((one) => one === "POST /token").length;
    const answers = await Promise.all(Array.from({ length: 8 }, call));
    for (const answer of answers) assert.match(answer, /You hold \[redacted\]/);
    assert.equal(guarded.asked.filter((one) => one === "POST /token").length, before + 1);
  });

  test("a service that fails for a moment does not end the sign-in", async () => {
    guarded.expire();
    guarded.twist.tokenStatus = 503;
    assert.match(await call(), /is not working|stopped during your call/);
    delete guarded.twist.tokenStatus;
    await until(async () => (await call()).includes("You hold"));
  });

  test("the server, `why` and the attention list report a revoked sign-in, and a new sign-in helps", async () => {
    guarded.revoke();
    await call();
    await until(async () => (await entry())?.status === "signed_out");
    assert.match((await entry())?.says ?? "", /has expired or was revoked\. Sign in: agency servers signin/);
    assert.match((await board.call(why, { id: agent.id })).says, /has expired or was revoked/);
    // A browser on another machine shows the address of the last page. The person passes that address on.
    const answer = await backFrom(await link());
    const { companyId } = org;
    const done = await board.call(signInMcpServer, { companyId, name, answer });
    assert.equal(done.status, "signed_in");
    await until(async () => (await call()).includes("You hold"));
  });

  test("only the board makes a link, and the link of a person who has left the board has no effect", async () => {
    const { companyId } = org;
    const ada = createClient({ url: daemon.url, token: agent.token });
    await refusal(ada.call(signInMcpServer, { companyId, name }), "forbidden");
    const person = await board.call(createPerson, { name: "Eve", role: "board" });
    const { token } = await createClient({ url: daemon.url, token: undefined }).call(signInPerson, {
      code: person.signIn.code,
      kind: "program",
    });
    const eve = createClient({ url: daemon.url, token });
    const { url } = await eve.call(signInMcpServer, { companyId, name });
    await board.call(removePerson, { id: person.id });
    assert.equal((await fetch(await backFrom(url ?? ""))).status, 422);
  });

  test("removing the secret ends the sign-in, and removing the server removes the secret", async () => {
    const { companyId } = org;
    await board.call(removeSecret, { companyId, name: "signin.calendar" });
    assert.equal((await board.call(testMcpServer, { companyId, name })).status, "fails");
    await fetch(await backFrom(await link()));
    assert.equal((await board.call(listSecrets, { companyId })).secrets.length, 1);
    // Tokens go only to the URL for which the person signed in.
    const other = `${guarded.url}?other`;
    await board.call(putMcpServer, { companyId, name, config: { type: "http", url: other } });
    assert.equal((await board.call(testMcpServer, { companyId, name })).status, "fails");
    assert.equal((await entry())?.status, "signed_out");
    await board.call(removeMcpServer, { companyId, name });
    assert.deepEqual((await board.call(listSecrets, { companyId })).secrets, []);
  });

  test("a server can't lead the daemon to an address of a private network", async () => {
    const { companyId } = org;
    const config = { type: "http" as const, url: guarded.url };
    for (const [what, metadata, challenge] of [
      [
        "a token endpoint at the metadata address",
        { token_endpoint: "http://169.254.169.254/token" },
        undefined,
      ],
      [
        "resource metadata at the metadata address",
        {},
        'Bearer resource_metadata="http://169.254.169.254/x"',
      ],
      ["a page that is a script", { authorization_endpoint: "javascript:alert(1)" }, undefined],
      ["a page without encryption elsewhere", { authorization_endpoint: "http://example.com/" }, undefined],
      ["a service without PKCE", { code_challenge_methods_supported: ["plain"] }, undefined],
      ["another issuer", { issuer: "https://evil.example" }, undefined],
    ] as const) {
      Object.assign(guarded.twist, { metadata, challenge });
      await board.call(putMcpServer, { companyId, name: "twisted", config });
      const made = board.call(signInMcpServer, { companyId, name: "twisted" });
      if (what.startsWith("a token endpoint")) {
        // The service is asked only after the sign-in.
        const back = await backFrom((await made).url ?? "");
        const page = await fetch(back);
        assert.equal(page.status, 422, what);
        assert.match(await page.text(), /never connects to 169|did not succeed/, what);
      } else if (what.startsWith("resource metadata")) {
        // The link is made without the hint.
        assert.ok((await made).url?.startsWith(new URL(guarded.url).origin), what);
      } else
        await refusal(made, "refused").catch((error: unknown) => assert.fail(`${what}: ${String(error)}`));
    }
    Object.assign(guarded.twist, { metadata: {}, challenge: undefined });
    await board.call(removeMcpServer, { companyId, name: "twisted" });
  });
});

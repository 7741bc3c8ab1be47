// The HTTP door of the built daemon against faulty and hostile clients.
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { z } from "zod";
import { createFile, listFiles } from "../src/contract/knowledge.ts";
import { listEvents } from "../src/contract/ledger.ts";
import { mcpServers } from "../src/contract/operation.ts";
import { operations } from "../src/contract/operation-table.ts";
import { agency, type BuiltDaemon, startDaemon, temporaryFolder } from "./support/daemon.ts";
import {
  answerTo,
  follow,
  open,
  refusesConnections,
  type Sent,
  sendTo,
  statusOf,
  upload,
} from "./support/wire.ts";
import { allowed } from "../src/testing/allowed.ts";

const id = "00000000-0000-4000-8000-000000000000";

describe("the HTTP door", () => {
  const home = temporaryFolder("http");
  let daemon: BuiltDaemon;
  before(async () => {
    daemon = await startDaemon({ home: home.path }).ready;
  });
  after(async () => {
    const { code } = await daemon.stop();
    assert.equal(code, 0);
    assert.equal(daemon.log(), "", "no bug was logged");
    home.remove();
  });

  const kb = () => `/api/companies/${daemon.companyId}/kb`;
  const send = (sent: Sent) => sendTo(daemon.url, sent);
  const asBoard = (sent: Sent) => send({ token: daemon.token, ...sent });
  const json = { "content-type": "application/json" };

  test("a body that is not JSON, not declared as JSON or not UTF-8 is refused", async () => {
    const invalid: Sent[] = [
      { path: kb(), headers: json, body: new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]) },
      { path: kb(), headers: json, body: new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22]) },
      { path: kb(), headers: json, body: "{" },
      { path: kb(), headers: json, body: "[]" },
      { path: kb(), headers: json, body: '"text"' },
      { path: kb(), headers: json, body: "null" },
      {
        path: kb(),
        headers: json,
        body: '{"description":"d","content":"c","__proto__":{"mediaType":"text/x"}}',
      },
      {
        path: kb(),
        headers: json,
        body: `{"companyId":"${daemon.companyId}","description":"d","content":"c"}`,
      },
      { path: kb(), headers: json, body: `${"[".repeat(10_000)}${"]".repeat(10_000)}` },
      { path: kb(), headers: json, body: `{"description":${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}}` },
      { path: kb(), headers: json, body: "[".repeat(5_000_000) },
      { path: kb(), body: '{"description":"d","content":"c"}' },
      { path: kb(), headers: { "content-type": "text/plain" }, body: '{"description":"d","content":"c"}' },
      {
        path: kb(),
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: "description=d&content=c",
      },
      { path: "/mcp/kb", headers: json, body: new Uint8Array([0x7b, 0xff, 0x7d]) },
      { path: "/mcp/kb", headers: json, body: `${"[".repeat(10_000)}${"]".repeat(10_000)}` },
    ];
    for (const sent of invalid) {
      const { status, code } = await asBoard({ method: "POST", ...sent });
      assert.deepEqual([status, code], [400, "invalid"], `${sent.path} ${String(sent.body).slice(0, 60)}`);
      // A caller without a credential isn't told what is wrong with the request.
      assert.equal((await send({ method: "POST", ...sent })).status, 401);
    }
    const { files } = await daemon.board.call(listFiles, { companyId: daemon.companyId, kind: "file" });
    assert.deepEqual(files, []);
  });

  test("a body of 70 MB is refused, declared or not, and the daemon keeps running", async () => {
    for (const declared of [true, false]) {
      const sent = { method: "POST", path: kb(), headers: json };
      assert.equal(await upload(daemon.url, { ...sent, token: daemon.token }, 70, declared), 413);
      assert.equal(await upload(daemon.url, sent, 70, declared), 401);
    }
    assert.equal((await send({ path: "/api/health" })).status, 200);
  });

  test("a credential counts in the Authorization header only", async () => {
    const { token } = daemon;
    for (const path of [
      `?token=${token}`,
      `?access_token=${token}`,
      `?authorization=Bearer ${token}`,
      `#${token}`,
    ])
      assert.equal((await send({ path: `/api/companies${encodeURI(path)}` })).status, 401, path);
    const headers = [
      { cookie: `token=${token}` },
      { authorization: token },
      { authorization: `Basic ${Buffer.from(`board:${token}`).toString("base64")}` },
      { authorization: `Bearer ${token} ${token}` },
      { authorization: `Bearer  ${token}` },
      { authorization: `Bearer ${token.slice(0, -1)}` },
      { authorization: `Bearer ${token.toUpperCase()}` },
      { "x-api-key": token },
    ];
    for (const header of headers)
      assert.equal((await send({ path: "/api/companies", headers: { ...header } })).status, 401);
    assert.equal((await asBoard({ path: "/api/companies" })).status, 200);
    assert.equal((await asBoard({ path: `/api/companies?token=${token}` })).status, 400);
  });

  test("requests under other hosts and from other web sites are refused, even with a credential", async () => {
    const { host, port } = new URL(daemon.url);
    const status = async (headers: Record<string, string>, path = "/api/companies") =>
      (await asBoard({ path, headers })).status;
    for (const foreign of [
      "evil.example",
      `evil.example:${port}`,
      "127.0.0.1",
      "127.0.0.1:1",
      `127.0.0.1.evil:${port}`,
    ]) {
      for (const path of ["/api/companies", "/mcp/kb", "/api/events", "/", "/metrics/", "/api/health/x"])
        assert.equal(await status({ host: foreign }, path), 403, `${foreign}${path}`);
      // Proxies and monitors use the name that they have for the machine.
      const health = await send({ path: "/api/health", headers: { host: foreign } });
      assert.deepEqual([health.status, health.text], [200, '{"status":"ok"}']);
      assert.equal(await status({ host: foreign }, "/metrics"), 200);
      for (const path of ["/api/health", "/metrics"])
        assert.equal(await status({ host: foreign, origin: `http://${foreign}` }, path), 403);
      const cookie = { host: foreign, cookie: `agency_session_${port}=x`, "x-agency-page": "x" };
      assert.equal((await send({ path: "/metrics", headers: cookie })).status, 403);
      const wrong = { host: foreign, authorization: "Bearer agb_x" };
      assert.equal((await send({ path: "/metrics", headers: wrong })).status, 401);
    }
    for (const own of [host, `localhost:${port}`, `LOCALHOST:${port}`])
      assert.equal(await status({ host: own }), 200, own);
    for (const foreign of [
      "http://evil.example",
      "null",
      `https://${host}`,
      `http://${host}.evil`,
      "http://localhost",
    ])
      assert.equal(await status({ origin: foreign }), 403, foreign);
    for (const own of [daemon.url, `http://localhost:${port}`])
      assert.equal(await status({ origin: own }), 200, own);
  });

  test("only GET /api/health and the empty page of the dashboard answer without a credential", async () => {
    const health = await send({ path: "/api/health" });
    assert.deepEqual([health.status, health.text.includes('"ok"')], [200, true]);
    for (const path of ["/", "/sign-in", `/agents/${id}`]) {
      const page = await send({ path });
      assert.deepEqual([page.status, page.text.includes(daemon.companyId)], [200, false], path);
    }
    const routes: Sent[] = [
      ...operations.map(({ http }) => ({ method: http.method, path: http.path.replace(/:\w+/g, id) })),
      ...mcpServers.flatMap((name) =>
        ["POST", "GET", "DELETE"].map((method) => ({ method, path: `/mcp/${name}` })),
      ),
      ...["POST", "OPTIONS", "PATCH"].map((method) => ({ method, path: "/" })),
      ...[
        "/index.html",
        "/assets",
        "/assets/../files.json",
        "/files.json",
        "/agents/%2e%2e/%2fetc%2fpasswd/x/y",
        "/mcp",
        "/mcp/x",
        "/api",
        "/api/openapi.json",
        "/api/events",
        "/api/events/x",
        "/llms/x",
        "/x",
      ].flatMap((path) => ["GET", "HEAD", "POST", "OPTIONS", "PATCH"].map((method) => ({ method, path }))),
      ...["POST", "PUT", "DELETE", "OPTIONS"].map((method) => ({ method, path: "/api/health" })),
    ];
    for (const sent of routes) {
      const { status, code } = await send(sent);
      const expected = sent.method === "HEAD" ? undefined : "unauthenticated";
      assert.deepEqual([status, code], [401, expected], `${sent.method ?? ""} ${sent.path}`);
    }
  });

  test("with a credential an unknown route or method is not found", async () => {
    const unknown: Sent[] = [
      { path: "/x" },
      { path: "/llms/x" },
      { path: "/api/x" },
      { path: "/mcp/x", method: "POST", headers: json, body: "{}" },
      { path: "/api/events/x" },
      { path: "/api/companies", method: "PUT" },
      { path: "/api/companies", method: "OPTIONS" },
      { path: "/api/health", method: "POST" },
      { path: `/api/kb/${id}`, method: "POST" },
      { path: "/api/events", method: "POST" },
    ];
    for (const sent of unknown) {
      const { status, code } = await asBoard(sent);
      assert.deepEqual([status, code], [404, "not_found"], `${sent.method ?? ""} ${sent.path}`);
    }
    const head = await send({ method: "HEAD", path: "/api/health" });
    assert.deepEqual([head.status, head.text], [200, ""]);
    const refused = await asBoard({ method: "HEAD", path: "/api/companies" });
    assert.deepEqual([refused.status, refused.text], [404, ""]);
  });

  test("unusual spellings of a path reach no file and no other route", async () => {
    const paths = [
      "/api/kb/../..",
      "/api/kb/../../etc/passwd",
      "/api/kb/%2e%2e/%2e%2e",
      "/api/kb/%2E%2E%2f%2E%2E%2fetc%2fpasswd",
      "/api/kb/..%2f..%2fagency.db",
      "/api/kb/%00",
      `/api/kb/${id}%00`,
      `/api/kb/${id}%2fversions`,
      "/api/kb/%zz",
      "/api/kb/%ff%fe",
      "/api/kb/%",
      "//",
      "///",
      "//api/health",
      "//x/api/health",
      "//x/api/companies",
      "//[/api/health",
      "/api//health",
      "/api/health/",
      "/\\x/api/health",
      "/api\\companies",
      "http://evil.example/api/health",
      "http://[/",
      "*",
      "?",
      `/${"a".repeat(10_000)}`,
      `/api/companies?${"a=1&".repeat(1000)}`,
      "/api/companies?__proto__=1&constructor=1",
    ];
    for (const path of paths) {
      const anonymous = await statusOf(daemon.url, path, undefined);
      assert.ok(
        [400, 401].includes(anonymous),
        `${path.slice(0, 60)} answered ${anonymous} without a credential`,
      );
      const board = await statusOf(daemon.url, path, daemon.token);
      assert.ok([400, 404].includes(board), `${path.slice(0, 60)} answered ${board}`);
    }
  });

  test("OpenAPI lists every operation", async () => {
    const { status, text } = await asBoard({ path: "/api/openapi.json" });
    assert.equal(status, 200);
    const { paths } = z
      .object({ paths: z.record(z.string(), z.record(z.string(), z.object({ operationId: z.string() }))) })
      .parse(JSON.parse(text));
    const listed = Object.values(paths).flatMap((methods) =>
      Object.values(methods).map((one) => one.operationId),
    );
    assert.deepEqual(
      listed.toSorted(),
      ["batch", "health", ...operations.map(({ name }) => name)].toSorted(),
    );
    for (const { name, http } of operations) {
      const path = paths[http.path.replace(/:(\w+)/g, "{$1}")];
      assert.equal(path?.[http.method.toLowerCase()]?.operationId, name);
    }
  });

  test("200 bad requests at once are all refused while good ones are answered", async () => {
    const bad: Sent[] = [
      { path: kb(), method: "POST", headers: json, body: "{".repeat(1000) },
      { path: kb(), method: "POST", headers: json, body: `{"description":"d","content":7}` },
      { path: `/api/kb/${id}` },
      { path: "/mcp/kb", method: "POST", headers: json, body: "[1,2,3]" },
      { path: "/api/companies", token: "nobody" },
    ];
    let slowest = 0;
    let running = true;
    const good = (async () => {
      while (running) {
        const started = performance.now();
        assert.equal((await send({ path: "/api/health" })).status, 200);
        slowest = Math.max(slowest, performance.now() - started);
      }
    })();
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, index) => asBoard(bad[index % bad.length] ?? { path: "/" })),
    ).finally(() => (running = false));
    await good;
    assert.deepEqual(
      answers.filter(({ status }) => status < 400 || status >= 500),
      [],
    );
    assert.ok(slowest < allowed(2000), `a good request waited ${Math.round(slowest)} ms`);
  });

  test("a second daemon on the same home is refused and leaves the first alone", async () => {
    const { code, out, err } = await agency(["up", "--port", "0", "--json"], { home: home.path });
    assert.equal(code, 1);
    assert.equal(out, "");
    assert.match(
      err,
      /Another daemon is running on .*\. Stop it first, or set AGENCY_HOME to another folder\./,
    );
    assert.equal((await asBoard({ path: "/api/companies" })).status, 200);
  });

  test("only the owner reads the home and the board's token", () => {
    assert.equal(statSync(join(home.path, "board-token")).mode & 0o777, 0o600);
    assert.equal(statSync(home.path).mode & 0o777, 0o700);
  });
});

describe("the event stream", () => {
  const home = temporaryFolder("stream");
  let daemon: BuiltDaemon;
  before(async () => {
    daemon = await startDaemon({ home: home.path }).ready;
  });
  after(async () => {
    await daemon.kill();
    home.remove();
  });

  test("delivers every event once and in order during 500 writes, resumes, and ends with the daemon", async () => {
    const { companyId } = daemon;
    const first = await follow(daemon.url, daemon.token, "?after=0");
    let left = 500;
    const write = async () => {
      for (; left > 0;) {
        left -= 1;
        await daemon.board.call(createFile, { companyId, description: `file ${left}`, content: "c" });
      }
    };
    const writing = Promise.all(Array.from({ length: 10 }, write));
    // The reader disconnects in the middle and reconnects with the last id it saw, as browsers do.
    const begun = await first.until((seqs) => seqs.length >= 100);
    await first.close();
    const second = await follow(daemon.url, daemon.token, "?after=0", {
      "last-event-id": String(begun.at(-1)),
    });
    await writing;
    const { events } = await daemon.board.call(listEvents, { companyId, limit: 1000 });
    const newest = events.at(-1)?.seq ?? 0;
    const rest = await second.until((seqs) => (seqs.at(-1) ?? 0) >= newest);
    const seen = [...begun, ...rest];
    assert.deepEqual(
      seen,
      Array.from({ length: newest }, (_, index) => index + 1),
    );
    assert.equal(newest, 500);
    // Writes one event at a time. If the stream missed one while it was reading, that event would wait for the next write.
    for (let seq = newest + 1; seq <= newest + 50; seq++) {
      await daemon.board.call(createFile, { companyId, description: `alone ${seq}`, content: "c" });
      await second.until((seqs) => seqs.at(-1) === seq);
    }

    for (const bad of ["?after=x", "?after=-1", "?after=1e3"])
      assert.equal(
        (await sendTo(daemon.url, { path: `/api/events${bad}`, token: daemon.token })).status,
        400,
      );
    const ended = second.end;
    assert.deepEqual(await daemon.stop(), { code: 0, signal: null });
    // The stream ended normally. If it had stayed open, the daemon would have cut it, and this would throw.
    await ended;
  });

  test("SIGTERM answers the calls under way, takes no new ones, and exits 0", async () => {
    daemon = await startDaemon({ home: home.path }).ready;
    const { companyId } = daemon;
    const body = JSON.stringify({ description: "under way", content: "c" });
    const call = open(daemon.url, {
      method: "POST",
      path: `/api/companies/${companyId}/kb`,
      token: daemon.token,
      headers: { "content-type": "application/json", "content-length": String(body.length) },
    });
    const answer = answerTo(call);
    call.write(body.slice(0, 10));
    await daemon.board.call(listFiles, { companyId });
    const stopping = daemon.stop();
    await refusesConnections(daemon.url);
    call.end(body.slice(10));
    assert.equal((await answer).status, 201);
    assert.deepEqual(await stopping, { code: 0, signal: null });

    daemon = await startDaemon({ home: home.path }).ready;
    const { files } = await daemon.board.call(listFiles, { companyId, query: "under way" });
    assert.equal(files.length, 1);
  });
});

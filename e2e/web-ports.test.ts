// Another program on a port of the same machine, in a real browser on the built daemon. A browser sends a cookie to every port
// of its host, and SameSite ignores ports. So such a program gets the cookie of the dashboard. The cookie must be worth nothing
// there.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { updateCompany } from "../src/contract/companies.ts";
import { createGoal, listGoals } from "../src/contract/goals.ts";
import { listEvents } from "../src/contract/ledger.ts";
import { takesBody } from "../src/contract/operation.ts";
import { operations } from "../src/contract/operation-table.ts";
import { linkPerson, viewMe } from "../src/contract/people.ts";
import { newVisit, type Visit } from "./support/browser.ts";
import { dashboard } from "./support/dashboard.ts";

for (const host of ["127.0.0.1", "agency.localhost"])
  describe(`a program on another port of ${host}`, () => {
    const site = dashboard(`web-ports-${host.split(".")[0]}`);
    const received: string[] = [];
    let other: Server;
    let visit: Visit;
    let daemon = "";
    let theirs = "";
    let cookie = "";
    let key = "";

    before(async () => {
      const { companyId } = site.press;
      await site.daemon.board.call(updateCompany, { companyId, maxSessions: 0 });
      other = createServer((request, response) => {
        received.push(request.headers.cookie ?? "");
        response
          .setHeader("content-type", "text/html")
          .end("<!doctype html><title>other</title><h1>other</h1>");
      }).listen(0, "127.0.0.1");
      await once(other, "listening");
      daemon = `http://${host}:${new URL(site.daemon.url).port}`;
      theirs = `http://${host}:${(other.address() as AddressInfo).port}`;
      visit = await newVisit(site.browser);
      const { link } = await site.daemon.board.call(linkPerson, { id: "me" });
      await visit.page.goto(`${daemon}/sign-in${new URL(link).hash}`);
      await visit.page.getByRole("heading", { name: /need/ }).waitFor();
      const cookies = await visit.context.cookies(daemon);
      assert.deepEqual(
        cookies.map(({ httpOnly, sameSite, domain }) => [httpOnly, sameSite, domain]),
        [[true, "Strict", host]],
      );
      cookie = cookies.map(({ name, value }) => `${name}=${value}`).join("; ");
      key = await visit.page.evaluate<string>(`localStorage.getItem("agency.pageKey")`);
      assert.ok(key.length > 20);
    });
    after(async () => {
      await visit?.context.close();
      other?.closeAllConnections();
      other?.close();
    });

    /** The last entry of the record, once no more are written. */
    async function atRest(): Promise<number> {
      const newest = async (): Promise<number> => {
        const { companyId } = site.press;
        const { events } = await site.daemon.board.call(listEvents, { companyId, order: "newest", limit: 1 });
        return events[0]?.seq ?? 0;
      };
      for (let before = -1, now = await newest(); ; before = now, now = await newest()) {
        if (now === before) return now;
        await sleep(1000);
      }
    }

    /** The entries of the record since then, except those of agents and the daemon. */
    async function writtenSince(seq: number): Promise<string[]> {
      const { companyId } = site.press;
      const { events } = await site.daemon.board.call(listEvents, { companyId, order: "newest", limit: 100 });
      return events.flatMap((event) =>
        event.seq > seq && event.actor.kind === "board" ? [`${event.operation} ${event.seq}`] : [],
      );
    }

    /** A request by a program, which can send any header. */
    const send = (method: string, path: string, headers: Record<string, string>, body?: string) =>
      fetch(`${site.daemon.url}${path}`, {
        method,
        headers: { ...headers, ...(body !== undefined && { "content-type": "application/json" }) },
        ...(body !== undefined && { body }),
      });

    test("receives the cookie, and no page key", async () => {
      const { page } = visit;
      received.length = 0;
      await page.goto(`${theirs}/`);
      // This is why the cookie alone must open nothing. If a browser stops sending it, change this line.
      assert.ok(received.includes(cookie), received.join(" | "));
      assert.deepEqual(await page.evaluate("[document.cookie, localStorage.length, sessionStorage.length]"), [
        "",
        0,
        0,
      ]);
    });

    test("calls no operation with the cookie that it received", async () => {
      const { companyId } = site.press;
      const before = await atRest();
      // The cookie is valid: with its page key it is the credential of the person.
      const me = await send("GET", "/api/me", { cookie: cookie, "x-agency-page": key });
      assert.equal(me.status, 200);
      const keys = [
        undefined,
        "",
        "x",
        key.slice(1),
        `${key}x`,
        key.toUpperCase(),
        cookie.split("=")[1] ?? "",
      ];
      const open: string[] = [];
      for (const [index, operation] of operations.entries()) {
        const { method, path } = operation.http;
        const filled = path.replace(/:(\w+)\*?/g, (_, name) =>
          name === "companyId" ? companyId : site.press.rootId,
        );
        const body = takesBody(operation) ? "{}" : undefined;
        const guess = keys[index % keys.length];
        for (const given of new Set([undefined, guess])) {
          const headers = { cookie: cookie, ...(given !== undefined && { "x-agency-page": given }) };
          const { status } = await send(method, filled, headers, body);
          if (status !== 401) open.push(`${operation.name} ${status}`);
        }
      }
      assert.deepEqual(open, []);
      for (const given of keys)
        for (const path of [
          `/api/events?company=${companyId}&after=0`,
          `/api/sessions/${site.press.rootId}/transcript/stream?after=0`,
        ]) {
          const answer = await send("GET", path, {
            cookie: cookie,
            ...(given !== undefined && { "x-agency-page": given }),
          });
          assert.equal(answer.status, 401, path);
          assert.doesNotMatch(await answer.text(), /"seq"/);
        }
      const calls = [
        { operation: viewMe.name, input: {} },
        { operation: listGoals.name, input: { companyId } },
      ];
      const batch = async (given: string | undefined) => {
        const headers = { cookie: cookie, ...(given !== undefined && { "x-agency-page": given }) };
        const answer = await send("POST", "/api/batch", headers, JSON.stringify({ calls }));
        return { status: answer.status, says: await answer.text() };
      };
      for (const given of keys) {
        const { status, says } = await batch(given);
        assert.equal(status, 401, says);
        assert.doesNotMatch(says, /"person"|"outcomes"/);
      }
      // With the page key, the same request is answered.
      assert.match((await batch(key)).says, /"person"[^]*"outcomes"|"outcomes"[^]*"person"/);
      for (const path of ["/mcp", "/mcp/org"])
        assert.equal(
          (await send("POST", path, { cookie: cookie, accept: "application/json, text/event-stream" }, "{}"))
            .status,
          401,
          path,
        );
      assert.deepEqual(await writtenSince(before), []);
    });

    test("its page can't read, frame or change anything, even if the cookie is sent along", async () => {
      const { page } = visit;
      const { companyId } = site.press;
      const before = await atRest();
      const goals = `/api/companies/${companyId}/goals`;
      assert.ok(createGoal.http.path.endsWith("/goals"));
      await page.goto(`${theirs}/`);
      const tried = await page.evaluate<Record<string, unknown>>(`(async () => {
        const daemon = ${JSON.stringify(daemon)}, goals = daemon + ${JSON.stringify(goals)};
        const text = JSON.stringify({ title: "Stolen" });
        const loaded = (element, source) => new Promise((done) => {
          element.onload = () => done("loaded");
          element.onerror = () => done("error");
          Object.assign(element, source);
          document.body.append(element);
          setTimeout(() => done("nothing"), 4000);
        });
        const read = (path, options) => fetch(daemon + path, { credentials: "include", ...options })
          .then(async (answer) => [answer.type, answer.status, await answer.text()], () => "blocked");
        const stream = (source, events) => new Promise((done) => {
          for (const name of events) source.addEventListener(name, () => done(name));
          setTimeout(() => done("nothing"), 4000);
        });
        const sink = document.createElement("iframe");
        sink.name = "sink";
        document.body.append(sink);
        const form = (enctype, name, value) => {
          const made = Object.assign(document.createElement("form"), { action: goals, method: "post", enctype, target: "sink" });
          made.append(Object.assign(document.createElement("input"), { name, value }));
          document.body.append(made);
          const gone = new Promise((done) => { sink.onload = done; setTimeout(done, 4000); });
          made.submit();
          return gone;
        };
        const results = {};
        results.read = await read("/api/me");
        results.list = await read(${JSON.stringify(goals)});
        results.keyed = await read("/api/me", { headers: { "x-agency-page": "x" } });
        results.opaque = await read("/api/me", { mode: "no-cors" });
        results.posted = await read(${JSON.stringify(goals)}, { method: "POST", body: text, headers: { "content-type": "application/json" } });
        results.plain = await read(${JSON.stringify(goals)}, { method: "POST", mode: "no-cors", body: text });
        results.beacon = navigator.sendBeacon(goals, new Blob([text], { type: "text/plain" }));
        await form("text/plain", '{"title":"Stolen","x":"', '"}');
        await form("application/x-www-form-urlencoded", "title", "Stolen");
        await form("multipart/form-data", "title", "Stolen");
        results.events = await stream(new EventSource(daemon + "/api/events?company=${companyId}&after=0", { withCredentials: true }), ["open", "message", "error"]);
        results.socket = await stream(new WebSocket(daemon.replace("http", "ws") + "/api/events?company=${companyId}&after=0"), ["open", "message", "error"]);
        results.image = await loaded(new Image(), { src: daemon + "/api/me" });
        results.script = await loaded(document.createElement("script"), { src: daemon + "/api/me" });
        const frame = document.createElement("iframe");
        await loaded(frame, { src: daemon + "/" });
        results.frame = frame.contentDocument === null ? "out of reach" : frame.contentDocument.body.innerText;
        const opened = window.open(daemon + "/approvals");
        await new Promise((done) => setTimeout(done, 1500));
        try { results.opened = opened === null || opened.closed ? "out of reach" : opened.document.body.innerText; } catch { results.opened = "out of reach"; }
        return results;
      })()`);
      assert.deepEqual(tried, {
        read: "blocked",
        list: "blocked",
        keyed: "blocked",
        posted: "blocked",
        // Requests sent without reading the answer are answered, and the page can't read the answers.
        opaque: ["opaque", 0, ""],
        plain: ["opaque", 0, ""],
        beacon: true,
        events: "error",
        socket: "error",
        image: "error",
        script: "error",
        frame: "out of reach",
        opened: "out of reach",
      });
      // No frame can show a page of the dashboard: the browser shows an error in its place.
      const framed = page.frames().filter((frame) => frame !== page.mainFrame());
      for (const frame of framed)
        assert.equal(
          await frame.evaluate(`document.querySelector("#root")`).catch(() => null),
          null,
          frame.url(),
        );
      assert.equal(framed.length, 2);
      assert.deepEqual(await writtenSince(before), []);
      const { outcomes } = await site.daemon.board.call(listGoals, { companyId });
      assert.ok(outcomes.length > 0 && !outcomes.some(({ title }) => title.includes("Stolen")));
      // The person's own page works as before.
      await page.goto(`${daemon}/`);
      await page.getByRole("heading", { name: /need/ }).waitFor();
    });

    test("opens no WebSocket with the cookie", async () => {
      const { hostname, port } = new URL(site.daemon.url);
      const socket = connect(Number(port), hostname);
      socket.write(
        `GET /api/events?company=${site.press.companyId}&after=0 HTTP/1.1\r\nHost: ${hostname}:${port}\r\nCookie: ${cookie}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
      );
      const [first] = await Promise.race([once(socket, "data"), once(socket, "close").then(() => [""])]);
      assert.doesNotMatch(String(first), /^HTTP\/1\.1 (?:101|200)/);
      socket.destroy();
    });
  });

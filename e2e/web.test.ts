// The dashboard in a real browser, on the built daemon with a live organization behind it.
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readdirSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import { resumeAgent, viewAgent } from "../src/contract/agents.ts";
import { listEvents } from "../src/contract/ledger.ts";
import { linkPerson, viewMe } from "../src/contract/people.ts";
import { newVisit, signedIn } from "./support/browser.ts";
import { startDaemon } from "./support/daemon.ts";
import { dashboard } from "./support/dashboard.ts";

/** Lets a test cut the open stream of events, as a network may: the body of its answer breaks off. */
const cuttable = `const connect = globalThis.fetch;
  globalThis.fetch = async (path, options) => {
    const answer = await connect(path, options);
    if (!String(path).startsWith("/api/events")) return answer;
    const reader = answer.body.getReader();
    const body = new ReadableStream({
      start: (stream) => {
        globalThis.cutEvents = () => {
          stream.error(new TypeError("network error"));
          void reader.cancel();
        };
      },
      pull: async (stream) => {
        const { done, value } = await reader.read();
        if (done) stream.close();
        else stream.enqueue(value);
      },
    });
    return new Response(body, { status: answer.status, headers: answer.headers });
  };`;

describe("the dashboard: signing in and the connection", () => {
  const site = dashboard("web");
  const newest = async () => {
    const { companyId } = site.press;
    const { events } = await site.daemon.board.call(listEvents, { companyId, order: "newest", limit: 1 });
    return { seq: events[0]?.seq ?? 0 };
  };
  const card = (page: Page, name: string) => page.locator("[data-item]", { hasText: name });

  test("the first load of Home is at most 180 kB, compressed", async () => {
    const { page } = site.visit;
    await page.goto(site.at("/"));
    await page.getByRole("heading", { name: /need/ }).waitFor();
    const sizes = await page.evaluate(
      `performance.getEntriesByType("resource").filter(({ name }) => name.includes("/assets/")).map(({ encodedBodySize }) => encodedBodySize)`,
    );
    const bytes = (Array.isArray(sizes) ? sizes : []).reduce(
      (sum: number, size: unknown) => sum + Number(size),
      0,
    );
    assert.ok(bytes > 50_000 && bytes <= 180 * 1024, `${bytes} bytes`);
    // The files that pages load later, as the daemon sends them. The bundle with which the page begins is part of the first
    // load.
    const folder = join(import.meta.dirname, "../dist/web/assets");
    const parts = readdirSync(folder).filter((name) => !/^index-|\.gz$/.test(name));
    assert.ok(parts.length > 10);
    for (const name of parts) {
      const path = join(folder, name);
      const size = statSync(existsSync(`${path}.gz`) ? `${path}.gz` : path).size;
      assert.ok(size <= 60 * 1024, `${name} has ${size} bytes`);
    }
  });

  test("a hidden tab asks for nothing, and catches up when it is shown", async () => {
    const { page } = site.visit;
    await page.goto(site.at("/"));
    await page.getByText("Live", { exact: true }).waitFor();
    const hide = (isHidden: boolean) =>
      page.evaluate(`Object.defineProperty(document, "hidden", { configurable: true, value: ${isHidden} });
        document.dispatchEvent(new Event("visibilitychange"))`);
    await hide(true);
    const heard = async () => Number((await page.locator(".seq").innerText()).replace(/\D/g, ""));
    // Requests that were about to be sent when the tab was hidden have an earlier timer in the page.
    await page.evaluate("new Promise((resolve) => setTimeout(resolve, 1000))");
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    const { seq } = await newest();
    await site.hire("Unseen Uma");
    while ((await heard()) <= seq) await sleep(50);
    assert.deepEqual(asked, []);
    assert.equal(await card(page, "Unseen Uma").count(), 0);
    await hide(false);
    await card(page, "Unseen Uma").first().waitFor();
  });

  test("a sign-in link works once, later says why it doesn't work, and is removed from the address", async () => {
    const { link } = await site.daemon.board.call(linkPerson, { id: "me" });
    const used = await signedIn(site.browser, site.daemon, { link });
    await used.page.getByRole("heading", { name: /need/ }).waitFor();
    assert.equal(new URL(used.page.url()).hash, "");
    const second = await newVisit(site.browser);
    await second.page.goto(link);
    await second.page.getByText("used").first().waitFor();
    assert.equal(new URL(second.page.url()).hash, "");
    await second.page.goto(site.at("/"));
    await second.page.getByText("This browser is not signed in.").waitFor();
    const old = await site.daemon.board.call(linkPerson, { id: "me" });
    // Ten minutes pass.
    const db = new DatabaseSync(join(site.home, "agency.db"), { timeout: 60_000 });
    db.exec("update credentials set expires_at = 1 where kind = 'link' and revoked_at is null");
    db.close();
    await second.page.goto("about:blank");
    await second.page.goto(old.link);
    await second.page.getByText("This sign-in link has expired.").waitFor();
    await second.page.goto("about:blank");
    await second.page.goto(site.at("/sign-in#agl_nonsense"));
    await second.page.getByText("This sign-in link is not known here.").waitFor();
    assert.equal(await second.page.getByText("Bearer").count(), 0);
    assert.deepEqual([used.complaints, second.complaints], [[], []]);
    await used.context.close();
    await second.context.close();
  });

  test("the cookie alone opens nothing, also not from a page of another local port", async () => {
    const { context, page } = site.visit;
    const cookies = await context.cookies();
    assert.deepEqual(
      cookies.map(({ httpOnly, sameSite }) => [httpOnly, sameSite]),
      [[true, "Strict"]],
    );
    const other = createServer((_, response) => response.end("<h1>other</h1>")).listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    await page.goto(`http://127.0.0.1:${port}/`);
    const seen = await page.evaluate(
      `fetch("${site.at("/api/me")}", { credentials: "include" }).then((r) => String(r.status), (e) => "blocked")`,
    );
    assert.equal(seen, "blocked");
    const header = cookies.map(({ name, value }) => `${name}=${value}`).join("; ");
    const bare = await fetch(site.at("/api/me"), { headers: { cookie: header } });
    assert.equal(bare.status, 401);
    site.visit.complaints.length = 0;
    other.close();
  });

  test("under agency.localhost, a browser keeps its cookie from other programs on 127.0.0.1", async () => {
    const { link } = await site.daemon.board.call(linkPerson, { id: "me" });
    const { port } = new URL(site.daemon.url);
    const named = `http://agency.localhost:${port}`;
    const { page, context, complaints } = await newVisit(site.browser);
    await page.goto(`${named}/sign-in${new URL(link).hash}`);
    await page.getByRole("heading", { name: /need/ }).waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    const sent: unknown[] = [];
    const other = createServer(({ headers }, response) => {
      sent.push(headers.cookie);
      response.end("<h1>other</h1>");
    }).listen(0, "127.0.0.1");
    await once(other, "listening");
    await page.goto(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`);
    assert.ok(sent.length > 0);
    assert.deepEqual(new Set(sent), new Set([undefined]));
    assert.deepEqual((await context.cookies(named)).length, 1);
    assert.deepEqual(complaints, []);
    await context.close();
    other.close();
  });

  test("after a dropped event stream, the page shows each of three hires made meanwhile", async () => {
    const { context, page } = site.visit;
    // The page reads the events itself, so the test can reach the connection.
    await context.addInitScript({ content: `delete globalThis.SharedWorker; ${cuttable}` });
    await page.goto(site.at("/"));
    await page.getByText("Live", { exact: true }).waitFor();
    await page.getByRole("heading", { name: /need/ }).waitFor();
    const stream = /\/api\/events\?/;
    const tries: string[] = [];
    await page.route(stream, async (route) => {
      tries.push(new URL(route.request().url()).searchParams.get("after") ?? "");
      await route.abort("connectionreset");
    });
    // Everything else still works.
    await page.evaluate("cutEvents()");
    await page.getByText(/No connection since/).waitFor();
    // The reads that earlier events caused are answered by now.
    await page.evaluate("new Promise((resolve) => setTimeout(resolve, 2000))");
    const missed = ["Dropped Dana", "Dropped Dirk", "Dropped Dora"];
    for (const name of missed) await site.hire(name);
    const { seq } = await newest();
    const before = tries.length;
    while (tries.length < before + 2) await sleep(50);
    // No event has arrived, so none of them is shown.
    for (const name of missed) assert.equal(await card(page, name).count(), 0);
    const resumed = page.waitForRequest((request) => new URL(request.url()).pathname === "/api/events");
    await page.unroute(stream);
    // It resumes after the last event it got, before all three.
    const after = Number(new URL((await resumed).url()).searchParams.get("after"));
    assert.ok(after > 0 && after < seq, `${after} ${seq}`);
    for (const name of missed) await card(page, name).first().waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    while (Number((await page.locator(".seq").innerText()).replace(/\D/g, "")) < seq) await sleep(50);
    assert.equal(await page.getByText(/No connection since/).count(), 0);
  });

  test("when the daemon is lost, the page shows since when, accepts no decision, and later catches up completely", async () => {
    const { page } = site.visit;
    await site.hire("Unreached Una");
    await page.goto(site.at("/"));
    await page.getByText("Live", { exact: true }).waitFor();
    // Which item is first, and open, depends on the agents meanwhile.
    const una = card(page, "Unreached Una").first();
    await una.focus();
    await page.keyboard.press("ArrowRight");
    const approve = una.getByRole("button", { name: "Approve" });
    await approve.waitFor();
    // A form that is open in another tab.
    const form = await site.visit.context.newPage();
    const greta = site.press.agents.get("Greta") ?? "";
    await form.goto(site.at(`/agents/${greta}`));
    await form.getByRole("button", { name: "Pause" }).click();
    const reason = form.getByRole("dialog").getByLabel("Reason, kept on record");
    await reason.fill("Inventory");
    await site.daemon.kill();
    try {
      await page.getByText(/No connection since \d\d:\d\d\. You see the state of entry #\d/).waitFor();
      assert.equal(await approve.getAttribute("aria-disabled"), "true");
      await form.getByText(/No connection since/).waitFor();
      const pause = form.getByRole("dialog").getByRole("button", { name: "Pause" });
      assert.equal(await pause.getAttribute("aria-disabled"), "true");
      assert.equal(await pause.getAttribute("title"), "You can decide again when the connection is back.");
      await reason.press("Enter");
    } finally {
      site.daemon = await startDaemon({ home: site.home, port: Number(new URL(site.daemon.url).port) }).ready;
    }
    await form.getByText("Live", { exact: true }).waitFor();
    assert.equal(await reason.inputValue(), "Inventory");
    assert.equal((await site.daemon.board.call(viewAgent, { id: greta })).paused, null);
    await reason.press("Enter");
    await form.getByText("Greta is paused.").waitFor();
    await site.daemon.board.call(resumeAgent, { id: greta });
    await form.close();
    await site.hire("Missed Max");
    // The row that had the focus may be far down, and new items wait while the list is scrolled.
    await page
      .locator("main .scroll")
      .first()
      .evaluate((list) => list.scrollTo({ top: 0 }));
    await card(page, "Missed Max").first().waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    assert.equal(await page.getByText(/No connection since/).count(), 0);
  });

  test("without a connection open pages stay open, and a page that is not loaded yet opens once the connection is back", async () => {
    const { page } = site.visit;
    await page.goto(site.at("/"));
    await page.getByText("Live", { exact: true }).waitFor();
    await page.locator("[data-item]").first().waitFor();
    await page.evaluate("globalThis.isSame = true");
    await site.daemon.kill();
    try {
      await page.getByText(/No connection since/).waitFor();
      // The card of a name and the list of all keys are not loaded yet either.
      await page.locator("main [data-card]").first().hover();
      await page.evaluate("new Promise((resolve) => setTimeout(resolve, 1000))");
      await page.keyboard.press("?");
      await page.locator("[data-item]").first().waitFor();
      await page.getByRole("link", { name: "Knowledge" }).click();
      await page.getByText("This page opens when the connection is back.").waitFor();
      await page.getByRole("link", { name: "Home" }).click();
      await page.locator("[data-item]").first().waitFor();
      await page.getByRole("link", { name: "Knowledge" }).click();
    } finally {
      site.daemon = await startDaemon({ home: site.home, port: Number(new URL(site.daemon.url).port) }).ready;
    }
    await page.getByRole("heading", { level: 1, name: "Knowledge" }).waitFor();
    await page.locator(".file-row").first().waitFor();
    // With its styles, and in the same document.
    assert.equal(
      await page.evaluate(`getComputedStyle(document.querySelector(".file-row")).display`),
      "grid",
    );
    assert.equal(await page.evaluate("globalThis.isSame"), true);
  });

  test("code that does not come is asked for once more by a new page, and then the page says that it can't be shown", async () => {
    const { page } = site.visit;
    await page.goto(site.at("/"));
    await page.getByText("Live", { exact: true }).waitFor();
    const code = /\/assets\/(?:knowledge|costs)-[^/]+\.js$/;
    let asked = 0;
    await page.route(code, (route) => (++asked === 1 ? route.abort() : route.continue()));
    await page.getByRole("link", { name: "Knowledge" }).click();
    await page.getByRole("heading", { level: 1, name: "Knowledge" }).waitFor();
    await page.unroute(code);
    await page.route(code, (route) => route.abort());
    await page.getByRole("link", { name: "Costs" }).click();
    await page.getByText("This page can't be shown because of an error in Agency.").waitFor();
    await page.unroute(code);
    await page.getByRole("button", { name: "Load it again" }).click();
    await page.getByRole("button", { name: "By agent" }).waitFor();
    site.visit.complaints.length = 0;
  });

  // covers GOV-45
  test("a company is created without the switch for approvals, which its advanced settings have", async () => {
    const { page } = site.visit;
    await page.goto(site.at("/companies"));
    await page.getByRole("button", { name: "New company" }).click();
    const form = page.getByRole("dialog", { name: "Create a company" });
    await form.getByLabel("Name").waitFor();
    assert.equal(await form.getByRole("switch").count(), 0);
    assert.equal(await form.getByText(/approval/).count(), 0);
    await form.getByLabel("Name").fill("Second Press");
    await page.keyboard.press("Enter");
    await page.waitForURL(/company=/);
    await page.goto(site.at(`/settings/advanced${new URL(page.url()).search}`));
    await page.getByRole("switch").waitFor();
    assert.equal(await page.getByRole("switch").isChecked(), true);
    await page.goto(site.at(`/?company=${site.press.companyId}`));
    await page.getByRole("button", { name: "Company: Lumen Press" }).waitFor();
  });

  test("browsers are listed, and one that is ended is signed out at once", async () => {
    const other = await signedIn(site.browser, site.daemon);
    const { signIns } = await site.daemon.board.call(viewMe, {});
    assert.ok(signIns.some(({ kind, label }) => kind === "browser" && label.startsWith("Chrome")));
    await other.page.evaluate(
      `fetch("/api/sign-out", { method: "POST", headers: { "x-agency-page": localStorage.getItem("agency.pageKey"), "content-type": "application/json" }, body: "{}" })`,
    );
    await other.page.goto(site.at("/approvals"));
    await other.page.getByText("This browser is not signed in.").waitFor();
    await other.context.close();
  });
});

// The dashboard in a real browser, on the built daemon: watching a running session.
import assert from "node:assert/strict";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import { createAgent } from "../src/contract/hiring.ts";
import { sendMessage } from "../src/contract/mail.ts";
import { listAgentSessions } from "../src/contract/sessions.ts";
import { launchBrowser, signedIn, type Visit } from "./support/browser.ts";
import { type BuiltDaemon, startDaemon, temporaryFolder } from "./support/daemon.ts";

describe("a live session", () => {
  const folder = temporaryFolder("web-session");
  let daemon: BuiltDaemon;
  let browser: Browser;
  let visit: Visit;

  before(async () => {
    // The sessions read files of the test, which a sandbox would hide.
    const env = { AGENCY_SANDBOX: "off" };
    daemon = await startDaemon({ home: join(folder.path, "home"), env }).ready;
    browser = await launchBrowser();
    visit = await signedIn(browser, daemon);
  });
  after(async () => {
    await browser?.close();
    await daemon?.stop();
    folder.remove();
    assert.deepEqual(visit?.complaints, [], "the browser complained");
  });

  /** A session that prints what the test tells it, when the test tells it. */
  async function talker(name: string) {
    const { board, companyId } = daemon;
    const log = join(folder.path, `${name}.log`);
    const end = join(folder.path, `${name}.end`);
    writeFileSync(log, "");
    const script = `
      const { existsSync, readFileSync } = require("node:fs");
      let printed = 0;
      setInterval(() => {
        const all = readFileSync(${JSON.stringify(log)}, "utf8");
        process.stdout.write(all.slice(printed));
        printed = all.length;
        if (existsSync(${JSON.stringify(end)})) process.exit(Number(readFileSync(${JSON.stringify(end)}, "utf8")));
      }, 50);`;
    const { id } = await board.call(createAgent, {
      companyId,
      name,
      role: "Talker",
      adapterType: "process",
      adapterConfig: { command: process.execPath, args: ["-e", script] },
    });
    await board.call(sendMessage, { companyId, to: id, body: "Talk." });
    for (; ; await sleep(50)) {
      const { sessions } = await board.call(listAgentSessions, { id });
      const session = sessions.at(-1)?.id;
      if (session !== undefined)
        return {
          id,
          path: `${daemon.url}/sessions/${session}`,
          say: (...lines: readonly string[]) =>
            appendFileSync(log, lines.map((line) => `${line}\n`).join("")),
          /** Ends with this exit code, after everything was printed. */
          end: (code: number) => writeFileSync(end, String(code)),
        };
    }
  }

  const line = (page: Page, text: string) =>
    page.locator(".transcript .entry bdi").getByText(text, { exact: true });
  /** The pixels between the visible part and the end. */
  const below = (page: Page): Promise<number> =>
    page.evaluate<number>(`(() => {
      const { scrollTop, clientHeight, scrollHeight } = document.querySelector(".transcript");
      return Math.round(scrollHeight - clientHeight - scrollTop);
    })()`);
  const numbered = (from: number, to: number): string[] =>
    Array.from({ length: to - from + 1 }, (_, at) => `line ${from + at}`);

  test("the page says that nothing was printed yet, then shows each line and keeps the end in view", async () => {
    const { page } = visit;
    const ann = await talker("Ann");
    await page.goto(ann.path);
    await page.getByText(/^Started (?:.+ ago|just now), nothing printed yet\.$/).waitFor();
    await page.locator(".tag.run", { hasText: "At work" }).waitFor();
    ann.say("good morning");
    await line(page, "good morning").waitFor();
    assert.equal(await page.getByText("nothing printed yet").count(), 0);
    ann.say(...numbered(1, 120));
    await line(page, "line 120").waitFor();
    ann.say("one more");
    await line(page, "one more").waitFor();
    assert.equal(await page.getByRole("button", { name: /new lines?$/ }).count(), 0);
    while ((await below(page)) > 30) await sleep(20);

    // Scrolling up stops following: the text being read stays in place, and new lines are counted.
    await page.locator(".transcript").hover();
    while ((await below(page)) < 600) await page.mouse.wheel(0, -300);
    await line(page, "line 90").waitFor();
    const before = await line(page, "line 90").boundingBox();
    ann.say("late one", "late two", "late three");
    const fresh = page.getByRole("button", { name: "3 new lines" });
    await fresh.waitFor();
    assert.deepEqual(await line(page, "line 90").boundingBox(), before);
    assert.equal(await line(page, "late three").count(), 0);
    await fresh.click();
    await line(page, "late three").waitFor();
    while ((await below(page)) > 30) await sleep(20);
    await fresh.waitFor({ state: "detached" });
    // The page follows again.
    ann.say(...numbered(121, 180));
    await line(page, "line 180").waitFor();

    ann.end(0);
    await page.locator(".tag", { hasText: "At work" }).waitFor({ state: "detached" });
    await page.getByRole("region", { name: "How it ended" }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Stop" }).count(), 0);
    await line(page, "line 180").waitFor();
  });

  test("Home, the agent's page and the panel show its printed lines, although no event records them", async () => {
    const { page } = visit;
    const cid = await talker("Cid");
    cid.say("one");
    await page.goto(`${daemon.url}/`);
    await page.locator(".rail .line", { hasText: /^one$/ }).waitFor();
    cid.say("two");
    await page.locator(".rail .line", { hasText: /^two$/ }).waitFor();
    await page.goto(`${daemon.url}/agents/${cid.id}`);
    await page.locator(".term .now", { hasText: /^two$/ }).waitFor();
    cid.say("three");
    await page.locator(".term .now", { hasText: /^three$/ }).waitFor();
    const [, id] = /sessions\/(.+)$/.exec(cid.path) ?? [];
    await page.goto(`${daemon.url}/sessions?session=${id}`);
    const panel = page.getByRole("complementary", { name: "The chosen session" });
    await panel.getByText("three", { exact: true }).waitFor();
    cid.say("four");
    await panel.getByText("four", { exact: true }).waitFor();
    cid.end(0);
    await panel.getByText("Done").first().waitFor();
  });

  test("a session opened midway shows everything from the beginning, and a failure with its last words and reason", async () => {
    const bob = await talker("Bob");
    bob.say(...numbered(1, 5));
    const { page } = visit;
    await page.goto(bob.path);
    for (const text of numbered(1, 5)) await line(page, text).waitFor();
    // Another tab, opened later, sees the same.
    const second = await visit.context.newPage();
    await second.goto(bob.path);
    await line(second, "line 1").waitFor();
    bob.say("I give up");
    for (const each of [page, second]) await line(each, "I give up").waitFor();
    bob.end(3);
    for (const each of [page, second]) {
      await each.locator(".tag.stop", { hasText: "Failed" }).waitFor();
      await each
        .getByRole("region", { name: "How it ended" })
        .getByText(/^Failed: .*3/)
        .waitFor();
      assert.equal(await line(each, "I give up").count(), 1);
    }
    await second.close();
  });
});

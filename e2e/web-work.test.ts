// The pages of the dashboard on which people look things up and change them, in a browser on the built daemon.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { AxeBuilder } from "@axe-core/playwright";
import type { Browser, Page } from "playwright-core";
import { listAgents } from "../src/contract/agents.ts";
import { grantPermission } from "../src/contract/capabilities.ts";
import { updateCompany, viewCompany } from "../src/contract/companies.ts";
import { listGoals } from "../src/contract/goals.ts";
import { createAgent } from "../src/contract/hiring.ts";
import { createFile, readVersion, writeFile } from "../src/contract/knowledge.ts";
import { listEvents } from "../src/contract/ledger.ts";
import { listConversation } from "../src/contract/mail.ts";
import { createOutcome, updateOutcome, viewOutcome } from "../src/contract/outcomes.ts";
import { delegateOutcome } from "../src/contract/delegation.ts";
import { removeMcpServer } from "../src/contract/servers.ts";
import { listAgentSessions } from "../src/contract/sessions.ts";
import { allowed } from "../src/testing/allowed.ts";
import { startGuardedServer } from "../src/testing/guarded-server.ts";
import { launchBrowser, signedIn, type Visit } from "./support/browser.ts";
import { type BuiltDaemon, startDaemon, temporaryFolder } from "./support/daemon.ts";
import { developer, git, makeOrigin } from "./support/origin.ts";
import { enliven, foundPress, type Press } from "./support/press.ts";

const toggle = "Require board approval for new agent hires";

describe("pages that look things up and change them", () => {
  const folder = temporaryFolder("web-work");
  let daemon: BuiltDaemon;
  let browser: Browser | undefined;
  let press: Press;
  let light: Visit;
  let dark: Visit;
  before(async () => {
    daemon = await startDaemon({ home: folder.path, env: { AGENCY_SANDBOX: "off" } }).ready;
    press = await foundPress(daemon, { delayMs: 60_000 });
    await enliven(daemon, press);
    browser = await launchBrowser();
    light = await signedIn(browser, daemon);
    dark = await signedIn(browser, daemon, { theme: "dark", width: 360, height: 740 });
  });
  after(async () => {
    await browser?.close();
    await daemon.stop();
    folder.remove();
    assert.deepEqual([...light.complaints, ...dark.complaints], [], "the browser complained");
  });

  /** Both themes, one of them on a narrow screen: nothing serious for axe, and nothing to scroll sideways. */
  async function looksRight(path: string, sign: string): Promise<void> {
    for (const { page } of [light, dark]) {
      await page.goto(daemon.url + path);
      await page.getByText(sign).filter({ visible: true }).first().waitFor();
      const { violations } = await new AxeBuilder({ page }).analyze();
      const bad = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
      assert.deepEqual(
        bad.map(({ id, nodes }) => [id, nodes.map(({ html }) => html.slice(0, 200))]),
        [],
        path,
      );
      const hidden = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
      assert.ok(hidden <= 0, `${path} is ${hidden} px wider than the window`);
    }
  }

  /** The tab goes somewhere and waits for the text. */
  async function open(page: Page, path: string, sign: string): Promise<void> {
    await page.goto(daemon.url + path);
    await page.getByText(sign).filter({ visible: true }).first().waitFor();
  }

  it("shows outcomes as a tree and as a table, says why one does not move, and unblocks it", async () => {
    const { page } = light;
    const { outcomes } = await daemon.board.call(listGoals, { companyId: press.companyId });
    const goal = outcomes.find(({ title }) => title === "The store takes pre-orders");
    assert.ok(goal);
    const hostile = "Waiting for <img src=x onerror=alert(1)> the bank";
    await daemon.board.call(updateOutcome, { id: goal.id, blocked: { reason: hostile } });
    await looksRight("/outcomes?status=open", "Theo: Editorial lead");
    await looksRight("/outcomes?view=table&status=open", hostile);
    await looksRight(`/outcomes/${goal.id}`, "How it is verified");
    await looksRight("/outcomes?view=map", "Moving");

    // The map says what is focused, and opens it beside and then as a page, by keys alone.
    await open(page, "/outcomes?view=map", "Moving");
    const map = page.getByRole("application");
    await map.focus();
    await map.press("Home");
    for (const key of ["ArrowRight", "ArrowDown", "ArrowUp", "-", "0"]) await map.press(key);
    const focused = await page.locator("#map-focus").innerText();
    await map.press("Enter");
    await page.waitForURL(/outcome=/);
    const chosen = await page.locator(".outcome-panel h2").first().innerText();
    assert.ok(focused.startsWith(`${chosen}.`), `${focused} is ${chosen}`);
    await map.press("Enter");
    await page.getByRole("heading", { level: 1, name: chosen }).waitFor();

    await open(page, "/outcomes", "Piet: Fact checker");
    await page.keyboard.press("/");
    await page.keyboard.type("pre-orders");
    await page.getByText("Piet: Fact checker").waitFor({ state: "detached" });
    assert.match(page.url(), /q=pre-orders/);
    await page.getByRole("searchbox").blur();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "The store takes pre-orders" }).waitFor();
    await page.getByText(hostile).first().waitFor();
    assert.equal(await page.locator("main img").count(), 0);

    await page.getByRole("button", { name: "Unblock" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Unblock" }).press("Enter");
    await page.getByText("Unblocked.").waitFor();
    assert.equal((await daemon.board.call(viewOutcome, { id: goal.id })).blocked, null);

    await page.getByRole("button", { name: "Close", exact: true }).click();
    await page.getByLabel("Why", { exact: true }).fill("The shop is sold.");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Reopen" }).waitFor();
    assert.equal((await daemon.board.call(viewOutcome, { id: goal.id })).rationale, "The shop is sold.");
  });

  it("reads mail, answers it, sends some later, and shows what became of it", async () => {
    const { page } = light;
    const question = "120 g or 150 g paper?";
    await looksRight("/mail", question);
    await looksRight(`/mail/${press.rootId}`, question);

    await open(page, "/mail", question);
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.waitForURL((url) => url.pathname === `/mail/${press.rootId}`);
    await page.getByText("Read, not done yet").waitFor();
    await page.keyboard.press("m");
    await page.keyboard.type("150 g. **Order** it.");
    await page.keyboard.press("Control+Enter");
    await page.getByText("Sent to Marlow.").waitFor();
    await page.locator(".mine strong", { hasText: "Order" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("d");
    await page.getByLabel("What became of it").fill("Answered.");
    await page.keyboard.press("Enter");
    await page.getByText("Done: Answered.").waitFor();

    await page.getByRole("combobox", { name: "To" }).selectOption({ label: "Theo, Editorial lead" });
    await page.getByRole("button", { name: "Later or with a file" }).click();
    await page.getByLabel("Deliver at").fill("2050-01-01T09:00");
    await page.getByLabel("Message", { exact: true }).fill("Happy new year.");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("The message to Theo waits for its time.").waitFor();
    await page.getByRole("button", { name: "Deferred" }).click();
    await page.locator(".mail-row", { hasText: "Happy new year." }).waitFor();
    const { messages } = await daemon.board.call(listConversation, {
      companyId: press.companyId,
      with: press.agents.get("Theo") ?? "",
    });
    assert.equal(messages[0]?.deliveredAt, null);
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).first().click();
    await page.getByText("No message waits for its time.").waitFor();
  });

  it("keeps the hiring toggle and every other setting, tests a brain, invites a person and ends a browser", async () => {
    // covers GOV-44, GOV-71
    const { page } = light;
    const { companyId } = press;
    await looksRight("/settings/company", "Monthly budget");
    await looksRight("/settings/brains", "rehearsal");
    await looksRight("/settings/servers", "No MCP servers yet.");
    await looksRight("/settings/secrets", "No secrets yet.");
    await looksRight("/settings/people", "Invite");
    await looksRight("/settings/browsers", "this one");
    await looksRight("/settings/advanced", toggle);

    await open(page, "/settings/advanced", toggle);
    assert.equal(await page.getByRole("switch").isChecked(), true);
    await page.getByRole("switch").press("Space");
    await page.getByText(`Saved: ${toggle}.`).waitFor();
    await page.reload();
    await page.getByRole("switch").waitFor();
    assert.equal(await page.getByRole("switch").isChecked(), false);
    const { settings } = await daemon.board.call(viewCompany, { companyId });
    assert.equal(settings.requireBoardApprovalForNewAgents, false);
    await page.getByRole("switch").click();
    await page.getByText(`Saved: ${toggle}.`).waitFor();

    await page.getByLabel("Sessions at the same time").fill("5000");
    await page.keyboard.press("Enter");
    await page.getByText("The maximum is 1000.").waitFor();
    assert.equal(await page.getByLabel("Sessions at the same time").inputValue(), "5000");
    await page.getByLabel("Sessions at the same time").fill("7");
    await page.keyboard.press("Enter");
    await page.getByText("Saved: Sessions at the same time.").waitFor();

    await open(page, "/settings/brains", "rehearsal");
    await page.getByRole("region", { name: "rehearsal" }).getByRole("button", { name: "Test" }).click();
    await page.getByRole("region", { name: "rehearsal" }).getByRole("status").waitFor();

    await open(page, "/settings/secrets", "No secrets yet.");
    await page.getByRole("button", { name: "Add" }).click();
    await page.getByLabel("Name").fill("CHAT_KEY");
    await page.getByLabel("Value").fill("s3cr3t-of-the-house");
    await page.keyboard.press("Enter");
    await page.getByText("CHAT_KEY").waitFor();
    assert.ok(!(await page.content()).includes("s3cr3t-of-the-house"));

    await open(page, "/settings/people", "Invite");
    await page.getByRole("button", { name: "Invite" }).click();
    await page.getByLabel("Name").fill("Jonas");
    await page.getByLabel("Role").selectOption("viewer");
    await page.getByRole("dialog").getByRole("button", { name: "Invite" }).click();
    const link = await page.locator("code.code-box").innerText();
    const guest = await signedIn(browser ?? assert.fail(), daemon, { link });
    await guest.page.goto(`${daemon.url}/settings/browsers`);
    await guest.page.getByRole("button", { name: "Sign out" }).waitFor();
    assert.equal(
      await guest.page.getByRole("button", { name: "Sign out" }).getAttribute("aria-disabled"),
      "true",
    );
    await guest.page.goto(`${daemon.url}/settings/secrets`);
    await guest.page.locator('button[title^="You are a viewer."]', { hasText: "Add" }).waitFor();
    await guest.context.close();
  });

  it("signs in for a remote MCP server, and sees that it is signed in", async () => {
    const { page } = light;
    const { companyId, rootId } = press;
    const guarded = await startGuardedServer();
    const name = "calendar";
    try {
      await open(page, "/settings/servers", "No MCP servers yet.");
      await page.getByRole("button", { name: "Add" }).click();
      await page.getByLabel("Name", { exact: true }).fill(name);
      await page.getByLabel("URL").fill(guarded.url);
      await page.getByRole("switch", { name: "Private network" }).check();
      await page.getByRole("dialog").getByRole("button", { name: "Add" }).click();
      const server = page.getByRole("listitem").filter({ hasText: name });
      await server.getByText('"privateNetwork":true').waitFor();
      await daemon.board.call(grantPermission, { companyId, to: rootId, resource: `mcp:${name}` });
      await server.getByRole("button", { name: "Test" }).click();
      await server.getByText("waits for a sign-in").waitFor();
      // Home offers the same.
      await open(page, "/", "calendar");
      await open(page, "/settings/servers", "waits for a sign-in");
      await server.getByRole("button", { name: "Sign in…" }).click();
      const dialog = page.getByRole("dialog", { name: "Sign in for this server" });
      const opened = page.context().waitForEvent("page");
      await dialog.getByRole("link", { name: /^Open 127\.0\.0\.1/ }).click();
      const service = await opened;
      await service.getByText(/signed in/i).waitFor();
      await service.close();
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "hidden" });
      await server.getByText("waits for a sign-in").waitFor({ state: "detached" });
    } finally {
      await daemon.board.call(removeMcpServer, { companyId, name });
      await guarded.stop();
    }
  });

  it("hires with a form made from the brain's schema: pending with the toggle, immediately without", async () => {
    // covers GOV-47, GOV-48, GOV-73, ORG-53
    const { page } = light;
    const { companyId } = press;
    await looksRight("/hire", "Rights it begins with");
    const boss = press.agents.get("Theo") ?? "";
    for (const [name, isPending] of [
      ["Runa", true],
      ["Silke", false],
    ] as const) {
      await daemon.board.call(updateCompany, { companyId, requireBoardApprovalForNewAgents: isPending });
      await open(page, `/hire?boss=${boss}`, "Rights it begins with");
      await page.getByLabel("Name", { exact: true }).fill(name);
      await page.getByLabel("Role", { exact: false }).first().fill("Proofreader");
      await page.getByLabel("Mandate").fill("Every page is read twice.");
      await page.getByRole("combobox", { name: "Type" }).selectOption("rehearsal");
      await page.getByLabel("delayMs").fill("70000");
      await page.reload();
      await page.getByLabel("delayMs").waitFor();
      assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), name);
      await page.getByRole("button", { name: "Hire", exact: true }).click();
      await page.getByText("The maximum is 60000").waitFor();
      await page.getByLabel("delayMs").fill("20");
      await page.keyboard.press("Enter");
      await page
        .getByRole("heading", { name: isPending ? "Pending board approval" : `${name} is ready` })
        .waitFor();
      const { agents } = await daemon.board.call(listAgents, { companyId });
      const hired = agents.find((each) => each.name === name);
      assert.deepEqual([hired?.status === "pending_approval", hired?.boss?.name], [isPending, "Theo"]);
    }
  });

  it("finds a file by its words, renders it, edits it, compares versions, and says who can read it", async () => {
    const { page } = light;
    const { companyId } = press;
    const { id } = await daemon.board.call(createFile, {
      companyId,
      description: "Voice and tone",
      content:
        "# Voice\n\n<b>bold</b> [x](javascript:alert(1)) ![p](https://example.com/p.png)\n\n- **calm**\n",
    });
    await looksRight("/knowledge", "Voice and tone");
    await looksRight(`/knowledge/${id}`, "<b>bold</b>");
    await looksRight(`/knowledge/${id}/access`, "Access log");

    await open(page, "/knowledge", "Competitor prices");
    await page.keyboard.press("/");
    await page.keyboard.type("calm");
    await page.getByText("Competitor prices").first().waitFor({ state: "detached" });
    // While the word is typed, the list changes with each letter.
    await page.locator("li:only-child > a.file-row", { hasText: "Voice and tone" }).waitFor();
    await page.getByRole("searchbox").blur();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.locator(".md strong", { hasText: "calm" }).waitFor();
    assert.equal(await page.locator("main img").count(), 0);
    assert.equal(await page.locator('main a[href^="javascript"]').count(), 0);

    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Text, as Markdown").fill("# Voice\n\nShort and calm.\n");
    await page.getByRole("button", { name: "Save as version 2" }).click();
    await page.getByText("Version 2 is saved.").waitFor();
    await page.getByText("version 2 of 2").waitFor();
    await page.keyboard.press("d");
    await page.locator("ins", { hasText: "Short and calm." }).waitFor();
    assert.match(page.url(), /against=1/);
    await page.getByRole("link", { name: "Access" }).click();
    await page.getByText("Who can read it, and why").waitFor();
  });

  it("shows costs, the record and every company", async () => {
    const { page } = light;
    await looksRight("/costs", "By agent");
    await looksRight("/activity", "Verify");
    await looksRight("/companies", "shown now");

    await open(page, "/costs", "By agent");
    await page.getByRole("button", { name: "By outcome" }).click();
    await page.waitForURL(/by=outcome/);

    // Reading is recorded, and the record of it makes no page read again.
    const content = "One.\n";
    const { companyId: company } = press;
    const file = await daemon.board.call(createFile, { companyId: company, description: "Twice", content });
    await daemon.board.call(writeFile, {
      id: file.id,
      version: file.version,
      hash: file.hash,
      content: "Two.\n",
    });
    const reads = async () => {
      const { companyId } = press;
      const { events } = await daemon.board.call(listEvents, { companyId, order: "newest", limit: 1000 });
      return {
        last: events[0]?.seq ?? 0,
        count: events.filter(({ operation }) => operation === "knowledge.read_version").length,
      };
    };
    const { count } = await reads();
    await open(page, `/knowledge/${file.id}?v=1&against=2`, "compared with");
    await page.locator("ins, del").first().waitFor();
    const rounds = 8;
    for (let round = 0; round < rounds; round++) {
      await daemon.board.call(readVersion, { id: file.id, version: 1 });
      const { last } = await reads();
      // The number of the newest entry that the page has heard of.
      const seen = async () => Number((await page.locator(".seq").innerText()).replace(/\D/g, ""));
      while ((await seen()) < last) await sleep(50);
    }
    assert.ok((await reads()).count <= count + rounds + 2, "the page read again because it had read");

    await open(page, "/activity", "Verify");
    await page.getByRole("button", { name: "Verify" }).click();
    await page.getByText(/^All [\d,]+ entries fit their hashes\.$/).waitFor();
    await page.keyboard.press("Escape");
    await page.getByLabel(/^All entries fitted their hashes at/).waitFor();

    // A drag over the strip chooses a time range.
    await open(page, "/activity", "Verify");
    const strip = page.getByRole("img", { name: /shown entries between/ });
    const box = await strip.boundingBox();
    assert.ok(box !== null);
    await page.mouse.move(box.x + box.width * 0.2, box.y + 10);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.9, box.y + 12, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(({ searchParams }) => searchParams.has("from") && searchParams.has("to"));
    await page.getByRole("button", { name: "All times" }).click();
    await page.waitForURL(({ searchParams }) => !searchParams.has("from"));

    await open(page, `/activity?actor=${press.agents.get("Bruno") ?? ""}`, "Iris Duarte");
    await page.getByLabel("What").selectOption("agent");
    await page.waitForURL(/operation=agent/);
  });

  it("opens a long session at its end, line by line, and shows its beginning on demand", async () => {
    const page = await light.context.newPage();
    const newest = async () => {
      const { sessions } = await daemon.board.call(listAgentSessions, { id: press.rootId, limit: 1 });
      return sessions[0];
    };
    let session = await newest();
    for (; session === undefined; session = await newest()) await sleep(100);
    const { id, startedAt } = session;
    const printed = (text: string) => ({ at: startedAt, kind: "output", text });
    // Pieces end anywhere, also within a line. The end begins at the second piece.
    const pieces = ["first line\nsecond li", "ne\nthird line\n", "last line\n"];
    await page.route("**/api/sessions/*/transcript*", (route) => {
      const after = new URL(route.request().url()).searchParams.get("after");
      const from = after === null ? 1 : Number(after);
      return route.fulfill({
        json: { entries: pieces.slice(from).map(printed), next: pieces.length, truncated: from > 0 },
      });
    });
    const lines = async () => page.locator(".transcript .entry bdi").allInnerTexts();
    await page.goto(`${daemon.url}/sessions/${id}`);
    await page.locator(".entry", { hasText: "last line" }).waitFor();
    assert.deepEqual(await lines(), ["ne", "third line", "last line"]);
    await page.getByRole("button", { name: "Show it from the beginning" }).click();
    await page.locator(".entry", { hasText: "first line" }).waitFor();
    assert.deepEqual(await lines(), ["first line", "second line", "third line", "last line"]);
    assert.equal(await page.getByRole("button", { name: "Show it from the beginning" }).count(), 0);
    await page.close();
  });

  it("adds a repository, shows what a published branch changes, and pushes it", async () => {
    // covers REPO-04
    const { page } = light;
    const { board } = daemon;
    const { companyId, rootId } = press;
    const place = temporaryFolder("web-origin");
    const origin = makeOrigin(place.path);
    await looksRight("/settings/repos", "No repositories yet.");
    await open(page, "/settings/repos", "No repositories yet.");
    await page.getByRole("button", { name: "Add" }).click();
    await page.getByLabel("Name", { exact: true }).fill("shop");
    await page.getByLabel("URL").fill("ext::sh -c id");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByRole("alert").waitFor();
    await page.getByLabel("URL").fill(origin);
    await page.getByRole("switch", { name: "Private network" }).check();
    await page.getByRole("dialog").getByRole("button", { name: "Add" }).click();
    await page.getByText("Default branch main, may be in a private network").waitFor();

    await board.call(updateCompany, { companyId, maxSessions: 12 });
    const worker = await board.call(createAgent, {
      companyId,
      name: "Worker",
      role: "worker",
      reportsTo: rootId,
      ...developer("worker"),
    });
    await board.call(grantPermission, { companyId, to: rootId, resource: "repo:shop", level: "read" });
    const { outcomes: goals } = await board.call(listGoals, { companyId });
    const goal = await board.call(createOutcome, {
      companyId,
      title: "Fix the rounding",
      parents: goals.slice(0, 1).map(({ id }) => id),
    });
    await board.call(delegateOutcome, {
      id: goal.id,
      to: worker.id,
      grants: [{ resource: "repo:shop", level: "read" }],
    });
    // The page is told that the branch is there.
    await page
      .getByRole("link", { name: "What agency/worker/fix changes" })
      .click({ timeout: allowed(90_000) });
    await page.locator("ins", { hasText: "Math.round" }).waitFor();
    await looksRight("/settings/repos?repo=shop&branch=agency/worker/fix", "Prices are rounded to cents.");
    await open(page, `/outcomes/${goal.id}`, "How it is verified");
    await page.getByRole("link", { name: "the changes" }).click();
    await page.getByRole("button", { name: "Push" }).click();
    await page.getByLabel("Branch at the origin").fill("main");
    await page.keyboard.press("Enter");
    await page.getByText("pushed to main").waitFor();
    assert.match(git(origin, "log", "-1", "--format=%s", "main"), /^Round prices to cents$/);
    place.remove();
  });
});

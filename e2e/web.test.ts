import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { AxeBuilder } from "@axe-core/playwright";
import type { Browser, Page } from "playwright-core";
import {
  commentOnApproval,
  reject,
  requestRevision,
  resubmit,
  viewApproval,
} from "../src/contract/approvals.ts";
import { viewAgent } from "../src/contract/agents.ts";
import { hireAgent } from "../src/contract/hiring.ts";
import { createFile } from "../src/contract/knowledge.ts";
import { listEvents } from "../src/contract/ledger.ts";
import { sendMessage } from "../src/contract/mail.ts";
import { listAgentSessions } from "../src/contract/sessions.ts";
import { createPerson, linkPerson, viewMe } from "../src/contract/people.ts";
import { fixedPort } from "./support/agents.ts";
import { launchBrowser, newVisit, pressKeys, type Profile, signedIn, type Visit } from "./support/browser.ts";
import { type BuiltDaemon, startDaemon, temporaryFolder } from "./support/daemon.ts";
import { enliven, foundPress, type Press } from "./support/press.ts";

// The dashboard in a real browser, on the built daemon with a live organization behind it.
describe("the dashboard", () => {
  const home = temporaryFolder("web");
  let daemon: BuiltDaemon;
  let browser: Browser;
  let press: Press;
  let hireId = "";
  let profile: Profile;
  let visit: Visit;
  before(async () => {
    // One test starts it again at the same address.
    daemon = await startDaemon({ home: home.path, port: await fixedPort() }).ready;
    press = await foundPress(daemon);
    ({ hireId } = await enliven(daemon, press));
    browser = await launchBrowser();
    const { context } = await signedIn(browser, daemon);
    profile = await context.storageState();
    await context.close();
  });
  // Every test has its own browser profile. A test that fails halfway leaves nothing open for the next one.
  beforeEach(async () => {
    visit = await newVisit(browser, { profile });
  });
  afterEach(async () => {
    await visit?.context.close();
    assert.deepEqual(visit?.complaints, [], "the browser complained");
  });
  after(async () => {
    await browser?.close();
    await daemon?.stop();
    home.remove();
  });

  /** Asks for an agent from Bruno, and returns the approval. */
  const hire = async (name: string): Promise<string> => {
    const bruno = await press.as("Bruno");
    const { approval } = await bruno.call(hireAgent, {
      companyId: press.companyId,
      name,
      role: "Researcher",
      adapterType: "rehearsal",
      budget: { usd: 1 },
      prompt: "Search widely.",
    });
    return approval?.id ?? "";
  };
  const at = (path: string): string => `${daemon.url}${path}`;
  const card = (page: Page, name: string) => page.locator("[data-item]", { hasText: name });

  test("the first load of Home is at most 180 kB, compressed", async () => {
    const { page } = visit;
    await page.goto(at("/"));
    await page.getByRole("heading", { name: /need/ }).waitFor();
    const sizes = await page.evaluate(
      `performance.getEntriesByType("resource").filter(({ name }) => name.includes("/assets/")).map(({ encodedBodySize }) => encodedBodySize)`,
    );
    const bytes = (Array.isArray(sizes) ? sizes : []).reduce(
      (sum: number, size: unknown) => sum + Number(size),
      0,
    );
    assert.ok(bytes > 50_000 && bytes <= 180 * 1024, `${bytes} bytes`);
  });

  test("a sign-in link works once, says why it does not work again or no more, and leaves the address", async () => {
    const { link } = await daemon.board.call(linkPerson, { id: "me" });
    const used = await signedIn(browser, daemon, { link });
    await used.page.getByRole("heading", { name: /need/ }).waitFor();
    assert.equal(new URL(used.page.url()).hash, "");
    const second = await newVisit(browser);
    await second.page.goto(link);
    await second.page.getByText("used").first().waitFor();
    assert.equal(new URL(second.page.url()).hash, "");
    await second.page.goto(at("/"));
    await second.page.getByText("This browser is not signed in.").waitFor();
    const old = await daemon.board.call(linkPerson, { id: "me" });
    // Ten minutes pass.
    const db = new DatabaseSync(join(home.path, "agency.db"), { timeout: 60_000 });
    db.exec("update credentials set expires_at = 1 where kind = 'link' and revoked_at is null");
    db.close();
    await second.page.goto("about:blank");
    await second.page.goto(old.link);
    await second.page.getByText("This sign-in link has expired.").waitFor();
    await second.page.goto("about:blank");
    await second.page.goto(at("/sign-in#agl_nonsense"));
    await second.page.getByText("This sign-in link is not known here.").waitFor();
    assert.equal(await second.page.getByText("Bearer").count(), 0);
    assert.deepEqual([used.complaints, second.complaints], [[], []]);
    await used.context.close();
    await second.context.close();
  });

  test("the cookie alone opens nothing, also not from a page of another local port", async () => {
    const { context, page } = visit;
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
      `fetch("${at("/api/me")}", { credentials: "include" }).then((r) => String(r.status), (e) => "blocked")`,
    );
    assert.equal(seen, "blocked");
    const header = cookies.map(({ name, value }) => `${name}=${value}`).join("; ");
    const bare = await fetch(at("/api/me"), { headers: { cookie: header } });
    assert.equal(bare.status, 401);
    visit.complaints.length = 0;
    other.close();
  });

  // covers GOV-50
  test("Home by keyboard alone: move to a request, arm, note, send", async () => {
    const { page } = visit;
    const id = await hire("Keyboard Kay");
    await page.goto(at("/"));
    await card(page, "Keyboard Kay").waitFor();
    for (let step = 0; step < 50; step++) {
      await page.keyboard.press("j");
      const focused = await page.evaluate(`document.activeElement?.textContent ?? ""`);
      if (String(focused).includes("Keyboard Kay")) break;
    }
    await page.keyboard.press("ArrowRight");
    await page.locator(".card", { hasText: "Keyboard Kay" }).getByText("Organization").waitFor();
    await page.keyboard.press("r");
    await page.keyboard.type("Half the budget ");
    // Whatever arrives meanwhile waits, and takes neither the focus nor the text.
    const others = [await hire("Hasty Hugo"), await hire("Hasty Hanna")];
    await page.getByRole("button", { name: /^\d+ new$/ }).waitFor();
    assert.equal(await page.evaluate(`document.activeElement?.tagName`), "TEXTAREA");
    await page.keyboard.type("would do.");
    await page.keyboard.press("Enter");
    await page.getByText("Sent back with your note.").waitFor();
    await card(page, "Hasty Hugo").waitFor();
    for (const other of others) await daemon.board.call(reject, { id: other });
    await hire("Enter Erna");
    await card(page, "Enter Erna").focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/approvals\//);
    await page.getByRole("heading", { name: "Hire Enter Erna as Researcher" }).waitFor();
    const { status, decisionNote } = await daemon.board.call(viewApproval, { id });
    assert.deepEqual([status, decisionNote], ["revision_requested", "Half the budget would do."]);
  });

  // covers GOV-49, GOV-72
  test("an approval by mouse: comment, revision, what changed, approve", async () => {
    const { page } = visit;
    const bruno = await press.as("Bruno");
    const id = await hire("Mouse Mia");
    await page.goto(at(`/approvals/${id}`));
    await page.getByRole("heading", { name: "Hire Mouse Mia as Researcher" }).waitFor();
    await page.getByLabel("Comment", { exact: true }).fill("Why a researcher?");
    await page.getByRole("button", { name: "Comment" }).click();
    await page.locator(".bubble", { hasText: "Why a researcher?" }).waitFor();
    await bruno.call(commentOnApproval, { id, body: "We know too little about prices." });
    await page.locator(".bubble", { hasText: "too little about prices" }).waitFor();
    await page.locator(".opts").getByRole("button", { name: "Request revision" }).click();
    await page.getByLabel(/A note for Bruno/).fill("Narrow it down.");
    await page.locator(".opts").getByRole("button", { name: /Send/ }).click();
    await page.locator(".tag", { hasText: "Being revised" }).waitFor();
    await bruno.call(resubmit, { id, payload: { prompt: "Work from the two files." } });
    // The new revision waits for the person who reads the old one.
    await page.getByRole("button", { name: "Show revision 2" }).click();
    await page.getByText("Changed since revision 1").waitFor();
    await page.locator(".diff .add", { hasText: "Work from the two files." }).waitFor();
    await page.locator(".opts").getByRole("button", { name: "Approve" }).click();
    await page.locator(".banner.decided", { hasText: "approved it" }).waitFor();
    assert.equal((await daemon.board.call(viewApproval, { id })).status, "approved");
  });

  test("several requests are approved together, with the sum of what they change", async () => {
    const { page } = visit;
    const ids = [await hire("Batch Bea"), await hire("Batch Bo")];
    await page.goto(at("/approvals"));
    for (const name of ["Batch Bea", "Batch Bo"]) {
      await page.getByRole("link", { name }).focus();
      await page.keyboard.press("Space");
    }
    await page.getByText("2 selected").waitFor();
    await page.keyboard.press("a");
    const sure = page.getByRole("dialog", { name: "Approve 2 requests?" });
    await sure.getByText("Together: 2 new agents, 0 rights, $2 a month.").waitFor();
    await sure.getByRole("button", { name: "Approve 2" }).press("Enter");
    await sure.getByText("Approved.").nth(1).waitFor();
    await sure.getByRole("button", { name: "Close" }).last().click();
    for (const id of ids) assert.equal((await daemon.board.call(viewApproval, { id })).status, "approved");

    // The configuration that is asked for can be held against one that works.
    await page.goto(at(`/approvals/${hireId}`));
    await page.getByRole("combobox", { name: "Compare with" }).selectOption({ label: "Hana, Copy" });
    const differences = page.getByRole("dialog", { name: "Compared with Hana" });
    await differences.locator("ins", { hasText: "Market researcher" }).waitFor();
    await page.keyboard.press("Escape");
    await differences.waitFor({ state: "detached" });
  });

  // covers GOV-51
  test("two people decide at once: one wins, the other is told who and keeps the note", async () => {
    const id = await hire("Contested Cy");
    const { signIn } = await daemon.board.call(createPerson, { name: "Jonas Weber", role: "board" });
    const jonas = await signedIn(browser, daemon, { link: signIn.link });
    const { page } = visit;
    await page.goto(at(`/approvals/${id}`));
    await page.getByLabel(/A note for Bruno/).fill("My note.");
    // The second decision must not hear of the first one before it is sent.
    const sent = Promise.withResolvers<void>();
    await page.route("**/api/approvals/*/approve", async (route) => {
      await jonas.page.goto(at(`/approvals/${id}`));
      await jonas.page.locator(".opts").getByRole("button", { name: "Reject" }).click();
      await jonas.page.locator(".opts").getByRole("button", { name: /Send/ }).click();
      await jonas.page.locator(".banner.decided").waitFor();
      await route.continue();
      sent.resolve();
    });
    await page.locator(".opts").getByRole("button", { name: "Approve" }).click();
    await page.locator(".banner.decided", { hasText: "Jonas Weber" }).waitFor();
    await sent.promise;
    const { status, decidedBy } = await daemon.board.call(viewApproval, { id });
    assert.deepEqual([status, decidedBy?.person?.name], ["rejected", "Jonas Weber"]);
    assert.equal(await page.evaluate(`sessionStorage.getItem("agency.draft.note.${id}")`), "My note.");
    await page.getByRole("button", { name: "Delete this agent" }).click();
    const sure = page.getByRole("dialog").getByRole("button", { name: "Delete" });
    assert.equal(await sure.isDisabled(), true);
    await page.getByLabel(/Type .* to delete it/).fill("Contested Cy");
    await sure.click();
    await page.getByText("Contested Cy is deleted.").waitFor();
    await jonas.context.close();
  });

  test("a decision elsewhere is shown on Home, and the item leaves", async () => {
    const { page } = visit;
    const id = await hire("Elsewhere Eve");
    await page.goto(at("/"));
    await card(page, "Elsewhere Eve").first().waitFor();
    await daemon.board.call(requestRevision, { id, decisionNote: "Later." });
    await page.locator(".leaving", { hasText: "Elsewhere Eve" }).waitFor();
  });

  test("a lost daemon: the page says since when, takes no decision, and catches up without a loss", async () => {
    const { page } = visit;
    await hire("Unreached Una");
    await page.goto(at("/"));
    await page.getByText("Live", { exact: true }).waitFor();
    // Which item is first, and open, depends on what the agents do meanwhile.
    const una = card(page, "Unreached Una").first();
    await una.focus();
    await page.keyboard.press("ArrowRight");
    const approve = una.getByRole("button", { name: "Approve" });
    await approve.waitFor();
    await daemon.kill();
    try {
      await page.getByText(/No connection since \d\d:\d\d\. You see the state of entry #\d/).waitFor();
      assert.equal(await approve.getAttribute("aria-disabled"), "true");
    } finally {
      daemon = await startDaemon({ home: home.path, port: Number(new URL(daemon.url).port) }).ready;
    }
    await hire("Missed Max");
    await card(page, "Missed Max").first().waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    assert.equal(await page.getByText(/No connection since/).count(), 0);
  });

  // covers GOV-79, ORG-10
  test("the organization by keyboard: move, fold, open the panel, open the page", async () => {
    const { page } = visit;
    await page.goto(at("/"));
    await page.getByRole("heading", { name: /need/ }).waitFor();
    const outline = page.getByRole("button", { name: "Outline" });
    await pressKeys(page, ["g", "o"], outline);
    await outline.click();
    await page.getByRole("treegrid").waitFor();
    await page.getByRole("button", { name: "to approve" }).click();
    await page.locator(".orow.faint", { hasText: "Marlow" }).waitFor();
    assert.ok((await page.locator(".orow.pend:not(.faint)").count()) > 0);
    await page.locator("[data-row='0']").focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowLeft");
    const folded = page.getByRole("row", { name: /Theo/ });
    assert.equal(await folded.getAttribute("aria-expanded"), "false");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    const panel = page.getByRole("complementary", { name: "Agent" });
    await panel.getByRole("heading", { name: "Theo" }).waitFor();
    // A panel that closes while it has the focus gives it back to the row.
    await panel.getByRole("button", { name: "Close" }).focus();
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    await page.locator("[role=row]:focus", { hasText: "Theo" }).waitFor();
    await page.keyboard.press("Enter");
    await panel.getByRole("heading", { name: "Theo" }).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/agents\//);
    await page.getByRole("heading", { level: 1, name: "Theo" }).waitFor();
  });

  test("the map: an agent is moved by mouse and by keyboard, with a plan before and an undo after", async () => {
    const { page } = visit;
    const item = (name: string) => page.getByRole("treeitem", { name: new RegExp(`^${name} `) });
    const plan = page.getByRole("region", { name: "Planned change" });
    const bossOf = async (name: string): Promise<string | undefined> =>
      (await daemon.board.call(viewAgent, { id: press.agents.get(name) ?? "" })).boss?.name;
    await page.goto(at("/org?view=map"));
    await item("Juno").waitFor();
    const from = await item("Juno").boundingBox();
    const to = await item("Bruno").boundingBox();
    assert.ok(from !== null && to !== null);
    await page.mouse.move(from.x + 60, from.y + 12);
    await page.mouse.down();
    await page.mouse.move(from.x + 80, from.y + 30, { steps: 4 });
    await page.mouse.move(to.x + 60, to.y + 16, { steps: 4 });
    await page.mouse.up();
    await plan.getByText("Juno reports to Bruno instead of Sanne").waitFor();
    await page.locator(".mrow.arrives", { hasText: "Juno" }).waitFor();
    await plan
      .getByText(/changes?$/)
      .first()
      .waitFor();
    assert.equal(await bossOf("Juno"), "Sanne");
    await plan.getByRole("button", { name: "Apply" }).click();
    await page.getByText(/^Done: /).waitFor();
    assert.equal(await bossOf("Juno"), "Bruno");
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText(/^Undone: /).waitFor();
    assert.equal(await bossOf("Juno"), "Sanne");

    await item("Marlow").focus();
    await page.keyboard.press("ArrowDown");
    assert.match(String(await page.evaluate(`document.activeElement?.textContent`)), / lead/);
    await item("Sol").focus();
    await page.keyboard.press("Shift+M");
    await page.getByRole("combobox", { name: "New manager" }).waitFor();
    await page.keyboard.type("operations lead");
    await page.getByRole("option", { name: /Greta/ }).waitFor();
    await page.keyboard.press("Enter");
    await plan.getByRole("button", { name: "Apply" }).waitFor();
    await page.keyboard.press("Control+Enter");
    await page.getByText(/^Done: /).waitFor();
    assert.equal(await bossOf("Sol"), "Greta");
    await page.goto(at("/reorganizations"));
    await page.getByRole("link", { name: /Sol/ }).first().waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("The organization is as before.").waitFor();
    assert.equal(await bossOf("Sol"), "Theo");
  });

  test("W and E ask about what has the focus, and the palette finds, does and asks", async () => {
    const { page } = visit;
    const why = page.getByRole("dialog", { name: "Why" });
    const access = page.getByRole("dialog", { name: "Explain access" });
    const palette = async (words: string, option: RegExp): Promise<void> => {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Find or do anything" }).waitFor();
      await page.keyboard.type(words);
      await page.getByRole("option", { name: option }).first().waitFor();
      await page.keyboard.press("Enter");
    };
    const close = async (dialog: typeof why): Promise<void> => {
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "hidden" });
    };
    await page.goto(at("/org?view=outline"));
    await page.getByRole("row", { name: /Theo/ }).focus();
    await page.keyboard.press("w");
    await why.getByText(/Theo/).first().waitFor();
    await close(why);
    // The focus is on the row again, so the next key is about Theo too.
    await page.keyboard.press("e");
    await access.getByPlaceholder("kb:<file id>").fill("org:hire");
    await access.getByText("Theo was not granted any right on org:hire.").waitFor();
    await close(access);
    await palette("why kit", /^Why: Kit/);
    await why.getByText(/Kit/).first().waitFor();
    await close(why);
    await page.locator("[role=row]:focus", { hasText: "Theo" }).waitFor();
    await page.keyboard.press("ArrowUp");
    await page.locator("[role=row]:focus", { hasText: "Marlow" }).waitFor();
    await palette("can kit read competitor", /^Can Kit read “Competitor prices”/);
    await access.getByRole("status").waitFor();
    await close(access);
    await palette("hire an", /^Hire an agent/);
    await page.waitForURL(/\/hire/);

    // An entry that was changed from outside: every page says so.
    const change = (from: string, to: string): void => {
      const db = new DatabaseSync(join(home.path, "agency.db"), { timeout: 60_000 });
      db.exec(`update events set operation = '${to}' where seq = 3 and operation = '${from}'`);
      db.close();
    };
    const { events } = await daemon.board.call(listEvents, { companyId: press.companyId, limit: 5 });
    const { operation = "" } = events.find(({ seq }) => seq === 3) ?? {};
    change(operation, "forged");
    try {
      await palette("verify", /^Verify the record/);
      await page.getByRole("alert").getByText("The record was changed at entry #").waitFor();
    } finally {
      change("forged", operation);
    }
    await palette("verify", /^Verify the record/);
    await page.getByRole("img", { name: /^All entries fitted their hashes/ }).waitFor();
    assert.equal(await page.getByText("The record was changed at entry #").count(), 0);
  });

  // covers GOV-45
  test("a company is created without the switch for approvals, which its advanced settings have", async () => {
    const { page } = visit;
    await page.goto(at("/companies"));
    await page.getByRole("button", { name: "New company" }).click();
    const form = page.getByRole("dialog", { name: "Create a company" });
    await form.getByLabel("Name").waitFor();
    assert.equal(await form.getByRole("switch").count(), 0);
    assert.equal(await form.getByText(/approval/).count(), 0);
    await form.getByLabel("Name").fill("Second Press");
    await page.keyboard.press("Enter");
    await page.waitForURL(/company=/);
    await page.goto(at(`/settings/advanced${new URL(page.url()).search}`));
    await page.getByRole("switch").waitFor();
    assert.equal(await page.getByRole("switch").isChecked(), true);
    await page.goto(at(`/?company=${press.companyId}`));
    await page.getByRole("button", { name: "Company: Lumen Press" }).waitFor();
  });

  // covers ORG-53
  test("an agent is dismissed from its page, after the page said what that changes", async () => {
    const { page } = visit;
    await page.goto(at(`/agents/${press.agents.get("Mila") ?? ""}`));
    await page.getByRole("button", { name: "Terminate…" }).click();
    const sure = page.getByRole("dialog");
    await sure.locator(".plan-moves li").first().waitFor();
    await sure.getByLabel("Reason, kept on record").fill("The archive is complete.");
    await page.keyboard.press("Enter");
    await page.getByText("Mila has left.").waitFor();
    await page.getByText("Left", { exact: true }).waitFor();
  });

  // covers GOV-46
  test("an agent: pause and resume it, let it hire, read its session", async () => {
    const { page } = visit;
    const id = press.agents.get("Greta") ?? "";
    await page.goto(at(`/agents/${id}`));
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByLabel("Reason, kept on record").fill("Inventory");
    await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("button", { name: "Pause" }).waitFor();
    await page.goto(at(`/agents/${id}/rights`));
    await page.getByRole("switch").click();
    await page.getByText("use org:hire").waitFor();
    await daemon.board.call(sendMessage, { companyId: press.companyId, to: id, body: "Count the paper." });
    await page.goto(at(`/agents/${id}/mail`));
    await page.locator(".plain-list li", { hasText: "Count the paper." }).waitFor();
    await page.goto(at(`/agents/${press.rootId}/sessions`));
    await page.locator(".plain-list a").first().click();
    await page.waitForURL(/\/sessions\//);
    await page.locator(".transcript .entry").first().waitFor();
  });

  test("a session: hostile output stays text, and a run of calls is one line", async () => {
    const { page } = visit;
    const { sessions } = await daemon.board.call(listAgentSessions, { id: press.rootId });
    const [session] = sessions;
    assert.ok(session);
    const entry = (kind: string, text: string, tool?: string) => ({
      at: session.startedAt,
      kind,
      text,
      tool,
    });
    const run = Array.from({ length: 4 }, () => [
      entry("tool", "{}", "read_file"),
      entry("result", "…", "read_file"),
    ]);
    await page.route("**/api/sessions/*/transcript*", (route) =>
      route.fulfill({
        json: {
          entries: [
            entry("text", "\u001b[31m<img src=x onerror=alert(1)>\u001b[0m \u202e backwards"),
            ...run.flat(),
            entry("error", "<script>document.title='owned'</script>", "<b>tool</b>"),
          ],
          next: 1,
          truncated: false,
        },
      }),
    );
    await page.goto(at(`/sessions/${session.id}`));
    await page.locator(".entry", { hasText: "<img src=x onerror=alert(1)> \\u202e backwards" }).waitFor();
    await page.locator(".entry", { hasText: "4 calls" }).click();
    assert.equal(await page.locator(".entry.tool").count(), 4);
    await page.locator(".entry.error", { hasText: "<script>" }).click();
    await page.locator("pre.whole", { hasText: "<script>" }).waitFor();
    assert.equal(await page.locator("main img, main script, main b b").count(), 0);
    assert.doesNotMatch(await page.title(), /owned/);
  });

  test("browsers are listed, and one that is ended is signed out at once", async () => {
    const other = await signedIn(browser, daemon);
    const { signIns } = await daemon.board.call(viewMe, {});
    assert.ok(signIns.some(({ kind, label }) => kind === "browser" && label.startsWith("Chrome")));
    await other.page.evaluate(
      `fetch("/api/sign-out", { method: "POST", headers: { "x-agency-page": localStorage.getItem("agency.pageKey"), "content-type": "application/json" }, body: "{}" })`,
    );
    await other.page.goto(at("/approvals"));
    await other.page.getByText("This browser is not signed in.").waitFor();
    await other.context.close();
  });

  test("hostile text stays text in every field an agent can write", async () => {
    const bruno = await press.as("Bruno");
    const evil = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;
    const { approval } = await bruno.call(hireAgent, {
      companyId: press.companyId,
      name: "Eve <b>il</b>",
      role: "<i>boss</i>",
      adapterType: "rehearsal",
      capabilities: evil,
      prompt: evil,
      mandate: `${evil} \u202e backwards \u200b`,
    });
    await bruno.call(commentOnApproval, { id: approval?.id ?? "", body: evil });
    const { companyId } = press;
    const name = "Eve <b>il</b> prices.svg";
    await bruno.call(createFile, { companyId, description: name, content: evil });
    const marlow = await press.as("Marlow");
    await marlow.call(sendMessage, { companyId, to: "board", body: `Eve <b>il</b> ${evil}` });
    const { page } = visit;
    const paths = [`/approvals/${approval?.id ?? ""}`, "/", "/approvals", "/org", "/org?view=outline"];
    for (const path of [...paths, "/knowledge", "/mail", `/mail/${press.rootId}`]) {
      await page.goto(at(path));
      await page.getByText("<b>il</b>").filter({ visible: true }).first().waitFor();
      assert.equal(await page.locator("main img, main script, main b b").count(), 0, path);
      assert.doesNotMatch(await page.title(), /owned|<b>/);
    }
    await page.goto(at(`/approvals/${approval?.id ?? ""}`));
    await page.getByText("\\u202e backwards \\u200b").first().waitFor();
  });

  test("axe finds nothing serious on any page in either theme, and the policy was never violated", async () => {
    const theo = press.agents.get("Theo") ?? "";
    const { sessions } = await daemon.board.call(listAgentSessions, { id: press.rootId, limit: 1 });
    const paths = [
      "/",
      "/approvals",
      `/approvals/${hireId}`,
      "/org?view=outline",
      `/org?view=map&agent=${theo}`,
      "/reorganizations",
      `/sessions/${sessions[0]?.id ?? ""}`,
    ];
    for (const tab of ["now", "outcomes", "rights", "mail", "sessions", "setup", "record"])
      paths.push(`/agents/${theo}/${tab}`);
    for (const theme of ["light", "dark"] as const) {
      const looks = await signedIn(browser, daemon, { theme });
      for (const path of paths) {
        await looks.page.goto(at(path));
        await looks.page.locator("main h1").first().waitFor();
        await looks.page.waitForTimeout(150);
        const { violations } = await new AxeBuilder({ page: looks.page }).analyze();
        const bad = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
        assert.deepEqual(
          bad.map(({ id, nodes }) => `${theme} ${path}: ${id} ${nodes[0]?.html.slice(0, 160) ?? ""}`),
          [],
        );
      }
      assert.deepEqual(looks.complaints, []);
      await looks.context.close();
    }
  });
});

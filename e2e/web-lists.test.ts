// The dashboard in a real browser, on the built daemon: long lists, their filters, and the texts of their rows.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { viewAttention } from "../src/contract/attention.ts";
import { createCompany, updateCompany } from "../src/contract/companies.ts";
import { createGoal, listGoals } from "../src/contract/goals.ts";
import { hireAgent } from "../src/contract/hiring.ts";
import { createFile } from "../src/contract/knowledge.ts";
import { closeOutcome, updateOutcome } from "../src/contract/outcomes.ts";
import { viewMe } from "../src/contract/people.ts";
import { newVisit, signedIn } from "./support/browser.ts";
import { dashboard } from "./support/dashboard.ts";

describe("lists of the dashboard", () => {
  const site = dashboard("web-lists");
  const goalOf = async (title: string) => {
    const { outcomes } = await site.daemon.board.call(listGoals, { companyId: site.press.companyId });
    const goal = outcomes.find((outcome) => outcome.title === title);
    assert.ok(goal);
    return goal;
  };

  test("the history of an outcome says what was changed, with the reason of a block", async () => {
    const { page } = site.visit;
    const goal = await goalOf("Launch page says what the book is");
    await page.goto(site.at(`/outcomes/${goal.id}`));
    await page.getByRole("button", { name: "Block", exact: true }).click();
    const asks = page.getByRole("dialog", { name: "Block this outcome?" });
    await asks.getByLabel("What is missing").fill("The cover is not chosen.");
    await page.keyboard.press("Enter");
    const history = page.locator("section", { has: page.getByRole("heading", { name: "History" }) });
    await history.locator("li", { hasText: "blocked it: The cover is not chosen." }).waitFor();
    await page.getByRole("button", { name: "Unblock" }).first().click();
    await page.getByRole("dialog").getByRole("button", { name: "Unblock" }).press("Enter");
    await history.locator("li", { hasText: "unblocked it" }).waitFor();
    await site.daemon.board.call(updateOutcome, {
      id: goal.id,
      title: "The launch page says what the book is",
      acceptance: "A stranger can say it after ten seconds.",
    });
    await history
      .locator("li", {
        hasText: "renamed it from “Launch page says what the book is” and changed how it is verified",
      })
      .waitFor();
  });

  test("the tooltip of a shortened text has the whole text, and a click anywhere on a row opens the panel", async () => {
    const { page } = site.visit;
    const goal = await goalOf("The store takes pre-orders");
    const reason = "The bank has not opened the account, and the clerk is away.";
    const long = "The store takes pre-orders from bookshops, schools and libraries abroad";
    await site.daemon.board.call(updateOutcome, { id: goal.id, title: long, blocked: { reason } });
    await page.goto(site.at("/outcomes?view=table"));
    const row = page.locator(`[data-about="outcome ${goal.id}"]`);
    const why = row.locator(".why-line .cut");
    await why.getByText("The bank has not").waitFor();
    await why.hover();
    assert.match((await why.locator("bdi").getAttribute("title")) ?? "", /^Blocked: The bank .* is away\./);
    const title = row.locator(".t");
    await title.hover();
    assert.equal(await title.getAttribute("title"), long);
    // If the name has enough room, there is no tooltip.
    const name = row.locator(".name bdi").first();
    await name.hover();
    assert.equal(await name.getAttribute("title"), null);
    await why.click();
    await page.locator(".side-panel h2", { hasText: long }).waitFor();
  });

  test("the table lists all open outcomes when more than 100 have ended", async () => {
    const { page } = site.visit;
    const { board } = site.daemon;
    const { companyId } = site.press;
    for (let at = 0; at < 110; at++) {
      const { id } = await board.call(createGoal, { companyId, title: `Past goal ${at}` });
      await board.call(closeOutcome, { id, rationale: "Not wanted." });
    }
    await page.goto(site.at("/outcomes?view=table"));
    await page.getByRole("link", { name: /^The store takes pre-orders/ }).waitFor();
    assert.equal(await page.getByText("Past goal").count(), 0);
    // All rows: those after the first hundred also say why they don't move.
    await page.goto(site.at("/outcomes?view=table&status=all"));
    await page.getByRole("button", { name: "Show more" }).click();
    const milo = page.locator(`[data-about="outcome ${site.press.agents.get("Milo") ?? ""}"]`);
    await milo.getByText("Milo is paused: The mail provider refuses the key.").waitFor();
  });

  test("a company without work says so, with a link to the page for giving work", async () => {
    const { page } = site.visit;
    const { id } = await site.daemon.board.call(createCompany, { name: "Quiet Mill" });
    await page.goto(site.at(`/outcomes?company=${id}`));
    await page.getByText("No outcomes yet.").waitFor();
    await page.getByRole("link", { name: /^Tell .+ what you want\.$/ }).click();
    await page.locator(".first-goals button").first().waitFor();
  });

  test("on a narrow screen the filters are behind a button that says how many are set", async () => {
    const { context, page } = await newVisit(site.browser, {
      profile: await site.visit.context.storageState(),
      width: 360,
      height: 740,
    });
    const at = (path: string) => site.at(`${path}?company=${site.press.companyId}`);
    await page.goto(at("/outcomes"));
    await page.getByRole("button", { name: "Filters" }).press("Enter");
    await page.getByLabel("Kind").selectOption("mandate");
    await page.getByRole("button", { name: "Filters: 1" }).click();
    await page.getByLabel("Kind").waitFor({ state: "detached" });
    await page.waitForURL(/kind=mandate/);
    await page.goto(at("/activity"));
    await page.locator(".event").first().waitFor();
    // A row that is being replaced has no position.
    let first = await page.locator(".event").first().boundingBox();
    while (first === null) first = await page.locator(".event").first().boundingBox();
    assert.ok(first.y < 300, `the first entry begins at ${first.y} px`);
    await page.getByRole("button", { name: "Filters" }).click();
    await page.getByLabel("Refusals").selectOption("all");
    await page.getByRole("button", { name: "Filters: 1" }).waitFor();
    await context.close();
  });

  test("a list shows all entries on demand, newest first, even beyond a thousand, and a search finds files among other kinds", async () => {
    const { page } = site.visit;
    const { board } = site.daemon;
    // A company whose agents write no files meanwhile.
    const { id: companyId, rootAgentId } = await board.call(createCompany, { name: "Shelves" });
    await board.call(updateCompany, { companyId, maxSessions: 0 });
    await board.call(createFile, { companyId, description: "Competitor prices", content: "Low." });
    const shelves = Array.from({ length: 1010 }, (_, at) => at + 1);
    // The first and the last goal are created in order, the others together.
    const create = (at: number) =>
      board.call(createFile, { companyId, description: `Shelf ${at}`, content: "Zinnober" });
    await create(1);
    for (let from = 1; from < 1009; from += 28) await Promise.all(shelves.slice(from, from + 28).map(create));
    await create(1010);
    // Each goal also has a separate file, of another kind and newer.
    for (let at = 0; at < 60; at++) {
      const { id } = await board.call(createGoal, { companyId, title: `Zinnober ${at}` });
      await board.call(closeOutcome, { id, rationale: "Not wanted." });
    }
    await page.goto(site.at(`/knowledge?company=${companyId}`));
    const row = (text: string) => page.locator(".file-row .t").getByText(text, { exact: true });
    await row("Shelf 1010").waitFor();
    assert.equal(await page.locator(".file-row .t").first().innerText(), "Shelf 1010");
    const more = page.getByRole("button", { name: "Show more" });
    // Loads 100, 400, 700, 1,000 and 1,300 rows.
    for (const rows of [100, 400, 700, 1000]) {
      await page.locator(`.files > li:nth-child(${rows})`).waitFor();
      assert.equal(await row("Shelf 1").count(), 0);
      await more.press("Enter");
    }
    await row("Shelf 1").waitFor();
    await more.waitFor({ state: "detached" });
    // Every file appears once, in one order: the last page is added to the rest.
    const all = await page.locator(".file-row .t").allInnerTexts();
    assert.deepEqual([all.length, new Set(all).size, all[0]], [1011, 1011, "Shelf 1010"]);
    assert.deepEqual(all.slice(-2), ["Shelf 1", "Competitor prices"]);
    await page.keyboard.press("/");
    await page.keyboard.type("zinnober");
    await page.getByText("The first 50 matches.").waitFor();
    await page.locator(".excerpt", { hasText: "Zinnober" }).first().waitFor();
    await page.getByRole("button", { name: "Outcomes", exact: true }).click();
    await page.locator(".file-row", { hasText: "Zinnober 59" }).waitFor();
    await page.getByRole("button", { name: "Skills", exact: true }).click();
    await page.getByText("None of the skills has the words “zinnober”.").waitFor();

    // The control for choosing a file lists the newest first, finds every other, and keeps the chosen one.
    const noor = site.press.agents.get("Noor") ?? "";
    await page.goto(site.at(`/mail/${rootAgentId}?company=${companyId}`));
    await page.getByRole("button", { name: "Later or with a file" }).click();
    const file = page.getByRole("combobox", { name: "Attach a file" });
    await file.locator("option", { hasText: "Shelf 1010" }).waitFor({ state: "attached" });
    assert.equal(await file.locator("option").nth(1).innerText(), "Shelf 1010");
    const find = page.getByRole("textbox", { name: "Find a file" });
    await find.fill("shelf 42");
    await file.locator("option", { hasText: /^Shelf 42$/ }).waitFor({ state: "attached" });
    await file.selectOption({ label: "Shelf 42" });
    await find.fill("Competitor");
    await file.locator("option", { hasText: "Competitor prices" }).waitFor({ state: "attached" });
    assert.equal(await file.locator("option:checked").innerText(), "Shelf 42");
    await board.call(createFile, {
      companyId: site.press.companyId,
      description: "Shelf of Noor",
      content: "Red.",
    });
    await page.goto(site.at(`/agents/${noor}/rights?company=${site.press.companyId}`));
    await page.getByRole("button", { name: "Grant", exact: true }).first().click();
    const grant = page.getByRole("dialog", { name: "Grant Noor a right" });
    await grant.getByRole("textbox", { name: "Find a file" }).fill("shelf");
    await grant.getByRole("combobox").first().selectOption({ label: "File: Shelf of Noor" });
    await grant.getByRole("button", { name: "Grant" }).press("Enter");
    await page.getByText("The right is granted.").waitFor();
  });

  test("requests are listed however long they wait, the longest first, and [ and ] walk in that order", async () => {
    const { page } = site.visit;
    const { board } = site.daemon;
    const { id: companyId } = await board.call(createCompany, { name: "Many writers" });
    const ask = async (name: string): Promise<string> => {
      const hire = { companyId, name, role: "Writer", adapterType: "rehearsal" };
      return (await board.call(hireAgent, hire)).approval?.id ?? "";
    };
    const first = await ask("Oldest");
    for (let from = 0; from < 210; from += 30)
      await Promise.all(Array.from({ length: 30 }, (_, at) => ask(`Writer ${from + at}`)));
    const last = await ask("Newest");
    const { items } = await board.call(viewAttention, { companyId, kind: "approval", limit: 1000 });
    const order = items.filter(({ facts }) => facts["status"] === "pending").map(({ subject }) => subject.id);
    assert.deepEqual([order.length, order.indexOf(first), order.indexOf(last)], [212, 0, 211]);

    await page.goto(site.at(`/approvals?company=${companyId}`));
    const shown = page.locator("[data-request]");
    await page.locator(`[data-request="${first}"]`).waitFor();
    await page.getByText(`${order.length} requests`).waitFor();
    assert.equal(await shown.count(), 100);
    await page.getByRole("button", { name: "Show more" }).press("Enter");
    await page.locator(`[data-request="${last}"]`).waitFor();
    assert.deepEqual(
      await shown.evaluateAll((rows) => rows.map((row) => row.getAttribute("data-request"))),
      order,
    );

    const isOpen = async (at: number): Promise<void> => {
      await page.waitForURL(new RegExp(`/approvals/${order[at]}`));
      await page.getByText(`${at + 1} of 212`).waitFor();
      await page.getByRole("heading", { level: 1 }).waitFor();
    };
    await page.goto(site.at(`/approvals/${order[150]}?company=${companyId}`));
    await isOpen(150);
    await page.keyboard.press("]");
    await isOpen(151);
    await page.keyboard.press("[");
    await isOpen(150);
    await page.keyboard.press("[");
    await isOpen(149);

    await page.goto(site.at(`/?company=${companyId}`));
    await page.locator(`[data-item*="${first}"]`).waitFor();
    assert.equal(await page.locator(`[data-item*="${last}"]`).count(), 0);
    await page.getByRole("button", { name: "Show more" }).press("Enter");
    await page.locator(`[data-item*="${last}"]`).waitFor();
    await page.getByRole("button", { name: "Show more" }).waitFor({ state: "detached" });
  });

  test("the record can be filtered by people and every noun, and a wrong time does no harm", async () => {
    const { page } = site.visit;
    const { companyId } = site.press;
    await page.goto(site.at(`/activity?company=${companyId}&from=yesterday`));
    await page.locator(".event").first().waitFor();
    const { name } = (await site.daemon.board.call(viewMe, {})).person;
    await page.getByLabel("Who").selectOption({ label: name });
    await page.waitForURL(/actor=[0-9a-f-]{36}/);
    await page
      .locator(".event", { hasText: `${name} created the` })
      .first()
      .waitFor();
    await page.getByLabel("What").selectOption({ label: "Budgets" });
    await page.getByText("Nothing matches these filters.").waitFor();
  });

  test("new entries wait at the top while the reader is further down, and the list does not move", async () => {
    const { page } = site.visit;
    const { companyId } = site.press;
    const { board } = site.daemon;
    // Several entries of the same kind in a row would become one line.
    for (let at = 0; at < 30; at++) {
      await board.call(createFile, { companyId, description: `Crate ${at}`, content: "1" });
      await board.call(updateCompany, { companyId, maxOutcomeUsd: 100 + at });
    }
    await page.goto(site.at(`/activity?company=${companyId}&actor=board`));
    const list = page.locator(".work");
    await page.locator(".event", { hasText: "Crate 29" }).waitFor();
    await list.evaluate((element) => element.scrollTo(0, 400));
    const first = await page.locator(".event").first().innerText();
    await board.call(createFile, { companyId, description: "Late shelf", content: "1" });
    const fresh = page.getByRole("button", { name: /^\d+ new$/ });
    await fresh.waitFor();
    assert.equal(await page.locator(".event").first().innerText(), first);
    await fresh.press("Enter");
    await page.locator(".event", { hasText: "Late shelf" }).waitFor();
    assert.equal(await list.evaluate((element) => element.scrollTop), 0);
  });

  test("a browser that is ended in the list is signed out at once, with its page open", async () => {
    const other = await signedIn(site.browser, site.daemon);
    await other.page.getByRole("heading", { name: /need/ }).waitFor();
    const { page } = site.visit;
    await page.goto(site.at("/settings/browsers"));
    const others = page.locator("li", { hasText: "browser" }).filter({ hasNotText: "this one" });
    await others.first().waitFor();
    for (let left = await others.count(); left > 0; left--) {
      await others.first().getByRole("button", { name: "Sign out" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Sign out" }).press("Enter");
      await page.getByText("Signed out.").first().waitFor();
      await others.nth(left - 1).waitFor({ state: "detached" });
    }
    await other.page.getByText("This browser is not signed in.").waitFor();
    await page.getByText("this one").waitFor();
    await other.context.close();
  });
});

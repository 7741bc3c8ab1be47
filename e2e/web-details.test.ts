// The dashboard in a real browser, on the built daemon: details that each page promises.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { pauseAgent, resumeAgent } from "../src/contract/agents.ts";
import { listCosts } from "../src/contract/budgets.ts";
import { createCompany, updateCompany } from "../src/contract/companies.ts";
import { delegateOutcome } from "../src/contract/delegation.ts";
import { createGoal, listGoals, setGoalBudget } from "../src/contract/goals.ts";
import { createAgent } from "../src/contract/hiring.ts";
import { createFile, deleteFile } from "../src/contract/knowledge.ts";
import { closeOutcome, createOutcome, updateOutcome, viewOutcome } from "../src/contract/outcomes.ts";
import { pressKeys } from "./support/browser.ts";
import { dashboard } from "./support/dashboard.ts";

describe("details of the dashboard", () => {
  const site = dashboard("web-details");

  test("an outcome that does not move says why in the tree, in the table and on the page above it", async () => {
    const { page } = site.visit;
    // Milo is paused, and Bruno is his manager. An agent's mandate has the id of the agent.
    const id = site.press.agents.get("Milo") ?? "";
    const above = site.press.agents.get("Bruno") ?? "";
    const why = "Milo is paused: The mail provider refuses the key.";
    await page.goto(site.at("/outcomes"));
    const row = page.locator(`#o-${id}`);
    await row.getByText(why).waitFor();
    assert.equal(await row.locator(".age time").count(), 1);
    await row.focus();
    await page.keyboard.press("w");
    await page.getByRole("dialog", { name: "Why" }).getByText("The mail provider").first().waitFor();
    await page.keyboard.press("Escape");
    await page.goto(site.at("/outcomes?view=table"));
    await page.locator(`[data-about="outcome ${id}"]`).getByText(why).waitFor();
    const mandate = page.locator(`a.row-link[href*="${above}"]`);
    await mandate.click();
    await page.waitForURL(/outcome=/);
    await page.locator(".side-panel h2", { hasText: "Bruno: Growth lead" }).waitFor();
    await page.keyboard.press("Escape");
    await page.locator(".side-panel").waitFor({ state: "detached" });
    await mandate.press("Enter");
    await page.waitForURL(/\/outcomes\/[0-9a-f-]{36}/);
    const below = page.locator("section", { has: page.getByRole("heading", { name: "Below it" }) });
    await below.locator("li", { hasText: "Milo: Newsletter" }).getByText(why).waitFor();
  });

  test("reasons, outcomes below and the effects of an approval on a page follow changes of other things", async () => {
    const { page } = site.visit;
    const { board } = site.daemon;
    const { companyId } = site.press;
    const milo = site.press.agents.get("Milo") ?? "";
    const bruno = await site.press.as("Bruno");
    const above = site.press.agents.get("Bruno") ?? "";
    // An outcome that waits for one of Milo's: its reason names Milo, and no event about Milo names it.
    const [first, second] = [
      await bruno.call(createOutcome, { companyId, title: "The letter is sent", parents: [above] }),
      await bruno.call(createOutcome, { companyId, title: "Readers have the letter", parents: [above] }),
    ];
    await bruno.call(delegateOutcome, { id: first.id, to: milo });
    await bruno.call(updateOutcome, { id: second.id, dependsOn: [first.id] });
    await board.call(updateCompany, { companyId, maxSessions: 0 });
    await page.goto(site.at(`/outcomes/${second.id}`));
    const why = page.getByRole("region", { name: "Why it is or is not moving" });
    await why.getByText("The mail provider refuses the key.").first().waitFor();
    await board.call(resumeAgent, { id: milo });
    await why.getByText("The mail provider refuses the key.").first().waitFor({ state: "detached" });
    await board.call(pauseAgent, { id: milo, reason: "The mail provider refuses the key." });
    await why.getByText("The mail provider refuses the key.").first().waitFor();

    await page.goto(site.at(`/outcomes/${above}`));
    const below = page.locator("section", { has: page.getByRole("heading", { name: "Below it" }) });
    const row = below.locator("li", { hasText: "Readers have the letter" });
    await row.waitFor();
    await board.call(closeOutcome, { id: second.id, rationale: "It went by post." });
    await row.getByRole("img", { name: "Closed" }).waitFor();

    await page.goto(site.at(`/approvals/${site.hireId}`));
    const heads = page.getByText(/^\d+ agents now, \d+ after/);
    const [, before] = /^(\d+)/.exec(await heads.innerText()) ?? [];
    await board.call(createAgent, {
      companyId,
      name: "Meanwhile Mo",
      role: "Packer",
      adapterType: "rehearsal",
      reportsTo: site.press.rootId,
    });
    await page.getByText(new RegExp(`^${Number(before) + 1} agents now`)).waitFor();
  });

  test("rows that only pass by while a list is scrolled cause no requests", async () => {
    const { page } = site.visit;
    const { board } = site.daemon;
    const { id: companyId } = await board.call(createCompany, { name: "Long Row" });
    await board.call(updateCompany, { companyId, maxSessions: 0 });
    const goals = Array.from({ length: 150 }, (_, at) => `Row ${at}`);
    for (let from = 0; from < 150; from += 30)
      await Promise.all(
        goals.slice(from, from + 30).map((title) => board.call(createGoal, { companyId, title })),
      );
    const asked: string[] = [];
    page.on("request", (request) => {
      const said = `${request.url()} ${request.postData() ?? ""}`;
      if (/\bwhy\b/.test(said)) asked.push(said);
    });
    await page.goto(site.at(`/outcomes?company=${companyId}`));
    await page.locator("[id^='o-']").first().waitFor();
    while (asked.length === 0) await sleep(20);
    await page.evaluate("new Promise((resolve) => setTimeout(resolve, 1000))");
    asked.length = 0;
    await page.evaluate(`new Promise((done) => {
      const list = document.querySelector(".outcome-tree").parentElement;
      let steps = 0;
      const step = () => {
        list.scrollTop += 120;
        if (++steps < 30) requestAnimationFrame(step);
        else setTimeout(done, 1500);
      };
      step();
    })`);
    assert.ok(asked.length > 0 && asked.length <= 3, asked.join("\n"));
    // The rows that stay are asked about.
    const last = await page.locator("[id^='o-']").last().getAttribute("id");
    assert.ok(asked.at(-1)?.includes(last?.slice("o-".length) ?? ""), last ?? "");
  });

  test("the palette lists items the browser has read before the server answers, and finds sessions", async () => {
    const { page } = site.visit;
    await page.goto(site.at("/outcomes"));
    await page.locator(`#o-${site.press.agents.get("Milo") ?? ""}`).waitFor();
    // The server never answers this search, so the results come from the browser.
    await page.route("**/api/**", (route) =>
      /search/.test(route.request().url() + (route.request().postData() ?? ""))
        ? undefined
        : route.fallback(),
    );
    await page.keyboard.press("Control+k");
    await page.keyboard.type("milo newsl");
    await page.getByRole("option", { name: /^Milo: Newsletter/ }).waitFor();
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await page.reload();
    await page.getByRole("heading", { name: "Outcomes" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("session of");
    await page
      .getByRole("option", { name: /^Session of / })
      .first()
      .waitFor();
    await page.keyboard.press("Escape");

    // The find key works on a page without a search field.
    await page.goto(site.at("/costs"));
    await page.getByRole("button", { name: "By agent" }).waitFor();
    await page.keyboard.press("/");
    await page.getByRole("combobox", { name: "Find or do anything" }).waitFor();
    await page.keyboard.press("Escape");
    await page.locator(".foot").getByRole("link", { name: "Settings" }).click();
    await page.waitForURL(/\/settings/);
    assert.equal(await page.locator("nav").getByRole("link", { name: "Settings", exact: true }).count(), 0);
  });

  test("keys are shown only on the focused element and in tooltips", async () => {
    const { page } = site.visit;
    await page.goto(site.at(`/agents/${site.press.agents.get("Noor") ?? ""}`));
    const pause = page.getByRole("button", { name: "Pause" });
    await pause.waitFor();
    assert.equal(await page.locator("kbd").filter({ visible: true }).count(), 0);
    assert.equal(await pause.getAttribute("title"), "Key: P");
    await pause.focus();
    // A script's focus is visible only after a key press.
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Tab");
    await pause.locator("kbd").filter({ visible: true }).waitFor();
  });

  test("the record links what its sentences name, and opens an entry by its button", async () => {
    const { page } = site.visit;
    const bruno = site.press.agents.get("Bruno") ?? "";
    await page.goto(site.at(`/activity?actor=${bruno}&operation=knowledge`));
    const entry = page.locator(".event", { hasText: 'Bruno created the file "Competitor prices".' });
    await entry.getByRole("button", { name: /^Show entr/ }).click();
    await page.locator(".event-detail", { hasText: "hash " }).waitFor();
    await entry.getByRole("link", { name: "Competitor prices" }).click();
    await page.waitForURL(/\/knowledge\/[0-9a-f-]{36}/);
    await page.goBack();
    await entry.getByRole("link", { name: "Bruno" }).click();
    await page.waitForURL(new RegExp(`/agents/${bruno}`));
  });

  test("a budget is edited in place, and a refusal stays below it", async () => {
    const { page } = site.visit;
    await page.goto(site.at("/costs"));
    const open = page.getByRole("button", { name: /change the budget of Noor$/ });
    const field = page.getByRole("textbox", { name: "US dollars a month for Noor" });
    await open.click();
    await field.fill("100000");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    assert.equal(await field.inputValue(), "100000");
    await field.fill("11");
    await page.keyboard.press("Enter");
    await page.getByText("The budget is changed.").waitFor();
    await open.filter({ hasText: /^\$11/ }).waitFor();
    await open.click();
    await page.keyboard.press("Escape");
    await open.waitFor();
  });

  test("costs by outcome show budgets and the rest of each, and the budget of a goal is edited there", async () => {
    const { page } = site.visit;
    const { board } = site.daemon;
    const { companyId } = site.press;
    const { outcomes } = await board.call(listGoals, { companyId });
    const spent = async () => {
      const { costs } = await board.call(listCosts, { companyId, by: "outcome", limit: 1000 });
      return costs.find(({ id }) => outcomes.some((goal) => goal.id === id));
    };
    let goal = await spent();
    for (; goal === undefined; goal = await spent()) await sleep(100);
    const { id, name } = goal;
    await board.call(setGoalBudget, { id, budget: { usd: 20, tokens: 3_000_000 } });
    await page.goto(site.at("/costs?by=outcome"));
    const budget = page.getByRole("button", { name: new RegExp(`left, change the budget of ${name}$`) });
    const row = page.locator("tr", { has: budget });
    await budget.filter({ hasText: "$20" }).click();
    await page.getByRole("textbox", { name: `US dollars for all work on ${name}` }).fill("25");
    await page.keyboard.press("Enter");
    await budget.filter({ hasText: "$25" }).waitFor();
    await budget.filter({ hasText: "3M tokens" }).waitFor();
    assert.match((await row.locator("td").last().innerText()).trim(), /^\$\d+(?:\.\d+)?\s+\d\S* tokens$/);
    assert.deepEqual((await board.call(viewOutcome, { id })).budget, { usd: 25, tokens: 3_000_000 });
  });

  test("broken links name their files, and a file that is not text is downloaded", async () => {
    const { page } = site.visit;
    const { companyId } = site.press;
    const { board } = site.daemon;
    const gone = await board.call(createFile, { companyId, description: "Old prices", content: "1" });
    await board.call(createFile, {
      companyId,
      description: "Price page",
      content: `See [prices](kb://${gone.id}).`,
    });
    await board.call(deleteFile, { id: gone.id });
    const picture = await board.call(createFile, {
      companyId,
      description: "Cover, first draft",
      content: Buffer.from([137, 80, 78, 71, 0, 255]).toString("base64"),
      encoding: "base64",
      mediaType: "image/png",
    });
    await page.goto(site.at("/knowledge"));
    await page.getByText("1 broken link").click();
    const link = page.locator(".broken-links li");
    assert.match(await link.innerText(), /^Price page\s+links to a deleted file:\s+Old prices$/);
    await page.goto(site.at(`/knowledge/${picture.id}`));
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download" }).click();
    const saved = await download;
    assert.equal(saved.suggestedFilename(), "Cover-first-draft.png");
    assert.deepEqual([...readFileSync(await saved.path())], [137, 80, 78, 71, 0, 255]);
  });

  test("each setting says who changed it, and a brain is shown as working only after a test", async () => {
    const { page } = site.visit;
    await page.goto(site.at("/settings/company"));
    const name = page.locator("form.setting", { hasText: "People and agents see it." });
    await name.getByText(/^Changed by /).waitFor();
    const limit = page.locator("form.setting", { hasText: "Limit of one outcome" });
    assert.equal(await limit.getByText(/^Changed by /).count(), 0);
    await page.goto(site.at("/settings/brains"));
    const rehearsal = page.getByRole("region", { name: "rehearsal" });
    await rehearsal.getByText("available, not tested").waitFor();
    assert.equal(await page.locator(".tag.run").count(), 0);
    await rehearsal.getByRole("button", { name: "Test" }).click();
    await rehearsal.locator(".tag.run", { hasText: "works" }).waitFor();
  });

  test("with several companies, every address names the company it shows", async () => {
    const { page } = site.visit;
    await site.daemon.board.call(createCompany, { name: "Second Press" });
    await page.goto(site.at("/outcomes?view=table"));
    await page.waitForURL(/view=table&company=lumen-press$/);
    await pressKeys(page, ["g", "c"], page.getByRole("button", { name: "By agent" }));
    await page.waitForURL(/\/costs\?company=lumen-press$/);
    // The id works as well. The page replaces it by the name, unless two companies have the same name.
    await page.goto(site.at(`/outcomes?company=${site.press.companyId}&view=table`));
    await page.waitForURL(/\/outcomes\?company=lumen-press&view=table$/);
    const { id } = await site.daemon.board.call(createCompany, { name: "Lumen press" });
    await page.goto(site.at("/costs"));
    await page.waitForURL(new RegExp(`/costs\\?company=${site.press.companyId}$`));
    await page.goto(site.at(`/?company=${id}`));
    await page.getByRole("button", { name: "Company: Lumen press", exact: true }).waitFor();
  });
});

// The dashboard in a real browser, on the built daemon: wherever a person types an amount, a text that is not a number is
// refused, and the limit stays. As NaN it would be null in JSON, and null removes a limit.
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { Locator } from "playwright-core";
import { listAgents, viewAgent } from "../src/contract/agents.ts";
import { setBudget } from "../src/contract/budgets.ts";
import { updateCompany, viewCompany } from "../src/contract/companies.ts";
import { delegateOutcome } from "../src/contract/delegation.ts";
import { createGoal } from "../src/contract/goals.ts";
import { createOutcome, viewOutcome } from "../src/contract/outcomes.ts";
import { dashboard } from "./support/dashboard.ts";

describe("an amount that is not a number", () => {
  const site = dashboard("web-amounts");
  const idOf = (name: string): string => site.press.agents.get(name) ?? "";
  const company = () => ({ companyId: site.press.companyId });

  before(async () => {
    // The other work of agents is not tested here.
    await site.daemon.board.call(updateCompany, { ...company(), maxSessions: 0, maxOutcomeUsd: 5 });
  });

  /** Each text is sent as it is and refused. Then a number is accepted. */
  async function demandNumber(field: Locator, path: RegExp, good: string): Promise<void> {
    const { page } = site.visit;
    const enter = async (text: string): Promise<number> => {
      await field.fill(text);
      const answer = page.waitForResponse(
        (response) => path.test(response.url()) && response.request().method() !== "GET",
      );
      await field.press("Enter");
      return (await answer).status();
    };
    for (const text of ["12,50", "$50"]) {
      assert.equal(await enter(text), 400, text);
      await page
        .getByRole("alert")
        .getByText(/a number/)
        .first()
        .waitFor();
      assert.equal(await field.inputValue(), text);
    }
    assert.match(String(await enter(good)), /^20[01]$/);
  }

  const budgetOf = async (name: string) =>
    (await site.daemon.board.call(viewAgent, { id: idOf(name) })).budget?.find(
      ({ measure }) => measure === "usd",
    )?.limit;

  test("does not change the budget of an agent on Costs", async () => {
    const { page } = site.visit;
    await page.goto(site.at("/costs"));
    await page.getByRole("button", { name: /change the budget of Noor$/ }).click();
    const field = page.getByRole("textbox", { name: "US dollars a month for Noor" });
    await demandNumber(field, /\/budget$/, "12.5");
    assert.equal(await budgetOf("Noor"), 12.5);
  });

  test("does not change the budget and the limits of the company in the settings", async () => {
    const { page } = site.visit;
    const settings = async () => (await site.daemon.board.call(viewCompany, company())).settings;
    const path = new RegExp(`/companies/${site.press.companyId}$`);
    await page.goto(site.at("/settings/company"));
    await demandNumber(page.getByLabel("Monthly budget in US dollars"), path, "401");
    await page.getByText("Saved: Monthly budget in US dollars.").waitFor();
    assert.equal((await settings()).monthlyBudget.usd, 401);
    await page.goto(site.at("/settings/company"));
    await demandNumber(page.getByLabel("Limit of one outcome in US dollars"), path, "6.5");
    await page.getByText("Saved: Limit of one outcome in US dollars.").waitFor();
    assert.equal((await settings()).maxOutcomeUsd, 6.5);
    await page.goto(site.at("/settings/advanced"));
    await demandNumber(page.getByLabel("Sessions at the same time"), path, "1");
    assert.equal((await settings()).maxSessions, 1);
    await site.daemon.board.call(updateCompany, { ...company(), maxSessions: 0 });
  });

  test("does not change the budget of a goal on its page, which shows the rest of the budget", async () => {
    const { page } = site.visit;
    const title = "The colophon is set";
    const { id } = await site.daemon.board.call(createGoal, { ...company(), title, budget: { usd: 8 } });
    await page.goto(site.at(`/outcomes/${id}`));
    const box = page.getByRole("region", { name: "Budget" });
    await box.getByText("$0.00 spent").or(box.getByText("$0 spent")).waitFor();
    await box.getByText("$8 left").waitFor();
    await box.getByRole("button", { name: `change the budget of ${title}` }).click();
    const field = box.getByRole("textbox", { name: `US dollars for all work on ${title}` });
    await demandNumber(field, /\/budget$/, "9.5");
    await box.getByText("$9.50 left").waitFor();
    assert.deepEqual((await site.daemon.board.call(viewOutcome, { id })).budget, { usd: 9.5 });
    // Without a budget for the goal, the company's limit for one outcome counts.
    await box.getByRole("button", { name: `change the budget of ${title}` }).click();
    await field.fill("");
    await field.press("Enter");
    await box.getByText(/^\$\d.*, the company's limit for one outcome/).waitFor();
    assert.equal((await site.daemon.board.call(viewOutcome, { id })).budget, null);
  });

  test("does not change a budget on Home", async () => {
    const { page } = site.visit;
    const greta = await site.press.as("Greta");
    const { id } = await greta.call(createOutcome, {
      ...company(),
      title: "The accounts are closed",
      parents: [idOf("Greta")],
    });
    await greta.call(delegateOutcome, { id, to: idOf("Paul") });
    await site.daemon.board.call(setBudget, { id: idOf("Paul"), usd: 0 });
    await page.goto(site.at("/"));
    const item = page.locator("[data-item]", { hasText: "money budget of Paul" });
    await item.waitFor();
    if ((await item.locator(".acts").count()) === 0) await item.click();
    await item.getByRole("button", { name: /^Raise the budget/ }).click();
    await demandNumber(item.getByLabel("US dollars a month"), /\/budget$/, "3");
    assert.equal(await budgetOf("Paul"), 3);
  });

  test("does not hire an agent without the intended budget", async () => {
    const { page } = site.visit;
    await page.goto(site.at(`/hire?boss=${idOf("Theo")}`));
    await page.getByLabel("Name", { exact: true }).fill("Penny");
    await page.getByLabel(/^Role/).fill("Bookkeeper");
    await page.getByRole("combobox", { name: "Type" }).selectOption("rehearsal");
    await demandNumber(page.getByLabel("US dollars a month"), /\/agent-hires$/, "2.5");
    await page.getByRole("heading", { name: /^(?:Pending board approval|Penny is ready)$/ }).waitFor();
    const { agents } = await site.daemon.board.call(listAgents, { ...company(), limit: 1000 });
    assert.ok(agents.some(({ name }) => name === "Penny"));
  });
});

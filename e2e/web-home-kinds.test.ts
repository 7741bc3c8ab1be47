// The dashboard in a real browser, on the built daemon: each kind of item that waits on Home is settled there, and disappears.
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Locator } from "playwright-core";
import { viewAttention } from "../src/contract/attention.ts";
import { setBudget } from "../src/contract/budgets.ts";
import { listAgentGrants, requestPermission } from "../src/contract/capabilities.ts";
import { updateCompany } from "../src/contract/companies.ts";
import { delegateOutcome } from "../src/contract/delegation.ts";
import { createGoal } from "../src/contract/goals.ts";
import { listConversation, sendMessage } from "../src/contract/mail.ts";
import { createOutcome, submitOutcome, updateOutcome, viewOutcome } from "../src/contract/outcomes.ts";
import { updateAgent, viewAgent } from "../src/contract/agents.ts";
import { listSecrets } from "../src/contract/secrets.ts";
import { dashboard } from "./support/dashboard.ts";

describe("what waits on Home is settled on Home", () => {
  const site = dashboard("web-home-kinds");
  const idOf = (name: string): string => site.press.agents.get(name) ?? "";
  const company = () => ({ companyId: site.press.companyId });

  before(async () => {
    // The other work of agents is not tested here.
    await site.daemon.board.call(updateCompany, { ...company(), maxSessions: 0 });
  });

  /** Opens the item with its calls. */
  async function open(words: string): Promise<Locator> {
    const { page } = site.visit;
    await page.goto(site.at("/"));
    const item = page.locator("[data-item]", { hasText: words });
    await item.waitFor();
    if ((await item.locator(".acts").count()) === 0) await item.click();
    await item.locator(".acts").waitFor();
    return item;
  }

  /** The item leaves the page by itself, the server has no such item any more, and a fresh page does not show it. */
  async function isGone(words: string): Promise<void> {
    const { page } = site.visit;
    const item = page.locator("[data-item]:not(.leaving)", { hasText: words });
    await item.waitFor({ state: "detached" });
    const left = async () => (await site.daemon.board.call(viewAttention, company())).items;
    while ((await left()).some(({ title, reason }) => `${title} ${reason}`.includes(words))) await sleep(50);
    await page.reload();
    await page.getByRole("heading", { name: /need/ }).waitFor();
    await page.locator("[data-item]").first().waitFor();
    assert.equal(await item.count(), 0);
  }

  test("a question is answered", async () => {
    const marlow = await site.press.as("Marlow");
    await marlow.call(sendMessage, { ...company(), to: "board", body: "Which glue do we take?" });
    const item = await open("Which glue do we take?");
    await item.getByRole("button", { name: "Answer…" }).click();
    await item.getByLabel("message").fill("The old one.");
    await item.locator("form").getByRole("button", { name: "Answer" }).click();
    await isGone("Which glue do we take?");
    const { messages } = await site.daemon.board.call(listConversation, {
      ...company(),
      with: site.press.rootId,
    });
    assert.deepEqual([messages[0]?.body, messages[0]?.inReplyTo], ["The old one.", messages[1]?.id]);
  });

  test("a result is verified", async () => {
    const goal = await site.daemon.board.call(createGoal, { ...company(), title: "The spine is chosen" });
    await (await site.press.as("Marlow")).call(submitOutcome, { id: goal.id, note: "A round one." });
    const item = await open("The spine is chosen");
    await item.getByRole("button", { name: /^Decide/ }).click();
    await item.getByRole("combobox").selectOption("Accept");
    for (const field of await item.locator("form textarea").all()) await field.fill("Good.");
    await item.locator("form").getByRole("button", { name: "Decide" }).click();
    await isGone("The spine is chosen");
    assert.equal((await site.daemon.board.call(viewOutcome, { id: goal.id })).status, "completed");
  });

  test("a right is allowed", async () => {
    const marlow = await site.press.as("Marlow");
    const reason = "The printer has a price list on the net.";
    await marlow.call(requestPermission, { resource: "net:printer.example", level: "use", reason });
    const item = await open(reason);
    await item.getByRole("button", { name: "Allow" }).click();
    await isGone(reason);
    const { grants } = await site.daemon.board.call(listAgentGrants, { id: site.press.rootId });
    assert.ok(grants.some(({ resource }) => resource === "net:printer.example"));
  });

  test("a block is ended", async () => {
    const goal = await site.daemon.board.call(createGoal, { ...company(), title: "The ribbon is sewn" });
    await (
      await site.press.as("Marlow")
    ).call(updateOutcome, { id: goal.id, blocked: { reason: "The thread is missing." } });
    const item = await open("The ribbon is sewn");
    await item.getByRole("button", { name: "Unblock" }).click();
    await isGone("The ribbon is sewn");
    assert.equal((await site.daemon.board.call(viewOutcome, { id: goal.id })).blocked, null);
  });

  test("a budget is raised", async () => {
    const greta = await site.press.as("Greta");
    const { id } = await greta.call(createOutcome, {
      ...company(),
      title: "The books are balanced",
      parents: [idOf("Greta")],
    });
    await greta.call(delegateOutcome, { id, to: idOf("Noor") });
    await site.daemon.board.call(setBudget, { id: idOf("Noor"), usd: 0 });
    const item = await open("money budget of Noor");
    await item.getByRole("button", { name: /^Raise the budget/ }).click();
    await item.getByLabel("US dollars a month").fill("12");
    await item.locator("form").getByRole("button", { name: "Raise the budget" }).click();
    await isGone("money budget of Noor");
    const noor = await site.daemon.board.call(viewAgent, { id: idOf("Noor") });
    assert.equal(noor.budget?.find(({ measure }) => measure === "usd")?.limit, 12);
  });

  test("a missing secret is set, and the page neither shows nor keeps its value", async () => {
    const { page } = site.visit;
    const { board } = site.daemon;
    const value = "gl-5ue-Key-4711";
    const id = idOf("Emil");
    await board.call(updateAgent, {
      id,
      adapterType: "process",
      adapterConfig: { command: "true", env: { GLUE: { secret: "GLUE_KEY" } } },
    });
    await board.call(createOutcome, { ...company(), title: "The glue is ordered", parents: [id] });
    const words = "The secret GLUE_KEY is missing";
    const item = await open(words);
    const isHidden = async (): Promise<void> => {
      const kept = await page.evaluate<string>(
        `JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.body.innerText, location.href])`,
      );
      assert.ok(!kept.includes(value));
      for (const part of await page.locator("input:not([type=password]), textarea").all())
        assert.ok(!(await part.inputValue()).includes(value));
    };
    await item.getByRole("button", { name: "Set the secret…" }).click();
    const field = item.getByLabel("value");
    assert.deepEqual(
      [await field.getAttribute("type"), await field.getAttribute("autocomplete")],
      ["password", "off"],
    );
    await field.fill(value);
    await isHidden();
    await item.locator("form").getByRole("button", { name: "Set the secret" }).click();
    await isGone(words);
    await isHidden();
    const { secrets } = await board.call(listSecrets, company());
    assert.equal(secrets.find(({ name }) => name === "GLUE_KEY")?.status, "available");
  });
});

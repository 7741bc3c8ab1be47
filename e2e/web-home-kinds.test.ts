// The dashboard in a real browser, on the built daemon: each kind of item that waits on Home is settled there, and disappears.
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Locator } from "playwright-core";
import { viewAttention } from "../src/contract/attention.ts";
import { setBudget } from "../src/contract/budgets.ts";
import { grantPermission, listAgentGrants, requestPermission } from "../src/contract/capabilities.ts";
import { createCompany, updateCompany, viewCompany } from "../src/contract/companies.ts";
import { delegateOutcome } from "../src/contract/delegation.ts";
import { createGoal } from "../src/contract/goals.ts";
import { listConversation, sendDeferredMessage, sendMessage } from "../src/contract/mail.ts";
import {
  closeOutcome,
  createOutcome,
  submitOutcome,
  updateOutcome,
  viewOutcome,
} from "../src/contract/outcomes.ts";
import { terminateAgent, updateAgent, viewAgent } from "../src/contract/agents.ts";
import { createPerson } from "../src/contract/people.ts";
import { listSecrets } from "../src/contract/secrets.ts";
import { putMcpServer, removeMcpServer, testMcpServer } from "../src/contract/servers.ts";
import { startGuardedServer } from "../src/testing/guarded-server.ts";
import { signedIn } from "./support/browser.ts";
import { dashboard } from "./support/dashboard.ts";

describe("every kind of item on Home can be settled on Home", () => {
  const site = dashboard("web-home-kinds");
  const idOf = (name: string): string => site.press.agents.get(name) ?? "";
  const company = () => ({ companyId: site.press.companyId });

  before(async () => {
    // The other work of agents is not tested here.
    await site.daemon.board.call(updateCompany, { ...company(), maxSessions: 0 });
  });

  /** Opens the item with its calls. */
  async function open(words: string, path = "/", { page } = site.visit): Promise<Locator> {
    await page.goto(site.at(path));
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

  /** The item leaves the page by itself, and the server has no such item any more. */
  async function leaves(companyId: string, words: string): Promise<void> {
    const item = site.visit.page.locator("[data-item]:not(.leaving)", { hasText: words });
    await item.waitFor({ state: "detached" });
    const { items } = await site.daemon.board.call(viewAttention, { companyId });
    assert.deepEqual(
      items.map(({ title, reason }) => `${title} ${reason}`).filter((said) => said.includes(words)),
      [],
    );
  }

  test("the used-up budget of a goal is raised, in its own measure", async () => {
    const { board } = site.daemon;
    const { id: companyId } = await board.call(createCompany, { name: "Endpapers" });
    const title = "The endpapers are chosen";
    const { id } = await board.call(createGoal, { companyId, title, budget: { usd: 50, tokens: 0 } });
    // The first session that would work on it finds the budget used up.
    while ((await board.call(viewOutcome, { id })).blocked === null) await sleep(50);
    await board.call(updateCompany, { companyId, maxSessions: 0 });
    const item = await open(title, `/?company=${companyId}`);
    await item.getByRole("button", { name: /^Raise the budget/ }).click();
    await item.getByLabel("tokens for the whole goal").fill("90000");
    await item.locator("form").getByRole("button", { name: "Raise the budget" }).click();
    await leaves(companyId, title);
    const { budget, blocked } = await board.call(viewOutcome, { id });
    assert.deepEqual([budget, blocked], [{ usd: 50, tokens: 90_000 }, null]);
  });

  test("a budget of the company is raised, in its own measure", async () => {
    const { board } = site.daemon;
    for (const [measure, words] of [
      ["tokens", "It is used up: spent 0 tokens"],
      ["sessions", "It is used up: spent 0 sessions"],
    ] as const) {
      const { id: companyId } = await board.call(createCompany, { name: `Out of ${measure}` });
      await board.call(updateCompany, { companyId, monthlyBudget: { usd: 3, [measure]: 0 } });
      await board.call(createGoal, { companyId, title: "The dummy is bound" });
      const item = await open(words, `/?company=${companyId}`);
      await item.getByRole("button", { name: /^Raise the limit/ }).click();
      await item.getByLabel(`${measure} a month`).fill("70000");
      await board.call(updateCompany, { companyId, maxSessions: 0 });
      await item.locator("form").getByRole("button", { name: "Raise the limit" }).click();
      await leaves(companyId, words);
      const { monthlyBudget } = (await board.call(viewCompany, { companyId })).settings;
      assert.deepEqual([monthlyBudget.usd, monthlyBudget[measure]], [3, 70_000]);
    }
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

  test("a message that could not be delivered is put aside", async () => {
    const { board } = site.daemon;
    const to = idOf("Mila");
    const body = "The shelf in the archive is for you.";
    const deliverAt = new Date(Date.now() + 3000).toISOString();
    await board.call(sendDeferredMessage, { ...company(), to, body, deliverAt });
    await board.call(terminateAgent, { id: to });
    const item = await open(body);
    await item.getByRole("button", { name: "Mark as done" }).click();
    await isGone(body);
  });

  test("an MCP server that waits for a sign-in is signed in", async () => {
    const { page } = site.visit;
    const { board } = site.daemon;
    const name = "calendar";
    const guarded = await startGuardedServer();
    try {
      const config = { type: "http", url: guarded.url, privateNetwork: true } as const;
      await board.call(putMcpServer, { ...company(), name, config });
      await board.call(grantPermission, { ...company(), to: site.press.rootId, resource: `mcp:${name}` });
      await board.call(testMcpServer, { ...company(), name }).catch(() => undefined);
      const item = await open(name);
      await item.getByRole("button", { name: "Sign in…" }).click();
      const dialog = page.getByRole("dialog", { name: "Sign in for this server" });
      const opened = page.context().waitForEvent("page");
      await dialog.getByRole("link", { name: /^Open 127\.0\.0\.1/ }).click();
      const service = await opened;
      await service.getByText(/signed in/i).waitFor();
      await service.close();
      await leaves(site.press.companyId, name);
    } finally {
      await board.call(removeMcpServer, { ...company(), name });
      await guarded.stop();
    }
  });

  test("for stuck work without a block, Home offers a message to its owner and reopens the outcome it waits for", async () => {
    const { page } = site.visit;
    const { board } = site.daemon;
    const parents = [idOf("Greta")];
    const paper = await board.call(createOutcome, { ...company(), title: "The paper is here", parents });
    const title = "The sheets are folded";
    const dependsOn = [paper.id];
    const { id } = await board.call(createOutcome, { ...company(), title, parents, dependsOn });
    await board.call(closeOutcome, { id: paper.id, rationale: "The mill has none." });
    const item = await open(title);
    await item.getByRole("button", { name: "Write a message…" }).click();
    // Enter sends a message, so a break of a line needs Shift.
    await item.getByLabel("message").focus();
    const lines = ["Another mill has paper.", "", "Order it there."];
    for (const [at, line] of lines.entries()) {
      if (at > 0) await page.keyboard.press("Shift+Enter");
      await page.keyboard.type(line);
    }
    await page.keyboard.press("Enter");
    await page.getByText("Done: write a message.").waitFor();
    const { messages } = await board.call(listConversation, { ...company(), with: idOf("Greta") });
    assert.equal(messages[0]?.body, lines.join("\n"));
    await item.getByRole("button", { name: "Reopen what it waits for…" }).click();
    await item.getByLabel("reason").fill("The mill has paper again.");
    await item.locator("form").getByRole("button", { name: "Reopen what it waits for" }).click();
    await isGone(title);
    assert.equal((await board.call(viewOutcome, { id: paper.id })).status, "open");
    assert.equal((await board.call(viewOutcome, { id })).blocked, null);
  });

  test("a person in a position marks their work as blocked with a reason, and ends the block", async () => {
    const { board } = site.daemon;
    const vera = idOf("Vera");
    const { id: person, signIn } = await board.call(createPerson, { name: "Tess Vogt", role: "member" });
    await board.call(updateAgent, { id: vera, adapterType: "human", person });
    const title = "The fair stand is booked";
    const { id } = await board.call(createOutcome, { ...company(), title, parents: [vera] });
    const visit = await signedIn(site.browser, site.daemon, { link: signIn.link });
    const item = await open(title, "/", visit);
    await item.getByRole("button", { name: "Say what blocks it…" }).click();
    await item.getByLabel("what is missing").fill("The fair has not answered.");
    await item.locator("form").getByRole("button", { name: "Say what blocks it" }).click();
    await visit.page.getByText("Done: say what blocks it.").waitFor();
    const { blocked } = await board.call(viewOutcome, { id });
    assert.equal(blocked?.reason, "The fair has not answered.");
    const stalled = await open(title, "/", visit);
    await stalled.getByRole("button", { name: "Unblock" }).click();
    await visit.page.getByText("Done: unblock.").waitFor();
    assert.equal((await board.call(viewOutcome, { id })).blocked, null);
    assert.deepEqual(visit.complaints, []);
    await visit.context.close();
  });
});

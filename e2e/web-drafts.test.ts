// The dashboard in a real browser, on the built daemon: typed text is never lost, and never undoes changes that the person has
// not seen.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Locator, Page, Route } from "playwright-core";
import { updateAgent, viewAgent } from "../src/contract/agents.ts";
import { updateCompany, viewCompany } from "../src/contract/companies.ts";
import { createFile, readFile, writeFile } from "../src/contract/knowledge.ts";
import { linkPerson } from "../src/contract/people.ts";
import { signedIn } from "./support/browser.ts";
import { dashboard } from "./support/dashboard.ts";
import { soon } from "./support/soon.ts";

describe("drafts in the dashboard", () => {
  const site = dashboard("web-drafts");
  const agentId = (name: string): string => site.press.agents.get(name) ?? "";
  const newFile = (description: string, content: string) =>
    site.daemon.board.call(createFile, { companyId: site.press.companyId, description, content });
  const contentOf = async (id: string) => (await site.daemon.board.call(readFile, { id })).content;
  /** An agent writes the next version of a file. */
  const rewrite = async (id: string, content: string): Promise<void> => {
    const { version, hash } = await site.daemon.board.call(readFile, { id });
    await site.daemon.board.call(writeFile, { id, version, hash, content });
  };
  const theText = (page: Page): Locator => page.getByLabel("Text, as Markdown");
  const meanwhile = (page: Page): Locator => page.getByRole("region", { name: "Changed meanwhile" });

  test("a draft of a file remembers its version: a newer one is shown and kept until the person decides", async () => {
    const { page } = site.visit;
    const { id } = await newFile("House style", "One.\n");
    await page.goto(site.at(`/knowledge/${id}`));
    await page.getByRole("button", { name: "Edit" }).click();
    await theText(page).fill("Mine.\n");
    // Escape leaves the field, not the page.
    await page.keyboard.press("Escape");
    assert.equal(await page.evaluate("document.activeElement?.tagName"), "BODY");
    assert.equal(await theText(page).inputValue(), "Mine.\n");
    await page.keyboard.press("Escape");
    await page.waitForURL(/\/knowledge(?:\?|$)/);
    await rewrite(id, "Two.\n");

    await page.goto(site.at(`/knowledge/${id}`));
    await page.getByText("version 2 of 2").waitFor();
    await page.getByRole("button", { name: "Continue editing" }).click();
    await meanwhile(page).getByText("Version 2 was saved while you wrote.").waitFor();
    await meanwhile(page).locator("del", { hasText: "Two." }).waitFor();
    await meanwhile(page).locator("ins", { hasText: "Mine." }).waitFor();
    // The server refuses a text that is based on version 1.
    await page.getByRole("button", { name: "Save as version 2" }).click();
    await page.getByRole("alert").filter({ hasText: "version" }).waitFor();
    assert.equal(await contentOf(id), "Two.\n");
    await meanwhile(page).getByRole("button", { name: "Keep mine" }).click();
    await meanwhile(page).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Save as version 3" }).click();
    await page.getByText("Version 3 is saved.").waitFor();
    assert.equal(await contentOf(id), "Mine.\n");
  });

  test("if another version is saved at the same moment, both texts are shown, and the other one can be chosen", async () => {
    const { page } = site.visit;
    const { id } = await newFile("Prices", "One.\n");
    await page.goto(site.at(`/knowledge/${id}`));
    await page.getByRole("button", { name: "Edit" }).click();
    await theText(page).fill("Mine.\n");
    // The page does not know of version 2 when it sends its own version.
    await page.route(`**/api/kb/${id}`, async (route) => {
      if (route.request().method() === "PUT" && (await contentOf(id)) === "One.\n")
        await rewrite(id, "Two.\n");
      await route.continue();
    });
    const answer = page.waitForResponse((response) => response.request().method() === "PUT");
    await page.getByRole("button", { name: "Save as version 2" }).click();
    assert.equal((await answer).status(), 409);
    await meanwhile(page).getByText("The text of version 2").click();
    await meanwhile(page).locator("pre.code-box", { hasText: "Two." }).waitFor();
    assert.equal(await theText(page).inputValue(), "Mine.\n");
    await meanwhile(page).getByRole("button", { name: "Take theirs" }).click();
    await meanwhile(page).waitFor({ state: "detached" });
    assert.equal(await theText(page).inputValue(), "Two.\n");
    assert.equal(await page.getByRole("alert").count(), 0);
    assert.equal(await contentOf(id), "Two.\n");
  });

  test("a newer text can be read whole before the person decides, however long it is", async () => {
    const { page } = site.visit;
    const { id } = await newFile("Ledger", "One.\n");
    await page.goto(site.at(`/knowledge/${id}`));
    await page.getByRole("button", { name: "Edit" }).click();
    await theText(page).fill("Mine.\n");
    await rewrite(id, `${"A line of the ledger.\n".repeat(20_000)}The last line.\n`);
    await meanwhile(page).getByText("The text of version 2").click();
    const theirs = meanwhile(page).locator("pre.code-box");
    const more = meanwhile(page).getByRole("button", { name: "Show more" });
    await meanwhile(page).getByText("199,980 of 440,015 characters are shown.").waitFor();
    assert.equal(await theirs.getByText("The last line.").count(), 0);
    await more.click();
    await more.click();
    await more.waitFor({ state: "detached" });
    await theirs.getByText("The last line.").waitFor();
    const whole = (await contentOf(id)).length;
    assert.equal(await theirs.evaluate((text) => text.textContent?.length), whole);
    assert.equal(await theText(page).inputValue(), "Mine.\n");
  });

  test("text typed in an agent's setup stays when the agent changes elsewhere, and does not undo that change", async () => {
    const { page } = site.visit;
    const id = agentId("Noor");
    await page.goto(site.at(`/agents/${id}/setup`));
    const setup = page.getByRole("form", { name: "Setup" });
    await setup.getByLabel("Prompt").fill("Count twice.");
    await setup.getByLabel("Title").fill("Counter");
    await page.keyboard.press("Escape");
    assert.match(page.url(), /\/setup/);
    // Another field is changed elsewhere. The change is shown, and the typed text stays.
    await site.daemon.board.call(updateAgent, { id, capabilities: "Counts." });
    await setup.getByLabel("Capabilities").filter({ hasText: "Counts." }).waitFor();
    assert.equal(await setup.getByLabel("Prompt").inputValue(), "Count twice.");
    assert.equal(await meanwhile(page).count(), 0);
    // The same field is changed elsewhere: the person decides before anything is saved.
    await site.daemon.board.call(updateAgent, { id, title: "Reader" });
    await meanwhile(page).getByText("Title is now: Reader").waitFor();
    const save = setup.getByRole("button", { name: "Save" });
    assert.equal(await save.getAttribute("aria-disabled"), "true");
    await meanwhile(page).getByRole("button", { name: "Take theirs" }).click();
    assert.equal(await setup.getByLabel("Title").inputValue(), "Reader");
    assert.equal(await setup.getByLabel("Prompt").inputValue(), "Count twice.");
    await save.click();
    await page.getByText("Saved.", { exact: true }).waitFor();
    const { title, capabilities } = await site.daemon.board.call(viewAgent, { id });
    assert.deepEqual([title, capabilities], ["Reader", "Counts."]);
  });

  test("text typed earlier does not undo a setting that was changed elsewhere", async () => {
    const { page } = site.visit;
    const { companyId } = site.press;
    await page.goto(site.at("/settings/company"));
    const field = page.getByLabel("Limit of one outcome in US dollars");
    await field.fill("7");
    await site.daemon.board.call(updateCompany, { companyId, maxOutcomeUsd: 9 });
    await meanwhile(page).getByText("to: 9.").waitFor();
    assert.equal(await field.inputValue(), "7");
    await page.getByRole("button", { name: "Keep mine" }).click();
    await field.press("Enter");
    await page.getByText("Saved: Limit of one outcome").waitFor();
    await site.daemon.board.call(updateCompany, { companyId, maxOutcomeUsd: null });
  });

  test("text typed into a setting while it is being saved is kept, and saved if it was entered", async () => {
    const { page } = site.visit;
    const { companyId } = site.press;
    const { board } = site.daemon;
    await page.goto(site.at("/settings/company"));
    const field = page.getByLabel("Limit of one outcome in US dollars");
    const held: Route[] = [];
    await page.route(/\/api\/companies\/[0-9a-f-]+$/, async (route) => {
      if (route.request().method() !== "PATCH") return route.fallback();
      held.push(route);
    });
    /** Lets the next save pass, and returns the saved limit. */
    const release = async (): Promise<unknown> => {
      const route = await soon("a save", () => held.shift());
      const body: unknown = route.request().postDataJSON();
      await route.continue();
      return Object(body)["maxOutcomeUsd"];
    };
    const limitIs = (wanted: number) =>
      soon(`the limit ${wanted}`, async () => {
        const { settings } = await board.call(viewCompany, { companyId });
        return settings.maxOutcomeUsd === wanted ? true : undefined;
      });
    await field.fill("11");
    await field.press("Enter");
    await field.fill("12");
    await field.press("Enter");
    // This text is not entered. It stays as typed and waits for its button, although a save that was entered before still waits.
    await field.fill("13");
    assert.equal(await release(), 11);
    assert.equal(await release(), 12);
    await limitIs(12);
    assert.equal(await field.inputValue(), "13");
    assert.equal(await meanwhile(page).count(), 0);
    await page.getByRole("button", { name: "Save" }).click();
    assert.equal(await release(), 13);
    await limitIs(13);
    await page.getByRole("button", { name: "Save" }).waitFor({ state: "detached" });
    assert.equal(await field.inputValue(), "13");
    // Entered twice, it is saved once.
    await field.fill("14");
    await field.press("Enter");
    await field.press("Enter");
    assert.equal(await release(), 14);
    await page.getByRole("button", { name: "Save" }).waitFor({ state: "detached" });
    await limitIs(14);
    assert.deepEqual(held, []);
    await board.call(updateCompany, { companyId, maxOutcomeUsd: null });
  });

  test("every form keeps its typed text after Escape and after a sign-out", async () => {
    const other = await signedIn(site.browser, site.daemon);
    const { page } = other;
    const noor = agentId("Noor");
    const file = await newFile("Kept", "One.\n");
    const dialog = page.getByRole("dialog");
    const open = (name: string | RegExp) => async () => {
      await page.getByRole("button", { name }).first().click();
    };
    /** The page, the control that opens the form, and the typed fields. */
    const forms: readonly {
      path: string;
      open?: () => Promise<void>;
      fields: readonly Locator[];
      text?: string;
    }[] = [
      {
        path: `/agents/${noor}/setup`,
        fields: [page.getByLabel("Prompt"), page.getByLabel("Role", { exact: true })],
      },
      { path: `/agents/${noor}`, open: open("Pause"), fields: [dialog.getByLabel("Reason")] },
      { path: `/knowledge/${file.id}`, open: open(/edit/i), fields: [theText(page)] },
      {
        path: "/knowledge",
        open: open("Add"),
        fields: [dialog.getByRole("textbox").first(), dialog.getByRole("textbox").nth(1)],
      },
      { path: `/knowledge/${file.id}`, open: open("Delete"), fields: [dialog.getByLabel("Why")] },
      { path: "/settings/company", fields: [page.getByLabel("Name")] },
      { path: "/settings/people", open: open("Invite"), fields: [dialog.getByLabel("Name")] },
      { path: `/mail/${noor}`, fields: [page.getByRole("textbox", { name: "Message" })] },
      { path: `/approvals/${site.hireId}`, fields: [page.getByLabel("Comment")] },
      { path: "/hire", fields: [page.getByLabel("Name"), page.getByLabel("Prompt")] },
      { path: "/", fields: [page.getByLabel(/^A goal for/)] },
      {
        path: "/costs",
        open: open(/change the budget of Noor$/),
        fields: [page.getByRole("textbox", { name: "US dollars a month for Noor" })],
        text: "12",
      },
    ];
    for (const form of forms) {
      await page.goto(site.at(form.path));
      if (form.open !== undefined) await form.open();
      for (const field of form.fields) await field.first().fill(form.text ?? "Not sent yet");
      // If Escape closes the field, it also discards the text.
      if (form.path === "/costs") continue;
      await page.keyboard.press("Escape");
      assert.equal(new URL(page.url()).pathname, form.path);
    }
    await page.evaluate(
      `fetch("/api/sign-out", { method: "POST", headers: { "x-agency-page": localStorage.getItem("agency.pageKey"), "content-type": "application/json" }, body: "{}" })`,
    );
    await page.getByText("This browser is not signed in.").waitFor();
    await page.goto((await site.daemon.board.call(linkPerson, { id: "me" })).link);
    await page.waitForURL((url) => url.pathname === "/");
    for (const form of forms) {
      await page.goto(site.at(form.path));
      if (form.path !== "/costs") await form.open?.();
      for (const field of form.fields) {
        await field.first().waitFor();
        assert.equal(await field.first().inputValue(), form.text ?? "Not sent yet", form.path);
      }
    }
    assert.deepEqual(other.complaints, []);
    await other.context.close();
  });
});

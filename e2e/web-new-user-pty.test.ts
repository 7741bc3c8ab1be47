// A new user: an empty folder, `agency up` in a terminal, the link that it prints, and a browser. The test knows only what the
// screens say: each click is on visible words, until the first hire is approved.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { allowed } from "../src/testing/allowed.ts";
import { launchBrowser, newVisit } from "./support/browser.ts";
import { builtMain, environmentOf, temporaryFolder } from "./support/daemon.ts";
import { controlC, onTerminal } from "./support/pseudo-terminal.ts";

test("a new user gets from an empty folder to the first approved hire by following the terminal and the browser", async () => {
  const folder = temporaryFolder("web-new-user");
  // The daemon finds no brain on the machine that runs the tests, so the agents rehearse.
  const env = { PATH: "/usr/bin:/bin", AGENCY_BRAIN: "", AGENCY_MODEL_PORTS: "" };
  const terminal = onTerminal(`exec "${process.execPath}" "${builtMain}" up --port 0`, {
    env: environmentOf({ home: join(folder.path, "home"), env }),
    cwd: folder.path,
    columns: 200,
  });
  const browser = await launchBrowser();
  try {
    await terminal.sees("Agency is running at http://");
    const link = /http:\S+\/sign-in#\S+/;
    const [address = ""] = link.exec(await terminal.sees(link)) ?? [];
    const { page, complaints, context } = await newVisit(browser);
    context.setDefaultTimeout(allowed(60_000));
    await page.goto(address);
    await page.getByRole("heading", { name: "Nothing needs you" }).waitFor();

    await page.getByText("No goal yet. Say below what you want done").waitFor();
    await page.getByText("No model is connected, so the agents rehearse").waitFor();
    assert.match(
      (await page.getByRole("link", { name: "Connect a model" }).getAttribute("href")) ?? "",
      /^\/agents\/[0-9a-f-]{36}\/setup/,
    );
    // The page says what to do: set a goal. It suggests some goals, and one click puts one into the field.
    await page.getByText(/^Tell \S+ what you want\. For example:$/).waitFor();
    const suggested = page.locator(".first-goals button").first();
    const goal = await suggested.innerText();
    await suggested.click();
    assert.equal(await page.getByRole("textbox", { name: /^A goal for / }).inputValue(), goal);
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText(/ has your goal and starts on it\.$/).waitFor();

    // The page changes while it is open. The first item shows what approving would change, and the button names the action.
    await page.getByRole("heading", { name: /^\d+ things? needs? you$/ }).waitFor();
    const request = page.locator("[data-item]", { hasText: /^Hire / }).first();
    const [, name = ""] =
      /^Hire (.+?)(?: as .+)?$/.exec((await request.locator(".title").innerText()).trim()) ?? [];
    assert.notEqual(name, "");
    await openItem(page, name);
    await page
      .locator("[data-item]", { hasText: `Hire ${name}` })
      .getByRole("button", { name: "Approve" })
      .click();
    await page.getByText(new RegExp(`^${name} is hired\\.`)).waitFor();
    await page.getByRole("link", { name: "Organization" }).click();
    await page.getByRole("heading", { level: 1, name: "Organization" }).waitFor();
    await page
      .getByRole("treeitem", { name: new RegExp(`^${name} `) })
      .or(page.getByRole("row", { name: new RegExp(name) }))
      .first()
      .waitFor();
    assert.deepEqual(complaints, []);

    // The link is used up. A second browser is told what to do.
    const other = await newVisit(browser);
    await other.page.goto(address);
    await other.page.getByText("agency sign-in").first().waitFor();
    terminal.types(controlC);
    assert.equal(await terminal.ends(), 0);
  } finally {
    await browser.close();
    terminal.types(controlC);
    await terminal.ends().catch(() => undefined);
    folder.remove();
  }
});

/** The first item opens by itself. A click opens another one, and would close this one. */
async function openItem(page: Page, name: string): Promise<void> {
  const item = page.locator("[data-item]", { hasText: `Hire ${name}` });
  const button = item.getByRole("button", { name: "Approve" });
  await button.waitFor({ timeout: 3000 }).catch(() => item.click());
}

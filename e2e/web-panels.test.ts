// The dashboard in a real browser, on the built daemon: what opens beside a list, and what rows and tiles say.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { viewApproval } from "../src/contract/approvals.ts";
import { dashboard } from "./support/dashboard.ts";

describe("panels beside lists", () => {
  const site = dashboard("web-panels");

  test("on Home, a click on a name opens its agent or outcome beside the list, Escape closes it, and Enter goes to its page", async () => {
    const { page } = site.visit;
    const bruno = site.press.agents.get("Bruno") ?? "";
    await page.goto(site.at("/"));
    await page.locator(".rail").waitFor();
    const item = page.locator("[data-item]", { hasText: "Iris Duarte" });
    const name = item.getByRole("link", { name: "Bruno" }).first();
    await name.click();
    await page.waitForURL(new RegExp(`[?&]agent=${bruno}`));
    const panel = page.getByRole("complementary", { name: "Agent" });
    await panel.getByRole("heading", { name: "Bruno" }).waitFor();
    assert.equal(await page.locator(".rail").count(), 0);
    // It is in the address, so it is there after a reload.
    await page.reload();
    await panel.getByRole("heading", { name: "Bruno" }).waitFor();
    // Its outcomes say how they stand, and one that does not move says why.
    const mandate = panel.locator("li[data-about^=outcome]", { hasText: "Bruno: Growth lead" });
    await mandate.waitFor();
    assert.doesNotMatch(await panel.innerText(), /\bIdle\b/);
    await page.keyboard.press("Escape");
    await page.locator(".rail").waitFor();
    assert.doesNotMatch(page.url(), /agent=/);
    await name.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Bruno" }).waitFor();
    assert.match(page.url(), new RegExp(`/agents/${bruno}`));
  });

  test("an agent's outcomes say how they stand and why, not only that they are open, and a paused tile has two bars", async () => {
    const { page } = site.visit;
    const milo = site.press.agents.get("Milo") ?? "";
    await page.goto(site.at(`/agents/${milo}`));
    const mandate = page.locator(`li[data-about="outcome ${milo}"]`);
    await mandate.getByText("Milo is paused: The mail provider refuses the key.").waitFor();
    assert.match(await mandate.innerText(), /Waiting for a person|Stuck/);
    assert.equal(await mandate.getByRole("button", { name: "Resume…" }).count(), 1);
    assert.equal(await page.locator(".agent-page .head .av.paused").count(), 1);
    await page.goto(site.at("/org?view=outline"));
    await page.locator(`[data-agent="${milo}"] .av.paused`).waitFor();
    assert.equal(await page.locator(".av.paused").count(), 1);
    await page.getByRole("button", { name: /not at work/ }).waitFor();
    assert.equal(await page.getByText("idle", { exact: true }).count(), 0);
  });

  test("the table of outcomes offers the call that helps beside the reason", async () => {
    const { page } = site.visit;
    const milo = site.press.agents.get("Milo") ?? "";
    await page.goto(site.at("/outcomes?view=table"));
    const row = page.locator(`[data-about="outcome ${milo}"]`);
    await row.getByRole("button", { name: "Resume…" }).click();
    await page.locator(".why-pop").getByRole("button", { name: "Resume" }).waitFor();
    // The row did not open.
    assert.match(page.url(), /\/outcomes\?view=table/);
    assert.doesNotMatch(page.url(), /outcome=/);
    await page.keyboard.press("Escape");
    // Anywhere else on the row opens it beside.
    await row.click({ position: { x: 6, y: 6 } });
    await page.locator(".side-panel h2", { hasText: "Milo: Newsletter" }).waitFor();
  });

  test("a request opens beside the list, says what a yes changes, and is decided there by keys", async () => {
    const { page } = site.visit;
    const id = await site.hire("Beside Ann");
    await page.goto(site.at("/approvals"));
    const row = page.locator("a.row", { hasText: "Beside Ann" });
    await row.click();
    await page.waitForURL(new RegExp(`[?&]approval=${id}`));
    const panel = page.getByRole("complementary", { name: "The chosen request" });
    await panel.getByRole("heading", { name: "What a yes changes" }).waitFor();
    await panel.getByText("You decide on revision 1,").waitFor();
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    await row.press("Enter");
    await page.getByRole("heading", { level: 1, name: /^Hire Beside Ann/ }).waitFor();
    await page.goto(site.at(`/approvals?approval=${id}`));
    await panel.getByRole("heading", { name: "What a yes changes" }).waitFor();
    await page.keyboard.press("x");
    await page.keyboard.type("Not now.");
    await page.keyboard.press("Enter");
    await panel.getByText("Not now.").waitFor();
    assert.equal((await site.daemon.board.call(viewApproval, { id })).status, "rejected");
  });
});

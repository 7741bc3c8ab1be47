// The dashboard in a real browser: common parts of every page. Reasons that end in a next step, names that explain themselves,
// choices in the address.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Page } from "playwright-core";
import { listAgents, viewAgent } from "../src/contract/agents.ts";
import { listApprovals } from "../src/contract/approvals.ts";
import { updateCompany } from "../src/contract/companies.ts";
import { requestAgent } from "../src/contract/create-agent.ts";
import { delegateOutcome } from "../src/contract/delegation.ts";
import { sendMessage } from "../src/contract/mail.ts";
import { createOutcome, updateOutcome, viewOutcome } from "../src/contract/outcomes.ts";
import { dashboard } from "./support/dashboard.ts";

describe("the dashboard: reasons, names, choices", () => {
  const site = dashboard("web-steps");
  const idOf = (name: string): string => site.press.agents.get(name) ?? "";

  test("on a page, in a row and in an answer, a reason links the things it names and offers the call that helps", async () => {
    const { page } = site.visit;
    const { board } = site.daemon;
    await page.goto(site.at(`/agents/${idOf("Milo")}`));
    const why = page.locator(".callout.why");
    await why.getByRole("link", { name: "Milo" }).waitFor();
    await why.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("button", { name: "Pause" }).waitFor();
    assert.equal((await board.call(viewAgent, { id: idOf("Milo") })).paused, null);
    await why.getByRole("button", { name: "Resume" }).waitFor({ state: "detached" });

    const greta = await site.press.as("Greta");
    const { id } = await greta.call(createOutcome, {
      companyId: site.press.companyId,
      title: "Stock is counted",
      parents: [idOf("Greta")],
    });
    await greta.call(delegateOutcome, { id, to: idOf("Noor") });
    await (
      await site.press.as("Noor")
    ).call(updateOutcome, { id, blocked: { reason: "The cellar is locked." } });
    await page.goto(site.at(`/agents/${idOf("Noor")}/outcomes`));
    // Its mandate is stuck for the same reason.
    const row = page
      .locator(".plain-list li", { hasText: "Stock is counted" })
      .filter({ hasNotText: "Noor: Bookkeeping" });
    await row
      .getByText(/The cellar is locked/)
      .first()
      .waitFor();
    await row.getByRole("button", { name: "Unblock…" }).click();
    await row.locator(".why-pop").getByRole("button", { name: "Unblock" }).waitFor();
    // The same answer opens over any page.
    await page.goto(site.at(`/outcomes/${id}`));
    await page.getByRole("heading", { name: "Stock is counted" }).waitFor();
    await page.getByRole("region", { name: /^Why/ }).getByRole("button", { name: "Unblock" }).waitFor();
    await page.keyboard.press("w");
    const answer = page.getByRole("dialog", { name: /Why/ });
    await answer.getByRole("button", { name: "Unblock" }).click();
    await answer.locator(".next-step button").waitFor({ state: "detached" });
    assert.equal((await board.call(viewOutcome, { id })).blocked, null);
  });

  test("the card of a name shows the thing, its state and its id", async () => {
    const { page } = site.visit;
    await page.goto(site.at(`/agents/${idOf("Theo")}`));
    const boss = page.locator("header.head").getByRole("link", { name: "Marlow" });
    await boss.hover();
    const card = page.locator(".name-card");
    await card.getByText("Chief of staff, reports to the board").waitFor();
    await card.getByText(idOf("Marlow"), { exact: true }).waitFor();
    await card.getByRole("button", { name: "Copy id" }).waitFor();
    await page.keyboard.press("Escape");
    await card.waitFor({ state: "detached" });
    assert.match(page.url(), /\/agents\//);
  });

  test("Home: Space chooses requests of one type, the address keeps them, and the result says what continues", async () => {
    const { page } = site.visit;
    const ids = [await site.hire("Space Sid"), await site.hire("Space Sue")];
    await page.goto(site.at("/"));
    const item = (name: string) => page.locator("[data-item]", { hasText: name });
    for (const name of ["Space Sid", "Space Sue"]) {
      await item(name).focus();
      await page.keyboard.press("Space");
      await page.locator("[data-item].chosen", { hasText: name }).waitFor();
    }
    for (const id of ids) assert.ok(new URL(page.url()).search.includes(id));
    await page.reload();
    await page.getByText("2 selected").waitFor();
    await page.keyboard.press("a");
    const sure = page.getByRole("dialog", { name: "Approve 2 requests?" });
    await sure.getByRole("button", { name: "Approve 2" }).waitFor();
    await page.keyboard.press("Escape");
    await sure.waitFor({ state: "detached" });
    // One change alone: the result names the agent, not the call.
    await page.goto(site.at(`/approvals/${ids[0] ?? ""}`));
    await page.locator(".opts").getByRole("button", { name: "Approve" }).click();
    await page.getByText(/^Space Sid is hired\./).waitFor();
    // The address keeps the choice of the list too, and a decided request is no longer chosen.
    await page.goto(site.at(`/approvals?chosen=${ids.join(",")}`));
    await page.getByText("1 selected").waitFor();
    assert.ok(await page.getByRole("checkbox", { name: /Space Sue/ }).isChecked());
    await page.keyboard.press("Escape");
    await page.getByText("1 selected").waitFor({ state: "detached" });
    assert.equal(new URL(page.url()).searchParams.get("chosen"), null);
  });

  test("a request shows its brain's probe, what it holds up and when it expires, in both lists", async () => {
    const { page } = site.visit;
    const bruno = await site.press.as("Bruno");
    await site.daemon.board.call(updateCompany, {
      companyId: site.press.companyId,
      approvalExpirySeconds: 3 * 86_400,
    });
    const { requestId = "" } = await bruno.call(requestAgent, {
      name: "Brief Bea",
      role: "Notes",
      waitSeconds: 0,
    });
    const held = await bruno.call(createOutcome, {
      companyId: site.press.companyId,
      title: "Shelves are filled",
      parents: [idOf("Bruno")],
    });
    // The outcome waits for the agent that would work on it.
    await bruno.call(delegateOutcome, {
      id: held.id,
      hire: { name: "Held Hal", role: "Filler", adapterType: "rehearsal" },
    });
    const { approvals } = await site.daemon.board.call(listApprovals, {
      companyId: site.press.companyId,
      status: "pending",
    });
    const hire = approvals.find(({ title }) => title.includes("Held Hal"))?.id ?? "";
    await page.goto(site.at("/approvals"));
    const row = (name: string) => page.locator("[data-request]", { hasText: name });
    await row("Brief Bea")
      .getByText(/^expires in /)
      .waitFor();
    await row("Held Hal").getByText("holds up 1").waitFor();
    assert.equal(
      await row("Held Hal")
        .getByText(/^expires/)
        .count(),
      0,
    );
    await page.goto(site.at("/"));
    await page
      .locator("[data-item]", { hasText: "Brief Bea" })
      .getByText(/^expires in /)
      .waitFor();
    await page.goto(site.at(`/approvals/${hire}`));
    await page.locator(".chg dd", { hasText: "rehearsal" }).getByText("available", { exact: true }).waitFor();
    await page.goto(site.at(`/approvals/${requestId}`));
    await page.getByRole("heading", { name: /Brief Bea/ }).waitFor();
  });

  test("the organization: the board is a row, folded rows are in the address, and every card has its verbs", async () => {
    const { page } = site.visit;
    await page.goto(site.at("/org?view=outline"));
    await page
      .getByRole("row", { name: /^Board/ })
      .getByRole("link", { name: "Who can decide" })
      .waitFor();
    await page.locator("[data-row='0']").focus();
    await page.keyboard.press("ArrowDown");
    await page.locator("[role=row]:focus", { hasText: "Theo" }).waitFor();
    await page.keyboard.press("ArrowLeft");
    await page.waitForURL(/folded=theo/);
    await page.getByRole("row", { name: /Wren/ }).waitFor({ state: "detached" });
    await page.reload();
    await page.getByRole("row", { name: /Theo/ }).waitFor();
    assert.equal(await page.getByRole("row", { name: /Wren/ }).count(), 0);
    // On a narrow screen the board has one line inside its row.
    await page.setViewportSize({ width: 360, height: 740 });
    await page.reload();
    await page.getByRole("row", { name: /Theo/ }).waitFor();
    const board = await page.locator(".oboard").boundingBox();
    const name = await page.locator(".oboard b").boundingBox();
    assert.ok(board !== null && name !== null && name.y >= board.y);
    assert.ok(name.y + name.height <= board.y + board.height);
    assert.equal(await page.getByRole("link", { name: "Who can decide" }).isVisible(), false);
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.reload();
    await page.getByRole("row", { name: /Theo/ }).waitFor();
    const verbs = page.getByRole("dialog", { name: "Reorganize Theo" });
    const dots = { name: "Reorganize Theo" };
    await page.getByRole("row", { name: /Theo/ }).hover();
    await page.getByRole("button", dots).click();
    await verbs.getByRole("button", { name: "Insert a manager" }).waitFor();
    await page.keyboard.press("Escape");
    await page.goto(site.at("/org?view=map"));
    await page.getByRole("treeitem", { name: /^Theo / }).hover({ position: { x: 40, y: 20 } });
    await page.getByRole("button", dots).click();
    await verbs.waitFor();
  });

  test("the page of a departed agent shows who took over which work, and can't be changed", async () => {
    const { page } = site.visit;
    const { board, companyId } = { board: site.daemon.board, companyId: site.press.companyId };
    const greta = await site.press.as("Greta");
    const { id } = await greta.call(createOutcome, {
      companyId: site.press.companyId,
      title: "The archive is sorted",
      parents: [idOf("Greta")],
    });
    await greta.call(delegateOutcome, { id, to: idOf("Paul") });
    await page.goto(site.at(`/agents/${idOf("Paul")}/setup`));
    await page.getByRole("button", { name: "Create a key" }).click();
    await page.getByText("Copy it now").waitFor();
    await page.getByRole("button", { name: "Fire…" }).click();
    const sure = page.getByRole("dialog", { name: "Fire Paul?" });
    await sure.getByLabel("Reason, kept on record").fill("The archive is complete.");
    await sure.getByRole("button", { name: "Fire", exact: true }).click();
    const banner = page.locator(".banner", { hasText: "Left" });
    await banner.getByText(/The archive is complete/).waitFor();
    await banner.getByRole("link", { name: "Greta" }).waitFor();
    await banner.getByRole("link", { name: "The archive is sorted" }).waitFor();
    const key = page.getByRole("button", { name: "Create a key" });
    await page.locator("button[aria-disabled=true]", { hasText: "Create a key" }).waitFor();
    assert.equal(await key.getAttribute("title"), "This agent has left.");
    const { agents } = await board.call(listAgents, { companyId, status: "terminated", limit: 100 });
    assert.ok(agents.some((agent) => agent.id === idOf("Paul")));
  });

  test("the summary of a hire is the request as the board will see it, with the money it takes", async () => {
    const { page } = site.visit;
    await page.goto(site.at(`/hire?boss=${idOf("Theo")}`));
    await page.getByLabel("Name", { exact: true }).fill("Ines Marti");
    await page.getByLabel(/^Role/).fill("Illustrator");
    await page.getByLabel(/^Mandate/).fill("Every chapter has a picture.");
    await page.getByLabel(/^US dollars a month/).fill("10");
    const summary = page.getByRole("complementary", { name: "Summary" });
    await summary.getByRole("heading", { name: "Hire Ines Marti as Illustrator" }).waitFor();
    await summary.locator(".twig").getByText("Theo").waitFor();
    await summary.getByText("gets $10 a month").waitFor();
    await summary.getByRole("img", { name: /\$10 for this/ }).waitFor();
    await summary.getByText("Every chapter has a picture.").waitFor();
    await page.getByLabel(/^US dollars a month/).fill("9000");
    await summary.getByText("Not possible now").waitFor();
  });

  test("/ finds agents in the outline and on the map, dims the others, and Enter goes to the next match, even in folded teams", async () => {
    const { page } = site.visit;
    await page.goto(site.at("/org?view=outline&folded=sanne"));
    await page.getByRole("row", { name: /Sanne/ }).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("juno");
    await page.locator(".orow.faint", { hasText: "Theo" }).waitFor();
    const panel = page.getByRole("complementary", { name: "Agent" });
    await page.keyboard.press("Enter");
    await panel.getByRole("heading", { name: "Juno" }).waitFor();
    await page.locator(".orow.sel:not(.faint)", { hasText: "Juno" }).waitFor();
    // Found by its role, and on the map. The address has the words.
    await page.getByRole("searchbox", { name: "Find an agent" }).fill("lead");
    await page.getByRole("button", { name: "Map" }).click();
    await page.locator(".mrow.faint", { hasText: "Juno" }).waitFor();
    assert.match(page.url(), /[?&]q=lead/);
    const field = page.getByRole("searchbox", { name: "Find an agent" });
    await field.press("Enter");
    await panel.getByText("Editorial lead, reports to").waitFor();
    await field.press("Enter");
    await panel.getByText("Software lead, reports to").waitFor();
    await page.locator(".team.sel:not(.faint)", { hasText: "Sanne" }).waitFor();
    await field.press("Escape");
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
  });

  test("the button that hires is in reach without scrolling, and a taken name is refused at its field", async () => {
    const { page } = site.visit;
    const hire = page.getByRole("button", { name: "Hire", exact: true });
    const name = page.getByLabel("Name", { exact: true });
    for (const size of [
      { width: 360, height: 740 },
      { width: 900, height: 800 },
      { width: 1440, height: 900 },
    ]) {
      await page.setViewportSize(size);
      await page.goto(site.at(`/hire?boss=${idOf("Theo")}`));
      await hire.waitFor();
      const box = await hire.boundingBox();
      assert.ok(box !== null && box.y >= 0 && box.y + box.height <= size.height, `${size.width}: ${box?.y}`);
    }
    await name.fill("Theo");
    await page.getByLabel(/^Role/).fill("Illustrator");
    await page.getByRole("combobox", { name: "Type" }).selectOption("rehearsal");
    await hire.click();
    const refused = page.locator("div", { has: name }).last().getByRole("alert");
    await refused.getByText("Theo").first().waitFor();
    await page.locator("input[aria-invalid]:focus").waitFor();
    assert.equal(await name.getAttribute("aria-invalid"), "true");
    assert.equal(await page.getByRole("alert").count(), 1);
    // The input is still there, and another name is sent with Enter.
    await page.keyboard.press("Control+a");
    await page.keyboard.type("Thea");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: /^(?:Pending board approval|Thea is ready)$/ }).waitFor();
  });

  test("the record of an agent names things as links, and its mail opens in whole", async () => {
    const { page } = site.visit;
    await page.goto(site.at(`/agents/${idOf("Bruno")}/record`));
    const entry = page.locator(".plain-list li", { hasText: "Bruno created the file" }).last();
    await entry.getByRole("link", { name: "Bruno" }).waitFor();
    await entry.getByRole("link").last().press("Enter");
    await page.waitForURL(/\/knowledge\//);
    await page.getByRole("heading", { level: 1 }).waitFor();

    const body = `${"A long report about paper. ".repeat(20)}The end.`;
    await site.daemon.board.call(sendMessage, {
      companyId: site.press.companyId,
      to: idOf("Yara"),
      body,
    });
    await page.goto(site.at(`/agents/${idOf("Yara")}/mail`));
    const row = page.locator(".plain-list li", { hasText: "A long report about paper." });
    await row.getByRole("button", { name: "show all" }).click();
    await row.getByText("The end.").waitFor();
  });

  test("without a shared worker one tab reads the events for all, and the next takes over when it is closed", async () => {
    const { context, page: first } = site.visit;
    await context.addInitScript({ content: "delete globalThis.SharedWorker" });
    const second = await context.newPage();
    const readers = new Set<Page>();
    for (const page of [first, second]) {
      page.on("request", (request) => {
        if (new URL(request.url()).pathname === "/api/events") readers.add(page);
      });
      await page.goto(site.at("/approvals"));
      await page.getByRole("heading", { name: "Approvals" }).waitFor();
      await page.getByText("Live", { exact: true }).waitFor();
    }
    await site.hire("Elected Ed");
    for (const page of [first, second]) await page.getByRole("link", { name: "Elected Ed" }).waitFor();
    assert.deepEqual([...readers], [first]);
    await first.close();
    await site.hire("Elected Eve");
    await second.getByRole("link", { name: "Elected Eve" }).waitFor();
    assert.ok(readers.has(second));
  });

  test("a list without rows says what to do next", async () => {
    const { page } = site.visit;
    await page.goto(site.at(`/agents/${idOf("Ozan")}/sessions`));
    await page.getByText("Ozan has had no sessions.").waitFor();
    await page.getByRole("link", { name: "Message Ozan" }).click();
    await page.waitForURL(new RegExp(`/mail/${idOf("Ozan")}`));
  });
});

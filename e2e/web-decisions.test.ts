// The dashboard in a real browser, on the built daemon with a live organization behind it.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import {
  commentOnApproval,
  reject,
  requestRevision,
  resubmit,
  viewApproval,
} from "../src/contract/approvals.ts";
import { createClient } from "../src/client/client.ts";
import { createKey } from "../src/contract/agents.ts";
import { viewAttention } from "../src/contract/attention.ts";
import { listCosts } from "../src/contract/budgets.ts";
import { createCompany, updateCompany } from "../src/contract/companies.ts";
import { createOutcome, updateOutcome } from "../src/contract/outcomes.ts";
import { createPerson } from "../src/contract/people.ts";
import { listSessions } from "../src/contract/sessions.ts";
import { signedIn } from "./support/browser.ts";
import { dashboard } from "./support/dashboard.ts";

describe("the dashboard: Home and approvals", () => {
  const site = dashboard("web-decisions");
  const card = (page: Page, name: string) => page.locator("[data-item]", { hasText: name });

  // covers GOV-50
  test("Home by keyboard alone: move to a request, arm, note, send", async () => {
    const { page } = site.visit;
    const id = await site.hire("Keyboard Kay");
    await page.goto(site.at("/"));
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
    // New events wait meanwhile, and take neither the focus nor the text.
    const others = [await site.hire("Hasty Hugo"), await site.hire("Hasty Hanna")];
    await page.getByRole("button", { name: /^\d+ new$/ }).waitFor();
    assert.equal(await page.evaluate(`document.activeElement?.tagName`), "TEXTAREA");
    await page.keyboard.type("would do.");
    await page.keyboard.press("Enter");
    await page.getByText("Sent back to Bruno with your note.").waitFor();
    await card(page, "Hasty Hugo").waitFor();
    for (const other of others) await site.daemon.board.call(reject, { id: other });
    await site.hire("Enter Erna");
    await card(page, "Enter Erna").focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/approvals\//);
    await page.getByRole("heading", { name: "Hire Enter Erna as Researcher" }).waitFor();
    const { status, decisionNote } = await site.daemon.board.call(viewApproval, { id });
    assert.deepEqual([status, decisionNote], ["revision_requested", "Half the budget would do."]);
  });

  test("a decision that is faster than the details of its request says what it did", async () => {
    const { page } = site.visit;
    const id = await site.hire("Early Emma");
    const details = Promise.withResolvers<void>();
    const reads = /\/api\/(?:batch|approvals\/[0-9a-f-]+)$/;
    await page.route(reads, async (route) => {
      const asked = route.request();
      if (asked.url().includes(id) || asked.postData()?.includes(id) === true) await details.promise;
      await route.continue();
    });
    await page.goto(site.at("/"));
    await card(page, "Early Emma").focus();
    await page.keyboard.press("ArrowRight");
    await card(page, "Early Emma").getByRole("button", { name: "Approve" }).click();
    await page.getByText(/^Early Emma is hired\./).waitFor();
    details.resolve();
    await page.unrouteAll({ behavior: "wait" });
  });

  // covers GOV-49, GOV-72
  test("a request by mouse: comment, ask for a revision, see the changes, approve", async () => {
    const { page } = site.visit;
    const bruno = await site.press.as("Bruno");
    const id = await site.hire("Mouse Mia");
    await page.goto(site.at(`/approvals/${id}`));
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
    // The new revision waits for the person who reads the old one, and the page shows how much it changes.
    await page.getByText("This changed while you looked. 1 change.").waitFor();
    await page.getByRole("button", { name: "Show revision 2" }).click();
    await page.getByText("Changed since revision 1").waitFor();
    await page.locator(".diff .add", { hasText: "Work from the two files." }).waitFor();
    await page.locator(".opts").getByRole("button", { name: "Approve" }).click();
    await page.locator(".banner.decided", { hasText: "approved it" }).waitFor();
    assert.equal((await site.daemon.board.call(viewApproval, { id })).status, "approved");
  });

  test("with a decision armed, Enter on a link, another button or a field acts there and sends no decision", async () => {
    const { page } = site.visit;
    const id = await site.hire("Focus Fay");
    const isOpen = async (): Promise<void> =>
      assert.equal((await site.daemon.board.call(viewApproval, { id })).status, "pending");
    await page.goto(site.at(`/approvals/${id}`));
    await page.getByRole("heading", { name: "Hire Focus Fay as Researcher" }).waitFor();
    await page.keyboard.press("a");
    const comment = page.getByLabel("Comment", { exact: true });
    await comment.fill("Not");
    await page.keyboard.press("Enter");
    await page.keyboard.type("yet.");
    assert.equal(await comment.inputValue(), "Not\nyet.");
    await page.getByRole("button", { name: "Comment" }).focus();
    await page.keyboard.press("Enter");
    await page.locator(".bubble", { hasText: "Not" }).waitFor();
    await isOpen();
    await page.locator(".whocard").getByRole("link", { name: "Bruno" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Bruno" }).waitFor();
    await isOpen();
    await site.daemon.board.call(reject, { id });
  });

  test("several requests are approved together, with the sum of what they change", async () => {
    const { page } = site.visit;
    const ids = [await site.hire("Batch Bea"), await site.hire("Batch Bo")];
    await page.goto(site.at("/approvals"));
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
    for (const id of ids)
      assert.equal((await site.daemon.board.call(viewApproval, { id })).status, "approved");

    // The requested configuration can be compared with one that works.
    await page.goto(site.at(`/approvals/${site.hireId}`));
    // The most similar configurations are a click away, each with its brain.
    const similar = page.locator(".cmp").getByRole("button");
    await similar.first().getByText("rehearsal").waitFor();
    assert.equal(await similar.count(), 3);
    await similar.first().click();
    await page.getByRole("dialog", { name: /^Compared with / }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("combobox", { name: "Compare with" }).selectOption({ label: "Hana, Copy" });
    const differences = page.getByRole("dialog", { name: "Compared with Hana" });
    await differences.locator("ins", { hasText: "Market researcher" }).waitFor();
    await page.keyboard.press("Escape");
    await differences.waitFor({ state: "detached" });
  });

  // covers GOV-51
  test("if two people decide at once, one wins, and the other sees who decided and keeps the note", async () => {
    const id = await site.hire("Contested Cy");
    const { signIn } = await site.daemon.board.call(createPerson, { name: "Jonas Weber", role: "board" });
    const jonas = await signedIn(site.browser, site.daemon, { link: signIn.link });
    const { page } = site.visit;
    await page.goto(site.at(`/approvals/${id}`));
    await page.getByLabel(/A note for Bruno/).fill("My note.");
    // The second decision must be sent before it learns of the first one.
    const sent = Promise.withResolvers<void>();
    await page.route("**/api/approvals/*/approve", async (route) => {
      await jonas.page.goto(site.at(`/approvals/${id}`));
      await jonas.page.locator(".opts").getByRole("button", { name: "Reject" }).click();
      await jonas.page.locator(".opts").getByRole("button", { name: /Send/ }).click();
      await jonas.page.locator(".banner.decided").waitFor();
      await route.continue();
      sent.resolve();
    });
    await page.locator(".opts").getByRole("button", { name: "Approve" }).click();
    await page.locator(".banner.decided", { hasText: "Jonas Weber" }).waitFor();
    await sent.promise;
    const { status, decidedBy } = await site.daemon.board.call(viewApproval, { id });
    assert.deepEqual([status, decidedBy?.person?.name], ["rejected", "Jonas Weber"]);
    await page.locator(".banner.decided", { hasText: "is still here: My note." }).waitFor();
    await page.getByRole("button", { name: "Delete this agent" }).click();
    const sure = page.getByRole("dialog").getByRole("button", { name: "Delete" });
    assert.equal(await sure.isDisabled(), true);
    await page.getByLabel(/Type .* to delete it/).fill("Contested Cy");
    await sure.click();
    await page.getByText("Contested Cy is deleted.").waitFor();
    await jonas.context.close();
  });

  test("a decision made elsewhere is shown on Home, and the item disappears", async () => {
    const { page } = site.visit;
    const id = await site.hire("Elsewhere Eve");
    await page.goto(site.at("/"));
    await card(page, "Elsewhere Eve").first().waitFor();
    await site.daemon.board.call(requestRevision, { id, decisionNote: "Later." });
    await page.locator(".leaving", { hasText: "Elsewhere Eve" }).waitFor();
  });

  test("Home of a company that needs no decision shows the next date, and lists limits under Good to know", async () => {
    const { page } = site.visit;
    const { board, url } = site.daemon;
    const { id: companyId, rootAgentId } = await board.call(createCompany, { name: "Still" });
    const { key } = await board.call(createKey, { id: rootAgentId });
    const root = createClient({ url, token: key });
    await page.goto(site.at(`/?company=${companyId}`));
    await page.getByRole("heading", { name: "Nothing needs you" }).waitFor();
    assert.equal(await page.getByRole("heading", { name: "Good to know" }).count(), 0);
    assert.equal(await page.locator(".hero time").count(), 0);
    const next = new Date(Date.now() + 3 * 24 * 3_600_000).toISOString();
    const { id } = await root.call(createOutcome, { companyId, title: "Fair", parents: [rootAgentId] });
    await root.call(updateOutcome, { id, blocked: { reason: "It opens then.", until: next } });
    const date = page.locator(`.hero time[datetime="${next}"]`);
    await date.waitFor();
    const local = await page.evaluate<string>(
      `new Intl.DateTimeFormat("en-GB", { weekday: "short", hour: "2-digit", minute: "2-digit" }).format(new Date("${next}"))`,
    );
    await page.locator(".hero p", { hasText: `without you. The next date is ${local}.` }).waitFor();
    await board.call(updateCompany, { companyId, maxSessions: 0 });
    const notes = page.getByRole("region", { name: "Good to know" });
    await notes.getByText("No session starts: the setting maxSessions is 0.").waitFor();
    await page.getByRole("heading", { name: "Nothing needs you" }).waitFor();
  });

  test("a budget that is nearly used up is listed under Good to know and does not count as waiting", async () => {
    const { page } = site.visit;
    const { board } = site.daemon;
    const { companyId } = site.press;
    const sessions = async () => {
      const { budget } = await board.call(listCosts, { companyId, limit: 1 });
      return budget.find(({ measure }) => measure === "sessions")?.spent ?? 0;
    };
    const live = async () => (await board.call(listSessions, { companyId, live: true })).sessions.length;
    while ((await sessions()) < 4) await sleep(100);
    await board.call(updateCompany, { companyId, maxSessions: 0 });
    while ((await live()) > 0) await sleep(100);
    const spent = await sessions();
    const limit = Math.floor(spent * 1.25);
    await board.call(updateCompany, { companyId, monthlyBudget: { sessions: limit } });
    const { pressing, total } = await board.call(viewAttention, { companyId });
    assert.equal(pressing, total - 1);
    await page.goto(site.at("/"));
    const says = `of the session budget of the company is spent: ${spent} sessions of ${limit} sessions.`;
    await page.getByRole("region", { name: "Good to know" }).getByText(says).waitFor();
    await page.getByRole("heading", { name: new RegExp(`^${pressing} things? needs? you$`) }).waitFor();
    await page.locator(".nav .n.call", { hasText: String(pressing) }).waitFor();
    assert.equal(await page.locator("[data-item]").count(), pressing);
    assert.equal(await card(page, "session budget").count(), 0);
  });
});

// How often the dashboard calls the daemon, in a real browser on the built daemon with a company at rest.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser } from "playwright-core";
import { setPermissions } from "../src/contract/agents.ts";
import { archiveCompany, createCompany, listCompanies } from "../src/contract/companies.ts";
import { listGoals } from "../src/contract/goals.ts";
import { hireAgent } from "../src/contract/hiring.ts";
import { launchBrowser, newVisit, type Profile, signedIn } from "./support/browser.ts";
import { type BuiltDaemon, startDaemon, temporaryFolder } from "./support/daemon.ts";
import { foundPress } from "./support/press.ts";

describe("the requests of the dashboard", () => {
  const home = temporaryFolder("web-requests");
  let daemon: BuiltDaemon;
  let browser: Browser;
  let profile: Profile;
  before(async () => {
    daemon = await startDaemon({ home: home.path }).ready;
    const press = await foundPress(daemon);
    const { companyId } = press;
    await daemon.board.call(setPermissions, { id: press.agents.get("Bruno") ?? "", canCreateAgents: true });
    const bruno = await press.as("Bruno");
    const wanted = { companyId, role: "Researcher", adapterType: "rehearsal", prompt: "Search." } as const;
    await bruno.call(hireAgent, { ...wanted, name: "Iris", budget: { usd: 1 } });
    browser = await launchBrowser();
    const { context, page } = await signedIn(browser, daemon);
    await page.getByText("Live", { exact: true }).waitFor();
    await page.goto(`${daemon.url}/?company=${companyId}`);
    await page.getByRole("heading", { name: /need/ }).waitFor();
    profile = await context.storageState();
    await context.close();
  });
  after(async () => {
    await browser?.close();
    await daemon?.stop();
    home.remove();
  });

  /** Opens a page in a browser that has visited before. */
  async function open(path: string) {
    const visit = await newVisit(browser, { profile });
    const asked: string[] = [];
    visit.context.on("request", (request) => {
      const { pathname } = new URL(request.url());
      // The record is verified some seconds after a page was opened, however long opening took.
      if (pathname.startsWith("/api/") && pathname !== "/api/events/verify")
        asked.push(`${request.method()} ${pathname.replace(/[0-9a-f-]{36}/, ":id")}`);
    });
    await visit.page.goto(daemon.url + path);
    return { ...visit, asked };
  }

  test("Home makes three requests: its content, the first request's changes, the event stream", async () => {
    const { page, context, asked, complaints } = await open("/");
    await page.getByRole("heading", { name: "1 thing needs you" }).waitFor();
    // Home shows everything: the open request, the rail, the root agent, the sidebar.
    await page.locator(".card .facts", { hasText: "agents now" }).waitFor();
    await page.locator(".spend .big").waitFor();
    await page.getByText("No agent is working.").waitFor();
    await page.getByText("No outcome has ended since then.").waitFor();
    await page.getByLabel("A goal for Marlow").waitFor();
    await page.locator(".nav .n.call", { hasText: "1" }).waitFor();
    // The stream is open. A worker for all tabs reads it, so the browser does not list it with the page's requests.
    await page.getByText("Live", { exact: true }).waitFor();
    assert.deepEqual(asked, ["POST /api/batch", "GET /api/approvals/:id"]);
    assert.deepEqual(complaints, []);
    await context.close();
  });

  test("the companies with their health come in one answer, however many there are", async () => {
    for (const name of ["Mill", "Yard", "Quay"]) await daemon.board.call(createCompany, { name });
    const { id: past } = await daemon.board.call(createCompany, { name: "Past" });
    await daemon.board.call(archiveCompany, { companyId: past });
    const { page, context, asked } = await open("/companies");
    await page.locator(".company-cards .tag.call", { hasText: "1 needs you" }).waitFor();
    const { companies } = await daemon.board.call(listCompanies, {});
    assert.equal(await page.locator(".company-cards [role=img]").count(), companies.length);
    // An archived company needs nothing, so its card has no figures.
    const archived = page.locator(".company-cards li", { hasText: "Past" });
    assert.match(await archived.innerText(), /archived\s+No agent works here/);
    await page.getByText("Live", { exact: true }).waitFor();
    assert.ok(asked.length <= 2, asked.join(", "));

    // A company that has only its purpose shows the first step.
    await page
      .locator(".company-cards li", { hasText: "Mill" })
      .getByRole("button", { name: "Open" })
      .click();
    const goal = page.locator(".first-goals button").first();
    const title = await goal.innerText();
    await goal.click();
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator(".first-goals").waitFor({ state: "detached" });
    const mill = companies.find(({ name }) => name === "Mill")?.id ?? "";
    const { outcomes } = await daemon.board.call(listGoals, { companyId: mill });
    assert.deepEqual(
      outcomes.map((outcome) => outcome.title),
      [title],
    );
    await context.close();
  });
});

// The dashboard in a real browser, on the built daemon.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { listAgents } from "../src/contract/agents.ts";
import { grantPermission } from "../src/contract/capabilities.ts";
import { updateCompany, viewCompany } from "../src/contract/companies.ts";
import { listGoals } from "../src/contract/goals.ts";
import { createAgent } from "../src/contract/hiring.ts";
import { createOutcome } from "../src/contract/outcomes.ts";
import { delegateOutcome } from "../src/contract/delegation.ts";
import { listMcpServers, removeMcpServer } from "../src/contract/servers.ts";
import { setSecret } from "../src/contract/secrets.ts";
import { allowed } from "../src/testing/allowed.ts";
import { startGuardedServer } from "../src/testing/guarded-server.ts";
import { signedIn } from "./support/browser.ts";
import { temporaryFolder } from "./support/daemon.ts";
import { developer, git, makeOrigin } from "./support/origin.ts";
import { twoLooks } from "./support/two-looks.ts";

const toggle = "Require board approval for new agent hires";

describe("pages on which people hire and change settings", () => {
  const site = twoLooks("web-settings");

  it("keeps the hiring toggle and every other setting, tests a brain, invites a person and ends a browser", async () => {
    // covers GOV-44, GOV-71
    const { page } = site.light;
    const { companyId } = site.press;
    await site.looksRight("/settings/company", "Monthly budget");
    await site.looksRight("/settings/brains", "rehearsal");
    await site.looksRight("/settings/servers", "No MCP servers yet.");
    await site.looksRight("/settings/secrets", "No secrets yet.");
    await site.looksRight("/settings/people", "Invite");
    await site.looksRight("/settings/browsers", "this one");
    await site.looksRight("/settings/advanced", toggle);

    await site.open(page, "/settings/advanced", toggle);
    assert.equal(await page.getByRole("switch").isChecked(), true);
    await page.getByRole("switch").press("Space");
    await page.getByText(`Saved: ${toggle}.`).waitFor();
    await page.reload();
    await page.getByRole("switch").waitFor();
    assert.equal(await page.getByRole("switch").isChecked(), false);
    const { settings } = await site.daemon.board.call(viewCompany, { companyId });
    assert.equal(settings.requireBoardApprovalForNewAgents, false);
    await page.getByRole("switch").click();
    await page.getByText(`Saved: ${toggle}.`).waitFor();

    // The explanation of a setting and its default come from the server.
    await page.getByText("shared fairly among agents. 0 stops all of them. Initially 4.").waitFor();
    await page.getByText("Initially 86400. Now 1 day.").waitFor();
    await page.getByLabel("Sessions at the same time").fill("5000");
    await page.keyboard.press("Enter");
    await page.getByText("The maximum is 1000.").waitFor();
    assert.equal(await page.getByLabel("Sessions at the same time").inputValue(), "5000");
    await page.getByLabel("Sessions at the same time").fill("7");
    await page.keyboard.press("Enter");
    await page.getByText("Saved: Sessions at the same time.").waitFor();

    await site.open(page, "/settings/brains", "rehearsal");
    await page.getByRole("region", { name: "rehearsal" }).getByRole("button", { name: "Test" }).click();
    await page.getByRole("region", { name: "rehearsal" }).getByRole("status").waitFor();

    await site.open(page, "/settings/secrets", "No secrets yet.");
    await page.getByRole("button", { name: "Add" }).click();
    await page.getByLabel("Name").fill("CHAT_KEY");
    await page.getByLabel("Value").fill("s3cr3t-of-the-house");
    await page.keyboard.press("Enter");
    await page.getByText("CHAT_KEY").waitFor();
    assert.ok(!(await page.content()).includes("s3cr3t-of-the-house"));

    await site.open(page, "/settings/people", "Invite");
    await page.getByRole("button", { name: "Invite" }).click();
    await page.getByLabel("Name").fill("Jonas");
    await page.getByLabel("Role").selectOption("viewer");
    await page.getByRole("dialog").getByRole("button", { name: "Invite" }).click();
    const link = await page.locator("code.code-box").innerText();
    const guest = await signedIn(site.browser, site.daemon, { link });
    await guest.page.goto(`${site.daemon.url}/settings/browsers`);
    await guest.page.getByRole("button", { name: "Sign out" }).waitFor();
    assert.equal(
      await guest.page.getByRole("button", { name: "Sign out" }).getAttribute("aria-disabled"),
      "true",
    );
    await guest.page.goto(`${site.daemon.url}/settings/secrets`);
    await guest.page.locator('button[title^="You are a viewer."]', { hasText: "Add" }).waitFor();
    await guest.context.close();
  });

  it("signs in for a remote MCP server, and sees that it is signed in", async () => {
    const { page } = site.light;
    const { companyId, rootId } = site.press;
    const guarded = await startGuardedServer();
    const name = "calendar";
    try {
      await site.open(page, "/settings/servers", "No MCP servers yet.");
      await page.getByRole("button", { name: "Add" }).click();
      await page.getByLabel("Name", { exact: true }).fill(name);
      await page.getByLabel("URL").fill(guarded.url);
      await page.getByRole("switch", { name: "Private network" }).check();
      await page.getByRole("dialog").getByRole("button", { name: "Add", exact: true }).click();
      const server = page.getByRole("listitem").filter({ hasText: name });
      await server.getByText(`${guarded.url}, may be in a private network`).waitFor();
      await site.daemon.board.call(grantPermission, { companyId, to: rootId, resource: `mcp:${name}` });
      await server.getByRole("button", { name: "Test" }).click();
      await server.getByText("waits for a sign-in").waitFor();
      // Home offers the same action.
      await site.open(page, "/", "calendar");
      await site.open(page, "/settings/servers", "waits for a sign-in");
      await server.getByRole("button", { name: "Sign in…" }).click();
      const dialog = page.getByRole("dialog", { name: "Sign in for this server" });
      const opened = page.context().waitForEvent("page");
      await dialog.getByRole("link", { name: /^Open 127\.0\.0\.1/ }).click();
      const service = await opened;
      await service.getByText(/signed in/i).waitFor();
      await service.close();
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "hidden" });
      await server.getByText("waits for a sign-in").waitFor({ state: "detached" });
    } finally {
      await site.daemon.board.call(removeMcpServer, { companyId, name });
      await guarded.stop();
    }
  });

  it("adds an MCP server with a secret by its name, and shows which one it uses", async () => {
    const { page } = site.light;
    const { companyId } = site.press;
    const name = "paper";
    await site.daemon.board.call(setSecret, { companyId, name: "PAPER_KEY", value: "sheets-of-paper" });
    try {
      await site.open(page, "/settings/servers", "No MCP servers yet.");
      await page.getByRole("button", { name: "Add" }).click();
      const dialog = page.getByRole("dialog", { name: "Add an MCP server" });
      await dialog.getByLabel("Name", { exact: true }).fill(name);
      await dialog.getByLabel("Command").fill("node paper.mjs --fast");
      await dialog.getByLabel("Hosts").fill("paper.example");
      await dialog.getByRole("button", { name: "Add a secret value" }).click();
      await dialog.getByLabel("Name 1").fill("API_KEY");
      await dialog.getByLabel("Secret 1").selectOption("PAPER_KEY");
      await dialog.getByRole("button", { name: "Add", exact: true }).press("Enter");
      const server = page.getByRole("listitem").filter({ hasText: name });
      await server.getByText("node paper.mjs --fast, may connect to paper.example").waitFor();
      await server.getByText("Secret values: API_KEY from PAPER_KEY").waitFor();
      const { servers } = await site.daemon.board.call(listMcpServers, { companyId });
      assert.deepEqual(servers[0]?.config, {
        command: "node",
        args: ["paper.mjs", "--fast"],
        env: { API_KEY: { secret: "PAPER_KEY" } },
        hosts: ["paper.example"],
      });
    } finally {
      await site.daemon.board.call(removeMcpServer, { companyId, name });
    }
  });

  it("hires with a form made from the brain's schema: pending with the toggle, immediately without", async () => {
    // covers GOV-47, GOV-48, GOV-73, ORG-53
    const { page } = site.light;
    const { companyId } = site.press;
    await site.looksRight("/hire", "Rights it begins with");
    const boss = site.press.agents.get("Theo") ?? "";
    for (const [name, isPending] of [
      ["Runa", true],
      ["Silke", false],
    ] as const) {
      await site.daemon.board.call(updateCompany, { companyId, requireBoardApprovalForNewAgents: isPending });
      await site.open(page, `/hire?boss=${boss}`, "Rights it begins with");
      await page.getByLabel("Name", { exact: true }).fill(name);
      await page.getByLabel("Role", { exact: false }).first().fill("Proofreader");
      await page.getByLabel("Mandate").fill("Every page is read twice.");
      await page.getByRole("combobox", { name: "Type" }).selectOption("rehearsal");
      await page.getByLabel("delayMs").fill("70000");
      await page.reload();
      await page.getByLabel("delayMs").waitFor();
      assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), name);
      await page.getByRole("button", { name: "Hire", exact: true }).click();
      await page.getByText("The maximum is 60000").waitFor();
      await page.getByLabel("delayMs").fill("20");
      await page.keyboard.press("Enter");
      await page
        .getByRole("heading", { name: isPending ? "Pending board approval" : `${name} is ready` })
        .waitFor();
      const { agents } = await site.daemon.board.call(listAgents, { companyId });
      const hired = agents.find((each) => each.name === name);
      assert.deepEqual([hired?.status === "pending_approval", hired?.boss?.name], [isPending, "Theo"]);
    }
  });

  it("adds a repository, shows what a published branch changes, and pushes it", async () => {
    // covers REPO-04
    const { page } = site.light;
    const { board } = site.daemon;
    const { companyId, rootId } = site.press;
    const place = temporaryFolder("web-origin");
    const origin = makeOrigin(place.path);
    await site.looksRight("/settings/repos", "No repositories yet.");
    await site.open(page, "/settings/repos", "No repositories yet.");
    await page.getByRole("button", { name: "Add" }).click();
    await page.getByLabel("Name", { exact: true }).fill("shop");
    await page.getByLabel("URL").fill("ext::sh -c id");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByRole("alert").waitFor();
    await page.getByLabel("URL").fill(origin);
    await page.getByRole("switch", { name: "Private network" }).check();
    await page.getByRole("dialog").getByRole("button", { name: "Add" }).click();
    await page.getByText("Default branch main, may be in a private network").waitFor();

    await board.call(updateCompany, { companyId, maxSessions: 12 });
    const worker = await board.call(createAgent, {
      companyId,
      name: "Worker",
      role: "worker",
      reportsTo: rootId,
      ...developer("worker"),
    });
    await board.call(grantPermission, { companyId, to: rootId, resource: "repo:shop", level: "read" });
    const { outcomes: goals } = await board.call(listGoals, { companyId });
    const goal = await board.call(createOutcome, {
      companyId,
      title: "Fix the rounding",
      parents: goals.slice(0, 1).map(({ id }) => id),
    });
    await board.call(delegateOutcome, {
      id: goal.id,
      to: worker.id,
      grants: [{ resource: "repo:shop", level: "read" }],
    });
    // The page learns that the branch exists.
    await page
      .getByRole("link", { name: "What agency/worker/fix changes" })
      .click({ timeout: allowed(90_000) });
    await page.locator("ins", { hasText: "Math.round" }).waitFor();
    await site.looksRight(
      "/settings/repos?repo=shop&branch=agency/worker/fix",
      "Prices are rounded to cents.",
    );
    await site.open(page, `/outcomes/${goal.id}`, "How it is verified");
    await page.getByRole("link", { name: "the changes" }).click();
    await page.getByRole("button", { name: "Push" }).click();
    await page.getByLabel("Branch at the origin").fill("main");
    await page.keyboard.press("Enter");
    await page.getByText("pushed to main").waitFor();
    assert.match(git(origin, "log", "-1", "--format=%s", "main"), /^Round prices to cents$/);
    place.remove();
  });
});

// The dashboard in a real browser, on the built daemon: what axe finds on every page and in every kind of dialog, on a wide
// screen, dark and light. The tests of single pages look at them on a narrow screen too.
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { Page } from "playwright-core";
import { updateCompany } from "../src/contract/companies.ts";
import { createFile } from "../src/contract/knowledge.ts";
import { listGoals } from "../src/contract/goals.ts";
import { listAgentSessions } from "../src/contract/sessions.ts";
import { seriousOn } from "./support/axe.ts";
import { dashboard } from "./support/dashboard.ts";

describe("axe finds nothing serious", () => {
  const site = dashboard("web-axe");
  let goal = "";
  let file = "";
  let session = "";

  before(async () => {
    const { board } = site.daemon;
    const { companyId } = site.press;
    for (; session === "";)
      session =
        (await board.call(listAgentSessions, { id: site.press.rootId, limit: 1 })).sessions[0]?.id ?? "";
    await board.call(updateCompany, { companyId, maxSessions: 0 });
    goal = (await board.call(listGoals, { companyId })).outcomes[0]?.id ?? "";
    ({ id: file } = await board.call(createFile, {
      companyId,
      description: "Voice",
      content: "# Voice\n\n*Calm.*",
    }));
  });

  const theo = (): string => site.press.agents.get("Theo") ?? "";

  /** In the dark theme by all rules, in the light one by those about colours. */
  async function isClean(page: Page, what: string): Promise<void> {
    for (const theme of ["dark", "light"] as const) {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
      const rules = theme === "dark" ? undefined : ["color-contrast", "link-in-text-block"];
      assert.deepEqual(await seriousOn(page, rules), [], `${theme} ${what}`);
    }
  }

  async function open(page: Page, path: string): Promise<void> {
    await page.goto(site.at(path));
    await page.locator("main h1").first().waitFor();
    await page.locator(".skeleton, [aria-busy=true]").first().waitFor({ state: "detached" });
  }

  test("on every page", async () => {
    const { page } = site.visit;
    const paths = [
      "/",
      "/mail",
      `/mail/${site.press.rootId}`,
      "/approvals",
      "/approvals?status=all",
      `/approvals/${site.hireId}`,
      "/org?view=outline",
      `/org?view=outline&agent=${theo()}`,
      `/org?view=map&agent=${theo()}`,
      "/reorganizations",
      "/hire",
      "/outcomes",
      "/outcomes?view=table",
      `/outcomes?view=table&outcome=${goal}`,
      "/outcomes?view=map",
      `/outcomes/${goal}`,
      "/knowledge",
      "/sessions",
      `/sessions/${session}`,
      "/costs",
      "/costs?by=outcome",
      "/activity",
      "/companies",
    ];
    for (const part of ["", "/history", "/links", "/access"]) paths.push(`/knowledge/${file}${part}`);
    for (const tab of ["now", "outcomes", "rights", "mail", "sessions", "setup", "record"])
      paths.push(`/agents/${theo()}/${tab}`);
    for (const tab of ["company", "advanced", "brains", "servers", "secrets", "repos", "people", "browsers"])
      paths.push(`/settings/${tab}`);
    for (const path of paths) {
      await open(page, path);
      await isClean(page, path);
    }
  });

  test("in every kind of dialog, menu and popover", async () => {
    const { page } = site.visit;
    const click = (name: string | RegExp) => () =>
      page.getByRole("button", { name, exact: true }).first().click();
    const keys =
      (...all: readonly string[]) =>
      async () => {
        for (const key of all) await page.keyboard.press(key);
      };
    const dialogs: readonly (readonly [path: string, opens: () => Promise<unknown>, sign: string])[] = [
      ["/", keys("Control+k"), "dialog[open]"],
      ["/", keys("?"), "dialog[open]"],
      ["/", click("Theme, text size and keys"), "[popover]:popover-open"],
      ["/", click("Company: Lumen Press"), "[popover]:popover-open"],
      [`/agents/${theo()}`, keys("w"), "dialog[open]"],
      [`/agents/${theo()}`, keys("e"), "dialog[open]"],
      [`/agents/${theo()}`, keys("p"), "dialog[open]"],
      [`/agents/${theo()}`, click("Fire…"), "dialog[open] .plan-moves li"],
      [`/agents/${theo()}/rights`, click("Grant"), "dialog[open]"],
      [`/org?view=outline&agent=${theo()}`, keys("."), "dialog[open]"],
      [`/outcomes/${goal}`, click("Block"), "dialog[open]"],
      [`/outcomes/${goal}`, click("Close"), "dialog[open]"],
      [`/approvals/${site.hireId}`, keys("r"), "textarea:focus"],
      [`/approvals/${site.hireId}`, click(/^how can .+ give this\?$/), "[popover]:popover-open"],
      ["/knowledge", click("Add a file"), "dialog[open]"],
      [`/knowledge/${file}`, click("Edit"), "main textarea"],
      [`/knowledge/${file}`, click("Delete"), "dialog[open]"],
      ["/activity", click("Verify"), "dialog[open]"],
      ["/companies", click("New company"), "dialog[open]"],
      ["/settings/company", click("Freeze"), "dialog[open]"],
      ["/settings/servers", click("Add"), "dialog[open]"],
      ["/settings/secrets", click("Add"), "dialog[open]"],
      ["/settings/repos", click("Add"), "dialog[open]"],
      ["/settings/people", click("Invite"), "dialog[open]"],
    ];
    for (const [path, opens, sign] of dialogs) {
      await open(page, path);
      await opens();
      await page.locator(sign).first().waitFor();
      await isClean(page, `${path}, ${sign}`);
    }
  });
});

// The dashboard in a real browser, on the built daemon, on every page and in every dialog: the findings of axe, dark and light,
// on a wide screen and at 360 px; and at 360 px and 200 % no sideways scrolling and no target too small for a finger.
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { Page } from "playwright-core";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { updateAgent } from "../src/contract/agents.ts";
import { reject } from "../src/contract/approvals.ts";
import { createCompany, freezeCompany, listCompanies, updateCompany } from "../src/contract/companies.ts";
import { decideOutcome } from "../src/contract/delegation.ts";
import { sendMessage } from "../src/contract/mail.ts";
import { submitOutcome, updateOutcome } from "../src/contract/outcomes.ts";
import { linkPerson } from "../src/contract/people.ts";
import { listRepos } from "../src/contract/repos.ts";
import { createFile } from "../src/contract/knowledge.ts";
import { createGoal, listGoals } from "../src/contract/goals.ts";
import { listAgentSessions } from "../src/contract/sessions.ts";
import { seriousOn } from "./support/axe.ts";
import { newVisit, signedIn } from "./support/browser.ts";
import { dashboard } from "./support/dashboard.ts";
import { smallTargets, tooWideBy } from "./support/targets.ts";
import { furnish } from "./support/press-archive.ts";

describe("axe finds nothing serious", () => {
  // Two agents run programs, which need no sandbox here.
  const site = dashboard("web-axe", { AGENCY_SANDBOX: "off" });
  let goal = "";
  let file = "";
  let session = "";
  let live = "";
  let kept: Awaited<ReturnType<typeof furnish>>;
  const ids = { submitted: "", completed: "", blocked: "", rejected: "", frozen: "", archived: "" };

  before(async () => {
    const { board } = site.daemon;
    const { companyId } = site.press;
    for (; session === ""; await sleep(50))
      session =
        (await board.call(listAgentSessions, { id: site.press.rootId, limit: 1 })).sessions[0]?.id ?? "";
    kept = await furnish(site.daemon, site.press, site.home);
    const marlow = await site.press.as("Marlow");
    await endless("Noor", "Greta");
    for (; live === ""; await sleep(50))
      live =
        (await board.call(listAgentSessions, { id: site.press.agents.get("Noor") ?? "", end: "running" }))
          .sessions[0]?.id ?? "";
    const branches = async () => (await board.call(listRepos, { companyId })).repos[0]?.published ?? [];
    while ((await branches()).length === 0) await sleep(100);
    await board.call(updateCompany, { companyId, maxSessions: 0 });
    const { outcomes } = await board.call(listGoals, { companyId });
    goal = outcomes.find(({ title }) => title === "The store takes pre-orders")?.id ?? "";
    ({ id: file } = await board.call(createFile, {
      companyId,
      description: "Voice",
      content: "# Voice\n\n*Calm.*",
    }));
    for (const [key, title] of [
      ["submitted", "The spine is chosen"],
      ["completed", "The ribbon is sewn"],
      ["blocked", "The thread is bought"],
    ] as const)
      ids[key] = (await board.call(createGoal, { companyId, title })).id;
    for (const id of [ids.submitted, ids.completed])
      await marlow.call(submitOutcome, { id, note: "A round one." });
    await board.call(decideOutcome, { id: ids.completed, verdict: "pass" });
    await board.call(updateOutcome, { id: ids.blocked, blocked: { reason: "The shop is closed." } });
    ids.rejected = await site.hire("Rejected Ria");
    await board.call(reject, { id: ids.rejected });
    await site.hire("Second Sam");
    const { companies } = await board.call(listCompanies, { archived: true });
    ids.archived = companies.find(({ state }) => state === "archived")?.id ?? "";
    ids.frozen = (await board.call(createCompany, { name: "Frozen Foods" })).id;
    await board.call(freezeCompany, { companyId: ids.frozen });
  });

  /** Gives an agent a program that does not end, and some work. */
  async function endless(name: string, boss: string): Promise<void> {
    const { companyId } = site.press;
    const id = site.press.agents.get(name) ?? "";
    const args = ["-e", "setInterval(() => {}, 1000)"];
    await site.daemon.board.call(updateAgent, {
      id,
      adapterType: "process",
      adapterConfig: { command: process.execPath, args },
    });
    await (await site.press.as(boss)).call(sendMessage, { companyId, to: id, body: "What did it cost?" });
  }

  const theo = (): string => site.press.agents.get("Theo") ?? "";

  /** The widths of a large screen, of the same screen at 200 %, and of a telephone. */
  const [wide, zoomed, narrow] = [1440, 720, 360] as const;

  /** All rules are checked on a wide screen and on a narrow one, and the colours of the wide one in both themes. */
  async function isClean(page: Page, what: string, part?: string): Promise<void> {
    for (const [width, theme, rules] of [
      [wide, "light", undefined],
      ...(part === undefined ? ([[wide, "dark", ["color-contrast", "link-in-text-block"]]] as const) : []),
      [narrow, "dark", undefined],
    ] as const) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
      await isLoaded(page);
      const found = await seriousOn(page, rules && [...rules], part);
      assert.deepEqual(found, [], `${theme}, ${width} px: ${what}`);
    }
    assert.deepEqual(
      await smallTargets(page, part),
      [],
      `${what} has targets that are too small for a finger`,
    );
    for (const width of [narrow, zoomed]) {
      await page.setViewportSize({ width, height: 450 });
      const more = await tooWideBy(page);
      assert.ok(more <= 0, `${what} is ${more} px wider than a window of ${width} px`);
    }
    await page.setViewportSize({ width: wide, height: 900 });
  }

  async function isLoaded(page: Page): Promise<void> {
    await page.locator(".skeleton, [aria-busy=true]").first().waitFor({ state: "detached" });
  }

  async function open(page: Page, path: string): Promise<void> {
    await page.goto(site.at(path));
    await page.locator("main h1, main [role=alert]").first().waitFor();
    await isLoaded(page);
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
      `/reorganizations/${kept.reorganizationId}`,
      `/agents/${kept.departedId}`,
      `/approvals/${kept.revisedId}`,
      `/approvals/${ids.rejected}`,
      `/knowledge/${kept.pictureId}`,
      `/sessions/${live}`,
      "/settings/repos?repo=shop&branch=agency/worker/fix",
      `/settings/company?company=${ids.archived}`,
      // The thing does not exist.
      "/outcomes/00000000-0000-7000-8000-000000000000",
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

  test("on the pages of a browser that is not signed in", async () => {
    const { board } = site.daemon;
    const stranger = await newVisit(site.browser);
    const { page } = stranger;
    const used = await board.call(linkPerson, { id: "me" });
    await (await signedIn(site.browser, site.daemon, { link: used.link })).context.close();
    const old = await board.call(linkPerson, { id: "me" });
    const db = new DatabaseSync(join(site.home, "agency.db"), { timeout: 60_000 });
    db.exec("update credentials set expires_at = 1 where kind = 'link' and revoked_at is null");
    db.close();
    for (const [path, says] of [
      ["/", "This browser is not signed in."],
      [`/sign-in${new URL(used.link).hash}`, "used"],
      [`/sign-in${new URL(old.link).hash}`, "This sign-in link has expired."],
      ["/sign-in#agl_nonsense", "This sign-in link is not known here."],
    ] as const) {
      await page.goto("about:blank");
      await page.goto(site.at(path));
      await page.getByText(says).first().waitFor();
      await isClean(page, says);
    }
    await stranger.context.close();
  });

  test("in every dialog, menu and popover", async () => {
    const { page } = site.visit;
    const click = (name: string | RegExp) => () =>
      page.getByRole("button", { name, exact: true }).first().click();
    const keys =
      (...all: readonly string[]) =>
      async () => {
        for (const key of all) await page.keyboard.press(key);
      };
    const choose = (label: string) => async () => {
      const list = page.getByRole("combobox", { name: label });
      await list.locator("option").nth(1).waitFor({ state: "attached" });
      await list.selectOption({ index: 1 });
    };
    const pickAll = async (): Promise<void> => {
      for (const box of await page.locator(".requests").getByRole("checkbox").all()) await box.check();
      await page
        .locator(".batch-bar")
        .getByRole("button", { name: /^Approve/ })
        .click();
    };
    const dialog = "dialog[open]";
    const popover = "[popover]:popover-open";
    const agent = (name: string): string => site.press.agents.get(name) ?? "";
    const of = (company: string): string => `company=${company}`;
    const here = of(site.press.companyId);
    const dialogs: readonly (readonly [
      path: string,
      opens: () => Promise<unknown>,
      part: string,
      sign?: string,
    ])[] = [
      ["/", keys("Control+k"), dialog],
      ["/", keys("?"), dialog],
      ["/", click("Theme, text size and keys"), popover],
      ["/", click("Company: Lumen Press"), popover],
      [`/agents/${theo()}`, keys("w"), dialog],
      [`/agents/${theo()}`, keys("e"), dialog],
      [`/agents/${theo()}`, keys("p"), dialog],
      [`/agents/${theo()}`, click("Fire…"), dialog, ".plan-moves li"],
      [`/agents/${theo()}/rights`, click("Grant"), dialog],
      [`/org?view=outline&agent=${theo()}`, keys("."), dialog],
      [`/outcomes/${goal}`, click("Complete"), dialog],
      [`/outcomes/${goal}`, click("Block"), dialog],
      [`/outcomes/${goal}`, click("Delegate"), dialog],
      [`/outcomes/${goal}`, click("Take back"), dialog],
      [`/outcomes/${goal}`, click("Close"), dialog],
      [`/outcomes/${ids.blocked}`, click("Unblock"), dialog],
      [`/outcomes/${ids.submitted}`, click("Accept"), dialog],
      [`/outcomes/${ids.submitted}`, click("Send back"), dialog],
      [`/outcomes/${ids.completed}`, click("Reopen"), dialog],
      [`/approvals/${site.hireId}`, keys("r"), "main", "textarea:focus"],
      [`/approvals/${site.hireId}`, click(/^how can .+ give this\?$/), popover],
      [`/approvals/${site.hireId}`, choose("Compare with"), dialog],
      [`/approvals/${ids.rejected}`, click("Delete this agent"), dialog],
      ["/approvals", pickAll, dialog],
      ["/hire", choose("Copy brain and prompt from"), dialog],
      [`/mail/${site.press.rootId}?box=all`, click("Done"), dialog],
      [`/mail/${agent("Greta")}?box=deferred`, click("Cancel"), dialog],
      [`/sessions/${live}`, click("Stop"), dialog],
      ["/knowledge", click("Add a file"), dialog],
      [`/knowledge/${file}`, click("Edit"), "main", "textarea"],
      [`/knowledge/${file}`, click("Delete"), dialog],
      ["/activity", click("Verify"), dialog],
      ["/companies", click("New company"), dialog],
      [`/settings/company?${of(ids.frozen)}`, click("Thaw"), dialog],
      [`/settings/company?${of(ids.archived)}`, click("Unarchive"), dialog],
      [`/settings/company?${here}`, click("Freeze"), dialog],
      [`/settings/company?${here}`, click("Archive"), dialog],
      ["/settings/servers", click("Add"), dialog],
      ["/settings/servers", click("Remove"), dialog],
      ["/settings/secrets", click("Add"), dialog],
      ["/settings/secrets", click("Replace"), dialog],
      ["/settings/secrets", click("Remove"), dialog],
      ["/settings/repos", click("Add"), dialog],
      ["/settings/repos", click("Remove"), dialog],
      ["/settings/repos?repo=shop&branch=agency/worker/fix", click("Push"), dialog],
      ["/settings/people", click("Invite"), dialog],
      ["/settings/people", click("New link"), dialog],
      ["/settings/people", click("Change role"), dialog],
      ["/settings/people", click("Remove"), dialog],
      ["/settings/browsers", click("Sign out"), dialog],
    ];
    // The pages behind them are checked above, so only the opened part is checked.
    for (const [path, opens, part, sign = ""] of dialogs) {
      await open(page, path);
      await opens();
      await page.locator(`${part} ${sign}`).first().waitFor();
      await isClean(page, `${path}, ${part} ${sign}`, part);
    }
  });
});

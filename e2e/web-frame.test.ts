// The dashboard in a real browser: the common parts of all pages. Names with roles, the find field of lists, forced colours,
// widths.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import { z } from "zod";
import { grantPermission } from "../src/contract/capabilities.ts";
import { archiveCompany, createCompany } from "../src/contract/companies.ts";
import { createFile, listFiles } from "../src/contract/knowledge.ts";
import { sendMessage } from "../src/contract/mail.ts";
import { listRoster } from "../src/contract/roster.ts";
import { listSessions } from "../src/contract/sessions.ts";
import { viewOutcome } from "../src/contract/outcomes.ts";
import { listGoals } from "../src/contract/goals.ts";
import { dashboard } from "./support/dashboard.ts";
import { soon } from "./support/soon.ts";

const Batch = z.object({
  calls: z.array(z.object({ operation: z.string(), input: z.record(z.string(), z.unknown()) })),
});

describe("the frame that all pages of the dashboard share", () => {
  const site = dashboard("web-frame");

  /** The newest session, as soon as one exists. */
  const oneSession = async () => {
    for (;;) {
      const { companyId } = site.press;
      const { sessions } = await site.daemon.board.call(listSessions, { companyId, limit: 1 });
      if (sessions[0] !== undefined) return sessions[0];
      await sleep(100);
    }
  };

  test("the layers of the styles have the order of styles.css, whichever sheet a page loads first", async () => {
    const { page } = site.visit;
    const source = readFileSync(join(import.meta.dirname, "../src/web/app/styles.css"), "utf8");
    const declared = /^@layer ([^{]*?);/m.exec(source)?.[1]?.split(/,\s*/) ?? [];
    assert.ok(declared.length > 5);
    // Pages load their style sheets when they are opened. So each page is the first one once.
    for (const path of ["/", "/costs", `/org?view=map`, "/sessions", "/settings/company"]) {
      await page.goto(site.at(path));
      await page.locator("main h1").first().waitFor();
      const seen = await page.evaluate<string[]>(
        `[...new Set([...document.styleSheets].flatMap((sheet) =>
          [...sheet.cssRules].flatMap((rule) => rule.nameList ?? (rule instanceof CSSLayerBlockRule ? [rule.name] : []))))]`,
      );
      assert.deepEqual(
        seen.filter((name) => declared.includes(name)),
        declared.filter((name) => seen.includes(name)),
        path,
      );
      assert.ok(seen.includes("pages") && seen.includes("base"), path);
    }
    // Rules of a page take precedence over general ones: names in a sentence look like its words.
    await page.goto(site.at("/activity"));
    await page.locator(".event .name").first().waitFor();
    assert.equal(
      await page.evaluate(`getComputedStyle(document.querySelector(".event .name")).display`),
      "inline",
    );
  });

  test("every list and header has the role beside the name of an agent", async () => {
    const { page } = site.visit;
    const { companyId, rootId } = site.press;
    const marlow = await site.press.as("Marlow");
    await marlow.call(sendMessage, { companyId, to: "board", body: "The first chapter is there." });
    const { agent, id: sessionId } = await oneSession();
    const { outcomes } = await site.daemon.board.call(listGoals, { companyId });
    const bruno = "Bruno, Growth lead";
    for (const [path, place, said] of [
      ["/", "[data-item]", bruno],
      ["/approvals", ".requests .meta", bruno],
      [`/approvals/${site.hireId}`, ".sub", bruno],
      ["/mail?box=all", ".mail-row", "Marlow, Chief of staff"],
      [`/mail/${rootId}?box=all`, ".messages article header", "Marlow, Chief of staff"],
      [`/outcomes/${outcomes[0]?.id}`, ".sentence .sub", "Marlow, Chief of staff"],
      ["/outcomes", "[role=gridcell]", "Marlow, Chief of staff"],
      ["/outcomes?view=table", ".grid-row .second", "Marlow, Chief of staff"],
      ["/sessions", ".row .meta", `${agent.name}, `],
      [`/sessions/${sessionId}`, ".ask .sub", `${agent.name}, `],
      ["/costs", "tbody th", "Marlow, Chief of staff"],
    ] as const) {
      await page.goto(site.at(path));
      await page.locator(place, { hasText: said }).first().waitFor();
    }
  });

  test("agents and files on later pages of their lists have their names and roles too, without all pages", async () => {
    const { page } = site.visit;
    const { companyId } = site.press;
    const { board } = site.daemon;
    const noor = site.press.agents.get("Noor") ?? "";
    for (const letter of ["A", "B", "C", "D", "E", "F"])
      await board.call(createFile, { companyId, description: `Shelf ${letter}`, content: "Red." });
    const { files } = await board.call(listFiles, { companyId, limit: 1000 });
    const { agents } = await board.call(listRoster, { companyId, departed: true, limit: 1000 });
    const placeOf = (rows: readonly { description?: string; name?: string }[], name: string): number =>
      rows.findIndex((row) => row.description === name || row.name === name);
    // The file and the agent come after the first two rows, which are the first page here.
    const [file, bruno] = [placeOf(files, "Shelf A"), placeOf(agents, "Bruno")];
    assert.ok(file >= 2 && bruno >= 2, `${file} ${bruno}`);
    const resource = `kb:${files[file]?.id}`;
    await board.call(grantPermission, { companyId, to: noor, resource, level: "read" });
    const pagesOfFiles = new Set<unknown>();
    const isPaged = (operation: string, { limit, cursor }: Readonly<Record<string, unknown>>): boolean => {
      if (operation === "knowledge.list") pagesOfFiles.add(cursor);
      return (operation === "org.roster" || operation === "knowledge.list") && Number(limit) === 1000;
    };
    await page.route(/\/api\/(?:batch|companies\/[^/]+\/(?:roster|kb))(?:\?|$)/, async (route) => {
      const request = route.request();
      const url = new URL(request.url());
      const body = request.postData();
      if (body === null) {
        const operation = url.pathname.endsWith("roster") ? "org.roster" : "knowledge.list";
        if (isPaged(operation, Object.fromEntries(url.searchParams))) url.searchParams.set("limit", "2");
        return route.continue({ url: url.href });
      }
      const { calls } = Batch.parse(JSON.parse(body));
      for (const { operation, input } of calls) if (isPaged(operation, input)) input["limit"] = 2;
      return route.continue({ postData: JSON.stringify({ calls }) });
    });
    await page.goto(site.at(`/approvals/${site.hireId}`));
    await page.locator(".sub", { hasText: "Bruno, Growth lead" }).first().waitFor();
    await page.goto(site.at(`/agents/${noor}/rights`));
    await page.getByText("“Shelf A”").first().waitFor();
    // The page behind the one with the file was not read.
    assert.equal(pagesOfFiles.size, Math.floor(file / 2) + 1, `${file} of ${files.length}`);
  });

  test("an address with an unknown company says so and lists the others; an archived one opens", async () => {
    const { page } = site.visit;
    const { board } = site.daemon;
    await page.goto(site.at("/outcomes?company=no-such-house"));
    await page.getByText("You can't open a company called “no-such-house”.").waitFor();
    // The page shows nothing of another company instead.
    assert.equal(await page.getByRole("button", { name: /^Company:/ }).count(), 0);
    assert.equal(await page.getByRole("heading", { name: "Outcomes" }).count(), 0);
    await page.getByRole("link", { name: "Lumen Press" }).press("Enter");
    await page.getByRole("button", { name: "Company: Lumen Press" }).waitFor();
    const { id, slug } = await board.call(createCompany, { name: "Closed House" });
    await board.call(archiveCompany, { companyId: id });
    await page.goto(site.at(`/?company=${slug}`));
    await page.getByRole("button", { name: "Company: Closed House" }).waitFor();
    assert.equal(await page.getByText("You can't open").count(), 0);
  });

  test("the key / leads to a field that finds requests and sessions on the server", async () => {
    const { page } = site.visit;
    await site.hire("Zora Quill");
    await page.goto(site.at("/approvals"));
    await page.locator(".requests li", { hasText: "Zora Quill" }).waitFor();
    const others = page.locator(".requests li").filter({ hasNotText: "Zora Quill" });
    assert.ok((await others.count()) > 0);
    await page.keyboard.press("/");
    await page.keyboard.type("quil rese");
    await others.first().waitFor({ state: "detached" });
    await page.locator(".requests li", { hasText: "Zora Quill" }).waitFor();
    await page.waitForURL(/q=quil/);
    await page.keyboard.type("x");
    await page.getByText("No request matches.").waitFor();

    const { agent } = await oneSession();
    await page.goto(site.at("/sessions"));
    await page.locator(".row .meta", { hasText: agent.name }).first().waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("nothing of this kind");
    await page.getByText("No session matches.").waitFor();
    await page.keyboard.press("Control+a");
    await page.keyboard.type(agent.name);
    await page.locator(".row .meta", { hasText: agent.name }).first().waitFor();
    assert.equal(
      await page.locator(".row .meta").count(),
      await page.locator(".row .meta", { hasText: agent.name }).count(),
    );
  });

  test("a letter in a find field costs the field alone: the list follows at a pause, and the caret stays", async () => {
    const { page } = site.visit;
    await page.goto(site.at("/outcomes"));
    await page.locator("[id^='o-']").first().waitFor();
    const field = page.getByRole("searchbox", { name: "Find by title" });
    // The words in the field and in the address, right after each letter.
    await page.evaluate(`globalThis.seen = [];
      document.addEventListener("input", ({ target }) =>
        setTimeout(() => seen.push([target.value, new URLSearchParams(location.search).get("q")])))`);
    await field.focus();
    await page.keyboard.type("pre-rders");
    for (let back = 0; back < 5; back++) await page.keyboard.press("ArrowLeft");
    await page.keyboard.type("o");
    assert.equal(await field.inputValue(), "pre-orders");
    assert.equal(await page.evaluate("document.activeElement.selectionStart"), 5);
    await page.waitForURL(/q=pre-orders/);
    assert.equal(await page.evaluate("document.activeElement.selectionStart"), 5);
    const seen = await page.evaluate<[string, string | null][]>("seen");
    assert.equal(seen.length, "pre-orders".length);
    assert.deepEqual(
      seen.filter(([typed, told]) => typed === told),
      [],
    );
    // An address from elsewhere fills the field.
    await page
      .locator("nav.nav")
      .getByRole("link", { name: /^Outcomes/ })
      .click();
    await soon("an empty field", async () => ((await field.inputValue()) === "" ? true : undefined));
    assert.equal(new URL(page.url()).search, "");
  });

  test("marks that are drawn by a background alone stay visible with forced colours", async () => {
    const { page } = site.visit;
    const theo = site.press.agents.get("Theo") ?? "";
    await oneSession();
    for (const path of [
      "/",
      `/approvals/${site.hireId}`,
      "/org?view=outline",
      "/org?view=map",
      `/agents/${theo}/now`,
      `/agents/${site.press.rootId}/sessions`,
      "/costs",
      "/activity",
      "/companies",
      "/outcomes",
      "/settings/advanced",
    ]) {
      await page.emulateMedia({ forcedColors: "none" });
      await page.goto(site.at(path));
      await page.locator("main h1, main .crumbs b").first().waitFor();
      await page.locator("main [aria-busy=true]").first().waitFor({ state: "detached" });
      const drawn = await page.evaluate<number>(collectDrawn);
      await page.emulateMedia({ forcedColors: "active" });
      assert.deepEqual(await page.evaluate(lost), [], `${path}: of ${drawn}`);
    }
    assert.ok((await meters(page)) > 0);
  });

  test("a long goal given on Home has its beginning as the title and its whole text as the description", async () => {
    const { page } = site.visit;
    const { companyId } = site.press;
    const text = `The index lists every bird, ${"its page and its Latin name, ".repeat(12)}and no other.`;
    await page.goto(site.at("/"));
    await page.getByLabel("A goal for Marlow").fill(text);
    await page.keyboard.press("Enter");
    await page.getByText("Marlow has your goal and starts on it.").waitFor();
    const { outcomes } = await site.daemon.board.call(listGoals, { companyId });
    const goal = outcomes.find(({ title }) => title.startsWith("The index lists every bird"));
    assert.equal(goal?.title.length, 300);
    const { description } = await site.daemon.board.call(viewOutcome, { id: goal?.id ?? "" });
    assert.equal(description, text);
  });

  test("a goal of several lines has its first line as the title and its whole text as the description", async () => {
    const { page } = site.visit;
    const { companyId } = site.press;
    const field = page.getByLabel("A goal for Marlow");
    const height = async (): Promise<number> => (await field.boundingBox())?.height ?? 0;
    await page.goto(site.at("/"));
    await field.focus();
    const low = await height();
    const lines = ["The glossary is written", "- at most two pages", "- in alphabetical order"];
    for (const [at, line] of lines.entries()) {
      if (at > 0) await page.keyboard.press("Shift+Enter");
      await page.keyboard.type(line);
    }
    assert.ok((await height()) >= low + 39, "the field grows by two lines");
    // Enter that ends a composition chooses a word, and sends nothing.
    await field.dispatchEvent("keydown", { key: "Enter", isComposing: true });
    assert.equal(await field.inputValue(), lines.join("\n"));
    await page.keyboard.press("Enter");
    await page.getByText("Marlow has your goal and starts on it.").waitFor();
    assert.ok((await height()) < low + 2, "the empty field is low again");
    const { outcomes } = await site.daemon.board.call(listGoals, { companyId });
    const goals = outcomes.filter(({ title }) => title === lines[0]);
    assert.equal(goals.length, 1);
    const { description } = await site.daemon.board.call(viewOutcome, { id: goals[0]?.id ?? "" });
    assert.equal(description, lines.join("\n"));
  });

  test("each text size fills the window, and the map follows the pointer in it", async () => {
    const { page } = site.visit;
    for (const size of ["16", "13"]) {
      await page.goto(site.at("/org?view=map"));
      const root = page.getByRole("treeitem", { name: /^Marlow / });
      await root.waitFor();
      await page.getByRole("button", { name: "Theme, text size and keys" }).click();
      await page.getByRole("button", { name: `Text of ${size} px` }).click();
      assert.deepEqual(
        await page.evaluate(
          `[".app", ".side"].map((name) => Math.round(document.querySelector(name).getBoundingClientRect().bottom))`,
        ),
        [900, 900],
      );
      assert.equal(await page.evaluate("document.documentElement.scrollHeight - innerHeight"), 0, size);
      await page.reload();
      await root.waitFor();
      await page.getByRole("button", { name: "Show all" }).click();
      const before = await root.boundingBox();
      assert.ok(before !== null);
      // A drag of the ground takes what is on it along, exactly.
      await page.mouse.move(420, 800);
      await page.mouse.down();
      await page.mouse.move(500, 700, { steps: 4 });
      await page.mouse.up();
      await page.evaluate(
        "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))",
      );
      const dragged = await root.boundingBox();
      assert.ok(dragged !== null);
      assert.ok(Math.abs(dragged.x - before.x - 80) < 2 && Math.abs(dragged.y - before.y + 100) < 2, size);
      // The wheel zooms around the pointer: the corner below it stays there.
      await page.mouse.move(dragged.x, dragged.y);
      await page.keyboard.down("Control");
      await page.mouse.wheel(0, -40);
      await page.keyboard.up("Control");
      await page.evaluate(
        "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))",
      );
      const zoomed = await root.boundingBox();
      assert.ok(zoomed !== null && zoomed.width > dragged.width);
      assert.ok(Math.abs(zoomed.x - dragged.x) < 2 && Math.abs(zoomed.y - dragged.y) < 2, size);
    }
  });

  test("letter keys that are switched off do nothing, even with the focus on a row", async () => {
    const { page } = site.visit;
    await page.goto(site.at("/org?view=outline"));
    const row = (name: string) => page.getByRole("row", { name: new RegExp(name) });
    await row("Marlow").first().waitFor();
    await page.keyboard.press("?");
    await page.getByLabel("Single letters are shortcuts").uncheck();
    await page.keyboard.press("Escape");
    await page.locator("[data-row='0']").focus();
    for (const key of ["j", "p", "w"]) await page.keyboard.press(key);
    await page.locator("[data-row='0']:focus").waitFor();
    assert.equal(await page.getByRole("dialog").count(), 0);
    await page.keyboard.press("ArrowDown");
    await page.locator("[data-row='1']:focus").waitFor();
  });

  test("at 1920 px and more, the rails of Home, a request and a session are 400 px wide", async () => {
    const { page } = site.visit;
    const { id } = await oneSession();
    for (const [path, rail] of [
      ["/", ".rail"],
      [`/approvals/${site.hireId}`, ".decide"],
      [`/sessions/${id}`, ".session .beside"],
    ] as const)
      for (const [width, wanted] of [
        [1440, 340],
        [1920, 400],
      ] as const) {
        await page.setViewportSize({ width, height: 900 });
        await page.goto(site.at(path));
        const box = await page.locator(rail).boundingBox();
        assert.equal(box?.width, wanted, `${path} at ${width} px`);
      }
  });
});

const meters = async (page: Page): Promise<number> => {
  await page.goto(page.url().replace(/\/settings.*/, "/org?view=outline"));
  await page.locator(".meter").first().waitFor();
  return page.locator(".meter").count();
};

/** Elements without text whose background differs from what is behind them. */
const collectDrawn = `(() => {
  const isClear = (colour) => colour === "transparent" || /[,/] ?0\\)$/.test(colour);
  const behind = (element) => {
    for (let at = element.parentElement; at !== null; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (!isClear(colour)) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  window.drawn = [...document.querySelectorAll("body *")].filter((element) => {
    const { backgroundColor, visibility } = getComputedStyle(element);
    const { width, height } = element.getBoundingClientRect();
    return element.textContent.trim() === "" && element.querySelector("svg, canvas, input, img") === null &&
      !(element instanceof SVGElement) && !/^(INPUT|TEXTAREA|SELECT|CANVAS)$/.test(element.tagName) &&
      width > 0 && height > 0 && visibility === "visible" && !isClear(backgroundColor) && backgroundColor !== behind(element);
  });
  return window.drawn.length;
})()`;

/** Elements among them that show nothing any more. */
const lost = `(() => {
  const box = document.body.appendChild(document.createElement("div"));
  box.style.backgroundColor = "Canvas";
  const canvas = getComputedStyle(box).backgroundColor;
  box.remove();
  const isMarked = (element) => {
    const style = getComputedStyle(element);
    const hasBackground = style.backgroundColor !== canvas && style.backgroundColor !== "rgba(0, 0, 0, 0)";
    return hasBackground || (style.borderTopStyle !== "none" && parseFloat(style.borderTopWidth) > 0);
  };
  return [...new Set(window.drawn.filter((element) => element.isConnected && !isMarked(element))
    .map((element) => element.closest("[class]:not(.none)")?.parentElement?.className + " > " + element.tagName + "." + element.className))]
    .filter((name) => !/ none$|\\.none$/.test(name));
})()`;

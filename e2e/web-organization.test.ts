// The dashboard in a real browser, on the built daemon with a live organization behind it.
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import { viewAgent } from "../src/contract/agents.ts";
import { listEvents } from "../src/contract/ledger.ts";
import { sendMessage } from "../src/contract/mail.ts";
import { listPermissionRequests } from "../src/contract/capabilities.ts";
import { viewConfiguration } from "../src/contract/hiring.ts";
import { listAgentSessions } from "../src/contract/sessions.ts";
import { pressKeys } from "./support/browser.ts";
import { dashboard } from "./support/dashboard.ts";

interface Column {
  readonly name: string;
  /** Cells that don't begin or end under their head: their text, and the difference in pixels. */
  readonly off: readonly string[];
}

const columnCells = "[role=gridcell], tbody td, .grid-row > *";

/** Compares where the text of a head and of each cell below it begins or, in a column that is set to the right, ends. */
const columnsOfPage = `(() => {
  const edges = (cell) => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    return range.getBoundingClientRect();
  };
  const heads = [...document.querySelectorAll("[role=columnheader], thead th, .grid-head > *")];
  const rows = [...document.querySelectorAll("[role=row], tbody tr, .grid-row")].filter(
    (row) => row.querySelector("[role=columnheader]") === null && row.checkVisibility(),
  );
  return heads.map((head, at) => {
    const isEnd = ["right", "end"].includes(getComputedStyle(head).textAlign);
    const mine = edges(head);
    // Only screen readers get the name of a column of buttons.
    const isHidden = head.querySelector(".vh") !== null;
    const off = rows.flatMap((row) => {
      const cell = row.children[at];
      // A tree indents its first column, and a cell without text has no edge.
      if (isHidden || cell === undefined || cell.innerText.trim() === "" || (at === 0 && !isEnd)) return [];
      const its = edges(cell);
      const by = isEnd ? its.right - mine.right : its.left - mine.left;
      return Math.abs(by) > 2 ? [cell.innerText + " by " + Math.round(by)] : [];
    });
    return { name: head.innerText.trim() || "column " + at, off };
  });
})()`;

describe("the dashboard: the organization, an agent, a session", () => {
  const site = dashboard("web-organization");

  // covers GOV-79, ORG-10
  test("the organization by keyboard: move, fold, open the panel, open the page", async () => {
    const { page } = site.visit;
    await page.goto(site.at("/"));
    await page.getByRole("heading", { name: /need/ }).waitFor();
    const outline = page.getByRole("button", { name: "Outline" });
    await pressKeys(page, ["g", "o"], outline);
    await outline.click();
    await page.getByRole("treegrid").waitFor();
    await page.getByRole("button", { name: "pending approval" }).click();
    await page.locator(".orow.faint", { hasText: "Marlow" }).waitFor();
    assert.ok((await page.locator(".orow.pend:not(.faint)").count()) > 0);
    await page.locator("[data-row='0']").focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowLeft");
    const folded = page.getByRole("row", { name: /Theo/ });
    assert.equal(await folded.getAttribute("aria-expanded"), "false");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    const panel = page.getByRole("complementary", { name: "Agent" });
    await panel.getByRole("heading", { name: "Theo" }).waitFor();
    // A panel that closes while it has the focus gives it back to the row.
    await panel.getByRole("button", { name: "Close" }).focus();
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    await page.locator("[role=row]:focus", { hasText: "Theo" }).waitFor();
    await page.keyboard.press("Enter");
    await panel.getByRole("heading", { name: "Theo" }).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/agents\//);
    await page.getByRole("heading", { level: 1, name: "Theo" }).waitFor();
  });

  test("the map: an agent is moved by mouse and by keyboard, with a plan before and an undo after", async () => {
    const { page } = site.visit;
    const item = (name: string) => page.getByRole("treeitem", { name: new RegExp(`^${name} `) });
    const plan = page.getByRole("region", { name: "Planned change" });
    const bossOf = async (name: string): Promise<string | undefined> =>
      (await site.daemon.board.call(viewAgent, { id: site.press.agents.get(name) ?? "" })).boss?.name;
    await page.goto(site.at("/org?view=map"));
    await item("Juno").waitFor();
    const from = await item("Juno").boundingBox();
    const to = await item("Bruno").boundingBox();
    assert.ok(from !== null && to !== null);
    await page.mouse.move(from.x + 60, from.y + 12);
    await page.mouse.down();
    await page.mouse.move(from.x + 80, from.y + 30, { steps: 4 });
    await page.mouse.move(to.x + 60, to.y + 16, { steps: 4 });
    await page.mouse.up();
    await plan.getByText("Juno reports to Bruno instead of Sanne").waitFor();
    await page.locator(".mrow.arrives", { hasText: "Juno" }).waitFor();
    await plan
      .getByText(/changes?$/)
      .first()
      .waitFor();
    assert.equal(await bossOf("Juno"), "Sanne");
    await plan.getByRole("button", { name: "Apply" }).click();
    await page.getByText(/^Done: /).waitFor();
    assert.equal(await bossOf("Juno"), "Bruno");
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText(/^Undone: /).waitFor();
    assert.equal(await bossOf("Juno"), "Sanne");

    await item("Marlow").focus();
    await page.keyboard.press("ArrowDown");
    assert.match(String(await page.evaluate(`document.activeElement?.textContent`)), / lead/);
    await item("Sol").focus();
    await page.keyboard.press("Shift+M");
    await page.getByRole("combobox", { name: "New manager" }).waitFor();
    await page.keyboard.type("operations lead");
    await page.getByRole("option", { name: /Greta/ }).waitFor();
    await page.keyboard.press("Enter");
    await plan.getByRole("button", { name: "Apply" }).waitFor();
    await page.keyboard.press("Control+Enter");
    await page.getByText(/^Done: /).waitFor();
    assert.equal(await bossOf("Sol"), "Greta");
    await page.goto(site.at("/reorganizations"));
    await page.getByRole("link", { name: /Sol/ }).first().waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("The organization is as before.").waitFor();
    assert.equal(await bossOf("Sol"), "Theo");
  });

  test("W and E explain the focused thing, and the palette finds things, runs actions and explains", async () => {
    const { page } = site.visit;
    const why = page.getByRole("dialog", { name: "Why" });
    const access = page.getByRole("dialog", { name: "Explain access" });
    const palette = async (words: string, option: RegExp): Promise<void> => {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Find or do anything" }).waitFor();
      await page.keyboard.type(words);
      await page.locator(".palette").getByRole("option", { name: option }).first().waitFor();
      await page.keyboard.press("Enter");
    };
    const close = async (dialog: typeof why): Promise<void> => {
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "hidden" });
    };
    await page.goto(site.at("/org?view=outline"));
    await page.getByRole("row", { name: /Theo/ }).focus();
    await page.keyboard.press("w");
    await why.getByText(/Theo/).first().waitFor();
    await close(why);
    // The row has the focus again, so the next key also acts on Theo.
    await page.keyboard.press("e");
    await access.getByPlaceholder("kb:<file id>").fill("org:hire");
    await access.getByText("Theo was not granted any right on org:hire.").waitFor();
    await close(access);
    await palette("why kit", /^Why: Kit/);
    await why.getByText(/Kit/).first().waitFor();
    await close(why);
    await page.locator("[role=row]:focus", { hasText: "Theo" }).waitFor();
    await page.keyboard.press("ArrowUp");
    await page.locator("[role=row]:focus", { hasText: "Marlow" }).waitFor();
    await palette("can kit read competitor", /^Can Kit read “Competitor prices”/);
    await access.getByRole("button", { name: "Grant it" }).click();
    await access.getByRole("img", { name: "allowed", exact: true }).waitFor();
    await close(access);
    await palette("hire an", /^Hire an agent/);
    await page.waitForURL(/\/hire/);
    // In an empty palette, the thing that was opened last is the first entry.
    await palette("wren", /^Wren/);
    await page.waitForURL(/\/agents\//);
    // Before the next page is there, letters are typed into the form of the last one.
    await page.getByRole("heading", { name: "Wren" }).waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("k");
    await page.getByRole("heading", { name: "Knowledge" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.locator(".palette [aria-selected=true]", { hasText: "Wren" }).waitFor();
    await page.keyboard.press("Escape");
    // M writes from any page: without an agent at hand, to the root agent.
    await page.keyboard.press("m");
    await page.waitForURL(new RegExp(`/mail/${site.press.agents.get("Marlow")}`));
    await palette("sessions", /^Sessions/);
    await page.getByRole("button", { name: "At work" }).waitFor();
    await page.locator("a.row").first().press("Enter");
    await page.waitForURL(/\/sessions\/[0-9a-f-]{36}/);

    // The record was changed from outside, and every page says so.
    const change = (from: string, to: string): void => {
      const db = new DatabaseSync(join(site.home, "agency.db"), { timeout: 60_000 });
      db.exec(`update events set operation = '${to}' where seq = 3 and operation = '${from}'`);
      db.close();
    };
    const { events } = await site.daemon.board.call(listEvents, {
      companyId: site.press.companyId,
      limit: 5,
    });
    const { operation = "" } = events.find(({ seq }) => seq === 3) ?? {};
    change(operation, "forged");
    try {
      await palette("verify", /^Verify the record/);
      await page.getByRole("alert").getByText("The record was changed at entry #").waitFor();
    } finally {
      change("forged", operation);
    }
    await palette("verify", /^Verify the record/);
    await page.getByRole("img", { name: /^All entries were verified at/ }).waitFor();
    assert.equal(await page.getByText("The record was changed at entry #").count(), 0);
  });

  // covers ORG-53
  test("an agent is terminated from its page, which first shows the consequences", async () => {
    const { page } = site.visit;
    await page.goto(site.at(`/agents/${site.press.agents.get("Mila") ?? ""}`));
    await page.getByRole("button", { name: "Fire…" }).click();
    const sure = page.getByRole("dialog");
    await sure.locator(".plan-moves li").first().waitFor();
    await sure.getByLabel("Reason, kept on record").fill("The archive is complete.");
    await page.keyboard.press("Enter");
    await page.getByText("Mila has left.").waitFor();
    await page.getByText("Left", { exact: true }).waitFor();
  });

  // covers GOV-46
  test("an agent: pause and resume it, let it hire, read its session", async () => {
    const { page } = site.visit;
    const id = site.press.agents.get("Greta") ?? "";
    await page.goto(site.at(`/agents/${id}`));
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByLabel("Reason, kept on record").fill("Inventory");
    await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
    await page.locator(".acts2").getByRole("button", { name: "Resume" }).click();
    await page.getByRole("button", { name: "Pause" }).waitFor();
    await page.goto(site.at(`/agents/${id}/rights`));
    await page.getByRole("switch").click();
    await page.getByText("use org:hire").waitFor();
    await site.daemon.board.call(sendMessage, {
      companyId: site.press.companyId,
      to: id,
      body: "Count the paper.",
    });
    await page.goto(site.at(`/agents/${id}/mail`));
    await page.locator(".plain-list li", { hasText: "Count the paper." }).waitFor();
    await page.goto(site.at(`/agents/${site.press.rootId}/sessions`));
    await page.locator(".plain-list a").first().click();
    await page.waitForURL(/\/sessions\//);
    await page.locator(".transcript .entry").first().waitFor();
  });

  test("an agent's setup, rights and sessions: each is changed or explained on its tab", async () => {
    const { page } = site.visit;
    const { companyId } = site.press;
    const id = site.press.agents.get("Bruno") ?? "";
    await page.goto(site.at(`/agents/${id}/setup`));
    const setup = page.getByRole("form", { name: "Setup" });
    await setup.getByLabel("Prompt").fill("Ask before you spend.");
    await setup
      .getByRole("region", { name: "Documentation of rehearsal" })
      .getByText("delayMs")
      .first()
      .waitFor();
    await setup.getByLabel("delayMs").fill("450");
    await setup.getByRole("button", { name: "Save" }).press("Enter");
    await page.getByText("Saved.", { exact: true }).waitFor();
    const { configuration } = await site.daemon.board.call(viewConfiguration, { id });
    assert.deepEqual(
      [configuration["prompt"], configuration["adapterConfig"], configuration["name"]],
      ["Ask before you spend.", { delayMs: 450 }, "Bruno"],
    );

    await page.goto(site.at(`/agents/${id}/rights`));
    await page.locator(".plain-list li", { hasText: "Competitor prices" }).getByText("why?").click();
    await page.locator(".chain-box").getByText("Bruno created it:").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Grant" }).click();
    const grant = page.getByRole("dialog", { name: "Grant Bruno a right" });
    await grant.getByRole("combobox").first().selectOption({ label: "Mail to the board" });
    await grant.getByRole("button", { name: "Grant" }).press("Enter");
    await page.getByText("The right is granted.").waitFor();
    await page
      .locator(".plain-list li", { hasText: "mail to the board" })
      .getByText("send")
      .first()
      .waitFor();

    // Kit has asked for a right.
    const kit = site.press.agents.get("Kit") ?? "";
    await page.goto(site.at(`/agents/${kit}/rights`));
    const asked = page.locator("section", { hasText: "Asked for" });
    await asked.getByText("The checkout needs a second pair of hands.").waitFor();
    await asked.getByRole("button", { name: "Grant" }).click();
    await asked.waitFor({ state: "detached" });
    const { requests } = await site.daemon.board.call(listPermissionRequests, { companyId });
    assert.deepEqual(
      requests.filter(({ agent }) => agent.id === kit),
      [],
    );

    const root = site.press.rootId;
    await page.goto(site.at(`/agents/${root}/sessions`));
    await page.locator(".session-days li .track a").first().waitFor();
    await page
      .locator(".session-days .end", { hasText: /^\d+ sessions?, \$/ })
      .first()
      .waitFor();

    // An agent that is not hired yet has its request in place of tabs.
    await page.goto(site.at("/org?view=outline"));
    await page.getByRole("row", { name: /Iris Duarte/ }).click();
    await page.getByRole("link", { name: "Open the page" }).click();
    await page.getByText("The hire waits for a decision:").waitFor();
    assert.equal(await page.getByRole("navigation", { name: "Parts of this page" }).count(), 0);
  });

  test("every number stands below the head of its column, with the panel open and closed", async () => {
    const { page } = site.visit;
    const theo = site.press.agents.get("Theo") ?? "";
    const seen: string[] = [];
    for (const width of [1280, 1440, 2560]) {
      await page.setViewportSize({ width, height: 900 });
      for (const [path, sign] of [
        ["/org?view=outline", "Theo"],
        [`/org?view=outline&agent=${theo}`, "Spent this month"],
        ["/outcomes?view=table", "Theo: Editorial lead"],
        ["/costs", "Marlow"],
        ["/costs?by=outcome", "Help the board"],
      ] as const) {
        await page.goto(site.at(path));
        await page.getByText(sign).filter({ visible: true }).first().waitFor();
        await page.locator(columnCells).first().waitFor();
        const columns = await page.evaluate<Column[]>(columnsOfPage);
        for (const { name, off } of columns) assert.deepEqual(off, [], `${name} of ${path} at ${width} px`);
        if (width === 1440) seen.push(`${path.split("&")[0]}: ${columns.length}`);
      }
    }
    assert.deepEqual(seen, [
      "/org?view=outline: 6",
      "/org?view=outline: 6",
      "/outcomes?view=table: 6",
      "/costs: 6",
      "/costs?by=outcome: 6",
    ]);
  });

  test("a session: hostile output stays text, runs of calls are one line, results are cut, colours are kept", async () => {
    const { page } = site.visit;
    const { sessions } = await site.daemon.board.call(listAgentSessions, { id: site.press.rootId });
    const [session] = sessions;
    assert.ok(session);
    const entry = (kind: string, text: string, tool?: string) => ({
      at: session.startedAt,
      kind,
      text,
      tool,
    });
    const run = Array.from({ length: 4 }, () => [
      entry("tool", "{}", "read_file"),
      entry("result", "…", "read_file"),
    ]);
    const tall = Array.from({ length: 20 }, (_, at) => `row ${at + 1}`).join("\n");
    await page.route("**/api/sessions/*/transcript*", (route) => {
      // A page that asks for what came later gets nothing more.
      const isLater = Number(new URL(route.request().url()).searchParams.get("after") ?? 0) > 0;
      return route.fulfill({
        json: {
          entries: [
            entry("text", "\u001b[31m<img src=x onerror=alert(1)>\u001b[0m \u202e backwards"),
            ...run.flat(),
            entry("tool", '{"status":"open","id":"01a1ecdf-c7ed-7e3b-b113-27e1688db6b1"}', "my_outcomes"),
            entry("result", '{"outcomes":[{},{}],"nextCursor":null}', "my_outcomes"),
            entry("result", tall, "Bash"),
            entry("error", "<script>document.title='owned'</script>", "<b>tool</b>"),
          ].flatMap((one, place) => (isLater ? [] : { ...one, place })),
          next: 1,
          truncated: false,
        },
      });
    });
    await page.goto(site.at(`/sessions/${session.id}`));
    await page.locator(".entry", { hasText: "<img src=x onerror=alert(1)> \\u202e backwards" }).waitFor();
    assert.equal(await page.locator(".entry .ansi.red").innerText(), "<img src=x onerror=alert(1)>");
    await page.locator(".entry", { hasText: "status open" }).waitFor();
    await page.locator(".entry.result", { hasText: "2 outcomes" }).waitFor();
    assert.equal(await page.locator(".entry", { hasText: /row \d+/ }).count(), 8);
    await page.locator(".entry", { hasText: "12 more lines" }).click();
    await page.locator("pre.whole", { hasText: "row 20" }).waitFor();
    await page.waitForURL(/line=11(?:&|$)/);
    await page.locator(".entry", { hasText: "read 4 files" }).click();
    assert.equal(await page.locator(".entry.tool", { hasText: "read_file" }).count(), 4);
    await page.locator(".entry.error", { hasText: "<script>" }).click();
    await page.locator("pre.whole", { hasText: "<script>" }).waitFor();
    assert.equal(await page.locator("main img, main script, main b b").count(), 0);
    assert.doesNotMatch(await page.title(), /owned/);
  });
});

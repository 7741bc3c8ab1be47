// The dashboard in a real browser, on the built daemon.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { listGoals } from "../src/contract/goals.ts";
import { resumeAgent, viewAgent } from "../src/contract/agents.ts";
import { createFile, readVersion, writeFile } from "../src/contract/knowledge.ts";
import { listEvents } from "../src/contract/ledger.ts";
import { listConversation, sendMessage } from "../src/contract/mail.ts";
import { updateOutcome, viewOutcome } from "../src/contract/outcomes.ts";
import { listAgentSessions } from "../src/contract/sessions.ts";
import { twoLooks } from "./support/two-looks.ts";

describe("pages on which people look up work, mail and knowledge", () => {
  const site = twoLooks("web-work");

  it("shows outcomes as a tree and as a table, says why one does not move, and unblocks it", async () => {
    const { page } = site.light;
    const { outcomes } = await site.daemon.board.call(listGoals, { companyId: site.press.companyId });
    const goal = outcomes.find(({ title }) => title === "The store takes pre-orders");
    assert.ok(goal);
    const hostile = "Waiting for <img src=x onerror=alert(1)> the bank";
    await site.daemon.board.call(updateOutcome, { id: goal.id, blocked: { reason: hostile } });
    await site.looksRight("/outcomes?status=open", "Theo: Editorial lead");
    await site.looksRight("/outcomes?view=table&status=open", hostile);
    await site.looksRight(`/outcomes/${goal.id}`, "How it is verified");
    await site.looksRight("/outcomes?view=map", "Moving");

    // The map shows the focused outcome, and opens it first in a panel and then as a page, by keys alone.
    await site.open(page, "/outcomes?view=map", "Moving");
    const map = page.getByRole("application");
    await map.focus();
    await map.press("Home");
    for (const key of ["ArrowRight", "ArrowDown", "ArrowUp", "-", "0"]) await map.press(key);
    const focused = await page.locator("#map-focus").innerText();
    await map.press("Enter");
    await page.waitForURL(/outcome=/);
    const chosen = await page.locator(".side-panel h2").first().innerText();
    assert.ok(focused.startsWith(`${chosen}.`), `${focused} is ${chosen}`);
    await map.press("Enter");
    await page.getByRole("heading", { level: 1, name: chosen }).waitFor();

    await site.open(page, "/outcomes", "Piet: Fact checker");
    await page.keyboard.press("/");
    await page.keyboard.type("pre-orders");
    await page.getByText("Piet: Fact checker").waitFor({ state: "detached" });
    assert.match(page.url(), /q=pre-orders/);
    await page.getByRole("searchbox").blur();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "The store takes pre-orders" }).waitFor();
    await page.getByText(hostile).first().waitFor();
    assert.equal(await page.locator("main img").count(), 0);

    await page.getByRole("button", { name: "Unblock" }).first().click();
    await page.getByRole("dialog").getByRole("button", { name: "Unblock" }).press("Enter");
    await page.getByText("Unblocked.").waitFor();
    assert.equal((await site.daemon.board.call(viewOutcome, { id: goal.id })).blocked, null);

    await page.getByRole("button", { name: "Close", exact: true }).click();
    await page.getByLabel("Why", { exact: true }).fill("The shop is sold.");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Reopen" }).waitFor();
    assert.equal((await site.daemon.board.call(viewOutcome, { id: goal.id })).rationale, "The shop is sold.");
  });

  it("reads mail, answers it, sends some later, and shows what became of it", async () => {
    const { page } = site.light;
    const question = "120 g or 150 g paper?";
    await site.looksRight("/mail", question);
    await site.looksRight(`/mail/${site.press.rootId}`, question);

    await site.open(page, "/mail", question);
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.waitForURL((url) => url.pathname === `/mail/${site.press.rootId}`);
    await page.getByText("Read, not done yet").waitFor();
    await page.keyboard.press("m");
    await page.keyboard.type("150 g. **Order** it.");
    await page.keyboard.press("Control+Enter");
    await page.getByText("Sent to Marlow.").waitFor();
    await page.locator(".mine strong", { hasText: "Order" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("d");
    await page.getByLabel("What became of it").fill("Answered.");
    await page.keyboard.press("Enter");
    await page.getByText("Done: Answered.").waitFor();

    await page.getByRole("combobox", { name: "To" }).selectOption({ label: "Theo, Editorial lead" });
    await page.getByRole("button", { name: "Later or with a file" }).click();
    await page.getByLabel("Deliver at").fill("2050-01-01T09:00");
    await page.getByLabel("Message", { exact: true }).fill("Happy new year.");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("The message to Theo is scheduled.").waitFor();
    await page.getByRole("button", { name: "Deferred" }).click();
    await page.locator(".mail-row", { hasText: "Happy new year." }).waitFor();
    const { messages } = await site.daemon.board.call(listConversation, {
      companyId: site.press.companyId,
      with: site.press.agents.get("Theo") ?? "",
    });
    assert.equal(messages[0]?.deliveredAt, null);
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).first().click();
    await page.getByText("No message is scheduled.").waitFor();
  });

  it("finds a file by its words, renders it, edits it, compares versions, and says who can read it", async () => {
    const { page } = site.light;
    const { companyId } = site.press;
    const { id } = await site.daemon.board.call(createFile, {
      companyId,
      description: "Voice and tone",
      content:
        "# Voice\n\n<b>bold</b> [x](javascript:alert(1)) ![p](https://example.com/p.png)\n\n- **calm**\n",
    });
    await site.looksRight("/knowledge", "Voice and tone");
    await site.looksRight(`/knowledge/${id}`, "<b>bold</b>");
    await site.looksRight(`/knowledge/${id}/access`, "Access log");

    await site.open(page, "/knowledge", "Competitor prices");
    await page.keyboard.press("/");
    await page.keyboard.type("calm");
    await page.getByText("Competitor prices").first().waitFor({ state: "detached" });
    // While a word is being typed, the list changes with each letter.
    await page.locator("li:only-child > a.file-row", { hasText: "Voice and tone" }).waitFor();
    assert.match(await page.locator(".excerpt").innerText(), /^Voice <b>bold<\/b> .* calm$/);
    await page.getByRole("searchbox").blur();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.locator(".md strong", { hasText: "calm" }).waitFor();
    assert.equal(await page.locator("main img").count(), 0);
    assert.equal(await page.locator('main a[href^="javascript"]').count(), 0);

    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Text, as Markdown").fill("# Voice\n\nShort and calm.\n");
    await page.getByRole("button", { name: "Save as version 2" }).click();
    await page.getByText("Version 2 is saved.").waitFor();
    await page.getByText("version 2 of 2").waitFor();
    await page.keyboard.press("d");
    await page.locator("ins", { hasText: "Short and calm." }).waitFor();
    assert.match(page.url(), /against=1/);
    await page.getByRole("link", { name: "Access" }).click();
    await page.getByText("Who can read it, and why").waitFor();

    // A deleted file shows who deleted it and why, and keeps its history.
    await page.getByRole("link", { name: "Text" }).click();
    await page.getByRole("button", { name: "Delete" }).click();
    const sure = page.getByRole("dialog", { name: "Delete this file?" });
    await sure.getByLabel("Why").fill("It says nothing.");
    await sure.getByRole("button", { name: "Delete" }).last().click();
    await page.waitForURL(/\/knowledge(?:\?|$)/);
    await site.open(page, `/knowledge/${id}`, "It says nothing.");
    await page.getByText("Version 1").waitFor();
  });

  it("shows costs, the record and every company", async () => {
    const { page } = site.light;
    await site.looksRight("/costs", "By agent");
    await site.looksRight("/activity", "Verify");
    await site.looksRight("/sessions", "At work");
    await site.looksRight("/companies", "shown now");

    await site.open(page, "/costs", "By agent");
    await page.getByRole("button", { name: "By outcome" }).click();
    await page.waitForURL(/by=outcome/);

    // Reading is recorded, but this record makes no page read again.
    const content = "One.\n";
    const { companyId: company } = site.press;
    const file = await site.daemon.board.call(createFile, {
      companyId: company,
      description: "Twice",
      content,
    });
    await site.daemon.board.call(writeFile, {
      id: file.id,
      version: file.version,
      hash: file.hash,
      content: "Two.\n",
    });
    const reads = async () => {
      const { companyId } = site.press;
      const { events } = await site.daemon.board.call(listEvents, {
        companyId,
        order: "newest",
        limit: 1000,
      });
      return {
        last: events[0]?.seq ?? 0,
        count: events.filter(({ operation }) => operation === "knowledge.read_version").length,
      };
    };
    const { count } = await reads();
    await site.open(page, `/knowledge/${file.id}?v=1&against=2`, "compared with");
    await page.locator("ins, del").first().waitFor();
    const rounds = 8;
    for (let round = 0; round < rounds; round++) {
      await site.daemon.board.call(readVersion, { id: file.id, version: 1 });
      const { last } = await reads();
      // The number of the newest entry that the page knows.
      const seen = async () => Number((await page.locator(".seq").innerText()).replace(/\D/g, ""));
      while ((await seen()) < last) await sleep(50);
    }
    assert.ok((await reads()).count <= count + rounds + 2, "the page read again because it had read");

    await site.open(page, "/activity", "Verify");
    await page.getByRole("button", { name: "Verify" }).click();
    await page.getByText(/^All [\d,]+ entries were verified\.$/).waitFor();
    await page.keyboard.press("Escape");
    await page.getByLabel(/^All entries were verified at/).waitFor();

    // A drag over the strip chooses a time range.
    await site.open(page, "/activity", "Verify");
    const strip = page.getByRole("img", { name: /shown entries between/ });
    const box = await strip.boundingBox();
    assert.ok(box !== null);
    await page.mouse.move(box.x + box.width * 0.2, box.y + 10);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.9, box.y + 12, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(({ searchParams }) => searchParams.has("from") && searchParams.has("to"));
    await page.getByRole("button", { name: "All times" }).click();
    await page.waitForURL(({ searchParams }) => !searchParams.has("from"));

    await site.open(page, `/activity?actor=${site.press.agents.get("Bruno") ?? ""}`, "Iris Duarte");
    await page.getByLabel("What").selectOption("agent");
    await page.waitForURL(/operation=agent/);
  });

  it("stops a session, with the reason on record, and its agent starts none until it is resumed", async () => {
    const { page } = site.light;
    const { board } = site.daemon;
    const { companyId } = site.press;
    const id = site.press.agents.get("Greta") ?? "";
    await board.call(sendMessage, { companyId, to: id, body: "Count the paper." });
    let session: string | undefined;
    for (; session === undefined; await sleep(100))
      session = (await board.call(viewAgent, { id })).session?.id;
    await page.goto(`${site.daemon.url}/sessions/${session}`);
    await page.getByRole("button", { name: "Stop" }).click();
    const dialog = page.getByRole("dialog", { name: "Stop the session of Greta?" });
    await dialog.getByLabel("Reason, kept on record").fill("Inventory");
    await page.keyboard.press("Enter");
    await page.getByText("Greta is paused.").waitFor();
    await page.locator(".tag", { hasText: "Stopped" }).waitFor();
    const { status, paused } = await board.call(viewAgent, { id });
    assert.deepEqual([status, paused?.reason], ["paused", "Inventory"]);
    await site.open(
      page,
      `/agents/${id}`,
      "Greta is paused: Inventory. Its manager or the board can resume it.",
    );
    await board.call(resumeAgent, { id });
  });

  it("opens a long session at its end, line by line, and shows its beginning on demand", async () => {
    const page = await site.light.context.newPage();
    const newest = async () => {
      const { sessions } = await site.daemon.board.call(listAgentSessions, {
        id: site.press.rootId,
        limit: 1,
      });
      return sessions[0];
    };
    let session = await newest();
    for (; session === undefined; session = await newest()) await sleep(100);
    const { id, startedAt } = session;
    const printed = (text: string, place: number) => ({ at: startedAt, kind: "output", text, place });
    // Pieces may end anywhere, even within a line. The end begins at the second piece.
    const pieces = ["first line\nsecond li", "ne\nthird line\n", "last line\n"];
    await page.route("**/api/sessions/*/transcript*", (route) => {
      const after = new URL(route.request().url()).searchParams.get("after");
      const from = after === null ? 1 : Number(after);
      return route.fulfill({
        json: {
          entries: pieces.map(printed).slice(from),
          next: pieces.length,
          truncated: from > 0,
        },
      });
    });
    const lines = async () => page.locator(".transcript .entry bdi").allInnerTexts();
    await page.goto(`${site.daemon.url}/sessions/${id}`);
    await page.locator(".entry", { hasText: "last line" }).waitFor();
    assert.deepEqual(await lines(), ["ne", "third line", "last line"]);
    await page.getByRole("button", { name: "Show it from the beginning" }).click();
    await page.locator(".entry", { hasText: "first line" }).waitFor();
    assert.deepEqual(await lines(), ["first line", "second line", "third line", "last line"]);
    assert.equal(await page.getByRole("button", { name: "Show it from the beginning" }).count(), 0);

    // An address with an entry opens the entry in the panel, even one before the part that is read first.
    await page.goto(`${site.daemon.url}/sessions/${id}?line=0`);
    await page.locator("pre.whole", { hasText: "first line" }).waitFor();
    await page.keyboard.press("Escape");
    await page.waitForURL(({ search }) => !search.includes("line="));
    await page.locator(".entry", { hasText: "last line" }).click();
    await page.waitForURL(/line=2(?:&|$)/);
    await page.close();
  });
});

// The dashboard in a real browser, on the built daemon: panels beside a list, and the texts of rows and tiles.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { approve, reject, viewApproval } from "../src/contract/approvals.ts";
import { updateCompany } from "../src/contract/companies.ts";
import { createAgent } from "../src/contract/hiring.ts";
import { sendMessage } from "../src/contract/mail.ts";
import { listSessions } from "../src/contract/sessions.ts";
import { startDaemon } from "./support/daemon.ts";
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
    // The panel is in the address, so a reload keeps it open.
    await page.reload();
    await panel.getByRole("heading", { name: "Bruno" }).waitFor();
    // Its outcomes show their state, and one that does not move says why.
    const mandate = panel.locator("li[data-about^=outcome]", { hasText: "Bruno: Growth lead" });
    await mandate.waitFor();
    const said = await panel.locator("li[data-about^=outcome]").allInnerTexts();
    assert.doesNotMatch(said.join("\n"), /\bIdle\b/);
    await page.keyboard.press("Escape");
    await page.locator(".rail").waitFor();
    assert.doesNotMatch(page.url(), /agent=/);
    await name.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Bruno" }).waitFor();
    assert.match(page.url(), new RegExp(`/agents/${bruno}`));
  });

  test("an agent's outcomes show their state and its reason, and a paused tile has two bars", async () => {
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
    await page.getByRole("button", { name: /idle/ }).waitFor();
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
    // A click anywhere else on the row opens it in the panel.
    await row.click({ position: { x: 6, y: 6 } });
    await page.locator(".side-panel h2", { hasText: "Milo: Newsletter" }).waitFor();
  });

  test("a request opens beside the list, shows the effects of an approval, and is decided there by keys", async () => {
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
    await panel.locator(".tag", { hasText: "Rejected" }).waitFor();
    await panel.getByText("Not now.").waitFor();
    assert.equal((await site.daemon.board.call(viewApproval, { id })).status, "rejected");
  });

  test("the rows of a transcript can be reached by keys, and Enter opens the focused row", async () => {
    const { page } = site.visit;
    const newest = async () =>
      (await site.daemon.board.call(listSessions, { companyId: site.press.companyId, limit: 1 })).sessions[0];
    let session = await newest();
    for (; session === undefined; session = await newest()) await sleep(50);
    const { id, startedAt } = session;
    await page.route("**/api/sessions/*/transcript*", (route) => {
      const from = Number(new URL(route.request().url()).searchParams.get("after") ?? 0);
      const entries = Array.from({ length: 300 }, (_, place) => ({
        at: startedAt,
        kind: "text",
        text: `line ${place}`,
        place,
      }));
      return route.fulfill({ json: { entries: entries.slice(from), next: 300, truncated: false } });
    });
    await page.goto(site.at(`/sessions/${id}`));
    const row = (at: number) => page.locator(`.transcript [data-line="${at}"]`);
    const focused = (at: number) => page.locator(`.transcript [data-line="${at}"]:focus`);
    // The list shows its end. The first key chooses the last row in view.
    await row(299).waitFor();
    await page.keyboard.press("k");
    await focused(299).waitFor();
    for (const at of [298, 297, 296]) {
      await page.keyboard.press(at % 2 === 0 ? "ArrowUp" : "k");
      await focused(at).waitFor();
    }
    // Far enough to reach rows that were not rendered before.
    for (let at = 295; at >= 240; at--) await page.keyboard.press("k");
    await focused(240).waitFor();
    await page.keyboard.press("j");
    await focused(241).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/[?&]line=241(?:&|$)/);
    await page.locator(".beside .whole", { hasText: "line 241" }).waitFor();
    await page.keyboard.press("Escape");
    await page.locator(".beside .whole").waitFor({ state: "detached" });
  });

  test("a transcript shows the person's time and leads from error to error, by key and by mouse, and Escape goes back", async () => {
    const { companyId } = site.press;
    const context = await site.browser.newContext({
      storageState: await site.visit.context.storageState(),
      viewport: { width: 1440, height: 900 },
      timezoneId: "Asia/Kolkata",
    });
    try {
      const page = await context.newPage();
      const newest = async () =>
        (await site.daemon.board.call(listSessions, { companyId, limit: 1 })).sessions[0];
      let session = await newest();
      for (; session === undefined; session = await newest()) await sleep(50);
      const { id, agent } = session;
      await page.route("**/api/sessions/*/transcript*", (route) => {
        const from = Number(new URL(route.request().url()).searchParams.get("after") ?? 0);
        const entries = Array.from({ length: 200 }, (_, place) => ({
          at: "2026-05-04T10:20:30.000Z",
          kind: place === 20 || place === 120 ? "error" : "text",
          text: `line ${place}`,
          place,
        }));
        return route.fulfill({ json: { entries: entries.slice(from), next: 200, truncated: false } });
      });
      await page.goto(site.at(`/sessions/${id}`));
      await page.locator(`.transcript [data-line="199"] time`, { hasText: "15:50:30" }).waitFor();
      await page.getByText("2 errors").waitFor();
      await page.keyboard.press("n");
      await page.locator(`.transcript [data-line="20"].error:focus`).waitFor();
      await page.getByRole("button", { name: "Next error" }).click();
      await page.locator(`.transcript [data-line="120"].error:focus`).waitFor();
      // After the last one comes the first.
      await page.keyboard.press("n");
      await page.locator(`.transcript [data-line="20"].error:focus`).waitFor();
      await page.keyboard.press("Escape");
      await page.waitForURL(new RegExp(`/agents/${agent.id}/sessions`));
      await page.getByRole("heading", { level: 1, name: agent.name }).waitFor();
    } finally {
      await context.close();
    }
  });

  test("a session opens beside the list, Escape gives the focus back to its row, and Enter goes to its page", async () => {
    const { page } = site.visit;
    await page.goto(site.at("/sessions"));
    const row = page.locator("a.row").first();
    await row.waitFor();
    const to = (await row.getAttribute("href")) ?? "";
    const id = /[0-9a-f-]{36}/.exec(to)?.[0] ?? "";
    // Newer sessions appear above it.
    const mine = page.locator(`a.row[data-beside="session ${id}"]`);
    await mine.click();
    await page.waitForURL(new RegExp(`[?&]session=${id}`));
    const panel = page.getByRole("complementary", { name: "The chosen session" });
    await panel.getByText(/, started /).waitFor();
    await panel.getByRole("button", { name: "Close" }).focus();
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    await page.locator(`a.row[data-beside="session ${id}"]:focus`).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(new RegExp(`/sessions/${id}`));
    await page.getByRole("log", { name: "Transcript" }).or(page.getByText("nothing printed yet")).waitFor();
  });

  test("the page and the panel of a pending agent have the request, which is decided there by keys", async () => {
    const { page } = site.visit;
    const id = await site.hire("Pending Pia");
    const agent = (await site.daemon.board.call(viewApproval, { id })).agentId ?? "";
    await page.goto(site.at(`/org?view=outline&agent=${agent}`));
    const panel = page.getByRole("complementary", { name: "Agent" });
    await panel.getByRole("heading", { name: "What a yes changes" }).waitFor();
    await panel.getByRole("button", { name: "Approve" }).waitFor();
    await panel.getByRole("link", { name: "Open the page" }).click();
    await page.getByRole("heading", { level: 1, name: "Pending Pia" }).waitFor();
    await page.getByRole("heading", { name: "What a yes changes" }).waitFor();
    const tabs = page.getByRole("navigation", { name: "Parts of this page" });
    assert.equal(await tabs.count(), 0);
    await page.keyboard.press("a");
    await page.getByLabel(/A note for Bruno/).waitFor();
    await page.keyboard.press("Enter");
    await tabs.waitFor();
    assert.equal((await site.daemon.board.call(viewApproval, { id })).status, "approved");
  });

  test("on a narrow screen the map begins where it can be read, and no filter is cut off", async () => {
    const context = await site.browser.newContext({
      storageState: await site.visit.context.storageState(),
      viewport: { width: 360, height: 740 },
    });
    try {
      const page = await context.newPage();
      await page.goto(site.at("/org?view=map"));
      await page
        .getByRole("treeitem", { name: /^Marlow / })
        .getByText("Chief of staff")
        .waitFor();
      assert.equal(await page.locator(".map.far").count(), 0);
      await page.goto(site.at("/approvals"));
      const filters = page.getByRole("group", { name: "Status" });
      await filters.getByRole("button", { name: "All" }).waitFor();
      for (const button of await filters.getByRole("button").all()) {
        const box = await button.boundingBox();
        assert.ok(box !== null && box.x >= 0 && box.x + box.width <= 360, await button.innerText());
      }
    } finally {
      await context.close();
    }
  });

  test("folded outcomes and open entries of the record are in the address", async () => {
    const { page } = site.visit;
    const bruno = site.press.agents.get("Bruno") ?? "";
    const milo = site.press.agents.get("Milo") ?? "";
    await page.goto(site.at("/outcomes"));
    await page.locator(`#o-${milo}`).waitFor();
    await page.locator(`#o-${bruno}`).focus();
    await page.keyboard.press("ArrowLeft");
    await page.locator(`#o-${milo}`).waitFor({ state: "detached" });
    assert.match(page.url(), /[?&]folded=/);
    await page.reload();
    await page.locator(`#o-${bruno}[aria-expanded=false]`).waitFor();
    assert.equal(await page.locator(`#o-${milo}`).count(), 0);
    await page.locator(`#o-${bruno}`).focus();
    await page.keyboard.press("ArrowRight");
    await page.locator(`#o-${milo}`).waitFor();
    assert.doesNotMatch(page.url(), /folded=/);

    await page.goto(site.at(`/activity?actor=${bruno}&operation=knowledge`));
    const entry = page.locator(".event", { hasText: "Bruno created the file" });
    await entry.getByRole("button", { name: /^Show entr/ }).click();
    await page.waitForURL(/[?&]open=\d+/);
    await page.reload();
    await page.locator(".event-detail", { hasText: "hash " }).waitFor();
    await entry.getByRole("button", { name: /^Show entr/ }).click();
    await page.locator(".event-detail").waitFor({ state: "detached" });
    assert.doesNotMatch(page.url(), /open=/);
  });

  test("the result of a brain's test is there after a reload and after a restart, with its time", async () => {
    const { page } = site.visit;
    await page.goto(site.at("/settings/brains"));
    const rehearsal = page.getByRole("region", { name: "rehearsal" });
    await rehearsal.getByText("available, not tested").waitFor();
    await rehearsal.getByRole("button", { name: "Test" }).click();
    await rehearsal.locator(".tag.run", { hasText: "works" }).waitFor();
    await page.reload();
    await rehearsal.locator(".tag.run", { hasText: "works" }).waitFor();
    await rehearsal.locator("[role=status] time").waitFor();
    const { port } = new URL(site.daemon.url);
    await site.daemon.stop();
    site.daemon = await startDaemon({ home: site.home, port: Number(port) }).ready;
    await page.reload();
    await rehearsal.locator(".tag.run", { hasText: "works" }).waitFor();
    await rehearsal.locator("[role=status] time").waitFor();
    await page.goto(site.at("/activity?operation=brain"));
    await page
      .locator(".event", { hasText: "Agency ended the test of the brain rehearsal: it works." })
      .waitFor();
  });

  test("a setting says who changed it, however many later changes there are", async () => {
    const { page } = site.visit;
    const { companyId } = site.press;
    for (let at = 0; at <= 500; at++)
      await site.daemon.board.call(updateCompany, { companyId, maxOutcomeUsd: 100 + at });
    await page.goto(site.at("/settings/company"));
    await page
      .locator("form.setting", { hasText: "Limit of one outcome" })
      .getByText(/^Changed by /)
      .waitFor();
    // Only the first change changed the name.
    await page
      .locator("form.setting", { hasText: "People and agents see it." })
      .getByText(/^Changed by /)
      .waitFor();
  });

  test("a decided request is described in the past tense, with the figures of that time", async () => {
    const { page } = site.visit;
    const { board } = site.daemon;
    const { companyId } = site.press;
    const [yes, no] = [await site.hire("Past Paul"), await site.hire("Past Nora")];
    const before = (await board.call(viewApproval, { id: yes })).changes.headcount?.before ?? 0;
    await page.goto(site.at(`/approvals/${yes}`));
    await page.getByText(`${before} agents now, ${before + 1} after`).waitFor();
    const { payloadHash } = await board.call(viewApproval, { id: yes });
    await board.call(approve, { id: yes, payloadHash });
    await page.getByRole("heading", { name: "What the yes changed" }).waitFor();
    await page.getByText(`${before} agents before, ${before + 1} after.`).waitFor();
    await page.locator(".money .nums", { hasText: "Past Paul" }).getByText("got $1 a month").waitFor();
    // Bruno's budget before the decision: the hire that was decided first left it with a dollar less.
    const { money } = (await board.call(viewApproval, { id: yes })).changes;
    const bruno = money.find(({ pool, measure }) => pool.title === "Bruno" && measure === "usd");
    assert.equal((bruno?.before?.left ?? 0) - (bruno?.after?.left ?? 0), 1);
    await page
      .locator(".money .nums", { hasText: "Bruno" })
      .getByText(/^kept \$\d+ of \$80 a month, /)
      .waitFor();
    await board.call(reject, { id: no });
    // Later hires change nothing in it.
    await board.call(createAgent, {
      companyId,
      name: "Later Lou",
      role: "Writer",
      adapterType: "rehearsal",
      reportsTo: site.press.rootId,
    });
    await page.reload();
    await page.getByText(`${before} agents before, ${before + 1} after.`).waitFor();
    await page.goto(site.at(`/approvals/${no}`));
    await page.getByRole("heading", { name: "What a yes would have changed" }).waitFor();
    await page
      .locator(".money .nums", { hasText: "Past Nora" })
      .getByText("would have got $1 a month")
      .waitFor();
    // Past Paul was hired meanwhile.
    await page.getByText(`${before} agents then, ${before + 1} with it.`).waitFor();
  });

  test("a conversation says which message an answer is to, and earlier messages come on demand", async () => {
    const { page } = site.visit;
    const { board } = site.daemon;
    const { companyId } = site.press;
    const emil = site.press.agents.get("Emil") ?? "";
    // Nothing but this test writes to the record.
    await board.call(updateCompany, { companyId, maxSessions: 0 });
    const question = await board.call(sendMessage, { companyId, to: emil, body: "The very first question" });
    for (let at = 1; at <= 99; at++)
      await board.call(sendMessage, { companyId, to: emil, body: `note ${at}` });
    const asEmil = await site.press.as("Emil");
    await asEmil.call(sendMessage, { companyId, body: "The last word.", inReplyTo: question.id });
    await page.goto(site.at(`/mail/${emil}`));
    const answer = page.locator(".messages li", { hasText: "The last word." });
    await answer.waitFor();
    // The question is not on the first page of a hundred.
    assert.equal(await page.locator(`#m-${question.id}`).count(), 0);
    await page.getByRole("button", { name: "Show more" }).last().click();
    await page.locator(`#m-${question.id}`).waitFor();
    await answer.getByRole("button", { name: /^answers The very first question/ }).click();
    await page.locator(`#m-${question.id}:focus`).waitFor();
  });
});

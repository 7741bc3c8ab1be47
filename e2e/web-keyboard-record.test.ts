// The dashboard in a real browser, on the built daemon: the main tasks on pages about mail, sessions, money, the record and
// settings with the keyboard alone. Keys move the focus, which must be visible, and the browser reports any use of a pointer.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { viewAgent } from "../src/contract/agents.ts";
import { updateCompany, viewCompany } from "../src/contract/companies.ts";
import { createAgent } from "../src/contract/hiring.ts";
import { listConversation, sendMessage } from "../src/contract/mail.ts";
import { pressKeys } from "./support/browser.ts";
import { byKeyboard } from "./support/keyboard.ts";
import { soon } from "./support/soon.ts";

describe("pages about mail, sessions, money, the record and settings, by keyboard alone", () => {
  const person = byKeyboard("web-keyboard-record");
  const { site } = person;

  test("Mail: read a message, answer it, mark it as done with a note", async () => {
    const { page, keys } = person;
    const { companyId, rootId } = site.press;
    const marlow = await site.press.as("Marlow");
    await marlow.call(sendMessage, { companyId, to: "board", body: "Which ribbon?" });
    await pressKeys(page, ["g", "m"], person.heading("Mail"));
    const row = page.locator(".mail-row", { hasText: "Which ribbon?" });
    await row.waitFor();
    await keys.goTo(row, "j");
    await keys.press("Enter");
    await page.getByText("You answer “Which ribbon?”").waitFor();
    await keys.press("m");
    await keys.isOn(page.getByLabel("Message", { exact: true }));
    await keys.type("The red one.");
    await keys.press("Control+Enter");
    await page.locator(".mine", { hasText: "The red one." }).waitFor();
    const { messages } = await site.daemon.board.call(listConversation, { companyId, with: rootId });
    assert.equal(messages[0]?.body, "The red one.");
    await keys.goTo(row);
    await keys.press("d");
    await keys.isOn(page.getByLabel("What became of it"));
    await keys.type("Answered.");
    await keys.press("Enter");
    await page.getByText("Done: Answered.").waitFor();
  });

  test("Session: open a live one, move over its lines, open one beside, stop it with a reason", async () => {
    const { page, keys } = person;
    const { companyId } = site.press;
    const { board } = site.daemon;
    const { id } = await board.call(createAgent, {
      companyId,
      name: "Tick",
      role: "Clock",
      adapterType: "process",
      adapterConfig: {
        command: process.execPath,
        args: ["-e", "let n = 0; setInterval(() => console.log('tick ' + ++n), 200)"],
      },
    });
    await board.call(sendMessage, { companyId, to: id, body: "Tick." });
    await board.call(updateCompany, { companyId, maxSessions: 12 });
    await soon("a session of Tick", async () => (await board.call(viewAgent, { id })).session ?? undefined);
    await keys.palette("sessions", /^Sessions/);
    await person.heading("Sessions").waitFor();
    const row = page.locator("a.row", { hasText: "Tick" }).first();
    await row.waitFor();
    await keys.goTo(row, "j");
    await keys.press("Enter");
    const line = page.locator(".transcript .entry");
    await line.filter({ hasText: "tick 2" }).first().waitFor();
    await keys.goTo(page.getByRole("log", { name: "Transcript" }));
    await keys.press("k", "k");
    await keys.isOn(line);
    await keys.press("Enter");
    await page.locator("pre.whole", { hasText: "tick" }).waitFor();
    await keys.press("Escape");
    await page.locator("pre.whole").waitFor({ state: "detached" });
    await keys.goTo(person.button("Stop"));
    await keys.press("Enter");
    await keys.isOn(page.getByRole("dialog").getByLabel("Reason, kept on record"));
    await keys.type("Enough.");
    await keys.press("Enter");
    await page.locator(".tag", { hasText: "Stopped" }).waitFor();
    assert.equal((await board.call(viewAgent, { id })).paused?.reason, "Enough.");
    await board.call(updateCompany, { companyId, maxSessions: 0 });
  });

  test("Costs: by outcome and by agent, change a budget where it stands, go to an agent", async () => {
    const { page, keys } = person;
    await pressKeys(page, ["g", "c"], person.button("By agent"));
    await keys.goTo(person.button("By outcome"));
    await keys.press("Enter");
    await page.waitForURL(/by=outcome/);
    await keys.press("Shift+Tab");
    await keys.isOn(person.button("By agent"));
    await keys.press("Enter");
    const budget = page.getByRole("button", { name: /change the budget of Piet$/ });
    await keys.goTo(budget);
    await keys.press("Enter");
    await keys.isOn(page.getByRole("textbox", { name: "US dollars a month for Piet" }));
    await keys.retype("11");
    await keys.press("Enter");
    await person.toast("The budget is changed.");
    await keys.isOn(budget.filter({ hasText: /^\$11/ }));
    const piet = await site.daemon.board.call(viewAgent, { id: person.idOf("Piet") });
    assert.equal(piet.budget?.find(({ measure }) => measure === "usd")?.limit, 11);
    await keys.goTo(page.locator("th").getByRole("link", { name: "Piet" }), "j");
    await keys.press("Enter");
    await person.heading("Piet").waitFor();
  });

  test("Activity: open an entry, verify the record, filter by what and by time", async () => {
    const { page, keys } = person;
    await pressKeys(page, ["g", "l"], person.heading("Activity"));
    // An entry that arrives meanwhile is first in the list, and the focus stays on its own.
    const entry = page.getByRole("button", { name: /^Show entr/ });
    await entry.first().waitFor();
    await keys.press("j");
    await keys.isOn(entry);
    await keys.press("Enter");
    await page.locator(".event-detail", { hasText: "hash " }).first().waitFor();
    await keys.goTo(person.button("Verify"));
    await keys.press("Enter");
    await page.getByText(/^All [\d,]+ entries were verified\.$/).waitFor();
    await keys.press("Escape");
    await keys.choose(page.getByLabel("What"), "Budgets");
    await page.waitForURL(/operation=budget/);
    await keys.choose(page.getByLabel("What"), "Everything");
    await keys.goTo(page.getByLabel("From"));
    await keys.type("01012020");
    await keys.press("ArrowRight");
    // In some languages, the time has a third field for the half of the day.
    await keys.type("090000A");
    await page.waitForURL(/from=2020-01-01T09%3A00/);
    await page.locator(".event").first().waitFor();
  });

  test("Settings: switch the approval of hires off and on, change a limit", async () => {
    const { page, keys } = person;
    await keys.goTo(page.locator(".foot").getByRole("link", { name: "Settings" }));
    await keys.press("Enter");
    await person.heading("Settings").waitFor();
    await keys.goTo(page.getByRole("link", { name: "Advanced" }));
    await keys.press("Enter");
    const { companyId } = site.press;
    const isOn = async () =>
      (await site.daemon.board.call(viewCompany, { companyId })).settings.requireBoardApprovalForNewAgents;
    for (const wanted of [false, true]) {
      await keys.goTo(page.getByRole("switch"));
      await keys.press("Space");
      await page.locator(`[role=switch]${wanted ? ":checked" : ":not(:checked)"}:enabled`).waitFor();
      await person.toast(/^Saved: Require board approval/);
      await keys.isOn(page.getByRole("switch"));
      await soon(`the switch ${wanted}`, async () => ((await isOn()) === wanted ? true : undefined));
    }
    const field = page.getByLabel("Sessions at the same time");
    await keys.goTo(field);
    for (const limit of [1, 0]) {
      await keys.retype(String(limit));
      await keys.press("Enter");
      // The page knows that the change is saved.
      await page
        .locator("form.setting", { hasText: "Sessions at the same time" })
        .getByRole("button", { name: "Save" })
        .waitFor({ state: "detached" });
      const { settings } = await site.daemon.board.call(viewCompany, { companyId });
      assert.equal(settings.maxSessions, limit);
      // Until the page has read the setting again, the field shows the old value, and typing that one would change nothing.
      await soon(`the limit ${limit} in its field`, async () =>
        (await field.inputValue()) === String(limit) ? true : undefined,
      );
    }
    await person.toast("Saved: Sessions at the same time.");
  });

  test("Companies: create one, and open the other again", async () => {
    const { page, keys } = person;
    await keys.palette("all companies", /^All companies/);
    await person.heading("Companies").waitFor();
    await keys.goTo(person.button("New company"));
    await keys.press("Enter");
    await keys.isOn(page.getByRole("dialog", { name: "Create a company" }).getByLabel("Name"));
    await keys.type("Second Press");
    await keys.press("Enter");
    await page.getByRole("button", { name: "Company: Second Press" }).waitFor();
    await keys.palette("all companies", /^All companies/);
    await person.heading("Companies").waitFor();
    const card = page.locator(".company-cards li", { hasText: "Lumen Press" });
    await card.waitFor();
    await keys.goTo(card.getByRole("button", { name: "Open" }), "j");
    await keys.press("Enter");
    await page.getByRole("button", { name: "Company: Lumen Press" }).waitFor();
  });

  test("on every page: all keys, find, explain access; and the keys that go to pages", async () => {
    const { page, keys } = person;
    const help = page.getByRole("dialog", { name: "Keys" });
    const palette = page.getByRole("combobox", { name: "Find or do anything" });
    const access = page.getByRole("dialog", { name: "Explain access" });
    const paths = [
      "/approvals",
      "/org?view=outline",
      "/outcomes",
      "/knowledge",
      "/costs",
      "/activity",
      "/mail",
    ];
    paths.push(
      "/",
      "/sessions",
      "/hire",
      "/companies",
      "/settings/company",
      `/agents/${person.idOf("Theo")}`,
    );
    paths.push(`/approvals/${site.hireId}`);
    for (const path of paths) {
      await page.goto(site.at(path));
      await page.locator("main h1").first().waitFor();
      await keys.press("?");
      await help.getByText("Pause or resume an agent").waitFor();
      await keys.press("Escape");
      await help.waitFor({ state: "hidden" });
      await keys.press("e");
      await access.waitFor();
      await keys.press("Escape");
      await access.waitFor({ state: "hidden" });
      await keys.press("/");
      await page.locator("main input[type=search]:focus").or(palette).first().waitFor();
    }
    for (const [letter, text] of [
      ["o", "Organization"],
      ["u", "Outcomes"],
      ["k", "Knowledge"],
      ["l", "Activity"],
      ["m", "Mail"],
      ["a", "Approvals"],
    ] as const) {
      await page.goto(site.at("/settings/people"));
      await person.heading("Settings").waitFor();
      await pressKeys(page, ["g", letter], person.heading(text));
    }
    // Comments on a request, and on the request after it.
    await site.hire("Next Nel");
    await page.goto(site.at(`/approvals/${site.hireId}`));
    await person.heading(/Iris Duarte/).waitFor();
    const place = await page.getByText(/^[12] of 2$/).innerText();
    const [away, back] = place.startsWith("1") ? ["]", "["] : ["[", "]"];
    // The number may be there a moment before the keys.
    await pressKeys(page, [away], person.heading(/Next Nel/));
    await pressKeys(page, [back], person.heading(/Iris Duarte/));
    await keys.press("c");
    await keys.isOn(page.getByLabel("Comment"));
    await page.goto(site.at("/companies"));
    await person.heading("Companies").waitFor();
    await keys.press("m");
    await person.heading("Mail").waitFor();
  });
});

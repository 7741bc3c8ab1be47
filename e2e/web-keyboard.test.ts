// The dashboard in a real browser, on the built daemon: the main tasks on pages about people and work with the keyboard alone.
// Keys move the focus, which must be visible, and the browser reports any use of a pointer.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { listAgents, viewAgent } from "../src/contract/agents.ts";
import { viewApproval } from "../src/contract/approvals.ts";
import { viewConfiguration } from "../src/contract/hiring.ts";
import { listFiles } from "../src/contract/knowledge.ts";
import { listGoals } from "../src/contract/goals.ts";
import { viewOutcome } from "../src/contract/outcomes.ts";
import { pressKeys } from "./support/browser.ts";
import { byKeyboard } from "./support/keyboard.ts";

describe("pages about people and work, by keyboard alone", () => {
  const person = byKeyboard("web-keyboard");
  const { site } = person;

  test("Home and Approvals: open a request, approve it, send another back", async () => {
    const { page, keys } = person;
    const [first, second] = [await site.hire("Keyed Kay"), await site.hire("Keyed Kim")];
    const item = (name: string) => page.locator("[data-item]", { hasText: name });
    await item("Keyed Kim").waitFor();
    await keys.goTo(item("Keyed Kay"), "j");
    await keys.press("ArrowRight");
    await item("Keyed Kay").getByRole("button", { name: "Approve" }).waitFor();
    await keys.press("a");
    await keys.isOn(item("Keyed Kay").getByLabel("A note, kept on record"));
    await keys.type("Welcome.");
    await keys.press("Enter");
    await person.toast(/^Keyed Kay is hired\./);
    assert.equal((await site.daemon.board.call(viewApproval, { id: first })).status, "approved");

    await pressKeys(page, ["g", "a"], person.heading("Approvals"));
    const row = page.locator("a.row", { hasText: "Keyed Kim" });
    await row.waitFor();
    await keys.goTo(row, "j");
    await keys.press("Enter");
    await person.heading(/Keyed Kim/).waitFor();
    await keys.press("r");
    await page.locator("textarea:focus").waitFor();
    await keys.type("Name two books first.");
    await keys.press("Enter");
    // The note itself is on the page from the moment it is typed.
    await person.toast("Sent back to Bruno with your note.");
    assert.equal((await site.daemon.board.call(viewApproval, { id: second })).status, "revision_requested");
  });

  test("Organization: find a row, pause and resume its agent, move it, open its page", async () => {
    const { page, keys } = person;
    await pressKeys(page, ["g", "o"], person.heading("Organization"));
    await keys.goTo(person.button("Outline"));
    await keys.press("Enter");
    await keys.goTo(page.locator("[data-row='0']"));
    const sol = page.getByRole("row", { name: /Sol/ });
    await keys.goTo(sol, "ArrowDown");
    await keys.press("p");
    await keys.isOn(page.getByRole("dialog", { name: "Pause Sol?" }).getByLabel("Reason, kept on record"));
    await keys.type("On leave.");
    await keys.press("Enter");
    await person.toast("Sol is paused.");
    assert.equal(
      (await site.daemon.board.call(viewAgent, { id: person.idOf("Sol") })).paused?.reason,
      "On leave.",
    );
    await keys.isOn(sol);
    await sol.getByRole("img", { name: "paused" }).waitFor();
    await keys.press("p");
    await person.toast("Sol is resumed.");

    // Another agent is open in the panel, but keys act on the row.
    await keys.press("ArrowUp", "Enter");
    const panel = page.getByRole("complementary", { name: "Agent" });
    await panel.getByRole("heading").first().waitFor();
    await keys.goTo(sol, "ArrowDown");
    await keys.press("p");
    await page.getByRole("dialog", { name: "Pause Sol?" }).waitFor();
    await keys.press("Escape");
    await keys.isOn(sol);
    for (const key of [".", "Shift+M"]) {
      await keys.press(key);
      await keys.isOn(page.getByRole("combobox", { name: "New manager" }));
      if (key === ".") await keys.press("Escape");
    }
    await keys.type("operations lead");
    await page.getByRole("option", { name: /Greta/ }).waitFor();
    await keys.press("Enter");
    // The title says it before the plan is there, and the plan says it too.
    await page
      .getByRole("region", { name: "Planned change" })
      .getByText("Sol reports to Greta")
      .first()
      .waitFor();
    await page
      .getByRole("region", { name: "Planned change" })
      .getByRole("button", { name: "Apply" })
      .waitFor();
    await keys.press("Control+Enter");
    await person.toast(/^Done: /);
    assert.equal((await site.daemon.board.call(viewAgent, { id: person.idOf("Sol") })).boss?.name, "Greta");
    await keys.goTo(page.getByRole("row", { name: /Noor/ }), "ArrowDown");
    await keys.press("Enter");
    await panel.getByRole("heading", { name: "Noor" }).waitFor();
    await keys.press("Enter");
    await person.heading("Noor").waitFor();
  });

  test("Agent: pause and resume it, give it a right, change its prompt, write to it", async () => {
    const { page, keys } = person;
    await keys.palette("wren", /^Wren/);
    await person.heading("Wren").waitFor();
    await keys.press("p");
    await keys.isOn(page.getByLabel("Reason, kept on record"));
    await keys.type("The text is with the printer.");
    await keys.press("Enter");
    await person.toast("Wren is paused.");
    await page.locator(".acts2").getByRole("button", { name: "Resume" }).waitFor();
    await keys.press("p");
    await person.toast("Wren is resumed.");

    await keys.goTo(page.locator("nav.tabs").getByRole("link", { name: "Outcomes" }));
    await keys.press("Enter");
    const first = page.locator(".plain-list > li").first();
    await first.waitFor();
    await keys.press("j");
    await keys.isOn(first.locator("a.name"));
    await keys.goTo(page.getByRole("link", { name: "Rights" }), "Shift+Tab");
    await keys.press("Enter");
    await keys.goTo(person.button("Grant"));
    await keys.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Grant Wren a right" });
    await keys.choose(dialog.getByRole("combobox").first(), "Mail to the board");
    await keys.goTo(dialog.getByRole("button", { name: "Grant" }));
    await keys.press("Enter");
    await person.toast("The right is granted.");
    await page
      .locator(".plain-list li", { hasText: "mail to the board" })
      .getByText("send")
      .first()
      .waitFor();

    await keys.goTo(page.getByRole("link", { name: "Setup" }));
    await keys.press("Enter");
    await keys.goTo(page.getByRole("form", { name: "Setup" }).getByLabel("Prompt"));
    await keys.retype("Short sentences.");
    await keys.goTo(page.getByRole("form", { name: "Setup" }).getByRole("button", { name: "Save" }));
    await keys.press("Enter");
    await person.toast("Saved.");
    const { configuration } = await site.daemon.board.call(viewConfiguration, { id: person.idOf("Wren") });
    assert.equal(configuration["prompt"], "Short sentences.");
    await keys.press("m");
    await page.waitForURL(new RegExp(`/mail/${person.idOf("Wren")}`));
  });

  // covers GOV-47, GOV-48
  test("Hire: fill every field of the form, ask for the agent, open the request and approve it", async () => {
    const { page, keys } = person;
    await keys.press("h");
    await person.heading("Hire").waitFor();
    const field = (label: string) =>
      page.getByRole("form", { name: "A new agent" }).getByLabel(label, { exact: true });
    const fields = page.getByRole("form", { name: "A new agent" });
    await keys.goTo(field("Name"));
    await keys.type("Runa Bergh");
    await keys.goTo(fields.getByRole("textbox", { name: /^Role/ }));
    await keys.type("Proofreader");
    await keys.goTo(fields.getByRole("textbox", { name: /^Title/ }));
    await keys.type("Second reader");
    await keys.choose(fields.getByRole("combobox", { name: /^Reports to/ }), "Theo");
    await page.waitForURL(new RegExp(`boss=${person.idOf("Theo")}`));
    await keys.goTo(fields.getByRole("textbox", { name: /^Mandate/ }));
    await keys.type("Every page is read twice.");
    await keys.goTo(fields.getByRole("textbox", { name: /^Prompt/ }));
    await keys.type("Read aloud.");
    await keys.choose(page.getByRole("combobox", { name: "Type" }), "rehearsal");
    const docs = page.getByRole("region", { name: "Documentation of rehearsal" });
    await keys.goTo(fields.getByLabel("delayMs"));
    await keys.type("20");
    await docs.getByText("delayMs").first().waitFor();
    await keys.goTo(docs);
    await keys.goTo(fields.getByRole("textbox", { name: /^US dollars a month/ }));
    await keys.type("3");
    await keys.press("Enter");
    await person.heading("Pending board approval").waitFor();
    await keys.goTo(page.getByRole("link", { name: "Open the request" }));
    await keys.press("Enter");
    await person.heading(/Runa Bergh/).waitFor();
    await keys.press("a");
    await page.locator("textarea:focus").waitFor();
    await keys.press("Enter");
    await person.toast(/^Runa Bergh is hired\./);
    const { agents } = await site.daemon.board.call(listAgents, { companyId: site.press.companyId });
    const runa = agents.find(({ name }) => name === "Runa Bergh");
    assert.ok(runa);
    assert.deepEqual([runa.role, runa.title, runa.boss?.name], ["Proofreader", "Second reader", "Theo"]);
    const { configuration } = await site.daemon.board.call(viewConfiguration, { id: runa.id });
    assert.deepEqual(
      [configuration["prompt"], configuration["adapterConfig"]],
      ["Read aloud.", { delayMs: 20 }],
    );
  });

  test("Outcomes: find one, ask why, open it, block it and end the block", async () => {
    const { page, keys } = person;
    const { outcomes } = await site.daemon.board.call(listGoals, { companyId: site.press.companyId });
    const goal = outcomes.find(({ title }) => title === "The store takes pre-orders");
    assert.ok(goal);
    await pressKeys(page, ["g", "u"], person.heading("Outcomes"));
    const row = page.locator(`#o-${goal.id}`);
    await page.locator("[id^='o-']").first().waitFor();
    await keys.press("/");
    await keys.isOn(page.getByRole("searchbox"));
    await keys.type("pre-orders");
    await page.waitForURL(/q=pre-orders/);
    await keys.goTo(page.locator("[id^='o-'][tabindex='0']"));
    await keys.goTo(row, "j");
    await keys.press("w");
    await page.getByRole("dialog", { name: "Why" }).waitFor();
    await keys.press("Escape");
    await keys.isOn(row);
    await keys.press("Enter");
    await person.heading("The store takes pre-orders").waitFor();
    await keys.goTo(person.button("Block"));
    await keys.press("Enter");
    await keys.isOn(page.getByRole("dialog").getByLabel("What is missing"));
    await keys.type("The bank.");
    await keys.press("Enter");
    await person.toast("Blocked.");
    assert.equal((await site.daemon.board.call(viewOutcome, { id: goal.id })).blocked?.reason, "The bank.");
    await keys.goTo(page.locator(".outcome-actions").getByRole("button", { name: "Unblock" }));
    await keys.press("Enter");
    await keys.goTo(page.getByRole("dialog").getByRole("button", { name: "Unblock" }));
    await keys.press("Enter");
    await person.toast("Unblocked.");
  });

  test("Knowledge: add a file, edit it, compare its versions, find it again", async () => {
    const { page, keys } = person;
    await pressKeys(page, ["g", "k"], person.heading("Knowledge"));
    await keys.goTo(person.button("Add a file"));
    await keys.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Add a knowledge file" });
    await keys.isOn(dialog.getByLabel("What it contains"));
    await keys.type("Paper weights");
    await keys.press("Tab");
    await keys.isOn(dialog.getByLabel("Text, as Markdown"));
    await keys.type("Guides: **150 g**.");
    await keys.goTo(dialog.getByRole("button", { name: "Add a file" }));
    await keys.press("Enter");
    await person.heading("Paper weights").waitFor();
    await keys.goTo(person.button("Edit"));
    await keys.press("Enter");
    await keys.isOn(page.getByLabel("Text, as Markdown"));
    await keys.press("Control+End");
    await keys.type(" Posters: 90 g.");
    await keys.goTo(person.button("Save as version 2"));
    await keys.press("Enter");
    await person.toast("Version 2 is saved.");
    await page.getByText("version 2 of 2").waitFor();
    await keys.press("d");
    await page.locator("ins", { hasText: "Posters" }).waitFor();
    await keys.press("d");
    await page.locator("ins").waitFor({ state: "detached" });
    await keys.press("[");
    await page.waitForURL(/v=1/);
    await keys.press("]");
    await page.waitForURL(({ search }) => !search.includes("v="));
    await keys.press("Escape");
    await person.heading("Knowledge").waitFor();
    await keys.press("/");
    await keys.isOn(page.getByRole("searchbox"));
    await keys.type("posters");
    const row = page.locator("a.file-row", { hasText: "Paper weights" });
    await page.locator(".excerpt", { hasText: "Posters" }).waitFor();
    await keys.goTo(row);
    await keys.press("Enter");
    await person.heading("Paper weights").waitFor();
    const { files } = await site.daemon.board.call(listFiles, {
      companyId: site.press.companyId,
      kind: "file",
    });
    assert.ok(files.some(({ description }) => description === "Paper weights"));
  });
});

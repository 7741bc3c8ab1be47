// The dashboard in a real browser, on the built daemon: mail with the organization.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { updateCompany } from "../src/contract/companies.ts";
import { createFile } from "../src/contract/knowledge.ts";
import { listConversation, sendMessage, viewMessage } from "../src/contract/mail.ts";
import { dashboard } from "./support/dashboard.ts";
import { soon } from "./support/soon.ts";

describe("mail in the dashboard", () => {
  const site = dashboard("web-mail");

  /** Marlow asks the board. No agent works meanwhile, so no other message is written. */
  async function asked(...questions: readonly string[]): Promise<string[]> {
    const { companyId } = site.press;
    await site.daemon.board.call(updateCompany, { companyId, maxSessions: 0 });
    const marlow = await site.press.as("Marlow");
    const ids = [];
    for (const body of questions)
      ids.push((await marlow.call(sendMessage, { companyId, to: "board", body })).id);
    return ids;
  }

  const newest = async () =>
    (
      await site.daemon.board.call(listConversation, {
        companyId: site.press.companyId,
        with: site.press.rootId,
      })
    ).messages[0];

  test("an answer is linked to the message that it answers: chosen by keys in the list, and by mouse in the conversation", async () => {
    const { page } = site.visit;
    const [cover = "", spine = ""] = await asked("Which cover is it?", "Which spine is it?");
    await page.goto(site.at("/mail"));
    const row = page.locator(".mail-row", { hasText: "Which cover is it?" });
    await row.focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(new RegExp(`/mail/${site.press.rootId}.*[?&]message=${cover}`));
    await page.locator(`#m-${cover}[aria-current]`).waitFor();
    // Of the messages of one agent, only the chosen one is marked.
    await page.locator(".mail-row[aria-current]", { hasText: "Which cover is it?" }).waitFor();
    assert.equal(await page.locator(".mail-row[aria-current]").count(), 1);
    await page.getByText("You answer “Which cover is it?”").waitFor();
    await page.keyboard.press("m");
    await page.keyboard.type("The blue one.");
    await page.keyboard.press("Control+Enter");
    await page
      .locator(".mine", { hasText: "The blue one." })
      .getByText("answers Which cover is it?")
      .waitFor();
    assert.equal((await newest())?.inReplyTo, cover);
    // The next message is not an answer.
    await page.getByText("You answer").waitFor({ state: "detached" });

    await page.locator(`#m-${spine}`).getByRole("button", { name: "Answer" }).click();
    await page.getByText("You answer “Which spine is it?”").waitFor();
    await page.locator(".mail-write textarea:focus").waitFor();
    await page.getByRole("button", { name: "Write a new message instead" }).click();
    await page.getByText("You answer").waitFor({ state: "detached" });
    await page.getByLabel("Message", { exact: true }).fill("Something else.");
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator(".mine", { hasText: "Something else." }).waitFor();
    assert.equal((await newest())?.inReplyTo, null);
  });

  test("a message that arrives moves nothing under a person who reads earlier ones, and an own one comes into view", async () => {
    const { page } = site.visit;
    const { companyId, rootId } = site.press;
    const marlow = await site.press.as("Marlow");
    for (let number = 1; number <= 25; number++)
      await marlow.call(sendMessage, { companyId, to: "board", body: `Report ${number}.\n\nAll is well.` });
    await page.goto(site.at(`/mail/${rootId}`));
    const conversation = page.getByRole("region", { name: "Conversation" });
    await conversation.getByText("Report 25.").waitFor();
    const above = async () => conversation.evaluate((box) => box.scrollTop);
    const below = async () =>
      conversation.evaluate((box) => box.scrollHeight - box.clientHeight - box.scrollTop);
    const atEnd = async () => ((await above()) > 400 && (await below()) < 40 ? true : undefined);
    await soon("the end of the conversation", atEnd);
    await conversation.evaluate((box) => box.scrollTo(0, 200));
    await marlow.call(sendMessage, { companyId, to: "board", body: "Report 26." });
    await conversation.getByText("Report 26.").waitFor();
    assert.equal(await above(), 200);
    await page.getByLabel("Message", { exact: true }).fill("Thank you.");
    await page.keyboard.press("Control+Enter");
    await conversation.getByText("Thank you.").waitFor();
    await soon("the own message", atEnd);
  });

  test("D marks the message of the focused row as done, with a note, before its conversation is open", async () => {
    const { page } = site.visit;
    const [paper = "", ink = ""] = await asked("Is the paper ordered?", "Is the ink ordered?");
    await page.goto(site.at("/mail"));
    const row = page.locator(`.mail-row[data-message="${paper}"]`);
    await row.focus();
    await page.keyboard.press("d");
    const dialog = page.getByRole("dialog", { name: "Mark this message as done?" });
    await dialog.getByLabel("What became of it").fill("Ordered today.");
    await page.keyboard.press("Enter");
    await row.waitFor({ state: "detached" });
    assert.equal((await site.daemon.board.call(viewMessage, { id: paper })).result, "Ordered today.");
    assert.equal((await site.daemon.board.call(viewMessage, { id: ink })).acknowledgedAt, null);
    assert.equal(new URL(page.url()).pathname, "/mail");
  });

  test("a bare link to a file is the name of the file, and leads to it", async () => {
    const { page } = site.visit;
    const { companyId } = site.press;
    const marlow = await site.press.as("Marlow");
    const { id } = await marlow.call(createFile, {
      companyId,
      description: "Paper samples",
      content: "All of them.",
    });
    await asked(`Look at kb://${id} before noon.`);
    await page.goto(site.at(`/mail/${site.press.rootId}`));
    const words = page.locator(".messages .words", { hasText: "before noon." });
    await words.getByRole("link", { name: "“Paper samples”" }).waitFor();
    assert.doesNotMatch(await words.innerText(), /kb:\/\//);
    await words.getByRole("link", { name: "“Paper samples”" }).press("Enter");
    await page.waitForURL(new RegExp(`/knowledge/${id}`));
    await page.getByRole("heading", { level: 1, name: "Paper samples" }).waitFor();
  });
});

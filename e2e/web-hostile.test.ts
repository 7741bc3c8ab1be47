// The dashboard in a real browser, on the built daemon: texts of agents are shown as text everywhere.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { commentOnApproval } from "../src/contract/approvals.ts";
import { hireAgent } from "../src/contract/hiring.ts";
import { createFile, deleteFile } from "../src/contract/knowledge.ts";
import { sendMessage } from "../src/contract/mail.ts";
import { completeOutcome, createOutcome, updateOutcome } from "../src/contract/outcomes.ts";
import { dashboard } from "./support/dashboard.ts";

describe("hostile text in the dashboard", () => {
  const site = dashboard("web-hostile");

  test("hostile text stays text in every field an agent can write", async () => {
    const bruno = await site.press.as("Bruno");
    const evil = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;
    const { approval } = await bruno.call(hireAgent, {
      companyId: site.press.companyId,
      name: "Eve <b>il</b>",
      role: "<i>boss</i>",
      adapterType: "rehearsal",
      capabilities: evil,
      prompt: evil,
      mandate: `${evil} \u202e backwards \u200b`,
    });
    await bruno.call(commentOnApproval, { id: approval?.id ?? "", body: evil });
    const { companyId } = site.press;
    const name = "Eve <b>il</b> prices.svg";
    await bruno.call(createFile, { companyId, description: name, content: evil });
    // Characters that act, in a description and as entities of Markdown.
    const acting = await bruno.call(createFile, {
      companyId,
      description: "Eve \u202e backwards \u200b",
      content:
        "One &#x202e; two &#8203; three &zwj; four\n\n`&#x202e;` [five &rlm; six](https://example.com)\n",
    });
    const marlow = await site.press.as("Marlow");
    await marlow.call(sendMessage, { companyId, to: "board", body: `Eve <b>il</b> ${evil}` });
    const id = site.press.agents.get("Bruno") ?? "";
    const outcome = await bruno.call(createOutcome, {
      companyId,
      title: "Eve <b>il</b> outcome",
      description: evil,
      acceptance: evil,
      parents: [id],
    });
    await bruno.call(updateOutcome, { id: outcome.id, blocked: { reason: `Eve <b>il</b> ${evil}` } });
    const ended = await bruno.call(createOutcome, { companyId, title: "Eve <b>il</b> done", parents: [id] });
    await bruno.call(completeOutcome, { id: ended.id, note: `Eve <b>il</b> ${evil}` });
    const data = await bruno.call(createFile, {
      companyId,
      description: "Eve <b>il</b> data",
      mediaType: "application/json",
      content: JSON.stringify({ evil, name: "\u202e backwards \u200b" }),
    });
    const gone = await bruno.call(createFile, {
      companyId,
      description: "Eve <b>il</b> gone",
      content: evil,
    });
    await bruno.call(deleteFile, { id: gone.id, reason: `Eve <b>il</b> ${evil}` });
    const { page } = site.visit;
    const paths = [`/approvals/${approval?.id ?? ""}`, "/", "/approvals", "/org", "/org?view=outline"];
    paths.push("/knowledge", `/knowledge/${gone.id}`, "/mail", `/mail/${site.press.rootId}`);
    paths.push("/outcomes", "/outcomes?view=table", `/outcomes/${outcome.id}`, `/outcomes/${ended.id}`);
    paths.push(`/activity?actor=${id}`, `/agents/${id}/outcomes`, `/agents/${id}/record`);
    for (const part of ["", "/history", "/links", "/access"]) paths.push(`/knowledge/${data.id}${part}`);
    /** In the whole document: pages, title, palette, messages, dialogs, panels. */
    const isInert = async (where: string): Promise<void> => {
      const made = page.locator("img, iframe, object, embed, body script, b b, [onerror]");
      assert.equal(await made.count(), 0, where);
      const markup = page.locator("b, i").filter({ hasText: /^(?:il|boss)$/ });
      assert.equal(await markup.count(), 0, where);
      assert.doesNotMatch(await page.title(), /owned|<b>/, where);
    };
    for (const path of paths) {
      await page.goto(site.at(path));
      await page.getByText("<b>il</b>").filter({ visible: true }).first().waitFor();
      await isInert(path);
    }
    for (const path of [`/approvals/${approval?.id ?? ""}`, `/knowledge/${data.id}`]) {
      await page.goto(site.at(path));
      await page.getByText("\\u202e backwards \\u200b").first().waitFor();
    }
    // The raw entry of the record is text as well.
    await page.goto(site.at(`/activity?actor=${id}&operation=outcome`));
    await page
      .getByRole("button", { name: /^Show / })
      .first()
      .click();
    await page.locator(".event-detail", { hasText: "hash " }).first().waitFor();
    await isInert("an entry of the record");

    // The palette.
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Find or do anything" }).fill("eve");
    await page.locator("[role=option]", { hasText: "<b>il</b>" }).first().waitFor();
    await isInert("the palette");
    await page.keyboard.press("Escape");
    // A panel beside a list.
    await page.goto(site.at(`/approvals`));
    await page.locator(`[data-request="${approval?.id ?? ""}"] a.row`).click();
    await page.locator(".side-panel").getByText("<b>il</b>").first().waitFor();
    await isInert("a panel");
    // The message after an action, and the dialogs and the title of the agent's page.
    await page.goto(site.at(`/approvals/${approval?.id ?? ""}`));
    await page.getByRole("button", { name: "Approve" }).first().click();
    await page.locator(".toasts, [role=status], [role=alert]").getByText("Eve <b>il</b>").first().waitFor();
    await isInert("a message");
    await page.goto(site.at(`/agents/${approval?.agentId ?? ""}`));
    await page.getByRole("button", { name: "Fire" }).click();
    await page.getByRole("dialog", { name: "Fire Eve <b>il</b>?" }).waitFor();
    await isInert("a dialog");
    await page.keyboard.press("Escape");
    await page.goto(site.at(`/outcomes/${outcome.id}`));
    await page.getByRole("heading", { name: "Eve <b>il</b> outcome" }).waitFor();
    await page.keyboard.press("w");
    await page.getByRole("dialog", { name: "Why" }).getByText("<b>il</b>").first().waitFor();
    await isInert("an answer");
    await page.keyboard.press("Escape");

    // Acting characters are shown as their codes, even if Markdown or a list of options contains them.
    await page.goto(site.at(`/knowledge/${acting.id}`));
    await page.locator(".md", { hasText: "One \\u202e two \\u200b three \\u200d four" }).waitFor();
    await page.locator(".md", { hasText: "five \\u200f six" }).waitFor();
    const coded = "Eve \\u202e backwards \\u200b";
    await page.getByRole("heading", { level: 1, name: coded }).waitFor();
    await page.goto(site.at(`/mail/${id}`));
    await page.getByRole("button", { name: "Later or with a file" }).click();
    await page.locator("select option", { hasText: coded }).waitFor({ state: "attached" });
    await page.goto(site.at(`/agents/${id}/rights`));
    await page.getByRole("button", { name: "Grant", exact: true }).first().click();
    await page.locator("dialog select option", { hasText: coded }).waitFor({ state: "attached" });
    assert.doesNotMatch(await page.locator("body").innerText(), /[\u202e\u200b\u200f]/);
  });
});

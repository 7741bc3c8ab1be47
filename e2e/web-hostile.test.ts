// The dashboard in a real browser, on the built daemon: texts of agents are shown as text everywhere.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { updateAgent } from "../src/contract/agents.ts";
import { commentOnApproval } from "../src/contract/approvals.ts";
import { grantPermission } from "../src/contract/capabilities.ts";
import { updateCompany } from "../src/contract/companies.ts";
import { delegateOutcome } from "../src/contract/delegation.ts";
import { createGoal } from "../src/contract/goals.ts";
import { createAgent, hireAgent } from "../src/contract/hiring.ts";
import { createFile, deleteFile } from "../src/contract/knowledge.ts";
import { sendMessage } from "../src/contract/mail.ts";
import { completeOutcome, createOutcome, updateOutcome } from "../src/contract/outcomes.ts";
import { applyReorganization } from "../src/contract/reorganization.ts";
import { addRepo, listRepos } from "../src/contract/repos.ts";
import { listAgentSessions } from "../src/contract/sessions.ts";
import { dashboard } from "./support/dashboard.ts";
import { developer, makeOrigin } from "./support/origin.ts";

describe("hostile text in the dashboard", () => {
  // Agents run programs, which need no sandbox here.
  const site = dashboard("web-hostile", { AGENCY_SANDBOX: "off" });
  const evil = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;

  /** In the whole document: pages, title, palette, messages, dialogs, panels. */
  async function isInert(where: string): Promise<void> {
    const { page } = site.visit;
    const made = page.locator("img, iframe, object, embed, body script, b b, [onerror]");
    assert.equal(await made.count(), 0, where);
    const markup = page.locator("b, i").filter({ hasText: /^(?:il|boss)$/ });
    assert.equal(await markup.count(), 0, where);
    assert.doesNotMatch(await page.title(), /owned|<b>/, where);
  }

  async function shows(path: string, text: string | RegExp): Promise<void> {
    const { page } = site.visit;
    await page.goto(site.at(path));
    await page.getByText(text).filter({ visible: true }).first().waitFor();
    await isInert(path);
  }

  test("hostile text stays text in every field an agent can write", async () => {
    const bruno = await site.press.as("Bruno");
    const { approval } = await bruno.call(hireAgent, {
      companyId: site.press.companyId,
      name: "Eve <b>il</b>",
      role: "<i>boss</i>",
      title: "Chief <b>il</b>",
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
    for (const path of paths) await shows(path, "<b>il</b>");
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

  test("texts that an agent's program prints, publishes and requests stay text on the pages of sessions, branches and costs", async () => {
    const { page } = site.visit;
    const { board } = site.daemon;
    const { companyId } = site.press;
    await board.call(addRepo, { companyId, name: "shop", url: makeOrigin(site.home) });
    const agent = async (name: string, ...args: string[]): Promise<string> =>
      (
        await board.call(createAgent, {
          companyId,
          name,
          role: "Clerk",
          title: "Chief <b>il</b>",
          ...developer("vandal", ...args),
        })
      ).id;
    const vandal = await agent("Eve <b>il</b> Vandal", evil, "Eve-#@-שלום");
    await board.call(grantPermission, { companyId, to: vandal, resource: "repo:shop", level: "read" });
    const live = await agent("Eve <b>il</b> Live");
    const lost = await agent("Eve <b>il</b> Lost");
    const printing = (script: string) => ({
      adapterConfig: { command: process.execPath, args: ["-e", script] },
    });
    const line = JSON.stringify(`Eve <b>il</b> line ${evil}`);
    await board.call(updateAgent, {
      id: live,
      ...printing(`console.log(${line}); setInterval(() => console.log(${line}), 500)`),
    });
    await board.call(updateAgent, {
      id: lost,
      ...printing(`console.log(${line}); console.error(${line}); process.exitCode = 1`),
    });
    const work = await board.call(createGoal, { companyId, title: "Eve <b>il</b> work" });
    const marlow = await site.press.as("Marlow");
    const part = { companyId, title: "Eve <b>il</b> part", parents: [work.id] };
    const { id: outcome } = await marlow.call(createOutcome, part);
    await marlow.call(delegateOutcome, { id: outcome, to: vandal });
    for (const to of [live, lost]) await board.call(sendMessage, { companyId, to, body: "Begin." });
    await board.call(updateCompany, { companyId, maxSessions: 20 });
    const sessionOf = async (id: string, isLive: boolean): Promise<string> => {
      for (;;) {
        const { sessions } = await board.call(listAgentSessions, { id, limit: 10 });
        const found = sessions.find(
          ({ end, lastLine }) => (end === "running") === isLive && (!isLive || lastLine !== null),
        );
        if (found !== undefined) return found.id;
        await sleep(100);
      }
    };
    const [running, failed, ended] = [
      await sessionOf(live, true),
      await sessionOf(lost, false),
      await sessionOf(vandal, false),
    ];
    const branches = async () => (await board.call(listRepos, { companyId })).repos[0]?.published ?? [];
    while ((await branches()).length === 0) await sleep(100);
    const branch = (await branches())[0]?.branch ?? "";

    // Branches: name (which takes no markup, but letters that run backwards), path, subject, author, message, diff.
    await shows("/settings/repos", branch);
    await shows(`/settings/repos?repo=shop&branch=${encodeURIComponent(branch)}`, branch);
    for (const text of ["Eve <b>il<b>.txt", "Eve &lt;b&gt", `Eve <b>il</b> ${evil}`])
      await page.getByText(text).first().waitFor();
    await page.locator("ins", { hasText: evil }).waitFor();
    // Sessions: summary, reason of the end, last lines.
    await shows(`/sessions/${ended}`, `Eve <b>il</b> ${evil}`);
    await shows(`/sessions/${failed}`, "Eve <b>il</b> line");
    await shows(`/sessions/${running}`, "Eve <b>il</b> line");
    await shows("/sessions", "Eve <b>il</b>");
    await shows(`/sessions?session=${running}`, "Eve <b>il</b> line");
    await shows(`/agents/${live}`, "Eve <b>il</b> line");
    await shows(`/org?view=outline&agent=${live}`, "Eve <b>il</b> line");
    await shows("/", "Eve <b>il</b> line");
    // Its title, and the reason of its request for a right.
    await shows(`/agents/${vandal}`, "(Chief <b>il</b>)");
    await shows(`/agents/${vandal}/rights`, `Eve <b>il</b> ${evil}`.slice(0, 60));
    await shows("/costs?by=outcome", "Eve <b>il</b>");
    const change = { kind: "move_report", agent: live, to: lost } as const;
    const { id: reorganization } = await board.call(applyReorganization, { companyId, change });
    await shows("/reorganizations", "Eve <b>il</b> Live");
    await shows(`/reorganizations/${reorganization}`, "Eve <b>il</b> Live");
    await page.goto(site.at(`/outcomes?view=map&outcome=${outcome}`));
    await page.getByText("Eve <b>il</b> part").first().waitFor({ state: "attached" });
    await isInert("the map of outcomes");
    await page.goto(site.at(`/org?view=map&agent=${vandal}`));
    await page.getByText("Eve <b>il</b> Vandal").first().waitFor({ state: "attached" });
    await isInert("the map of the organization");
  });
});

// The dashboard in a real browser, on the built daemon: what is shown first of many things, and the numbers beside them.
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { updateAgent } from "../src/contract/agents.ts";
import { grantPermission, revokePermission } from "../src/contract/capabilities.ts";
import { createCompany, updateCompany } from "../src/contract/companies.ts";
import { decideOutcome, planWork } from "../src/contract/delegation.ts";
import { createGoal } from "../src/contract/goals.ts";
import { hireAgent } from "../src/contract/hiring.ts";
import { createFile } from "../src/contract/knowledge.ts";
import { sendMessage } from "../src/contract/mail.ts";
import { closeOutcome, createOutcome, submitOutcome, updateOutcome } from "../src/contract/outcomes.ts";
import { listAgentSessions, listSessions } from "../src/contract/sessions.ts";
import { twoLooks } from "./support/two-looks.ts";

describe("what is shown first of many things", () => {
  // The sessions of this company end only after minutes.
  const site = twoLooks("web-counts");
  const company = () => ({ companyId: site.press.companyId });
  const idOf = (name: string): string => site.press.agents.get(name) ?? "";
  const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1);
  const closed: string[] = [];

  before(async () => {
    await site.daemon.board.call(updateCompany, { ...company(), maxSessions: 0 });
  });

  async function closeGoals(count: number): Promise<void> {
    const { board } = site.daemon;
    for (const at of numbers(count)) {
      const { id } = await board.call(createGoal, { ...company(), title: `Tale ${closed.length + at}` });
      await board.call(updateOutcome, { id, important: true });
      await board.call(closeOutcome, { id, rationale: "Told before." });
      closed.push(id);
    }
  }

  test("an agent's open outcomes and rights are shown however many have ended before them", async () => {
    const { board } = site.daemon;
    const { page } = site.light;
    await closeGoals(15);
    const to = site.press.rootId;
    for (const at of numbers(105)) {
      const resource = `net:old-${at}.example` as const;
      const { id } = await board.call(grantPermission, { ...company(), to, resource, level: "use" });
      await board.call(revokePermission, { id });
    }
    for (const name of ["one", "two", "three", "four", "five", "six"])
      await board.call(grantPermission, { ...company(), to, resource: `net:${name}.example`, level: "use" });
    for (const path of [`/agents/${to}`, `/org?view=outline&agent=${to}`]) {
      await site.open(page, path, "given, ");
      const outcomes = page.locator("section.sec", { has: page.getByRole("heading", { name: "Outcomes" }) });
      await outcomes.getByRole("link", { name: "Field Guide 2027 is ready to print" }).waitFor();
      assert.equal(await outcomes.getByText("Tale ").count(), 0);
      const rights = page.locator("section.sec", { has: page.getByRole("heading", { name: "Rights" }) });
      await rights.getByText("7 given, ").waitFor();
      await rights.getByText("four.example").waitFor();
      await rights.getByRole("link", { name: "and 2 more" }).waitFor();
    }
    await page.getByRole("link", { name: "and 2 more" }).click();
    await page.waitForURL(new RegExp(`/agents/${to}/rights`));
    const granted = page.locator("section.sec", { has: page.getByRole("heading", { name: "Granted" }) });
    await granted.getByText("six.example").waitFor();
    assert.equal(await granted.locator("li").count(), 7);
    const past = page.locator("section.sec", { has: page.getByRole("heading", { name: "Not in force" }) });
    await past.getByText("old-1.example").waitFor();
    assert.match(await past.locator("li").first().innerText(), /revoked/);
    assert.equal(await past.getByRole("button", { name: "Revoke" }).count(), 0);
    await past.getByRole("button", { name: "Show more" }).click();
    await past.getByText("old-105.example").waitFor();
  });

  test("Home counts completed and closed work among the listed events, and says if there are more events", async () => {
    const { board } = site.daemon;
    const { page } = site.light;
    const { id } = await board.call(createGoal, { ...company(), title: "The spine is chosen" });
    await (await site.press.as("Marlow")).call(submitOutcome, { id, note: "A round one." });
    await board.call(decideOutcome, { id, verdict: "pass" });
    const other = await board.call(createGoal, { ...company(), title: "The ribbon is sewn" });
    for (const at of numbers(201)) await board.call(updateOutcome, { id: other.id, title: `Ribbon ${at}` });
    const since = page.locator(".rail section", { hasText: "Since " });
    await site.open(page, "/", "Since ");
    await since.getByText(`1 done, ${closed.length} closed`).waitFor();
    await closeGoals(201 - closed.length);
    await since.getByText("1 done, at least 200 closed").waitFor();
    assert.equal(await since.locator("li").count(), 5);
  });

  test("lists that show their beginning say how many more there are, and show them", async () => {
    const { page } = site.light;
    const marlow = await site.press.as("Marlow");
    const create = async (title: string, parents: string[], dependsOn: string[] = []) =>
      (await marlow.call(createOutcome, { ...company(), title, parents, dependsOn })).id;
    const parents = [];
    for (const at of numbers(7)) parents.push(await create(`Reason ${at}`, [site.press.rootId]));
    const shared = await create("All reasons want it", parents);
    await site.open(page, `/outcomes/${shared}`, "What it serves");
    await page.locator(".chains").nth(5).waitFor();
    assert.equal(await page.locator(".chains .name", { hasText: "Reason" }).count(), 5);
    await page.getByRole("button", { name: "and 2 more" }).click();
    await page.locator(".chains .name", { hasText: "Reason 7" }).waitFor();

    const bruno = await site.press.as("Bruno");
    const grants = [];
    for (const at of numbers(6)) {
      const { id } = await bruno.call(createFile, { ...company(), description: `Price ${at}`, content: "1" });
      grants.push({ resource: `kb:${id}` as const, level: "read" as const });
    }
    const { approval, agent } = await bruno.call(hireAgent, {
      ...company(),
      name: "Ria Pohl",
      role: "Pricer",
      adapterType: "rehearsal",
      prompt: "Count.",
      grants,
    });
    const work = { ...company(), title: "Prices are known", parents: [idOf("Bruno")] };
    const { id: outcome } = await bruno.call(createOutcome, work);
    const tasks = numbers(10).map((at) => ({ title: `Shop ${at} is asked`, assignee: agent.id }));
    await bruno.call(planWork, { outcome, tasks });
    await site.open(page, `/approvals/${approval?.id ?? ""}`, "Waits for it");
    const waits = page.locator("dt", { hasText: "Waits for it" }).locator("+ dd");
    await waits.locator("p").nth(8).waitFor();
    assert.equal(await waits.locator("a").count(), 8);
    await waits.getByRole("button", { name: /^and \d+ more$/ }).click();
    await waits.getByText("Shop 10 is asked").waitFor();

    await site.open(page, "/", "Ria Pohl");
    const item = page.locator("[data-item]", { hasText: "Ria Pohl" });
    if ((await item.locator(".acts").count()) === 0) await item.click();
    await item.locator(".facts").waitFor();
    await item.getByRole("button", { name: "and 2 more" }).click();
    await item.getByText("Price 6").waitFor();
  });

  test("a session's page counts everything that the session wrote, and reads earlier entries on demand", async () => {
    const { board } = site.daemon;
    const { page } = site.light;
    const script = `
      const { AGENCY_URL: url, AGENCY_TOKEN: token } = process.env;
      const headers = { authorization: "Bearer " + token, "content-type": "application/json" };
      for (let at = 1; at <= 505; at++) {
        const body = JSON.stringify({ description: "Note " + at, content: "x" });
        while (!(await fetch(url + "/api/companies/${site.press.companyId}/kb", { method: "POST", headers, body })).ok)
          await new Promise((resolve) => setTimeout(resolve, 100));
      }`;
    await board.call(updateAgent, {
      id: idOf("Noor"),
      adapterType: "process",
      adapterConfig: { command: process.execPath, args: ["--input-type=module", "-e", script] },
    });
    await (
      await site.press.as("Greta")
    ).call(sendMessage, { ...company(), to: idOf("Noor"), body: "Note everything." });
    await board.call(updateCompany, { ...company(), maxSessions: 20 });
    let session = "";
    while (session === "") {
      await sleep(200);
      const { sessions } = await board.call(listAgentSessions, { id: idOf("Noor"), limit: 10 });
      session = sessions.findLast(({ end }) => end !== "running")?.id ?? "";
    }
    await site.open(page, `/sessions/${session}`, "Files written");
    const files = page.locator("section.sec", {
      has: page.getByRole("heading", { name: /^Files written/ }),
    });
    await files.getByText(/at least (499|500)/).waitFor();
    await page.getByRole("button", { name: "Show more" }).click();
    await files.getByRole("heading", { name: "Files written 505" }).waitFor();
    assert.equal(await files.locator("a").count(), 30);
    await files.getByRole("button", { name: "and 475 more" }).click();
    await files.locator("li").nth(504).waitFor();
  });

  test("Home counts every session at work, not only those that it lists", async () => {
    const { board } = site.daemon;
    const { page } = site.light;
    await board.call(updateCompany, { ...company(), maxSessions: 20 });
    const running = async () =>
      (await board.call(listSessions, { ...company(), live: true, limit: 1 })).count;
    for (const name of [...site.press.agents.keys()].filter((each) => each !== "Noor"))
      if ((await running()) < 15)
        await board.call(sendMessage, { ...company(), to: idOf(name), body: "How does it go?" });
    while ((await running()) < 13) await sleep(100);
    await board.call(updateCompany, { ...company(), maxSessions: 0 });
    const count = await running();
    await site.open(page, "/", "At work now");
    const rail = page.locator(".rail section", { hasText: "At work now" });
    await rail.getByText(`${count} of 0 places`).waitFor();
    assert.equal(await rail.locator("li .who").count(), 12);
    await rail.getByRole("link", { name: `and ${count - 12} more` }).click();
    await page.locator(".list-count", { hasText: `${count} sessions` }).waitFor();
  });

  test("the palette keeps recent items of each company apart, and finds names of several words", async () => {
    const { page } = site.light;
    await site.open(page, "/", "need");
    const palette = page.locator(".palette");
    const options = palette.getByRole("option");
    const box = palette.getByRole("combobox", { name: "Find or do anything" });
    const open = async (words: string): Promise<void> => {
      await page.keyboard.press("Control+k");
      await box.fill(words);
    };
    await open("can iris duarte read competitor prices");
    await options.filter({ hasText: "Can Iris Duarte read “Competitor prices”?" }).waitFor();
    await page.keyboard.press("Escape");
    // Every level asks about the things that can have it, and about nothing else.
    const answer = page.getByRole("dialog", { name: "Explain access" });
    for (const [question, option, says] of [
      [
        "can milo drive newsletter",
        /^Can Milo drive “[^”]*Newsletter/,
        /^Milo is responsible for the outcome/,
      ],
      ["can sanne drive newsletter", /^Can Sanne drive “/, /^Sanne is not responsible for the outcome/],
      ["can milo send sanne", /^Can Milo send “Sanne”\?/, /mail route to Sanne/],
      ["can milo send board", /^Can Milo send “board”\?/, /the mail route to/],
      ["can milo use org hire", /^Can Milo use “org:hire”\?/, /org:hire/],
    ] as const) {
      await open(question);
      const each = options.filter({ hasText: option });
      await each.first().waitFor();
      assert.equal(await options.filter({ hasNotText: option }).count(), 0, question);
      await page.keyboard.press("Enter");
      await answer.getByRole("status").getByText(says).first().waitFor();
      await page.keyboard.press("Escape");
      await answer.waitFor({ state: "hidden" });
    }
    await open("sanne");
    await options.filter({ hasText: "Sanne" }).first().click();
    await page.getByRole("heading", { level: 1, name: "Sanne" }).waitFor();
    await open("");
    await options.filter({ hasText: "Recent" }).filter({ hasText: "Sanne" }).waitFor();
    const second = await site.daemon.board.call(createCompany, { name: "Harbour Maps" });
    await site.open(page, `/?company=${second.id}`, "Harbour Maps");
    await open("");
    await options.first().waitFor();
    assert.equal(await options.filter({ hasText: "Recent" }).count(), 0);
  });
});

import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import { launchBrowser, signedIn } from "../e2e/support/browser.ts";
import { createGoal } from "../src/contract/goals.ts";
import { hireAgent } from "../src/contract/hiring.ts";
import { createFile } from "../src/contract/knowledge.ts";
import type { Bench, Entry } from "./bench.ts";
import type { Figure } from "./figures.ts";
import { fillAgents, fillSubtrees } from "./fill.ts";
import { type Daemon, prepareHome, startDaemon } from "./home.ts";
import { beginStep, longestOfSteps, watchInteractions } from "./page-figures.ts";

/** The part of `dashboard` that measures the cost of a key or a click. It can run alone, within a minute. */
export const interactions: Entry = {
  name: "interactions",
  onlyIfNamed: true,
  about: "keys and clicks on the largest pages of the dashboard",
  run: async (bench) => {
    const browser = await launchBrowser();
    const { daemon, rows } = await startLargeCompany(bench);
    try {
      const { page } = await signedIn(browser, { url: daemon.url, board: daemon.client });
      return await measureInteractions(bench, page, daemon.url, rows);
    } finally {
      await browser.close();
      await daemon.stop();
    }
  },
};

/** A daemon with a company of 1,000 agents and 5,000 outcomes, and something to decide. */
export async function startLargeCompany(
  bench: Bench,
): Promise<{ daemon: Daemon; companyId: string; rows: string }> {
  const [agents, outcomes] = bench.quick ? [100, 500] : [1000, 5000];
  const home = await prepareHome(bench, async ({ store, companyId, rootAgentId }) => {
    await fillAgents(store, companyId, rootAgentId, agents, 6);
    await fillSubtrees(store, companyId, rootAgentId, rootAgentId, outcomes - agents, 100);
  });
  const daemon = await startDaemon(bench, home);
  const { companyId } = home;
  for (let letter = 0; letter < 6; letter++) {
    await daemon.client.call(createGoal, { companyId, title: `Goal ${letter}` });
    await daemon.client.call(createFile, { companyId, description: `File ${letter}`, content: "Text." });
    await daemon.client.call(hireAgent, { companyId, name: `Asked ${letter}`, role: "writer" });
  }
  return { daemon, companyId, rows: `${agents} agents, ${outcomes} outcomes` };
}

export const attentionRow = "main [data-item]";

/** The keys and clicks of a person on the largest pages. Each step follows before the data for the last one has arrived. */
export async function measureInteractions(
  bench: Bench,
  page: Page,
  url: string,
  rows: string,
): Promise<Omit<Figure, "store">[]> {
  const all: { name: string; time: number }[] = [];
  const on = async (path: string, ready: string, steps: () => Promise<void>): Promise<void> => {
    await page.goto(url + path);
    await page.locator(ready).first().waitFor();
    await sleep(1000);
    await watchInteractions(page);
    await steps();
    all.push(...(await longestOfSteps(page)));
  };
  const step = async (name: string, act: () => Promise<unknown>): Promise<void> => {
    await beginStep(page, name);
    await act();
    await sleep(120);
  };
  const press = async (where: string, ...keys: readonly string[]): Promise<void> => {
    for (const key of keys) await step(`${where}, ${key}`, () => page.keyboard.press(key));
  };
  const type = (where: string, words: string): Promise<void> =>
    step(`${where}, “${words}”`, () => page.keyboard.type(words, { delay: 60 }));
  const agent = page.locator(".orow[data-agent]");
  const outcome = page.locator("[id^='o-']");

  await on("/", attentionRow, async () => {
    await press("Home", "j", "j", "k", "ArrowRight", "a", "Escape", "ArrowLeft", "Control+k");
    await type("palette", "agent 7");
    await press("palette", "ArrowDown", "Escape");
  });
  await on("/org?view=outline", ".orow[data-agent]", async () => {
    await step("Organization, click on a row", () => agent.nth(2).click());
    await press("Organization", "ArrowDown", "ArrowDown", "ArrowLeft", "ArrowRight", "End", "Home");
    await step("Organization, click on another row", () => agent.nth(9).click());
    await press("Organization", "/");
    await type("Organization", "agent 12");
  });
  await on("/org?view=map", ".map [data-agent]", async () => {
    await step("map, click on a card", () => page.locator(".map [data-agent]").nth(1).click());
    await press("map", "ArrowDown", "ArrowRight", "Enter", "Home");
  });
  await on("/outcomes", "[id^='o-']", async () => {
    await press("Outcomes", "j", "j", "ArrowRight", "ArrowLeft", "ArrowRight");
    await step("Outcomes, click on a row", () => outcome.nth(5).click());
    await press("Outcomes", "/");
    await type("Outcomes", "outcome 4");
  });

  all.sort((a, b) => b.time - a.time);
  bench.say(
    `the longest: ${all
      .slice(0, 8)
      .map(({ name, time }) => `${name} ${time} ms`)
      .join("; ")}`,
  );
  return [
    {
      name: "dashboard: longest interaction (INP)",
      unit: "ms",
      rows,
      value: Math.max(...all.map(({ time }) => time)),
      aim: { atMost: 100 },
    },
  ];
}

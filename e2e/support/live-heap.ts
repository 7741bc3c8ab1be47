// The growth of a page's memory while the company behind it works as fast as it can.
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser } from "playwright-core";
import type { Client } from "../../src/client/client.ts";
import { updateCompany } from "../../src/contract/companies.ts";
import { createGoal } from "../../src/contract/goals.ts";
import { signedIn } from "./browser.ts";

interface Watched {
  readonly url: string;
  readonly board: Client;
  readonly companyId: string;
}

/**
 * Megabytes of the heap of Home, before and after, each time without garbage. Code that loads once does not count as growth.
 */
export async function heapOfHome(
  browser: Browser,
  { url, board, companyId }: Watched,
  minutes: number,
): Promise<{ before: number; after: number; goals: number; entries: string }> {
  await board.call(updateCompany, {
    companyId,
    requireBoardApprovalForNewAgents: false,
    maxAgents: 60,
    maxSessions: 3,
  });
  const visit = await signedIn(browser, { url, board });
  try {
    const cdp = await visit.context.newCDPSession(visit.page);
    const megabytes = async (): Promise<number> => {
      await cdp.send("HeapProfiler.collectGarbage");
      return (await cdp.send("Runtime.getHeapUsage")).usedSize / 1_000_000;
    };
    await visit.page.goto(`${url}/`);
    await visit.page.locator("main h1").waitFor();
    let goals = 0;
    const work = async (until: number): Promise<void> => {
      for (; Date.now() < until; await sleep(3000))
        await board.call(createGoal, { companyId, title: `Chapter ${++goals} is drafted and checked` });
    };
    await work(Date.now() + Math.min(30_000, minutes * 10_000));
    const before = await megabytes();
    await work(Date.now() + minutes * 60_000);
    return { before, after: await megabytes(), goals, entries: await visit.page.locator(".seq").innerText() };
  } finally {
    await visit.context.close();
  }
}

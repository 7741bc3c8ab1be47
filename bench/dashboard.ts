import { once } from "node:events";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import { launchBrowser, signedIn, type Visit } from "../e2e/support/browser.ts";
import { heapOfHome } from "../e2e/support/live-heap.ts";
import { createGoal } from "../src/contract/goals.ts";
import { createAgent } from "../src/contract/hiring.ts";
import { sendMessage } from "../src/contract/mail.ts";
import { listSessions } from "../src/contract/sessions.ts";
import type { Bench, Entry } from "./bench.ts";
import type { Figure } from "./figures.ts";
import { fillAgents, fillSubtrees } from "./fill.ts";
import { type Daemon, prepareHome, startDaemon } from "./home.ts";

type Measured = Omit<Figure, "store">;

/**
 * What a person waits for in the browser, measured by the page itself. Beside each figure stands the same for a page without
 * any code, from a bare server, measured in turns: on a busy machine both are slow.
 */
export const dashboard: Entry = {
  name: "dashboard",
  onlyIfNamed: true,
  about: "the pages of the dashboard in a browser: first list, maps, a long transcript, memory",
  run: async (bench) => {
    const browser = await launchBrowser();
    const bare = await startBare();
    try {
      const figures: Measured[] = [];
      for (const part of [pages, transcript, memory]) {
        const measured = await part(bench, browser, bare.url);
        for (const { name, value, unit } of measured) bench.say(`${name} ${value.toFixed(1)} ${unit}`);
        figures.push(...measured);
      }
      return figures;
    } finally {
      bare.stop();
      await browser.close();
    }
  },
};

/** A page with what the measured pages are waited for by, and nothing else. */
const barePage = `<!doctype html><title>Bare</title><style>.map-canvas, .map { position: fixed; inset: 0 }</style>
  <main><h1>Bare</h1><div class="map-canvas"><canvas></canvas></div><div class="map"></div>
  <div class="transcript"><button class="entry">A line</button></div></main>`;

async function startBare(): Promise<{ url: string; stop: () => void }> {
  const server = createServer((_, response) => {
    response.setHeader("content-type", "text/html");
    response.end(barePage);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the bare server has no port");
  const stop = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${address.port}/`, stop };
}

/** Home and the maps of a large company. */
async function pages(bench: Bench, browser: Browser, bare: string): Promise<Measured[]> {
  const [agents, outcomes] = bench.quick ? [100, 500] : [1000, 5000];
  const home = await prepareHome(bench, async ({ store, companyId, rootAgentId }) => {
    await fillAgents(store, companyId, rootAgentId, agents, 6);
    await fillSubtrees(store, companyId, rootAgentId, rootAgentId, outcomes - agents, 100);
  });
  const daemon = await startDaemon(bench, home);
  try {
    for (let letter = 0; letter < 6; letter++)
      await daemon.client.call(createGoal, { companyId: home.companyId, title: `Goal ${letter}` });
    const visit = await visited(browser, daemon);
    const { page } = visit;
    const rows = `${agents} agents, ${outcomes} outcomes`;
    const first = await opened(bench, page, `${daemon.url}/`, bare, "main h1");
    const figures: Measured[] = [
      { name: "dashboard: Home's list", unit: "ms", rows, ...first, aim: { atMost: 500 } },
    ];
    for (const [name, path, ready] of [
      ["outcome map", "/outcomes?view=map", ".map-canvas canvas"],
      ["organization map", "/org?view=map", ".map"],
    ] as const) {
      const map = ready === ".map" ? ".map" : ".map-canvas";
      await page.goto(bare);
      const empty = await panAndZoom(page, map);
      await page.goto(daemon.url + path);
      await page.locator(ready).first().waitFor();
      await sleep(1500);
      const { longest } = await panAndZoom(page, map);
      figures.push({
        name: `dashboard: ${name}, longest frame`,
        unit: "ms",
        rows,
        value: longest,
        baseline: { what: "an empty page", value: empty.longest },
        aim: { atMost: 50 },
      });
    }
    await visit.context.close();
    return figures;
  } finally {
    await daemon.stop();
  }
}

/** A session that printed many lines, opened cold. */
async function transcript(bench: Bench, browser: Browser, bare: string): Promise<Measured[]> {
  const lines = bench.quick ? 5000 : 100_000;
  const home = await prepareHome(bench, async () => undefined);
  const daemon = await startDaemon(bench, home, { agents: true });
  const { client } = daemon;
  const { companyId } = home;
  try {
    const talker = await client.call(createAgent, {
      companyId,
      name: "Talker",
      role: "talker",
      adapterType: "process",
      adapterConfig: {
        command: process.execPath,
        args: ["-e", `for (let n = 1; n <= ${lines}; n++) console.log("line " + n + " of a long log")`],
      },
    });
    await client.call(sendMessage, { companyId, to: talker.id, body: "Say it." });
    const ended = async () =>
      (await client.call(listSessions, { companyId, limit: 100 })).sessions.find(
        ({ agent, endedAt }) => agent.id === talker.id && endedAt !== null,
      );
    let session = await ended();
    while (session === undefined) {
      await sleep(250);
      session = await ended();
    }
    const visit = await visited(browser, daemon);
    const url = `${daemon.url}/sessions/${session.id}`;
    const shown = await opened(bench, visit.page, url, bare, ".transcript .entry");
    await visit.context.close();
    return [
      {
        name: "dashboard: a long transcript",
        unit: "ms",
        rows: `${lines} lines`,
        ...shown,
        aim: { atMost: 300 },
      },
    ];
  } finally {
    await daemon.stop();
  }
}

/** Home stays open while the company works as fast as it can. AGENCY_BENCH_MINUTES makes it longer or shorter. */
async function memory(bench: Bench, browser: Browser): Promise<Measured[]> {
  const minutes = Number(process.env["AGENCY_BENCH_MINUTES"] ?? (bench.quick ? 0.25 : 10));
  const home = await prepareHome(bench, async () => undefined);
  const daemon = await startDaemon(bench, home, { agents: true });
  try {
    const watched = { url: daemon.url, board: daemon.client, companyId: home.companyId };
    const { before, after, goals, entries } = await heapOfHome(browser, watched, minutes);
    bench.say(`the ledger stands at ${entries} after ${goals} goals`);
    return [
      {
        name: "dashboard: growth of the heap",
        unit: "MB",
        rows: `${minutes} min`,
        value: after - before,
        baseline: { what: "at the start", value: before },
        aim: { atMost: 20 },
      },
    ];
  } finally {
    await daemon.stop();
  }
}

const visited = (browser: Browser, daemon: Daemon): Promise<Visit> =>
  signedIn(browser, { url: daemon.url, board: daemon.client });

/** How long the page takes until the element is there, and the bare page. */
async function opened(bench: Bench, page: Page, url: string, bare: string, selector: string) {
  const ours: number[] = [];
  const empty: number[] = [];
  for (let round = 0; round < (bench.quick ? 2 : 7); round++) {
    empty.push(await shownAfter(page, bare, selector));
    ours.push(await shownAfter(page, url, selector));
  }
  return { value: median(ours), baseline: { what: "an empty page", value: median(empty) } };
}

/** Milliseconds from the start of the navigation until the element is there, by the clock of the page. */
async function shownAfter(page: Page, url: string, selector: string): Promise<number> {
  // Another page first: the same address would only be a change within the page.
  await page.goto("about:blank");
  await page.goto(url, { waitUntil: "commit" });
  return page.evaluate<number>(`new Promise((resolve) => {
    const look = () =>
      document.querySelector(${JSON.stringify(selector)}) === null
        ? requestAnimationFrame(look)
        : resolve(performance.now());
    look();
  })`);
}

/** Moves and zooms for two hundred frames, and returns the longest. The first ones, before the map has drawn, don't count. */
async function panAndZoom(page: Page, selector: string): Promise<{ longest: number }> {
  return page.evaluate<{ longest: number }>(`new Promise((resolve) => {
    const map = document.querySelector(${JSON.stringify(selector)});
    const { left, top, width, height } = map.getBoundingClientRect();
    let frame = 0;
    let longest = 0;
    let last;
    const step = (now) => {
      if (last !== undefined && frame > 3) longest = Math.max(longest, now - last);
      last = now;
      if (++frame > 200) return resolve({ longest });
      const isZoom = frame % 60 < 30;
      map.dispatchEvent(new WheelEvent("wheel", {
        bubbles: true,
        cancelable: true,
        ctrlKey: isZoom,
        clientX: left + width / 2,
        clientY: top + height / 2,
        deltaX: isZoom ? 0 : 40 * Math.sin(frame / 10),
        deltaY: isZoom ? (frame % 120 < 60 ? 8 : -8) : 40,
      }));
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  })`);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

import { once } from "node:events";
import { existsSync, readdirSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import { launchBrowser, signedIn, type Visit } from "../e2e/support/browser.ts";
import { heapOfHome } from "../e2e/support/live-heap.ts";
import { createGoal } from "../src/contract/goals.ts";
import { createAgent } from "../src/contract/hiring.ts";
import { sendMessage } from "../src/contract/mail.ts";
import { listSessions } from "../src/contract/sessions.ts";
import type { Bench, Entry } from "./bench.ts";
import { asTable, type Figure } from "./figures.ts";
import { type Daemon, prepareHome, startDaemon } from "./home.ts";
import { attentionRow, measureInteractions, startLargeCompany } from "./interactions.ts";
import {
  answersAfter,
  hiddenRequests,
  loadedBy,
  panAndZoom,
  routeChange,
  scrollFrames,
  shownAfter,
} from "./page-figures.ts";

type Measured = Omit<Figure, "store">;

/**
 * The waiting times of a person in the browser, measured by the page itself. Beside each figure is the same for a page without
 * any code, from a bare server, measured in turns: on a busy machine both are slow.
 */
export const dashboard: Entry = {
  name: "dashboard",
  onlyIfNamed: true,
  about: "the pages of the dashboard in a browser: first list, routes, maps, a long transcript, memory",
  run: async (bench) => {
    const browser = await launchBrowser();
    const bare = await startBare();
    try {
      const figures: Measured[] = [];
      for (const part of [pages, transcript, memory]) {
        const measured = await part(bench, browser, bare.url);
        bench.say(
          `\n${asTable(
            measured.map((figure) => ({ ...figure, store: bench.store })),
            !bench.quick,
          )}`,
        );
        figures.push(...measured);
      }
      return figures;
    } finally {
      bare.stop();
      await browser.close();
    }
  },
};

/** A page with only the elements for which the measured pages are waited. */
const barePage = `<!doctype html><title>Bare</title><style>.map-canvas, .map { position: fixed; inset: 0 }</style>
  <main><h1>Bare</h1><p data-item>A row</p><div class="map-canvas"><canvas></canvas></div><div class="map"></div>
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

/** Measures Home, the way between pages, and the maps of a large company. */
async function pages(bench: Bench, browser: Browser, bare: string): Promise<Measured[]> {
  const { daemon, companyId, rows } = await startLargeCompany(bench);
  try {
    const visit = await visited(browser, daemon);
    const { page } = visit;
    const first = await opened(bench, page, `${daemon.url}/`, bare, attentionRow);
    const loaded = await loadedBy(page);
    const figures: Measured[] = [
      { name: "dashboard: Home's list, first row", unit: "ms", rows, ...first, aim: { atMost: 500 } },
      {
        name: "dashboard: Home answers a key",
        unit: "ms",
        rows,
        value: await medianOf(bench, () => answersAfter(page, `${daemon.url}/`, attentionRow)),
        aim: { atMost: 1000 },
      },
      { name: "dashboard: requests of Home", unit: "calls", value: loaded.requests, aim: { atMost: 3 } },
      { name: "dashboard: first load", unit: "kB", value: loaded.kilobytes, aim: { atMost: 180 } },
      { name: "dashboard: largest later part", unit: "kB", value: largestPart(bench), aim: { atMost: 60 } },
    ];
    figures.push(
      ...(await routes(bench, page, daemon.url, rows)),
      ...(await measureInteractions(bench, page, daemon.url, rows)),
    );
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
      figures.push({
        name: `dashboard: ${name}, longest frame`,
        unit: "ms",
        rows,
        value: await panAndZoom(page, map),
        baseline: { what: "an empty page", value: empty },
        aim: { atMost: 50 },
      });
    }
    await page.goto(`${daemon.url}/`);
    await page.locator(attentionRow).first().waitFor();
    const hidden = await hiddenRequests(page, () =>
      daemon.client.call(createGoal, { companyId, title: "Unseen" }),
    );
    figures.push({
      name: "dashboard: calls of a hidden tab",
      unit: "calls",
      value: hidden,
      aim: { atMost: 0 },
    });
    await visit.context.close();
    return figures;
  } finally {
    await daemon.stop();
  }
}

/** The pages of the sidebar, and the first element that each shows. */
const places = [
  ["Home", "/", attentionRow],
  ["Approvals", "/approvals", "main [data-request]"],
  ["Organization", "/org", "main .orow[data-agent]"],
  ["Outcomes", "/outcomes", "main [id^='o-']"],
  ["Knowledge", "/knowledge", "main a.file-row"],
  ["Costs", "/costs", "main header.sentence h1"],
  ["Activity", "/activity", "main .event"],
  ["Mail", "/mail", "main .mail-list"],
] as const;

/** From page to page, after each was opened once. */
async function routes(bench: Bench, page: Page, url: string, rows: string): Promise<Measured[]> {
  await page.goto(`${url}/`);
  await page.locator(attentionRow).first().waitFor();
  const times = new Map<string, number[]>();
  for (let round = 0; round < (bench.quick ? 2 : 6); round++)
    for (const [name, path, ready] of [...places.slice(1), places[0]]) {
      const time = await routeChange(page, `nav.nav a[href="${path}"], nav.nav a[href^="${path}?"]`, ready);
      if (round > 0) times.set(name, [...(times.get(name) ?? []), time]);
      await sleep(300);
    }
  return [...times].map(([name, all]) => ({
    name: `dashboard: cached change to ${name}`,
    unit: "ms",
    rows,
    value: median(all),
    aim: { atMost: 100 },
  }));
}

/** The largest file that a page loads later, as the daemon sends it. */
function largestPart({ cli }: Bench): number {
  const folder = join(dirname(cli), "../web/assets");
  const names = readdirSync(folder).filter((name) => !/^index-|\.gz$/.test(name));
  const sent = names.map((name) =>
    join(folder, existsSync(join(folder, `${name}.gz`)) ? `${name}.gz` : name),
  );
  return Math.max(...sent.map((path) => statSync(path).size)) / 1024;
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
    const { page } = visit;
    const shown = await opened(bench, page, url, bare, ".transcript .entry");
    // The end of a long transcript is shown first. All of it is more than 10,000 rows.
    const whole = page.getByRole("button", { name: "Show it from the beginning" });
    if ((await whole.count()) > 0) await whole.click();
    const count = `Math.round(document.querySelector(".transcript .lines").clientHeight / 24)`;
    // Playwright's own way to wait for an expression evaluates text in the page, which the page's policy forbids.
    let counted = 0;
    while (counted < lines) {
      counted = await page.evaluate<number>(count);
      await sleep(50);
    }
    const frames = await scrollFrames(page, ".transcript");
    await page.goto(bare);
    const empty = await scrollFrames(page, ".transcript");
    await visit.context.close();
    return [
      {
        name: "dashboard: a long transcript",
        unit: "ms",
        rows: `${lines} lines`,
        ...shown,
        aim: { atMost: 300 },
      },
      {
        name: "dashboard: scrolling, p95 of frames",
        unit: "ms",
        rows: `${counted} rows`,
        value: frames,
        baseline: { what: "an empty page", value: empty },
        aim: { atMost: 17 },
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

/** The time until the element is there, for the page and for the bare page. */
async function opened(bench: Bench, page: Page, url: string, bare: string, selector: string) {
  const ours: number[] = [];
  const empty: number[] = [];
  for (let round = 0; round < (bench.quick ? 2 : 7); round++) {
    empty.push(await shownAfter(page, bare, selector));
    ours.push(await shownAfter(page, url, selector));
  }
  return { value: median(ours), baseline: { what: "an empty page", value: median(empty) } };
}

const medianOf = async (bench: Bench, measure: () => Promise<number>): Promise<number> => {
  const all: number[] = [];
  for (let round = 0; round < (bench.quick ? 2 : 7); round++) all.push(await measure());
  return median(all);
};

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

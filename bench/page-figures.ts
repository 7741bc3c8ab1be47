// Measurements inside a page of the dashboard, by the clock of the page.
import type { Page } from "playwright-core";

/** Milliseconds from the start of the navigation until the element is there, by the clock of the page. */
export async function shownAfter(page: Page, url: string, selector: string): Promise<number> {
  await openCold(page, url);
  return page.evaluate<number>(`new Promise((resolve) => {
    const look = () =>
      document.querySelector(${JSON.stringify(selector)}) === null
        ? requestAnimationFrame(look)
        : resolve(performance.now());
    look();
  })`);
}

/** Milliseconds from the start of the navigation until the page responds to a key: J puts the focus on a row. */
export async function answersAfter(page: Page, url: string, row: string): Promise<number> {
  await openCold(page, url);
  return page.evaluate<number>(`new Promise((resolve) => {
    const look = () => {
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "j", bubbles: true, cancelable: true }));
      if (document.activeElement?.matches(${JSON.stringify(row)})) resolve(performance.now());
      else requestAnimationFrame(look);
    };
    look();
  })`);
}

async function openCold(page: Page, url: string): Promise<void> {
  // Opens another page first: the same address would only be a change within the page.
  await page.goto("about:blank");
  await page.goto(url, { waitUntil: "commit" });
}

/** Milliseconds from a click on a link until its page is drawn. */
export function routeChange(page: Page, link: string, ready: string): Promise<number> {
  return page.evaluate<number>(`new Promise((resolve, reject) => {
    const start = performance.now();
    document.querySelector(${JSON.stringify(link)}).click();
    const look = () =>
      requestAnimationFrame(() => {
        const time = performance.now() - start;
        if (document.querySelector(${JSON.stringify(ready)}) !== null) resolve(time);
        else if (time > 60_000) reject(new Error(${JSON.stringify(`${link} does not lead to ${ready}`)}));
        else look();
      });
    look();
  })`);
}

/** Moves and zooms for two hundred frames, and returns the longest. The first ones, before the map has drawn, don't count. */
export function panAndZoom(page: Page, selector: string): Promise<number> {
  return page.evaluate<number>(`new Promise((resolve) => {
    const map = document.querySelector(${JSON.stringify(selector)});
    const { left, top, width, height } = map.getBoundingClientRect();
    let frame = 0;
    let longest = 0;
    let last;
    const step = (now) => {
      if (last !== undefined && frame > 3) longest = Math.max(longest, now - last);
      last = now;
      if (++frame > 200) return resolve(longest);
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

/** Scrolls a list up from its end for three hundred frames, and returns how long a frame takes: 95 of 100 are at most this long. */
export function scrollFrames(page: Page, selector: string): Promise<number> {
  return page.evaluate<number>(`new Promise((resolve) => {
    const list = document.querySelector(${JSON.stringify(selector)});
    const frames = [];
    let last;
    list.scrollTop = list.scrollHeight;
    const step = (now) => {
      if (last !== undefined) frames.push(now - last);
      last = now;
      if (frames.length === 300) return resolve(frames.sort((a, b) => a - b)[284]);
      list.scrollTop -= 120;
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  })`);
}

/** From now on, notes how long each interaction takes until its result is drawn. */
export async function watchInteractions(page: Page): Promise<void> {
  await page.evaluate(`{
    globalThis.steps = [];
    globalThis.interactions = [];
    new PerformanceObserver((list) => {
      for (const { interactionId, startTime, duration } of list.getEntries())
        if (interactionId > 0) interactions.push({ startTime, duration });
    }).observe({ type: "event", durationThreshold: 16 });
  }`);
}

/** From now on, interactions belong to a step of this name. */
export async function beginStep(page: Page, name: string): Promise<void> {
  await page.evaluate(`void steps.push({ name: ${JSON.stringify(name)}, at: performance.now() })`);
}

/** The longest interaction of each step. The browser does not note interactions that end within a frame. */
export function longestOfSteps(page: Page): Promise<{ name: string; time: number }[]> {
  return page.evaluate<{ name: string; time: number }[]>(`new Promise((resolve) => setTimeout(() =>
    resolve(steps.map(({ name, at }, index) => {
      const until = steps[index + 1]?.at ?? Infinity;
      const own = interactions.filter(({ startTime }) => startTime >= at && startTime < until);
      return { name, time: Math.max(16, ...own.map(({ duration }) => duration)) };
    })), 500))`);
}

interface Loaded {
  /** Compressed, as sent: scripts, styles, fonts. */
  readonly kilobytes: number;
  /** Calls of the page itself. One stream of events serves all tabs of a browser. */
  readonly requests: number;
}

export function loadedBy(page: Page): Promise<Loaded> {
  return page.evaluate<Loaded>(`(() => {
    const all = performance.getEntriesByType("resource");
    const assets = all.filter(({ name }) => name.includes("/assets/"));
    return {
      kilobytes: assets.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0) / 1024,
      requests: all.filter(({ name }) => /\\/api\\/(?!events)/.test(name)).length,
    };
  })()`);
}

/** The number of calls that a hidden tab makes while events happen. */
export async function hiddenRequests(page: Page, happen: () => Promise<unknown>): Promise<number> {
  const hide = (isHidden: boolean) =>
    page.evaluate(`Object.defineProperty(document, "hidden", { configurable: true, value: ${isHidden} });
      document.dispatchEvent(new Event("visibilitychange"))`);
  await hide(true);
  // Requests that were about to be sent when the tab was hidden have an earlier timer in the page.
  await page.evaluate("new Promise((resolve) => setTimeout(resolve, 1000))");
  let requests = 0;
  const count = (): number => requests++;
  page.on("request", count);
  await happen();
  await page.evaluate("new Promise((resolve) => setTimeout(resolve, 2000))");
  page.off("request", count);
  await hide(false);
  return requests;
}

// Pictures of every page of the dashboard, light and dark, at 360, 1440 and 2560 px, with Lumen Press at work: a company of 25
// agents that rehearse. Needs `npm run build`.
//   node scripts/screenshots.ts                       all pictures, into screenshots/
//   node scripts/screenshots.ts outcomes costs        only pages whose name contains one of these words
//   node scripts/screenshots.ts --width 1440 --theme dark
//   node scripts/screenshots.ts --readme              the six pictures of the README, into docs/pictures/
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { Browser, Page } from "playwright-core";
import { launchBrowser, newVisit, signedIn } from "../e2e/support/browser.ts";
import { startDaemon, temporaryFolder } from "../e2e/support/daemon.ts";
import { atWork, enliven, foundPress, stage, workOn } from "../e2e/support/press.ts";
import { furnish } from "../e2e/support/press-archive.ts";

const { values: flags, positionals: words } = parseArgs({
  allowPositionals: true,
  options: {
    output: { type: "string" },
    width: { type: "string", multiple: true, default: ["360", "1440", "2560"] },
    theme: { type: "string", multiple: true, default: ["light", "dark"] },
    readme: { type: "boolean", default: false },
    /** How long the company works before the first picture. */
    seconds: { type: "string", default: "45" },
  },
});
const root = join(import.meta.dirname, "..");
const output = flags.output ?? join(root, flags.readme ? "docs/pictures" : "screenshots");
const heights: Readonly<Record<string, number>> = { 360: 740, 1440: 900, 2560: 1440 };

interface Shot {
  readonly name: string;
  readonly path: string;
  /** Prepares the company before the page is opened. Returns another path if the path is only known then. */
  readonly before?: () => Promise<string>;
  /** Actions on the page before the picture. */
  readonly first?: (page: Page) => Promise<unknown>;
  /** True for a browser that is not signed in. */
  readonly isStranger?: true;
}

mkdirSync(output, { recursive: true });
const folder = temporaryFolder("screenshots");
const daemon = await startDaemon({ home: folder.path, env: { AGENCY_SANDBOX: "off" } }).ready;
let browser: Browser | undefined;
try {
  const press = await foundPress(daemon, { delayMs: 2500 });
  const { hireId } = await enliven(daemon, press);
  const waitingId = await stage(daemon, press);
  // The README's pictures show the first day.
  const kept = flags.readme ? undefined : await furnish(daemon, press, folder.path);
  const seen = await workOn(daemon, press, Number(flags.seconds) * 1000);
  browser = await launchBrowser();
  const shots = flags.readme ? readme() : everyPage();
  const chosen = shots.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
  if (flags.readme) await take(browser, chosen, 1440, undefined, 2);
  else
    for (const width of flags.width)
      for (const theme of flags.theme) await take(browser, chosen, Number(width), themeOf(theme), 1);

  function everyPage(): Shot[] {
    return [
      { name: "home", path: "/" },
      { name: "mail", path: `/mail/${press.rootId}` },
      { name: "approvals", path: "/approvals" },
      { name: "approval", path: `/approvals/${hireId}` },
      { name: "organization-outline", path: "/org?view=outline" },
      { name: "organization-map", path: "/org?view=map" },
      { name: "organization-panel", path: `/org?view=outline&agent=${press.agents.get("Theo") ?? ""}` },
      ...["now", "outcomes", "rights", "mail", "sessions", "setup", "record"].map((tab) => ({
        name: `agent-${tab}`,
        path: `/agents/${press.agents.get("Theo") ?? ""}/${tab}`,
      })),
      { name: "hire", path: `/hire?boss=${press.agents.get("Theo") ?? ""}` },
      { name: "session", path: `/sessions/${seen.sessionId}` },
      { name: "outcomes-tree", path: "/outcomes" },
      { name: "outcomes-map", path: "/outcomes?view=map" },
      { name: "outcomes-table", path: "/outcomes?view=table" },
      { name: "outcome", path: `/outcomes/${seen.outcomeId}` },
      { name: "knowledge", path: "/knowledge" },
      { name: "knowledge-search", path: "/knowledge?q=guide" },
      { name: "file", path: `/knowledge/${seen.fileId}` },
      { name: "file-diff", path: `/knowledge/${seen.fileId}?v=2&against=1` },
      ...["history", "links", "access"].map((part) => ({
        name: `file-${part}`,
        path: `/knowledge/${seen.fileId}/${part}`,
      })),
      { name: "costs", path: "/costs" },
      { name: "costs-outcome", path: "/costs?by=outcome" },
      { name: "activity", path: "/activity" },
      ...["company", "advanced", "brains", "servers", "secrets", "repos", "people", "browsers"].map(
        (tab) => ({
          name: `settings-${tab}`,
          path: `/settings/${tab}`,
        }),
      ),
      { name: "mail-sent", path: `/mail/${press.rootId}?box=sent` },
      { name: "approval-decided", path: `/approvals/${kept?.revisedId}` },
      { name: "approvals-approved", path: "/approvals?status=approved" },
      { name: "reorganizations", path: `/reorganizations/${kept?.reorganizationId}` },
      { name: "agent-departed", path: `/agents/${kept?.departedId}` },
      { name: "sessions", path: "/sessions" },
      { name: "session-ended", path: `/sessions/${seen.endedId}` },
      { name: "file-picture", path: `/knowledge/${kept?.pictureId}` },
      { name: "branch", path: "/settings/repos?repo=shop&branch=agency/worker/fix" },
      { name: "not-found", path: "/outcomes/00000000-0000-7000-8000-000000000000" },
      { name: "companies", path: "/companies" },
      { name: "palette", path: "/outcomes", first: async (page) => page.keyboard.press("Control+k") },
      { name: "keys", path: "/outcomes", first: async (page) => page.keyboard.press("?") },
      { name: "signed-out", path: "/", isStranger: true },
      { name: "sign-in", path: "/sign-in#agl_unknown", isStranger: true },
    ];
  }

  function wrenWorks(): Promise<string> {
    return atWork(daemon, press, "Wren", "Theo");
  }

  function readme(): Shot[] {
    return [
      { name: "home-light", path: "/" },
      {
        name: "approval-dark",
        path: `/approvals/${hireId}`,
        first: async (page) => page.getByRole("button", { name: "how can Bruno give this?" }).click(),
      },
      { name: "organization-light", path: "/org?view=map", before: wrenWorks },
      { name: "moving-light", path: "/org?view=map", first: moveJuno },
      { name: "session-dark", path: "/sessions", before: async () => `/sessions/${await wrenWorks()}` },
      { name: "outcomes-light", path: `/outcomes?outcome=${waitingId}` },
    ];
  }
} finally {
  await browser?.close();
  await daemon.stop();
  folder.remove();
}

/** Plans that Juno reports to Bruno, and leaves the plan open. */
async function moveJuno(page: Page): Promise<void> {
  await page.getByRole("treeitem", { name: /^Juno / }).focus();
  await page.keyboard.press("Shift+M");
  await page.getByRole("combobox", { name: "New manager" }).waitFor();
  await page.keyboard.type("growth lead");
  await page.getByRole("option", { name: /Bruno/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("region", { name: "Planned change" }).getByRole("button", { name: "Apply" }).waitFor();
}

/** Without a theme, the end of a picture's name says which one it is. */
async function take(
  chromium: Browser,
  shots: readonly Shot[],
  width: number,
  theme: "light" | "dark" | undefined,
  scale: number,
): Promise<void> {
  for (const each of theme === undefined ? (["light", "dark"] as const) : [theme]) {
    const mine = shots.filter(({ name }) => theme !== undefined || name.endsWith(each));
    if (mine.length === 0) continue;
    const look = { width, height: heights[width] ?? 900, theme: each, scale };
    const member = await signedIn(chromium, daemon, look);
    const stranger = await newVisit(chromium, look);
    for (const { name, path, before, first, isStranger } of mine) {
      const visit = isStranger === true ? stranger : member;
      const known = await before?.();
      await visit.page.goto(daemon.url + (known?.startsWith("/") ? known : path));
      await settled(visit.page);
      await first?.(visit.page);
      if (first !== undefined) await settled(visit.page);
      const png = await visit.page.screenshot();
      if (flags.readme) writeFileSync(join(output, `${name}.webp`), await asWebp(chromium, png));
      else writeFileSync(join(output, `${name}-${each}-${width}.png`), png);
      for (const complaint of visit.complaints.splice(0)) console.error(`${name}: ${complaint}`);
      const hidden = await visit.page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
      if (hidden > 0) console.error(`${name} at ${width} px is ${hidden} px too wide`);
    }
    await member.context.close();
    await stranger.context.close();
    console.log(`${mine.length} pictures: ${each}, ${width} px`);
  }
}

/** The page shows its content, and its answers have arrived. */
async function settled(page: Page): Promise<void> {
  await page.locator("main h1, main .crumbs b").first().waitFor();
  await page.locator("main [aria-busy=true]").first().waitFor({ state: "detached" });
  await sleep(700);
}

/** A quarter of the size of a PNG. The browser itself encodes it, on an empty page. */
async function asWebp(chromium: Browser, png: Buffer): Promise<Buffer> {
  const page = await chromium.newPage();
  try {
    const text = await page.evaluate<string>(`(async () => {
      const picture = new Image();
      picture.src = "data:image/png;base64,${png.toString("base64")}";
      await picture.decode();
      const canvas = document.createElement("canvas");
      canvas.width = picture.width;
      canvas.height = picture.height;
      canvas.getContext("2d").drawImage(picture, 0, 0);
      return canvas.toDataURL("image/webp", 0.86);
    })()`);
    return Buffer.from(text.slice(text.indexOf(",") + 1), "base64");
  } finally {
    await page.close();
  }
}

function themeOf(name: string): "light" | "dark" {
  return name === "dark" ? "dark" : "light";
}

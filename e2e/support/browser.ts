// A browser for the tests of the dashboard: AGENCY_CHROMIUM, else an installed Chromium or Chrome, else the one inside the npm
// package @sparticuz/chromium. The package's browser is unpacked once, into the cache folder of node_modules.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from "playwright-core";
import { linkPerson } from "../../src/contract/people.ts";
import { allowed } from "../../src/testing/allowed.ts";
import { type BuiltDaemon, temporaryFolder } from "./daemon.ts";

export async function launchBrowser(): Promise<Browser> {
  const { path, env } = await chosenBrowser();
  return chromium.launch({
    executablePath: path,
    // A browser that is killed leaves temporary files. They are removed with the test process.
    env: { ...process.env, ...env, TMPDIR: temporaryFolder("browser").path },
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--disable-dev-shm-usage",
      "--font-render-hinting=none",
    ],
  });
}

async function chosenBrowser(): Promise<{ path: string; env: Record<string, string> }> {
  const given = process.env["AGENCY_CHROMIUM"];
  if (given !== undefined && given !== "") return { path: given, env: {} };
  const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const installed = folders.flatMap((folder) => names.map((name) => join(folder, name))).find(existsSync);
  return installed === undefined ? packagedBrowser() : { path: installed, env: {} };
}

/** The package unpacks into the folder for temporary files, which the test run deletes at its end. */
async function packagedBrowser(): Promise<{ path: string; env: Record<string, string> }> {
  const cache = join(import.meta.dirname, "../../node_modules/.cache/chromium");
  const path = join(cache, "chromium");
  if (!existsSync(path)) {
    mkdirSync(join(cache, ".."), { recursive: true });
    const fresh = mkdtempSync(`${cache}-`);
    const before = process.env["TMPDIR"];
    process.env["TMPDIR"] = fresh;
    try {
      const { default: packaged, inflate } = await import("@sparticuz/chromium");
      await packaged.executablePath();
      await inflate(join(import.meta.dirname, "../../node_modules/@sparticuz/chromium/bin/al2023.tar.br"));
    } finally {
      if (before === undefined) delete process.env["TMPDIR"];
      else process.env["TMPDIR"] = before;
    }
    try {
      renameSync(fresh, cache);
    } catch {
      // Another test was faster.
      rmSync(fresh, { recursive: true });
    }
  }
  return { path, env: libraryPath(path, join(cache, "al2023/lib")) };
}

/**
 * The package brings the libraries that a bare machine lacks (libnss3, libexpat). If the machine has them, its own are used.
 */
function libraryPath(program: string, packaged: string): Record<string, string> {
  const lacking = missingLibraries(program, {});
  if (lacking.length === 0) return {};
  const env = { LD_LIBRARY_PATH: packaged };
  const still = missingLibraries(program, env);
  if (still.length === 0) return env;
  throw new Error(
    `No browser can start here: ${still.join(", ")} are missing. Install Chromium, or set AGENCY_CHROMIUM to one.`,
  );
}

function missingLibraries(program: string, env: Record<string, string>): string[] {
  const said = execFileSync("ldd", [program], { encoding: "utf8", env: { ...process.env, ...env } });
  return [...said.matchAll(/^\s*(\S+) => not found/gm)].map(([, name = ""]) => name);
}

export interface Visit {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Complaints of the browser on any page: violations of the content policy, and errors of scripts. */
  readonly complaints: string[];
}

/** A new browser profile, signed in as the owner of the board token. */
export async function signedIn(
  browser: Browser,
  daemon: Pick<BuiltDaemon, "url" | "board">,
  options: { width?: number; height?: number; theme?: "light" | "dark"; link?: string; scale?: number } = {},
): Promise<Visit> {
  const link = options.link ?? (await daemon.board.call(linkPerson, { id: "me" })).link;
  const visit = await newVisit(browser, options);
  // Tests visit the plain address. The link has the local name if the machine resolves it.
  await visit.page.goto(`${daemon.url}/sign-in${new URL(link).hash}`);
  await visit.page.waitForURL((url) => url.pathname === "/");
  return visit;
}

/** The stored state of a browser: its cookies and the page key. */
export type Profile = Awaited<ReturnType<BrowserContext["storageState"]>>;

/** A new browser profile, or a copy of the given one with its sign-in. */
export async function newVisit(
  browser: Browser,
  {
    width = 1440,
    height = 900,
    theme = "light",
    scale = 1,
    profile,
  }: {
    width?: number;
    height?: number;
    theme?: "light" | "dark";
    scale?: number;
    profile?: Profile;
  } = {},
): Promise<Visit> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: "reduce",
    deviceScaleFactor: scale,
    locale: "en-GB",
    ...(profile !== undefined && { storageState: profile }),
  });
  // What a page never shows would be waited for a quarter of an hour if the machine is busy when the page opens.
  context.setDefaultTimeout(Math.min(allowed(30_000), 240_000));
  const complaints: string[] = [];
  await context.addInitScript(`document.addEventListener("securitypolicyviolation", (event) =>
    console.error("policy: " + event.violatedDirective + " " + event.blockedURI + " " + event.sourceFile))`);
  context.on("console", (message) => {
    // The browser also logs a refusal, which is an answer with a status of 400 and above.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      complaints.push(message.text());
  });
  context.on("weberror", (error) => complaints.push(String(error.error())));
  const page = await context.newPage();
  return { page, context, complaints };
}

/** Presses keys that form one command only if each follows soon. Presses them again if a slow browser took them apart. */
export async function pressKeys(page: Page, keys: readonly string[], leadTo: Locator): Promise<void> {
  for (let tries = 0; tries < 20 && (await leadTo.count()) === 0; tries++) {
    for (const key of keys) await page.keyboard.press(key);
    await leadTo.waitFor({ timeout: 3000 }).catch(() => undefined);
  }
}

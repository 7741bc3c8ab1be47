// A dashboard with Lumen Press behind it, for the tests of one file: the built daemon, a browser, a fresh profile for each test.
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach } from "node:test";
import type { Browser } from "playwright-core";
import { hireAgent } from "../../src/contract/hiring.ts";
import { fixedPort } from "./agents.ts";
import { launchBrowser, newVisit, type Profile, signedIn, type Visit } from "./browser.ts";
import { type BuiltDaemon, startDaemon, temporaryFolder } from "./daemon.ts";
import { enliven, foundPress, type Press } from "./press.ts";

/** The shared state of one file's tests. It is filled before the first test; `visit` is new for each. */
class Dashboard {
  readonly home: string;
  daemon!: BuiltDaemon;
  browser!: Browser;
  press!: Press;
  hireId = "";
  visit!: Visit;

  constructor(home: string) {
    this.home = home;
  }

  /** The address of a page. */
  at(path: string): string {
    return `${this.daemon.url}${path}`;
  }

  /** Makes Bruno ask for an agent, and returns the approval. */
  async hire(name: string): Promise<string> {
    const bruno = await this.press.as("Bruno");
    const { approval } = await bruno.call(hireAgent, {
      companyId: this.press.companyId,
      name,
      role: "Researcher",
      adapterType: "rehearsal",
      budget: { usd: 1 },
      prompt: "Search widely.",
    });
    return approval?.id ?? "";
  }
}

/** Call this in a `describe`. `env` has further settings of the daemon. */
export function dashboard(name: string, env: Readonly<Record<string, string>> = {}): Dashboard {
  const home = temporaryFolder(name);
  let profile: Profile;
  const site = new Dashboard(home.path);
  before(async () => {
    // One test restarts the daemon at the same address.
    site.daemon = await startDaemon({ home: home.path, port: await fixedPort(), env }).ready;
    site.press = await foundPress(site.daemon);
    ({ hireId: site.hireId } = await enliven(site.daemon, site.press));
    site.browser = await launchBrowser();
    const { context } = await signedIn(site.browser, site.daemon);
    profile = await context.storageState();
    await context.close();
  });
  // Every test has its own browser profile. A test that fails halfway leaves nothing open for the next one.
  beforeEach(async () => {
    site.visit = await newVisit(site.browser, { profile });
  });
  afterEach(async () => {
    await site.visit?.context.close();
    assert.deepEqual(site.visit?.complaints, [], "the browser complained");
  });
  after(async () => {
    await site.browser?.close();
    await site.daemon?.stop();
    home.remove();
  });
  return site;
}

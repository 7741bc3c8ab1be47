// A dashboard in two looks: light on a wide screen, dark on a narrow one.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import type { Browser, Page } from "playwright-core";
import { seriousOn } from "./axe.ts";
import { launchBrowser, signedIn, type Visit } from "./browser.ts";
import { type BuiltDaemon, startDaemon, temporaryFolder } from "./daemon.ts";
import { enliven, foundPress, type Press } from "./press.ts";

/** The shared state of one file's tests. It is filled before the first test. */
class TwoLooks {
  daemon!: BuiltDaemon;
  browser!: Browser;
  press!: Press;
  light!: Visit;
  dark!: Visit;

  /** Checks in both looks that axe finds nothing serious, and that nothing scrolls sideways. */
  async looksRight(path: string, sign: string): Promise<void> {
    for (const { page } of [this.light, this.dark]) {
      await this.open(page, path, sign);
      assert.deepEqual(await seriousOn(page), [], path);
      const hidden = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
      assert.ok(hidden <= 0, `${path} is ${hidden} px wider than the window`);
    }
  }

  /** Opens a page in the tab and waits for the text. */
  async open(page: Page, path: string, sign: string): Promise<void> {
    await page.goto(this.daemon.url + path);
    await page.getByText(sign).filter({ visible: true }).first().waitFor();
  }
}

/** Call this in a `describe`. */
export function twoLooks(name: string): TwoLooks {
  const folder = temporaryFolder(name);
  const site = new TwoLooks();
  before(async () => {
    site.daemon = await startDaemon({ home: folder.path, env: { AGENCY_SANDBOX: "off" } }).ready;
    site.press = await foundPress(site.daemon, { delayMs: 60_000 });
    await enliven(site.daemon, site.press);
    site.browser = await launchBrowser();
    site.light = await signedIn(site.browser, site.daemon);
    site.dark = await signedIn(site.browser, site.daemon, { theme: "dark", width: 360, height: 740 });
  });
  after(async () => {
    await site.browser?.close();
    await site.daemon?.stop();
    folder.remove();
    const complaints = [...(site.light?.complaints ?? []), ...(site.dark?.complaints ?? [])];
    assert.deepEqual(complaints, [], "the browser complained");
  });
  return site;
}

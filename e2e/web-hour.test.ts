// Home open for an hour, with a company at work behind it. Only `npm run test:long` runs it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { launchBrowser } from "./support/browser.ts";
import { startDaemon, temporaryFolder } from "./support/daemon.ts";
import { heapOfHome } from "./support/live-heap.ts";

test("a page that stays open for an hour grows by less than 20 MB", async (t) => {
  const folder = temporaryFolder("web-hour");
  const daemon = await startDaemon({ home: folder.path, env: { AGENCY_SANDBOX: "off" } }).ready;
  const browser = await launchBrowser();
  try {
    const { before, after, goals, entries } = await heapOfHome(browser, daemon, 60);
    t.diagnostic(`${before.toFixed(1)} MB, then ${after.toFixed(1)} MB after ${goals} goals, ${entries}`);
    assert.ok(after - before < 20, `${before} MB, then ${after} MB`);
  } finally {
    await browser.close();
    await daemon.stop();
    folder.remove();
  }
});

// Home open for an hour, with a company at work behind it. Only `npm run test:long` runs it.
import assert from "node:assert/strict";
import { getPriority, setPriority } from "node:os";
import { test } from "node:test";
import { launchBrowser } from "./support/browser.ts";
import { startDaemon, temporaryFolder } from "./support/daemon.ts";
import { heapOfHome } from "./support/live-heap.ts";

/** The company works as fast as it can, which takes most of a core for an hour. Beside other tests, it gets what they leave. */
setPriority(Math.min(19, getPriority() + 7));

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

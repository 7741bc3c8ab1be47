import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { openSite } from "./site.ts";

describe("the dashboard's files", () => {
  const folder = mkdtempSync(join(tmpdir(), "agency-site-"));
  after(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "assets"));
  writeFileSync(join(folder, "index.html"), "<p>");
  writeFileSync(join(folder, "secret.txt"), "x");
  writeFileSync(
    join(folder, "files.json"),
    JSON.stringify([
      { path: "/index.html", gzip: false },
      { path: "/assets/a.js", gzip: true },
    ]),
  );
  const site = openSite(folder);
  const isServed = (url: string, method = "GET"): boolean =>
    site.isFor(Object.assign(new IncomingMessage(new Socket()), { url, method }));

  test("the door serves listed files, and the page at each of its addresses", () => {
    for (const url of ["/", "/?company=x", "/sign-in", "/agents/1/now", "/org?view=map", "/assets/a.js"])
      assert.equal(isServed(url), true, url);
    assert.equal(isServed("/", "HEAD"), true);
  });

  test("the door serves no unlisted file, other method or path that leads elsewhere", () => {
    for (const url of [
      "/index.html",
      "/files.json",
      "/secret.txt",
      "/assets/",
      "/assets/b.js",
      "/assets/../files.json",
      "/assets%2fa.js",
      "/api",
      "/api/agents",
      "/mcp",
      "/x",
      "//",
      "//agents",
      "/agents/../../etc",
      "/agents//x",
      "http://x/",
      "/agents/a/b/c/d/e",
    ])
      assert.equal(isServed(url), false, url);
    for (const method of ["POST", "OPTIONS", "DELETE"]) assert.equal(isServed("/", method), false, method);
  });

  test("are missing if the dashboard was not built", () => {
    const none = openSite(join(folder, "nothing"));
    assert.equal(
      none.isFor(Object.assign(new IncomingMessage(new Socket()), { url: "/", method: "GET" })),
      false,
    );
  });
});

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { makeHomeFolder } from "./home-folder.ts";

test("a home folder is made with the folders above it, for its user alone", () => {
  const folder = mkdtempSync(join(tmpdir(), "agency-home-"));
  try {
    const home = join(folder, "a", "b");
    makeHomeFolder(home);
    makeHomeFolder(home);
    assert.equal(statSync(home).mode & 0o777, 0o700);
    const file = join(folder, "file");
    writeFileSync(file, "");
    assert.throws(() => makeHomeFolder(file), /EEXIST/);
    assert.throws(() => makeHomeFolder(join(file, "a")), /EEXIST/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

if (existsSync("/proc/self"))
  test("a file system that takes no folder is refused, not waited for", () => {
    for (const home of ["/proc/x", "/proc/x/y"])
      assert.throws(() => makeHomeFolder(home), /mkdir '\/proc\/x'/);
  });

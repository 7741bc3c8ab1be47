import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, afterEach, describe, test } from "node:test";
import { Refusal } from "../contract/refusal.ts";
import { mostFileBytes } from "../contract/roster.ts";
import { readCompanyFolder, writeCompanyFolder } from "./folder.ts";

describe("a company's folder", () => {
  let top: string;
  let folder: string;
  beforeEach(() => {
    top = mkdtempSync(join(tmpdir(), "agency-folder-"));
    folder = join(top, "company");
    for (const name of ["", "agents", "knowledge"]) mkdirSync(join(folder, name));
    writeFileSync(join(top, "secret.md"), "a secret");
  });
  afterEach(() => rmSync(top, { recursive: true, force: true }));

  const put = (name: string, content: string | Uint8Array): void =>
    writeFileSync(join(folder, name), content);
  const refused = (message: RegExp): void =>
    assert.throws(
      () => readCompanyFolder(folder),
      (error) => error instanceof Refusal && message.test(error.message),
    );

  test("holds company.json, definitions and knowledge; the rest is not looked at", () => {
    put("company.json", "{}");
    put("README.md", "read me");
    put("agents/b.md", "b");
    put("agents/a.md", "a");
    put("agents/roster.json", "{}");
    put("knowledge/.hidden", "x");
    put("knowledge/1.bin", new Uint8Array([0xff, 0x00]));
    mkdirSync(join(folder, ".git"));
    assert.deepEqual(readCompanyFolder(folder), [
      { path: "company.json", content: "{}" },
      { path: "agents/a.md", content: "a" },
      { path: "agents/b.md", content: "b" },
      { path: "knowledge/1.bin", content: "/wA=", encoding: "base64" },
    ]);
  });

  test("a link is not followed, wherever it is", () => {
    symlinkSync(join(top, "secret.md"), join(folder, "agents", "a.md"));
    refused(/agents\/a\.md is not a plain file/);
    rmSync(join(folder, "agents"), { recursive: true });
    mkdirSync(join(top, "elsewhere"));
    symlinkSync(join(top, "elsewhere"), join(folder, "agents"));
    refused(/agents is not a folder/);
    rmSync(join(folder, "agents"));
    symlinkSync(join(top, "secret.md"), join(folder, "company.json"));
    refused(/company\.json is not a plain file/);
  });

  test("a pipe does not hold us up, a folder is no file, and a huge file is not read", () => {
    execFileSync("mkfifo", [join(folder, "knowledge", "pipe")]);
    refused(/pipe is not a plain file/);
    rmSync(join(folder, "knowledge", "pipe"));
    mkdirSync(join(folder, "knowledge", "deeper"));
    refused(/deeper is not a plain file/);
    rmSync(join(folder, "knowledge", "deeper"), { recursive: true });
    put("knowledge/huge", "");
    truncateSync(join(folder, "knowledge", "huge"), mostFileBytes + 1);
    refused(/holds more than/);
  });

  test("what is not there is refused", () => {
    folder = join(top, "nowhere");
    refused(/There is no folder/);
  });

  test("is written into a new folder only, and never outside of it, whatever the daemon says", () => {
    const target = join(top, "out");
    writeCompanyFolder(target, [
      { path: "company.json", content: "{}" },
      { path: "knowledge/1.bin", content: "/wA=", encoding: "base64" },
    ]);
    assert.deepEqual([...readFileSync(join(target, "knowledge", "1.bin"))], [0xff, 0x00]);
    assert.throws(() => writeCompanyFolder(target, []), /is not empty/);
    for (const path of [
      "../x",
      "/tmp/x",
      "agents/../../x",
      "agents/.x",
      "knowledge/a/b",
      "other.json",
      "agents/a\\b",
    ])
      assert.throws(
        () => writeCompanyFolder(join(top, "new", encodeURIComponent(path)), [{ path, content: "x" }]),
        /named a file outside the folder/,
        path,
      );
  });
});

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
import { readCompanyFolder, readSkillFolder, writeCompanyFolder } from "./folder.ts";

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

  test("is read for company.json, definitions and knowledge, and other files are ignored", () => {
    put("company.json", "{}");
    put("README.md", "read me");
    put("agents/b.md", "b");
    put("agents/a.md", "a");
    put("agents/roster.json", "{}");
    mkdirSync(join(folder, "skills", "tidy", "references"), { recursive: true });
    put("skills/README.md", "beside");
    put("agents/README.md", "who is who");
    put("skills/tidy/SKILL.md", "tidy");
    put("skills/tidy/references/a.md", "a");
    put("skills/tidy/.DS_Store", "x");
    put("knowledge/.hidden", "x");
    put("knowledge/1.bin", new Uint8Array([0xff, 0x00]));
    mkdirSync(join(folder, ".git"));
    assert.deepEqual(readCompanyFolder(folder), [
      { path: "company.json", content: "{}" },
      { path: "agents/a.md", content: "a" },
      { path: "agents/b.md", content: "b" },
      { path: "skills/tidy/SKILL.md", content: "tidy" },
      { path: "skills/tidy/references/a.md", content: "a" },
      { path: "knowledge/1.bin", content: "/wA=", encoding: "base64" },
    ]);
    assert.deepEqual(
      readSkillFolder(join(folder, "skills", "tidy")).map(({ path }) => path),
      ["SKILL.md", "references/a.md"],
    );
  });

  test("a link is not followed, wherever it is", () => {
    symlinkSync(join(top, "secret.md"), join(folder, "agents", "a.md"));
    refused(/agents\/a\.md is not a plain file/);
    rmSync(join(folder, "agents"), { recursive: true });
    mkdirSync(join(top, "elsewhere"));
    symlinkSync(join(top, "elsewhere"), join(folder, "agents"));
    refused(/agents is not a plain folder/);
    rmSync(join(folder, "agents"));
    symlinkSync(join(top, "secret.md"), join(folder, "company.json"));
    refused(/company\.json is not a plain file/);
    rmSync(join(folder, "company.json"));
    mkdirSync(join(folder, "skills", "tidy"), { recursive: true });
    symlinkSync(join(top, "secret.md"), join(folder, "skills", "tidy", "SKILL.md"));
    refused(/SKILL\.md is not a plain file/);
    rmSync(join(folder, "skills", "tidy"), { recursive: true });
    symlinkSync(join(top, "elsewhere"), join(folder, "skills", "tidy"));
    refused(/tidy is not a plain folder/);
    rmSync(join(folder, "skills", "tidy"));
    mkdirSync(join(folder, "skills", "deep", "1/2/3/4/5/6/7"), { recursive: true });
    refused(/is nested too deeply/);
  });

  test("a pipe does not block, a folder isn't a file, and a huge file is not read", () => {
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

  test("a missing folder is refused", () => {
    folder = join(top, "nowhere");
    refused(/There is no folder/);
  });

  test("is written only into an empty folder, and no path from the daemon leads out of it", () => {
    const target = join(top, "out");
    writeCompanyFolder(target, [
      { path: "company.json", content: "{}" },
      { path: "knowledge/1.bin", content: "/wA=", encoding: "base64" },
      { path: "skills/tidy/references/a.md", content: "a" },
    ]);
    assert.equal(readFileSync(join(target, "skills", "tidy", "references", "a.md"), "utf8"), "a");
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
      "skills/SKILL.md",
      "skills/x/../../../y",
      "skills/x/.git/hooks/y",
    ])
      assert.throws(
        () => writeCompanyFolder(join(top, "new", encodeURIComponent(path)), [{ path, content: "x" }]),
        /returned a file outside the folder/,
        path,
      );
  });
});

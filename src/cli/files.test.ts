import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { createClient } from "../client/client.ts";
import { createKey } from "../contract/agents.ts";
import { createFile, listFiles, readFile } from "../contract/knowledge.ts";
import { listCompanies } from "../contract/companies.ts";
import { completeOutcome, createOutcome } from "../contract/outcomes.ts";
import { openCommandLine } from "../testing/command-line.ts";
import { tokenOf, urlOf } from "./where.ts";

describe("files in and out on the command line", async () => {
  const line = await openCommandLine();
  after(() => line.close());
  const { env, folder } = line;
  const client = createClient({ url: urlOf(env), token: tokenOf(env) });
  const [company] = (await client.call(listCompanies, {})).companies;
  const companyId = company?.id ?? "";
  const rootId = company?.rootAgentId ?? "";
  const { key } = await client.call(createKey, { id: rootId });
  const root = createClient({ url: urlOf(env), token: key });
  const at = (...parts: string[]): string => join(folder, ...parts);
  const files = async () => (await client.call(listFiles, { companyId, kind: "file", limit: 1000 })).files;
  const binary = Buffer.from([0, 255, 137, 80, 10, 13, 0, 1]);

  mkdirSync(at("docs", "deep", "node_modules"), { recursive: true });
  mkdirSync(at("docs", ".git"));
  mkdirSync(at("docs", "build"));
  writeFileSync(at("docs", "guide.md"), "---\nx: 1\n---\n# Guide to bread\n\nFlour.");
  writeFileSync(at("docs", "deep", "logo.png"), binary);
  writeFileSync(at("docs", "deep", "data.csv"), "a,b\n");
  writeFileSync(at("docs", "deep", "node_modules", "x.js"), "x");
  writeFileSync(at("docs", ".git", "config"), "secret");
  writeFileSync(at("docs", ".env"), "TOKEN=1");
  writeFileSync(at("docs", ".gitignore"), "build/\n*.log\n!keep.log\n/deep/only.txt\n");
  for (const name of ["build/out.txt", "a.log", "keep.log", "deep/only.txt"])
    writeFileSync(at("docs", name), name);
  symlinkSync("/etc/passwd", at("docs", "link.txt"));

  test("kb add takes a folder, skips hidden and ignored files and links, and describes each file", async () => {
    const tried = await line.agency("kb", "add", at("docs"), "--dry-run");
    assert.match(tried.out, /Nothing was changed\. It would be: 4 added, 0 updated, 0 unchanged, 0 failed\./);
    assert.deepEqual(await files(), []);
    const { code, out, err } = await line.agency("kb", "add", at("docs"));
    assert.equal(code, 0, err);
    assert.match(out, /^\[1\/4\] added docs\/deep\/data\.csv$/m);
    assert.match(
      out,
      /4 added, 0 updated, 0 unchanged, 0 failed\.\nSkipped 1 path:\n {2}docs\/link\.txt: links/,
    );
    assert.deepEqual(
      (await files()).map(({ description, mediaType }) => [description, mediaType]),
      [
        ["docs/deep/data.csv", "text/csv"],
        ["docs/deep/logo.png", "image/png"],
        ["docs/guide.md: Guide to bread", "text/markdown"],
        ["docs/keep.log", "text/plain"],
      ],
    );
    const logo = (await files()).find(({ description }) => description.endsWith("logo.png"));
    const { content, encoding } = await client.call(readFile, { id: logo?.id ?? "" });
    assert.deepEqual(Buffer.from(content, encoding), binary);
  });

  test("a second run changes nothing, and a changed file gets a new version", async () => {
    const before = await files();
    assert.match((await line.agency("kb", "add", at("docs"))).out, /0 added, 0 updated, 4 unchanged/);
    assert.deepEqual(await files(), before);
    writeFileSync(at("docs", "guide.md"), "# Guide to rye\n");
    assert.match((await line.agency("kb", "add", at("docs"))).out, /0 added, 1 updated, 3 unchanged/);
    const guide = (await files()).find(({ description }) => description.startsWith("docs/guide.md"));
    assert.deepEqual(
      [guide?.id, guide?.version, guide?.description],
      [
        before.find(({ description }) => description.startsWith("docs/guide.md"))?.id,
        2,
        "docs/guide.md: Guide to rye",
      ],
    );
  });

  test("content never goes into a file that an agent named like a path", async () => {
    const trap = await root.call(createFile, { companyId, description: "plans/secret.md", content: "mine" });
    mkdirSync(at("plans"));
    writeFileSync(at("plans", "secret.md"), "the board's plan");
    assert.match((await line.agency("kb", "add", at("plans"))).out, /1 added/);
    assert.equal((await root.call(readFile, { id: trap.id })).content, "mine");
    assert.match((await line.agency("kb", "add", at("plans"))).out, /0 added, 0 updated, 1 unchanged/);
  });

  test("files that can't be added are reported, and the others are added", async () => {
    await line.agency("companies", "update", "--max-file-bytes", "1000");
    mkdirSync(at("mixed"));
    writeFileSync(at("mixed", "large.txt"), "x".repeat(2000));
    writeFileSync(at("mixed", "small.txt"), "x");
    const { code, out } = await line.agency("kb", "add", at("mixed"));
    assert.equal(code, 1);
    assert.match(out, /failed mixed\/large\.txt: .*1000/);
    assert.match(out, /1 added, 0 updated, 0 unchanged, 1 failed\./);
    await line.agency("companies", "update", "--max-file-bytes", "10000000");
    const nothing = await line.agency("kb", "add", at("nowhere"));
    assert.equal(nothing.code, 2);
    assert.match(nothing.err, /nothing to add in .*\n.*it does not exist/);
  });

  test("save writes the exact bytes, overwrites nothing and follows no link", async () => {
    const logo = (await files()).find(({ description }) => description.endsWith("logo.png"));
    const id = logo?.id ?? "";
    mkdirSync(at("out"));
    assert.match(
      (await line.agency("save", id, "--to", at("out"))).out,
      /^Saved version 1 to .*logo\.png \(8 bytes\)\.$/,
    );
    assert.deepEqual(readFileSync(at("out", "logo.png")), binary);
    const again = await line.agency("save", id, "--to", at("out"));
    assert.equal(again.code, 1);
    assert.match(again.err, /logo\.png exists already\. Nothing was written\.\n.*--force/);
    writeFileSync(at("precious"), "precious");
    symlinkSync(at("precious"), at("out", "link"));
    assert.equal((await line.agency("save", id, "--to", at("out", "link"))).code, 1);
    assert.equal((await line.agency("save", id, "--to", at("out", "link"), "--force")).code, 0);
    assert.equal(readFileSync(at("precious"), "utf8"), "precious");
    assert.ok(lstatSync(at("out", "link")).isFile());
    assert.deepEqual(readFileSync(at("out", "link")), binary);
    assert.match(
      (await line.agency("kb", "read", id)).out,
      /This is not text \(image\/png, 8 bytes\)\. Save it: agency save/,
    );
    assert.equal((await line.agency("save", "logo")).code, 2);
  });

  test("results writes the result and the deliverables inside the folder, whatever their names are", async () => {
    const parent = rootId;
    const whole = await root.call(createOutcome, { companyId, title: "../../escape", parents: [parent] });
    const none = await line.agency("results", whole.id, "--to", at("none"));
    assert.equal(none.code, 1);
    assert.match(none.err, /has no result and no deliverables yet/);
    const names = [
      "../../../etc/evil.sh: x",
      "/etc/passwd",
      "..",
      "CON",
      "a\tb/c",
      "same.md: one",
      "x/same.md: two",
    ];
    const delivered = [];
    for (const description of names)
      delivered.push((await root.call(createFile, { companyId, description, content: description })).id);
    await root.call(completeOutcome, { id: whole.id, note: "All done.", files: delivered });
    const { code, out, err } = await line.agency("results", whole.id, "--to", at("results"));
    assert.equal(code, 0, err);
    assert.match(out, /Saved 8 files to /);
    assert.deepEqual(readdirSync(at("results")).toSorted(), [
      "a-b-c.md",
      "etc-passwd.md",
      "evil.sh",
      "file-CON.md",
      "file.md",
      "result.md",
      "same-2.md",
      "same.md",
    ]);
    assert.match(readFileSync(at("results", "result.md"), "utf8"), /^All done\./);
    assert.equal((await line.agency("results", whole.id, "--to", at("results"))).code, 1);
    assert.equal((await line.agency("results", whole.id, "--to", at("results"), "--force")).code, 0);
    // A link in place of the folder of an outcome below is not entered.
    const part = await root.call(createOutcome, { companyId, title: "part", parents: [parent] });
    await root.call(completeOutcome, { id: part.id, note: "part" });
    mkdirSync(at("all"));
    mkdirSync(at("outside"));
    symlinkSync(at("outside"), at("all", "part"));
    const { code: refused } = await line.agency("results", parent, "--to", at("all"), "--all", "--force");
    assert.equal(refused, 2);
    assert.deepEqual(readdirSync(at("outside")), []);
    assert.equal((await line.agency("results", parent, "--to", at("whole"), "--all")).code, 0);
    assert.deepEqual(readdirSync(at("whole")).toSorted(), ["escape", "part"]);
    assert.ok(existsSync(at("whole", "escape", "result.md")));
  });

  test("a pipe gets the bytes of a file and nothing else", async () => {
    const logo = (await files()).find(({ description }) => description.endsWith("logo.png"));
    const main = new URL("./main.ts", import.meta.url).pathname;
    const args = [main, "kb", "read", logo?.id ?? ""];
    // Asynchronous, because the daemon runs in this process.
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      encoding: "buffer",
      env: { ...process.env, ...env, PATH: process.env["PATH"] },
    });
    assert.deepEqual(stdout, binary);
  });
});

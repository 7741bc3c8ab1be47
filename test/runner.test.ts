import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { plan } from "../scripts/test-plan.ts";
import { Turns } from "../scripts/test-turns.ts";

const start = 'import { test, describe, after } from "node:test"; import assert from "node:assert/strict";';

test("each leaf test counts once, and a passing file prints only its name", async () => {
  const { code, lines } = await runTests({
    "src/parents.test.ts": `${start}
      test("a parent", async (t) => { await t.test("one", () => {}); await t.test("two", () => {}); });
      describe("a suite", () => { test("three", () => console.error("noise")); describe("inner", () => {}); });
      test("four", () => {});`,
    "test/plain.test.ts": `${start} test("five", () => {});`,
    "src/rows.db.test.ts": `${start} for (const store of process.env.AGENCY_TEST_STORES.split(",")) test(store, () => {});`,
    "src/for-postgres.db.test.ts": `${start} if (process.env.AGENCY_TEST_STORES.includes("postgres")) test("x", () => {});`,
    "e2e/daemon.test.ts": `${start} test("not in a quick run", () => assert.fail());`,
  });
  assert.equal(lines.at(-1), "6 passed, 0 failed");
  assert.equal(lines.length, 7, lines.join("\n"));
  assert.match(lines[0] ?? "", /^seeds from \d+$/);
  assert.match(lines.at(-2) ?? "", /^The run took \d+ s\.$/);
  assert.equal(code, 0);
});

test("everything that is not a passed test is reported as a failure with its details", async () => {
  const { code, lines } = await runTests({
    "src/wrong.test.ts": `${start}
      test("a parent", async (t) => {
        await t.test("right", () => {});
        await t.test("wrong", () => { console.log("a hint"); assert.deepEqual({ a: 1 }, { a: 2 }); });
      });`,
    "src/skipped.test.ts": `${start} test("left", { skip: true }, () => {}); test("later", { todo: true }, () => {});`,
    "src/crashed.test.ts": `${start} throw new Error("while loading");`,
    "src/crashes-late.test.ts": `${start}
      test("fine", () => { setTimeout(() => { throw new Error("too late"); }, 10); });
      test("fine as well", async () => { await new Promise((resolve) => setTimeout(resolve, 50)); });`,
    "src/hook.test.ts": `${start} describe("a suite", () => { after(() => { throw new Error("in a hook"); }); test("fine", () => {}); });`,
    "src/empty.test.ts": "",
  });
  assert.equal(lines.at(-1), "4 passed, 7 failed");
  assert.equal(code, 1);
  const output = lines.join("\n");
  assert.match(output, /a parent › wrong\n.*deep-equal[^]*\+ +a: 1\n[^]*- +a: 2\n[^]*wrong\.test\.ts:4/);
  for (const detail of [
    "a hint",
    "while loading",
    "too late",
    "in a hook",
    "ran no test",
    "skipped or marked as to do",
  ]) {
    assert.ok(output.includes(detail), `${detail} in\n${output}`);
  }
});

test("an error that no call waits for fails the test that caused it, which then ends", async () => {
  const { lines } = await runTests({
    "src/waits.test.ts": `${start}
      const ever = () => new Promise(() => setInterval(() => {}, 1000).unref());
      const held = setInterval(() => {}, 1000);
      after(() => clearInterval(held));
      test("throws later", async () => { setTimeout(() => { throw new Error("thrown"); }, 5); await ever(); });
      test("rejects", async () => { void Promise.resolve().then(() => { throw new Error("rejected"); }); await ever(); });
      test("is too slow", { timeout: 20 }, ever);
      test("fine", () => {});`,
    "src/never.test.ts": `${start} test("never", () => new Promise(() => {})); test("not reached", () => {});`,
  });
  assert.equal(lines.at(-1), "1 passed, 4 failed", lines.join("\n"));
  assert.match(lines.join("\n"), /✗ throws later\n +Error: thrown[^]*✗ rejects\n +Error: rejected/);
  assert.match(lines.join("\n"), /ended with 13 before its last test/);
});

test("hooks run around the tests of their suite, from the outside in and back, also after a failure", async () => {
  const { lines } = await runTests({
    "src/hooks.test.ts": `import { after, afterEach, before, beforeEach, describe, test } from "node:test";
      beforeEach(() => console.log("A"));
      afterEach(() => console.log("a"));
      describe("a suite", () => {
        before(() => console.log("B"));
        beforeEach(() => console.log("C"));
        afterEach(() => console.log("c"));
        after(() => console.log("b"));
        test("one", (t) => { t.after(() => console.log("d")); throw new Error("wrong"); });
        test("two", () => console.log("2"));
      });
      describe("another", () => {
        before(() => { throw new Error("before"); });
        test("not run", () => console.log("X"));
      });`,
  });
  assert.equal(lines.at(-1), "1 passed, 2 failed");
  const said = lines.filter((line) => line.startsWith("  | ")).map((line) => line.slice(4));
  assert.equal(said.join(""), "BACdcaAC2cab");
});

test("tests run at the same time only if their suite says so", async () => {
  const tests = `for (const name of "xy") test(name, async () => { console.log(name); await new Promise(setImmediate); console.log(name); });`;
  const { lines } = await runTests({
    "src/suites.test.ts": `${start}
      describe("in turn", () => { ${tests} });
      describe("two at a time", { concurrency: 2 }, () => { ${tests} });
      test("shows the output", () => assert.fail());`,
  });
  const said = lines.filter((line) => line.startsWith("  | ")).map((line) => line.slice(4));
  assert.equal(said.join(""), "xxyyxyxy");
});

test("a file that ends its process fails, and the files after it still run", async () => {
  const { code, lines } = await runTests({
    "src/gone.test.ts": `${start} test("fine", () => {}); test("leaves", () => process.exit(0));`,
    "src/later-1.test.ts": `${start} test("one", () => {});`,
    "src/later-2.test.ts": `${start} test("two", () => {});`,
  });
  assert.match(lines.at(-1) ?? "", /^[23] passed, 1 failed$/);
  assert.match(lines.join("\n"), /ended with 0 before its last test/);
  assert.equal(code, 1);
});

test("a test that leaves something open fails, instead of keeping the run from its end", async () => {
  const { code, lines } = await runTests({
    "src/open.test.ts": `${start} test("fine", () => void setInterval(() => {}, 1000));`,
  });
  assert.equal(lines.at(-1), "1 passed, 1 failed");
  assert.match(lines.join("\n"), /open\.test\.ts[^]*left something open/);
  assert.equal(code, 1);
});

test("what the tests leave in the folder for temporary files counts as a failure, and the newest files are named", async () => {
  const { code, lines } = await runTests({
    "src/leaves.test.ts": `${start} import { mkdirSync } from "node:fs"; import { tmpdir } from "node:os";
      test("fine", () => void mkdirSync(tmpdir() + "/folder/of/a-program", { recursive: true }));`,
  });
  assert.equal(lines.at(-1), "1 passed, 1 failed");
  assert.match(
    lines.join("\n"),
    /FAILED the tests left behind: folder\n[^]*\| folder\/of\/a-program, written 2/,
  );
  assert.equal(code, 1);
});

test("a run that finds no test fails", async () => {
  const { code, lines } = await runTests({ "src/a.ts": "" });
  assert.deepEqual(lines, ["0 passed, 0 failed"]);
  assert.equal(code, 1);
});

test("further arguments choose files by a part of their path", async () => {
  const files = {
    "src/one.test.ts": `${start} test("one", () => {});`,
    "src/two.test.ts": `${start} test("two", () => assert.fail());`,
  };
  assert.equal((await runTests(files, "one")).lines.at(-1), "1 passed, 0 failed");
  assert.equal((await runTests(files, "one", "two")).lines.at(-1), "1 passed, 1 failed");
});

test("a quick run of all files draws rows of the long tables, and a run of named files plays all", async () => {
  const seeds = JSON.stringify(join(import.meta.dirname, "../src/testing/seeds.ts"));
  const files = {
    "src/rows.test.ts": `${start} import { thirdOf } from ${seeds}; for (const row of thirdOf([..."abcdefghi"])) test(row, () => {});`,
  };
  assert.equal((await runTests(files)).lines.at(-1), "3 passed, 0 failed");
  assert.equal((await runTests(files, "rows")).lines.at(-1), "9 passed, 0 failed");
});

test("files start until the cores are in use, the longest of all lanes first, and two always run", async () => {
  const lanes = [
    { files: ["src/a.test.ts", "src/b.test.ts", "src/c.test.ts"], shared: true, env: {} },
    { files: ["e2e/seed-001-doors.test.ts"], shared: false, env: {} },
  ];
  let inUse = 3;
  const turns = new Turns(lanes, "whole", { coresInUse: () => inUse, cores: 4 });
  assert.deepEqual(await turns.next(), { lane: lanes[1], file: "e2e/seed-001-doors.test.ts" });
  assert.equal((await turns.next())?.file, "src/a.test.ts");
  const [first, second] = lanes;
  assert.ok(first !== undefined && second !== undefined);
  // The two files have just started: each counts as one core until what it computes is measured.
  assert.equal(turns.take(first), undefined);
  inUse = 1.5;
  assert.equal(turns.take(first), "src/b.test.ts");
  assert.equal(turns.take(first), undefined);
  inUse = 0.5;
  assert.equal(turns.take(first), "src/c.test.ts");
  first.files.push("src/d.test.ts");
  assert.equal(turns.take(first), undefined);
  inUse = 4;
  for (const file of ["e2e/seed-001-doors", "src/a", "src/b"]) turns.end(`${file}.test.ts`);
  assert.equal(turns.take(first), "src/d.test.ts");
  assert.equal(turns.take(second), undefined);
  // A process that has ended a file takes the next one, up to two files for each core.
  first.files.push(...["e", "f", "g", "h", "i", "j", "k", "l"].map((name) => `src/${name}.test.ts`));
  let follows = 0;
  while (turns.follow(first) !== undefined) follows += 1;
  assert.equal(follows, 6);
  turns.close();
  assert.equal(await turns.next(), undefined);
});

test("a long run begins with the hour of a page, and orders files by what they take in a long run", () => {
  const lanes = plan({ length: "long", wanted: [], seed: 1 });
  const [endToEnd, , others] = lanes;
  assert.equal(endToEnd?.files[0], "e2e/web-hour.test.ts");
  assert.equal(others?.files[0], "test/simulator-planted-bugs-2.test.ts");
  assert.ok(!plan({ length: "whole", wanted: [], seed: 1 })[0]?.files.includes("e2e/web-hour.test.ts"));
});

test("a run that is resumed leaves out the files that passed, and plays those that failed again", async () => {
  const folder = mkdtempSync(join(tmpdir(), "agency-resume-"));
  const passed = join(folder, "passed.txt");
  const files = {
    "src/one.test.ts": `${start} test("one", () => {});`,
    "src/two.test.ts": `${start} import { existsSync } from "node:fs"; test("two", () => assert.ok(existsSync("fixed")));`,
  };
  try {
    assert.equal((await runTests(files, "--resume", passed)).lines.at(-1), "1 passed, 1 failed");
    const { lines } = await runTests({ ...files, fixed: "" }, "--resume", passed);
    assert.equal(lines[0], `1 file passed before (${passed}) and is left out`);
    assert.ok(!lines.some((line) => line.includes("src/one.test.ts")), lines.join("\n"));
    assert.equal(lines.at(-1), "1 passed, 0 failed");
    assert.equal(readFileSync(passed, "utf8"), "quick src/one.test.ts\nquick src/two.test.ts\n");
    // Nothing is left to play, and nothing failed.
    const last = await runTests(files, "--resume", passed);
    assert.equal(last.lines[0], `2 files passed before (${passed}) and are left out`);
    assert.deepEqual([last.lines.at(-1), last.code], ["0 passed, 0 failed", 0]);
    // A file that passed in a shorter run has not passed in this one.
    writeFileSync(passed, "whole src/one.test.ts\n");
    assert.equal((await runTests(files, "--resume", passed)).lines.at(-1), "1 passed, 1 failed");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the files whose seconds are known exist", () => {
  const known: Record<"whole" | "long", Record<string, unknown>> = JSON.parse(
    readFileSync(join(import.meta.dirname, "../scripts/test-seconds.json"), "utf8"),
  );
  const gone = [...Object.keys(known.whole), ...Object.keys(known.long)].filter(
    (file) => !existsSync(join(import.meta.dirname, "..", file)),
  );
  assert.deepEqual(gone, []);
});

async function runTests(
  files: Record<string, string>,
  ...args: string[]
): Promise<{ code: unknown; lines: string[] }> {
  const root = mkdtempSync(join(tmpdir(), "agency-test-"));
  try {
    for (const [path, content] of Object.entries({ "package.json": '{ "type": "module" }', ...files })) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), content);
    }
    const runner = spawn(
      process.execPath,
      [join(import.meta.dirname, "../scripts/test.ts"), "--quick", ...args],
      {
        cwd: root,
        stdio: ["ignore", "pipe", "ignore"],
        env: { ...process.env, AGENCY_TEST_PATIENCE: "10000", AGENCY_TEST_DRAWS: undefined },
      },
    );
    const [output, [code]] = await Promise.all([text(runner.stdout), once(runner, "exit")]);
    return { code, lines: output.trimEnd().split("\n") };
  } finally {
    rmSync(root, { recursive: true });
  }
}

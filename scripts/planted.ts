// Does the quick run find bugs? Draws planted bugs at random, plants each in quick runs with fresh seeds, and says which were
// found. A run ends at the first file that fails, and begins with the files that are most likely to. Only the files that play
// seeds can answer differently in a second run, so the others are not played again.
//   node scripts/planted.ts --draw 10 --runs 3            ten bugs, up to three quick runs each
//   node scripts/planted.ts --bug "maxSessions"           the bugs whose names contain this
import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { dirname, join, relative } from "node:path";
import { text } from "node:stream/consumers";
import { parseArgs } from "node:util";
import { coreBugs } from "../test/planted-bugs/core.ts";
import { reorganizationBugs } from "../test/planted-bugs/reorganization.ts";
import { type Bug, changedModules } from "../test/planted-bugs/resolve.ts";
import { simulatorBugs } from "../test/planted-bugs/simulator.ts";
import { wakeupBugs } from "../test/planted-bugs/wakeups.ts";

const { values: options } = parseArgs({
  options: {
    draw: { type: "string", default: "10" },
    runs: { type: "string", default: "3" },
    bug: { type: "string" },
  },
});
const root = join(import.meta.dirname, "..");
const suites = [
  { files: ["test/core-property"], bugs: coreBugs },
  { files: ["test/reorganization-property"], bugs: reorganizationBugs },
  {
    files: [1, 2, 3, 4].map((part) => `test/simulator-${part}`),
    bugs: [...simulatorBugs, ...wakeupBugs],
  },
];
const all: readonly Bug[] = suites.flatMap(({ bugs }) => bugs);
/** All files of a quick run whose tests depend on the base seed. */
const seeded = [
  ...suites.flatMap(({ files }) => files),
  "test/two-worlds.db",
  "test/walk.db",
  "test/attacks",
  "test/pending-agent",
  "test/progress",
  "test/command-screens",
  "src/events/tampering",
];

const bugs = options.bug === undefined ? draw(Number(options.draw)) : named(options.bug);
let found = 0;
for (const bug of bugs) {
  const finder = await findIn(bug, Number(options.runs));
  if (finder !== undefined) found += 1;
  console.log(
    `${finder === undefined ? "MISSED" : "found "} ${bug.name}${finder === undefined ? "" : `: ${finder}`}`,
  );
}
console.log(`${found} of ${bugs.length} found`);
process.exitCode = found === bugs.length ? 0 : 1;

function draw(count: number): Bug[] {
  const left = [...all];
  return Array.from({ length: Math.min(count, left.length) }, () =>
    left.splice(randomInt(left.length), 1),
  ).flat();
}

function named(part: string): Bug[] {
  return all.filter(({ name }) => name.includes(part));
}

/**
 * The run, the file and the test that found it. The finding counts only if that file passes without the bug: on a busy machine
 * a test may fail because it was late.
 */
async function findIn(bug: Bug, runs: number): Promise<string | undefined> {
  const { edits } = bug;
  const folders = [...changedModules(edits).keys()].map((file) => `${relative(root, dirname(file))}/`);
  const likely = [
    ...folders,
    ...suites.filter(({ bugs }) => bugs.includes(bug)).flatMap(({ files }) => files),
  ];
  const planted = {
    NODE_OPTIONS: `--import ${join(root, "test/planted-bugs/plant.ts")}`,
    AGENCY_PLANT: JSON.stringify(edits),
    AGENCY_PLANT_ANYWHERE: "1",
  };
  for (let run = 1; run <= runs; run++) {
    const first = likely.flatMap((part) => ["--first", part]);
    const { code, output } = await quickRun(["--bail", ...first, ...(run === 1 ? [] : seeded)], planted);
    if (code === 0) continue;
    const [, seed = ""] = /^seeds from (\d+)$/m.exec(output) ?? [];
    const [, file = "", test = ""] = /^FAILED (\S+) .*\n +✗ (.*)$/m.exec(output) ?? [];
    const again = { AGENCY_TEST_SEED: seed };
    const isReal =
      (await quickRun([file], { ...planted, ...again })).code !== 0 &&
      (await quickRun([file], again)).code === 0;
    if (isReal) return `run ${run}, ${file}: ${test}`;
    console.log(`       run ${run} failed for another reason, in ${file}: ${test}`);
  }
  return undefined;
}

async function quickRun(
  args: readonly string[],
  env: Record<string, string>,
): Promise<{ code: unknown; output: string }> {
  const runner = spawn(process.execPath, [join(import.meta.dirname, "test.ts"), "--quick", ...args], {
    cwd: root,
    env: { ...process.env, AGENCY_TEST_DRAWS: "1", ...env },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [output, [code]] = await Promise.all([text(runner.stdout), once(runner, "exit")]);
  return { code, output };
}

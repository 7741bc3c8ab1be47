// Compares the tests with the requirements. Each present requirement must be cited by a test. Each cited id is in the table,
// and each id stands for one requirement. Some must be cited by a test at a door (e2e/). A citation is an id in the name of a
// test or in a comment line `// covers KB-01, KB-02`.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { seed000 } from "../e2e/requirements/seed-000.ts";
import { type Requirement, seed001 } from "../e2e/requirements/seed-001.ts";
import { seed002 } from "../e2e/requirements/seed-002.ts";
import { seed003 } from "../e2e/requirements/seed-003.ts";
import { seed004 } from "../e2e/requirements/seed-004.ts";

/** All tables of requirements. */
const tables = [seed000, seed001, seed002, seed003, seed004];
const requirements = tables.flat();

interface Source {
  readonly file: string;
  readonly text: string;
}

const root = join(import.meta.dirname, "..");
const sources = globSync(["src/**/*.test.ts", "test/**/*.test.ts", "e2e/**/*.test.ts"], { cwd: root })
  .filter((file) => file !== join("test", "requirements.test.ts"))
  .map((file) => ({ file, text: readFileSync(join(root, file), "utf8") }));

function problemsOf(requirements: readonly Requirement[], tests: readonly Source[]): string[] {
  const problems: string[] = [];
  const known = new Set<string>();
  for (const { id, text } of requirements) {
    if (!/^[A-Z]{2,4}-\d{2}$/.test(id)) problems.push(`${id} is no id`);
    if (known.has(id)) problems.push(`${id} stands for two requirements`);
    if (text.trim() === "") problems.push(`${id} says nothing`);
    known.add(id);
  }
  const cited = new Set<string>();
  const citedAtDoor = new Set<string>();
  for (const { file, text } of tests)
    for (const id of citationsIn(text)) {
      cited.add(id);
      if (file.startsWith(join("e2e", ""))) citedAtDoor.add(id);
      if (!known.has(id)) problems.push(`${file} cites ${id}, which is no requirement`);
    }
  for (const { id, status, text, atDoor } of requirements) {
    if (status !== "now") continue;
    if (!cited.has(id)) problems.push(`no test cites ${id}: ${text}`);
    else if (atDoor === true && !citedAtDoor.has(id)) problems.push(`no test at a door cites ${id}: ${text}`);
  }
  return problems;
}

/** Every word after `covers` counts, so typing errors fail. In a test's name, only ids count. */
function citationsIn(text: string): string[] {
  const lists = [...text.matchAll(/^\s*\/\/ covers (.*)$/gm)].flatMap(([, list = ""]) => list.split(/,\s*/));
  const names = [...text.matchAll(/\b(?:test|staged)\(\s*(["'`])(.*?)\1/gs)].flatMap(
    ([, , name = ""]) => name.match(/\b[A-Z]{2,4}-\d{2}\b/g) ?? [],
  );
  return [...lists.map((id) => id.trim()), ...names];
}

test("a test cites every requirement that holds now, and no test cites an unknown id", () => {
  assert.deepEqual(problemsOf(requirements, sources), []);
});

test("every later requirement names its issue", () => {
  for (const { id, status } of requirements) assert.match(status, /^(?:now|later: \S.*)$/, id);
  assert.ok(requirements.filter(({ status }) => status === "now").length > 100);
});

const one: Requirement = { id: "XX-01", text: "something", status: "now" };
const two: Requirement = { id: "XX-02", text: "something else", status: "later: another issue" };
const citing = (text: string): Source[] => [{ file: "src/x.test.ts", text }];

for (const [what, requirements, tests, problem] of [
  ["an uncited requirement", [one], citing('test("nothing", () => {});'), /no test cites XX-01/],
  [
    "a citation outside a test's name or comment",
    [one],
    citing('const id = "XX-01";'),
    /no test cites XX-01/,
  ],
  [
    "an id that is not in the table",
    [one],
    citing("// covers XX-01, XX-09"),
    /cites XX-09, which is no requirement/,
  ],
  ["a typing error", [one], citing("// covers XX-01, and more"), /cites and more/],
  ["an unknown id in a name", [one, two], citing('test("XX-01, XX-08", f)'), /cites XX-08/],
  [
    "a requirement that no test at a door cites",
    [{ ...one, atDoor: true }],
    citing("// covers XX-01"),
    /no test at a door cites XX-01/,
  ],
  ["an id that is in the table twice", [one, one], citing("// covers XX-01"), /XX-01 stands for two/],
  ["an id of another shape", [{ ...two, id: "X1" }], [], /X1 is no id/],
  ["a requirement without words", [{ ...two, text: " " }], [], /XX-02 says nothing/],
] as const)
  test(`the check finds ${what}`, () => {
    const problems = problemsOf(requirements, tests);
    assert.equal(problems.length, 1, problems.join("\n"));
    assert.match(problems[0] ?? "", problem);
  });

test("the check accepts both forms of citation, and later requirements without one", () => {
  assert.deepEqual(problemsOf([one, two], citing("  // covers XX-01")), []);
  assert.deepEqual(problemsOf([one, two], citing('test("it works (XX-01)", () => {})')), []);
  const atDoor = citing("// covers XX-01").map((source) => ({ ...source, file: "e2e/x.test.ts" }));
  assert.deepEqual(problemsOf([{ ...one, atDoor: true }], atDoor), []);
});

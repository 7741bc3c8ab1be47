import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import {
  type Files,
  filesInACircle,
  foldersInACircle,
  importsAgainstTheTable,
  importsIn,
  longFiles,
  namesThatMeanTwoThings,
  namesThatSayNothing,
  outsideWorldInTheCore,
  sameInTheDashboard,
  testsLeftOut,
  textThatBecomesMarkup,
  tracesOfAMachine,
  twinFileNames,
} from "./architecture.ts";
import { core, layers, lazyImports } from "./layers.ts";

const root = join(import.meta.dirname, "..");

describe("the tree", () => {
  const tree = readTree();
  for (const rule of [
    importsAgainstTheTable,
    foldersInACircle,
    filesInACircle,
    namesThatMeanTwoThings,
    twinFileNames,
    outsideWorldInTheCore,
    textThatBecomesMarkup,
    longFiles,
    namesThatSayNothing,
    tracesOfAMachine,
    testsLeftOut,
  ]) {
    test(`has no ${rule.name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}`, () => {
      assert.deepEqual(rule(tree), []);
    });
  }
});

test("every name that the dashboard shares with the rest is still in both", () => {
  const shared = namesThatMeanTwoThings(readTree(), {}).map((complaint) => complaint.split(" ")[0] ?? "");
  assert.deepEqual(shared.toSorted(), Object.keys(sameInTheDashboard).toSorted());
});

test("the table of layers names only folders that have a row, and contains no circle", () => {
  const rows = Object.keys(layers);
  const named = [...core, ...Object.values(lazyImports).flat()];
  for (const { mayImport, typesOf = [] } of Object.values(layers)) named.push(...mayImport, ...typesOf);
  assert.deepEqual(
    named.filter((folder) => !rows.includes(folder)),
    [],
  );
  const everyEdge = Object.entries(layers).map(([folder, { mayImport, typesOf = [] }]): [string, string] => [
    `src/${folder}/a.ts`,
    [...mayImport, ...typesOf].map((other) => `import "../${other}/a.ts";`).join("\n"),
  ]);
  assert.deepEqual(foldersInACircle(new Map(everyEdge)), []);
});

describe("a rule objects to a planted violation", () => {
  const plants: {
    name: string;
    rule: (files: Files) => string[];
    bad: Record<string, string>;
    good: Record<string, string>;
  }[] = [
    {
      name: "an import upwards",
      rule: importsAgainstTheTable,
      bad: { "src/store/a.ts": 'import { x } from "../doors/http.ts";' },
      good: { "src/doors/a.ts": 'import { x } from "../contract/words.ts";' },
    },
    {
      name: "an import between domains that the table does not list",
      rule: importsAgainstTheTable,
      bad: { "src/knowledge/a.ts": 'export * from "../companies/company.ts";' },
      good: { "src/companies/a.ts": 'export * from "../knowledge/file.ts";' },
    },
    {
      name: "two files that import each other's types",
      rule: filesInACircle,
      bad: {
        "src/mail/a.ts": 'import type { B } from "./b.ts";',
        "src/mail/b.ts": 'import type { A } from "./a.ts";',
      },
      good: {
        "src/mail/a.ts": 'import type { B } from "./b.ts";',
        "src/mail/b.ts": 'import type { C } from "./c.ts";',
      },
    },
    {
      name: "an exported name that means two things",
      rule: namesThatMeanTwoThings,
      bad: {
        "src/mail/a.ts": "export function deliver(): void {}",
        "src/agents/b.ts": "export const deliver = 1;",
      },
      good: {
        "src/mail/a.ts": "export const Letter = z.object({});\nexport type Letter = z.infer<typeof Letter>;",
        "src/agents/b.ts": "const Letter = 1;",
      },
    },
    {
      name: "a name that means two things in the dashboard",
      rule: namesThatMeanTwoThings,
      bad: { "src/web/ui/a.tsx": "export function Name() {}", "src/web/data/b.ts": "export const Name = 1;" },
      good: {
        "src/web/ui/a.tsx": "export function Name() {}\nexport const Row = memo(function Row() {});",
        "src/contract/b.ts": "export const Name = 1;\nexport type Row = {};",
      },
    },
    {
      name: "a name that means two things, in the dashboard and in the rest",
      rule: namesThatMeanTwoThings,
      bad: { "src/web/ui/a.ts": "export type Verdict = 1;", "src/contract/b.ts": "export type Verdict = 2;" },
      good: { "src/web/ui/a.ts": "export const left = 1;", "src/budgets/b.ts": "export const left = 1;" },
    },
    {
      name: "two generators with one name",
      rule: namesThatMeanTwoThings,
      bad: {
        "src/store/a.ts": "export function* linesIn() {}",
        "src/daemon/b.ts": "export async function* linesIn() {}",
      },
      good: {
        "src/store/a.ts": "export function* linesIn() {}",
        "src/daemon/b.ts": "function* linesIn() {}",
      },
    },
    {
      name: "a name with two homes",
      rule: namesThatMeanTwoThings,
      bad: {
        "src/daemon/a.ts": "export const logLine = 1;",
        "src/daemon/b.ts": 'export { other, logLine } from "./a.ts";',
      },
      good: {
        "src/testing/fake-model/script.ts": "export const steps = 1;",
        "src/testing/fake-model/package.ts": 'export { steps } from "./script.ts";',
      },
    },
    ...[
      "<p dangerouslySetInnerHTML={{ __html: said }} />",
      "node.innerHTML = said;",
      "node.outerHTML = said;",
      'node["innerHTML"] = said;',
      'node.insertAdjacentHTML("beforeend", said);',
      "<iframe srcDoc={said} />",
      'node.setAttribute("srcdoc", said);',
      "node.setHTMLUnsafe(said);",
      "Document.parseHTMLUnsafe(said);",
      'new DOMParser().parseFromString(said, "text/html");',
      "range.createContextualFragment(said);",
      "document.write(said);",
      "document.writeln(said);",
      "eval(said);",
      "new Function(said);",
      "Function(said)();",
      'setTimeout("said()", 1);',
      '<a href="javascript:said()" />',
      "open(`JavaScript:${said}`);",
    ].map((code) => ({
      name: `${code} in the dashboard`,
      rule: textThatBecomesMarkup,
      bad: { "src/web/ui/a.tsx": code },
      good: {
        "src/web/ui/a.tsx": `// ${code}\nnode.textContent = said; retrieval(said);`,
        "src/cli/a.ts": code,
      },
    })),
    {
      name: "file names that differ by one letter",
      rule: twinFileNames,
      bad: { "src/hiring/draft.ts": "", "src/hiring/drafts.ts": "" },
      good: { "src/hiring/draft.ts": "", "src/contract/drafts.ts": "" },
    },
    {
      name: "one file name in two domains",
      rule: twinFileNames,
      bad: { "src/readers/activity.ts": "", "src/runtime/activity.ts": "" },
      good: { "src/mail/table.ts": "", "src/agents/table.ts": "" },
    },
    {
      name: "one file name in two features of the dashboard",
      rule: twinFileNames,
      bad: { "src/web/features/mail/map.tsx": "", "src/web/features/hire/map.ts": "" },
      good: { "src/web/features/mail/texts.ts": "", "src/web/features/hire/texts.ts": "" },
    },
    {
      name: "a value where only types are allowed",
      rule: importsAgainstTheTable,
      bad: { "src/doors/a.ts": 'import { open } from "../store/store.ts";' },
      good: { "src/doors/a.ts": 'import type { Store } from "../store/store.ts";' },
    },
    {
      name: "a lazy import elsewhere than at the start",
      rule: importsAgainstTheTable,
      bad: { "src/cli/hire.ts": 'await import("../daemon/start.ts");' },
      good: { "src/cli/up.ts": 'await import("../daemon/start.ts");' },
    },
    {
      name: "an eager import at the start",
      rule: importsAgainstTheTable,
      bad: { "src/cli/up.ts": 'import { start } from "../daemon/start.ts";' },
      good: { "src/cli/up.ts": '// import { start } from "../daemon/start.ts";' },
    },
    {
      name: "testing outside tests",
      rule: importsAgainstTheTable,
      bad: { "src/daemon/a.ts": 'import "../testing/postgres.ts";' },
      good: { "src/daemon/a.test.ts": 'import "../testing/postgres.ts";' },
    },
    {
      name: "code that is not shipped",
      rule: importsAgainstTheTable,
      bad: { "src/daemon/a.ts": 'import "../../test/layers.ts";' },
      good: { "scripts/a.ts": 'import "../src/testing/postgres.ts";' },
    },
    {
      name: "a package in the contract",
      rule: importsAgainstTheTable,
      bad: { "src/contract/a.ts": 'import { readFileSync } from "node:fs";' },
      good: { "src/contract/a.ts": 'import * as z from "zod/v4";' },
    },
    {
      name: "a folder without a row",
      rule: importsAgainstTheTable,
      bad: { "src/misc/a.ts": "" },
      good: { "src/agents/a.ts": "" },
    },
    {
      name: "a file directly in src",
      rule: importsAgainstTheTable,
      bad: { "src/index.ts": "" },
      good: { "src/agents/index.ts": "" },
    },
    {
      name: "a circle of folders",
      rule: foldersInACircle,
      bad: {
        "src/a/a.ts": 'import "../b/b.ts";',
        "src/b/b.ts": 'import type { C } from "../c/c.ts";',
        "src/c/c.ts": 'export const a = import("../a/a.ts");',
      },
      good: {
        "src/a/a.ts": 'import "../b/b.ts";',
        "src/b/b.ts": 'import "./c.ts";',
        "src/b/c.ts": 'import "./b.ts";',
      },
    },
    ...[
      "Date.now()",
      "new Date()",
      "new Date;",
      "Math.random()",
      "crypto.randomUUID()",
      "setTimeout(f, 1)",
      "setInterval(f, 1)",
      'import { spawn } from "node:child_process"',
    ].map((code) => ({
      name: `${code} in the core`,
      rule: outsideWorldInTheCore,
      bad: { "src/outcomes/a.ts": code },
      good: {
        "src/runtime/a.ts": code,
        "src/outcomes/a.test.ts": code,
        "src/outcomes/a.ts": `// ${code}\nnew Date(milliseconds); new DateFormat(); input.setTimeoutOf(x);`,
      },
    })),
    {
      name: "a long file",
      rule: longFiles,
      bad: { "src/web/a.tsx": "\n".repeat(600) + "x" },
      good: { "src/web/a.tsx": "\n".repeat(599) + "x\n", "package-lock.json": "\n".repeat(9000) + "x" },
    },
    ...["src/agents/utils.ts", "src/common/a.ts", "e2e/mail-helpers.ts", "src/runtime/manager.test.ts"].map(
      (path) => ({
        name: `the name ${path}`,
        rule: namesThatSayNothing,
        bad: { [path]: "" },
        good: { "src/agents/commonplace.ts": "", "docs/service.md": "" },
      }),
    ),
    ...[`${slashed("work", "main")} `, `"${slashed("root", ".npm")}"`, `=${slashed("home", "ada", "x")}`].map(
      (trace) => ({
        name: `the path ${trace}`,
        rule: tracesOfAMachine,
        bad: { "docs/a.md": trace },
        good: { "docs/a.md": "/api/work/1 ~/.agency https://example.org/home/ /workspaces/" },
      }),
    ),
    {
      name: "a registry host",
      rule: tracesOfAMachine,
      bad: { ".npmrc": `registry=https:${slashed("", "registry.example.org")}` },
      good: { "src/a/a.ts": "registry.find(x)" },
    },
    {
      name: "a download address in the lockfile",
      rule: tracesOfAMachine,
      bad: { "package-lock.json": JSON.stringify({ resolved: "http://127.0.0.1/zod.tgz" }, null, 2) },
      good: { "package-lock.json": '{ "integrity": "sha512" }' },
    },
    ...["skip", "only", "todo"].map((word) => ({
      name: `a test marked ${word}`,
      rule: testsLeftOut,
      bad: { "e2e/a.test.ts": `test.${word}("x", () => {});` },
      good: { "e2e/a.test.ts": `// test.${word}`, "src/a/a.ts": `it.${word}()` },
    })),
  ];
  for (const { name, rule, bad, good } of plants) {
    test(name, () => {
      assert.notDeepEqual(rule(new Map(Object.entries(bad))), []);
      assert.deepEqual(rule(new Map(Object.entries(good))), []);
    });
  }
});

test("the scanner sees every form of import", () => {
  const code = `
    import "./a.ts";
    import b, { type B } from "./b.ts";
    import {
      c,
    } from "./c.ts";
    import type { D } from "./d.ts";
    import * as e from 'e';
    export * from "./f.ts";
    export type { G } from "./g.ts";
    export { h } from "./h.ts"; // from "./no.ts"
    const i = await import("./i.ts");
    type J = import("./j.ts").J;
    /* import "./no.ts"; */
    const url = "http://x"; export const from = "./no.ts";
    export function k(): string { return "./no.ts"; }
  `;
  assert.deepEqual(
    importsIn("x.ts", code).map(({ to, kind }) => `${kind} ${to}`),
    [
      ..."value ./a.ts,value ./b.ts,value ./c.ts,type ./d.ts,value e,value ./f.ts,type ./g.ts,value ./h.ts".split(
        ",",
      ),
      ..."lazy ./i.ts,lazy ./j.ts".split(","),
    ],
  );
});

/** Every text file that git tracks, or would track after `git add`. */
function readTree(): Files {
  const files = new Map<string, string>();
  for (const path of listTree()) {
    if (!existsSync(join(root, path)) || !statSync(join(root, path)).isFile()) continue;
    const text = readFileSync(join(root, path), "utf8");
    if (!text.includes("\0")) files.set(path, text);
  }
  return files;
}

function listTree(): string[] {
  // An unpacked tree has no git index. Apart from these two folders, all its files belong to the repository.
  if (!existsSync(join(root, ".git")))
    return globSync("**", { cwd: root, exclude: ["node_modules", "dist"] });
  const listing = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
  });
  return listing
    .toString()
    .split("\0")
    .filter((path) => path !== "");
}

/** Builds a path from its parts, because this file may not contain the paths that the rule looks for. */
function slashed(...parts: string[]): string {
  return ["", ...parts].join("/");
}

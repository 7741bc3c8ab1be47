import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, test } from "node:test";
import { layers } from "./layers.ts";

/** Documents name files, and files move. So a document that names a missing file fails here. */
const documents = execFileSync("git", ["ls-files", "*.md"], { encoding: "utf8" })
  .split("\n")
  .filter((path) => path !== "" && existsSync(path));

/** `knowledge/table.ts` or `src/knowledge/table.ts` in a document. A README in src also names the files beside it, without a folder. */
function missingFiles(document: string, text: string): string[] {
  const named = [...text.matchAll(/`((?:[\w-]+\/)*[\w.-]+\.(?:ts|mjs))`/g)].map(([, path = ""]) => path);
  const isBeside = document.startsWith("src/");
  const folders = [".", "src", ...(isBeside ? [dirname(document)] : [])];
  return named.filter(
    (path) => (isBeside || path.includes("/")) && folders.every((folder) => !existsSync(join(folder, path))),
  );
}

function brokenLinks(document: string, text: string): string[] {
  return [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)]
    .map(([, target = ""]) => target)
    .filter((target) => !/^[a-z]+:/.test(target) && !existsSync(join(dirname(document), target)));
}

/** Each file needs a line in the document, except `texts.ts`: ARCHITECTURE.md says what that file holds in every folder. */
function unnamedFiles(files: readonly string[], text: string, document: string): string[] {
  return files
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts") && file !== "texts.ts")
    .filter((file) => !text.includes(`\`${file}\``))
    .map((file) => join(dirname(document), file));
}

describe("documents", () => {
  for (const document of documents) {
    const text = readFileSync(document, "utf8");
    test(`${document} names only files that exist`, () => {
      assert.deepEqual(missingFiles(document, text), []);
      assert.deepEqual(brokenLinks(document, text), []);
    });
  }

  test("every decision starts with its number and its title", () => {
    const decisions = documents.filter((document) => document.startsWith("docs/decisions/"));
    assert.ok(decisions.length > 50);
    for (const document of decisions) {
      const number = Number(basename(document).slice(0, 4));
      const [title = ""] = readFileSync(document, "utf8").split("\n");
      assert.match(title, new RegExp(`^# ${number}\\. [A-Za-z\`]`), document);
    }
  });

  test("ARCHITECTURE.md has one line for every folder of src", () => {
    const text = readFileSync("ARCHITECTURE.md", "utf8");
    const described = [...text.matchAll(/^\| `([\w-]+)\/` /gm)].map(([, folder = ""]) => folder);
    const folders = readdirSync("src");
    assert.deepEqual(
      folders.filter((folder) => !described.includes(folder)),
      [],
      "folders without a line in ARCHITECTURE.md",
    );
    assert.deepEqual(
      described.filter((folder) => !(folder in layers)),
      [],
      "lines of folders that test/layers.ts does not know",
    );
  });

  test("the README of a folder names every file in it", () => {
    const unnamed = documents
      .filter((document) => /^src\/.*README\.md$/.test(document))
      .flatMap((document) =>
        unnamedFiles(readdirSync(dirname(document)), readFileSync(document, "utf8"), document),
      );
    assert.deepEqual(unnamed, [], "add a line for each to the README of its folder");
  });

  test("a document that names a file or a page that is gone is found", () => {
    assert.deepEqual(missingFiles("docs/a.md", "see `knowledge/gone.ts` and `knowledge/table.ts`"), [
      "knowledge/gone.ts",
    ]);
    assert.deepEqual(missingFiles("src/mail/README.md", "`post.ts`, `gone.ts`"), ["gone.ts"]);
    assert.deepEqual(
      brokenLinks("docs/glossary.md", "[a](gone.md#x) [b](code-glossary.md) [c](https://a.b)"),
      ["gone.md"],
    );
  });
});

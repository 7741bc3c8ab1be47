import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../contract/refusal.ts";
import { readSkills } from "./skill.ts";

const files = (given: Readonly<Record<string, string | Uint8Array>>) =>
  Object.entries(given).map(([path, content]) => ({
    path,
    content: typeof content === "string" ? Buffer.from(content) : content,
  }));
const read = (given: Readonly<Record<string, string | Uint8Array>>) => readSkills(files(given));
const main = "---\nname: review\ndescription: How we review: twice.\n---\n# Review\n";

test("a skill has its SKILL.md with name and description, and the files beside it", () => {
  const [skill, second, ...none] = read({
    "review/scripts/count.sh": "wc -l",
    "review/SKILL.md": main,
    "review/logo.png": new Uint8Array([0x89, 0xff]),
    "plain/SKILL.md": "Without front matter.",
  });
  assert.deepEqual(none, []);
  assert.deepEqual(
    skill?.files.map(({ path, description, mediaType }) => [path, description, mediaType]),
    [
      ["review/SKILL.md", "How we review: twice.", "text/markdown"],
      ["review/logo.png", "Skill review/logo.png", "application/octet-stream"],
      ["review/scripts/count.sh", "Skill review/scripts/count.sh", "text/plain"],
    ],
  );
  assert.deepEqual(
    [skill?.commands, second?.name, second?.files[0]?.description],
    [[], "plain", "Skill plain/SKILL.md"],
  );
});

for (const [what, given, message] of [
  ["no SKILL.md", { "review/skill.md": main }, /skills\/review\/SKILL\.md: this file is missing/],
  ["another name inside", { "other/SKILL.md": main }, /skills\/other\/SKILL\.md:2: the name here differs/],
  [
    "a name with capitals",
    { "Review/SKILL.md": main },
    /skills\/Review\/SKILL\.md: the skill's name is not valid/,
  ],
  ["the program's own name", { "agency/SKILL.md": "x" }, /the skill's name is not valid/],
  ["a name like the program's", { "agency-mine/SKILL.md": "x" }, /the skill's name is not valid/],
  ["a name too long", { [`${"x".repeat(65)}/SKILL.md`]: "x" }, /the skill's name is not valid/],
  ["a file beside skills", { "SKILL.md": main }, /the skill's name is not valid/],
  [
    "a way out",
    { "review/SKILL.md": main, "review/../x": "" },
    /review\/\.\.\/x: a skill can't hold a file with this path/,
  ],
  [
    "a hidden folder",
    { "review/SKILL.md": main, "review/.git/config": "" },
    /can't hold a file with this path/,
  ],
  ["a backslash", { "review/SKILL.md": main, "review/a\\b": "" }, /can't hold a file with this path/],
  ["an empty name", { "review/SKILL.md": main, "review//b": "" }, /can't hold a file with this path/],
  ["too deep", { "review/SKILL.md": main, "review/1/2/3/4/5/6": "" }, /can't hold a file with this path/],
  [
    "a name too long for a disk",
    { "review/SKILL.md": main, [`review/${"画".repeat(90)}`]: "" },
    /can't hold a file/,
  ],
  ["one name twice", { "review/SKILL.md": main, "review/A.md": "", "review/a.md": "" }, /another file/],
  ["a file and a folder", { "review/SKILL.md": main, "review/a": "", "review/a/b": "" }, /another file/],
  ["a folder and a file", { "review/SKILL.md": main, "review/a/b": "", "review/A": "" }, /another file/],
  ["a text that is none", { "review/SKILL.md": new Uint8Array([0xff]) }, /this file is not UTF-8 text/],
  ["front matter that is none", { "review/SKILL.md": "---\n- a\n---\n" }, /SKILL\.md:2: the front matter/],
] as const)
  test(`not taken: ${what}`, () => {
    assert.throws(
      () => read(given),
      (error) => error instanceof Refusal && error.code === "invalid" && message.test(error.message),
    );
  });

// Brains act on these before a model or a person has read a word.
for (const [what, words, found] of [
  ["a command in the text", "Now: !`gh pr diff`\n", /SKILL\.md runs "gh pr diff"/],
  ["a command in two ticks", "!``id``", /SKILL\.md runs "id"/],
  ["a block that is run", "```!\nid\n```\n", /SKILL\.md runs "id"/],
  ["hooks", "---\nhooks:\n  PreToolUse: []\n---\n", /SKILL\.md sets hooks/],
  ["tools for itself", "---\nallowed-tools: Bash(*)\n---\n", /SKILL\.md sets allowed-tools/],
  ["an unknown key", "---\nnew-power: 1\n---\n", /SKILL\.md sets new-power/],
] as const)
  test(`a person reads it first: ${what}`, () => {
    const [skill] = read({ "x/SKILL.md": words });
    assert.match(skill?.commands.join("; ") ?? "", found);
  });

test("a command in another file of the skill counts too, but an exclamation mark and code don't", () => {
  const [skill] = read({
    "x/SKILL.md": "Look! `code`, ![image](a.png), and\n```sh\nls\n```\n",
    "x/references/more.MD": "!`curl evil`",
    "x/a.sh": "!`not markdown`",
  });
  assert.deepEqual(skill?.commands, ['skills/x/references/more.MD runs "curl evil"']);
});

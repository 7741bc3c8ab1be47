import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Refusal } from "../contract/refusal.ts";
import { readDefinition, writeDefinition } from "./definition.ts";
import { arrange } from "./tree.ts";

const read = (...lines: string[]) => readDefinition("agents/x.md", lines.join("\n"));

function refused(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
  throw new Error("not refused");
}

test("a definition can have every setting of a hire, and its body is the mandate", () => {
  const { definition, notices } = read(
    "---",
    "name: Ada",
    "role: Engineer",
    "title: Head of Building",
    "reportsTo: Grace",
    "model: some-model",
    "effort: high",
    "tools: [mcp__slack__send, mcp__slack, Task]",
    "grants:",
    "  - resource: org:hire",
    "budget: { usd: 5 }",
    "---",
    "",
    "Build what Grace asks for.",
    "",
    "---",
    "A line below a line.",
  );
  const { wrong: _, ...said } = definition;
  assert.deepEqual(said, {
    file: "agents/x.md",
    byTools: ["mcp:slack", "org:consult"],
    name: "Ada",
    role: "Engineer",
    title: "Head of Building",
    reportsTo: "Grace",
    model: "some-model",
    effort: "high",
    budget: { usd: 5 },
    grants: [{ resource: "org:hire" }, { resource: "mcp:slack" }, { resource: "org:consult" }],
    mandate: "Build what Grace asks for.\n\n---\nA line below a line.",
  });
  assert.deepEqual(notices, []);
});

describe("a sub-agent of Claude Code", () => {
  test("is accepted as it is, and unknown keys are named, not refused", () => {
    const { definition, notices } = read(
      "---",
      "name: code-reviewer",
      "description: Reviews code.",
      "tools: Read, Grep, mcp__github__get_issue",
      "model: inherit",
      "color: green",
      "permissionMode: plan",
      "---",
      "You review code.",
    );
    assert.equal(definition.name, "code-reviewer");
    assert.equal(definition.role, "code-reviewer");
    assert.equal(definition.capabilities, "Reviews code.");
    assert.equal(definition.model, undefined);
    assert.equal(definition.mandate, "You review code.");
    assert.deepEqual(definition.grants, [{ resource: "mcp:github" }]);
    assert.equal(notices.length, 2);
    assert.match(notices[0] ?? "", /ignored color, permissionMode/);
    assert.match(notices[1] ?? "", /ignored the tools Read, Grep\. The brain decides/);
  });

  test("a file with a misspelled key is refused with the line and the key", () => {
    assert.throws(
      () => read("---", "name: Vera", "rol: Writer", "---", "Write."),
      ({ message, hint }: { message: string; hint: string }) =>
        /:3: the key rol is unknown\./.test(message) && hint === "Did you mean role?",
    );
  });

  test("may list its tools as YAML, and describe itself with colons that YAML would not take", () => {
    const { definition } = read(
      "---",
      "name: tester",
      'description: Use it when tests fail. Example: user: "why?" <example>Context: a test</example>',
      "tools:",
      "  - Agent(worker)",
      "  - Bash",
      "---",
    );
    assert.equal(
      definition.capabilities,
      'Use it when tests fail. Example: user: "why?" <example>Context: a test</example>',
    );
    assert.deepEqual(definition.grants, [{ resource: "org:consult" }]);
  });

  test("keeps the whole description: text that looks like a comment, and text that continues on the next line", () => {
    for (const end of ["\n", "\r\n"]) {
      const text = [
        "---",
        "name: triager",
        "description: Triages issues (e.g. #12): labels,",
        '  then asks: "who?" #now',
        "  and waits.",
        "model: haiku",
        "---",
      ].join(end);
      const { definition } = readDefinition("agents/x.md", text);
      assert.equal(
        definition.capabilities,
        'Triages issues (e.g. #12): labels, then asks: "who?" #now and waits.',
      );
      assert.equal(definition.model, "haiku");
      assert.match(definition.wrong("model", "is odd.", "").message, /^agents\/x\.md:6: /);
    }
  });
});

for (const [what, lines, message] of [
  ["no front matter", ["# Ada"], /^agents\/x\.md:1: the file does not begin with front matter/],
  ["front matter without an end", ["---", "name: Ada", "role: x"], /^agents\/x\.md:1:/],
  ["a line of dashes with more in it", ["---", "name: Ada", "--- more", "x"], /^agents\/x\.md:1:/],
  ["YAML that is none", ["---", "name: Ada", "role: [worker", "---"], /^agents\/x\.md:\d: /],
  [
    "a colon in an unquoted value",
    ["---", "name: Ada", "role: a: b", "---"],
    /^agents\/x\.md:3: Nested mappings/,
  ],
  [
    "a key that stands twice",
    ["---", "name: Ada", "role: x", "name: Eve", "---"],
    /^agents\/x\.md:4: Map keys must be unique/,
  ],
  [
    "an unknown key",
    ["---", "name: Ada", "role: x", "", "reportTo: Eve", "---"],
    /^agents\/x\.md:5: the key reportTo is unknown/,
  ],
  [
    "a value of the wrong kind",
    ["---", "name: Ada", "role: x", "effort: most", "---"],
    /^agents\/x\.md:4: `effort` is `most`/,
  ],
  ["no name", ["---", "role: x", "---"], /^agents\/x\.md:2: `name` is missing/],
  [
    "a list instead of keys",
    ["---", "- name", "---"],
    /^agents\/x\.md:2: the front matter is not a list of keys/,
  ],
  ["an alias", ["---", "name: &a Ada", "role: *a", "---"], /^agents\/x\.md:2: Alias resolution is disabled/],
  ["a tag", ["---", "name: !!js/function Ada", "role: x", "---"], /^agents\/x\.md:2: Unresolved tag/],
  [
    "a mandate beyond measure",
    ["---", "name: Ada", "role: x", "---", "m".repeat(20_001)],
    /^agents\/x\.md:5: the mandate/,
  ],
  ["NUL in the mandate", ["---", "name: Ada", "role: x", "---", "\u0000"], /^agents\/x\.md:5: the mandate/],
  [
    "a resource that is none",
    ["---", "name: Ada", "role: x", "grants: [{resource: all}]", "---"],
    /^agents\/x\.md:4: `grants\[0\]\.resource`/,
  ],
  [
    "__proto__",
    ["---", "name: Ada", "role: x", "__proto__: {y: 1}", "---"],
    /^agents\/x\.md:4: the key __proto__ is unknown/,
  ],
] as const)
  test(`refused with file and line: ${what}`, () => {
    assert.match(
      refused(() => read(...lines)),
      message,
    );
  });

test("a written definition is read back unchanged, whatever characters it has", () => {
  const front = {
    name: 'Åda: "the" 1st',
    role: "- worker #1",
    capabilities: "a\nb: c\n\n  d",
    prompt: "yes",
    adapterType: "process",
    adapterConfig: { command: "x", args: ["--y=1", "null", "007"] },
    title: null,
    grants: [{ resource: "org:hire", level: "use" }],
  };
  const content = writeDefinition(front, "\n  Do it.\n---\nname: Eve\n---\n");
  const { definition } = readDefinition("agents/x.md", content);
  const { wrong: _w, file: _f, byTools: _b, mandate, ...said } = definition;
  const { title: _, ...expected } = front;
  assert.deepEqual(said, expected);
  assert.equal(mandate, "Do it.\n---\nname: Eve\n---");
  assert.equal(writeDefinition(said, mandate), content);
});

describe("reporting lines", () => {
  const made = (file: string, name: string, reportsTo?: string) =>
    readDefinition(`agents/${file}.md`, writeDefinition({ name, role: "worker", reportsTo }, "")).definition;
  const order = (...files: [string, string, string?][]) =>
    arrange(files.map(([file, name, boss]) => made(file, name, boss)));

  test("a manager comes before its reports, whatever its file is called", () => {
    const tree = order(
      ["a", "Low", "middle"],
      ["b", "Middle", " TOP "],
      ["c", "Top"],
      ["d", "Other", "Root"],
    );
    assert.equal(tree.root, undefined);
    assert.deepEqual(
      tree.others.map(({ definition, boss }) => [definition.name, boss?.name ?? null]),
      [
        ["Top", null],
        ["Other", null],
        ["Middle", "Top"],
        ["Low", "Middle"],
      ],
    );
  });

  test("the agent that reports to the board is the root agent, and others report to it by name or by default", () => {
    const tree = order(["a", "Ada", "Chief"], ["b", "Chief", "board"], ["c", "Eve"]);
    assert.equal(tree.root?.name, "Chief");
    assert.deepEqual(
      tree.others.map(({ definition, boss }) => [definition.name, boss]),
      [
        ["Ada", null],
        ["Eve", null],
      ],
    );
  });

  for (const [what, files, message] of [
    [
      "a circle",
      [
        ["a", "A", "B"],
        ["b", "B", "C"],
        ["c", "C", "A"],
        ["d", "D"],
      ],
      /^agents\/a\.md:4: .*circle.*A, B, C/,
    ],
    ["its own boss", [["a", "A", "A"]], /^agents\/a\.md:4: .*circle.*A/],
    [
      "a boss that is not there",
      [["a", "A", "Nobody"]],
      /^agents\/a\.md:4: no definition has the name Nobody/,
    ],
    [
      "a name twice",
      [
        ["a", "Ada"],
        ["b", "ADA"],
      ],
      /^agents\/b\.md:2: agents\/a\.md has the same name/,
    ],
    [
      "two roots",
      [
        ["a", "A", "board"],
        ["b", "B", "board"],
      ],
      /^agents\/b\.md:4: A already reports to the board/,
    ],
    ["the root's name", [["a", "Root"]], /^agents\/a\.md:2: Root is the name of the root agent/],
  ] as const)
    test(`refused: ${what}`, () => {
      assert.match(
        refused(() =>
          order(
            ...files.map(([file, name, boss]): [string, string, string?] =>
              boss === undefined ? [file, name] : [file, name, boss],
            ),
          ),
        ),
        message,
      );
    });
});

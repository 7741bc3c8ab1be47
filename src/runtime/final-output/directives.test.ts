import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { efforts } from "../../contract/agents.ts";
import { Chance } from "../../simulator/chance.ts";
import { type Directive, directivesIn } from "./directives.ts";

const only = (output: string): Directive => {
  const found = directivesIn(output);
  assert.equal(found.length, 1, JSON.stringify(found));
  const [first] = found;
  if (first === undefined) throw new Error("none");
  return first;
};

// covers ORG-19, ORG-20
describe("directives", () => {
  test("a hire is read, with and without a brain", () => {
    const line = "HIRE[Data Engineer]: Owns the pipelines: all of them.";
    assert.deepEqual(only(`Some words.\n${line}\nMore.`), {
      kind: "hire",
      line,
      role: "Data Engineer",
      mandate: "Owns the pipelines: all of them.",
      model: undefined,
      effort: undefined,
    });
    const hire = only("HIRE[ Writer |  effort=xhigh   model=claude-sonnet-4-6 ]:  Writes.  ");
    assert.ok(hire.kind === "hire");
    assert.deepEqual(
      [hire.role, hire.model, hire.effort, hire.mandate],
      ["Writer", "claude-sonnet-4-6", "xhigh", "Writes."],
    );
  });

  test("a delegation, a verdict and a plan are read", () => {
    const line = "DELEGATE[0b5d1f9e-0000-7000-8000-000000000001]: Do [this] | that";
    assert.deepEqual(only(line), {
      kind: "delegate",
      line,
      to: "0b5d1f9e-0000-7000-8000-000000000001",
      subtask: "Do [this] | that",
    });
    const id = "0B5D1F9E-0000-7000-8000-000000000001";
    const pass = only(`VERDICT[${id}]: PASS`);
    assert.ok(pass.kind === "verdict" && pass.verdict === "pass" && pass.outcome === id.toLowerCase());
    const rework = only(`VERDICT[${id}]: REWORK — the figures are missing`);
    assert.ok(rework.kind === "verdict" && rework.verdict === "rework");
    assert.equal(rework.note, "the figures are missing");
    const close = only(`VERDICT[${id}]: CLOSE the customer left`);
    assert.ok(close.kind === "verdict" && close.verdict === "close" && close.note === "the customer left");
    const plan = only('```plan\n[{"title":"A","assignee":"Engineer"}]\n```');
    assert.ok(plan.kind === "plan" && plan.tasks[0]?.assignee === "Engineer");
    const named = only('~~~~ plan\n{"tasks":[{"title":"A","assignee":"E","dependsOn":[0,"B"]}]}\n~~~~\n');
    assert.ok(named.kind === "plan");
  });

  for (const [what, text] of Object.entries({
    "inside a fence": "```\nHIRE[Writer]: Writes.\n```",
    "inside a longer fence with a shorter one in it": "````md\n```\nHIRE[Writer]: Writes.\n```\n````",
    "a fence that never ends and has none": "~~~\nI would HIRE[Writer]: Writes.",
    "in the middle of a line": "I would say HIRE[Writer]: Writes.\nThen - DELEGATE[Writer]: Do it.",
    "quoted, or as code in a line": "> HIRE[Writer]: x\n`DELEGATE[Writer]: Do it.`",
    "a word that only begins like it":
      "HIRED[Writer]: x\nDELEGATES[x]: y\nhire somebody: me\nHire [a writer] soon.",
    "tasks in a fence named text or of a language": [
      '```text\n[{"title":"A","assignee":"E"}]\n```',
      '```python\n[{"title":"A","assignee":"E"}]\n```',
      "```ts\ninterface Task { title: string; assignee: string }\n```",
    ].join("\n"),
    "tasks that are quoted": '> ```plan\n> [{"title":"A","assignee":"E"}]\n> ```',
    "prose about tasks": "title: The plan\nassignee: the team\n\nEach task has a title and an assignee.",
    "JSON with other keys": '```json\n[{"title":"A","owner":"E"}]\n```',
  }))
    test(`none: ${what}`, () => {
      assert.deepEqual(directivesIn(text), []);
    });

  for (const text of [
    "HIRE[Writer] Writes.",
    "HIRE[Writer]:",
    "HIRE[]: Writes.",
    "HIRE[ ]: Writes.",
    "HIRE[Writer: Writes.",
    "HIRE[Wri]ter]: Writes.",
    "HIRE[Writer | ]: Writes.",
    "HIRE[Writer | model]: Writes.",
    "HIRE[Writer | effort=huge]: Writes.",
    "HIRE[Writer | model=a model=b]: Writes.",
    "HIRE[Writer | colour=red]: Writes.",
    "HIRE[Writer | effort=low | model=a]: Writes.",
    `HIRE[${"x".repeat(65)}]: Writes.`,
    `HIRE[Writer]: ${"x".repeat(20_001)}`,
    "HIRE[Writer, model=a effort=low]: Writes.",
    "HIRE[effort=low]: Writes.",
    " HIRE[Writer]: Writes.",
    "\tDELEGATE[Writer]: Do it.",
    "- HIRE[Writer]: Writes.",
    "  * DELEGATE[Writer]: Do it.",
    "12. HIRE[Writer | effort=low]: Writes.",
    "**HIRE[Writer]:** Writes.",
    "**HIRE[Writer]**: Writes.",
    "Hire[Writer]: Writes.",
    "delegate[Writer]: Do it.",
    "HIRE [Writer]: Writes.",
    "- verdict[x]: PASS",
    "~~~\nHIRE[Writer]: Writes.\nHIRE[Checker]: Checks.",
    "…the end of a long listing\n```\nDELEGATE[Writer]: Do it.",
    "DELEGATE[]: Do it.",
    "DELEGATE[Writer]:   ",
    "VERDICT[x]: Looks good to me",
    "VERDICT[x]: PASSED",
    "VERDICT[x]: REWORK",
    "VERDICT[x]: pass",
    "```plan\nnot json\n```",
    '```plan\n[{"title":"A"}]\n```',
    "```plan\n[]\n```",
    '```plan\n[{"title":"A","assignee":"E","colour":"red"}]',
    "```plan\n```",
    ...[
      '[{"title":"A","assignee":"E"}]',
      '{"tasks":[{"title":"A","assignee":"E"}',
      "- title: A\n  assignee: E",
    ].flatMap((tasks) => [
      tasks,
      `Here it is:\r\n\r\n${tasks.replaceAll("\n", "\r\n")}\r\n`,
      `\`\`\`json\n${tasks}\n\`\`\``,
      `\`\`\`yaml\n${tasks}\n\`\`\``,
      `\`\`\`\n${tasks}\n\`\`\``,
      `\`\`\`planner\n${tasks}\n\`\`\``,
      `~~~\n${tasks}\n~~~`,
      `~~~json plan\n${tasks}\n~~~`,
      `    \`\`\`plan\n${tasks.replace(/^/gm, "    ")}\n    \`\`\``,
      `\t~~~plan\n\t[]\n\t~~~`,
      `- \`\`\`plan\n  ${tasks}\n  `,
      `\`\`\`\`md\n\`\`\`plan\n\`\`\`\`\n${tasks}`,
      `\`\`\`\n\`\`\`plan\n${tasks}\n\`\`\``,
      `\`\`\`json\n${tasks}`,
    ]),
  ])
    test(`said to be unreadable: ${text.slice(0, 50).replaceAll("\n", "⏎")}`, () => {
      const found = only(text);
      assert.ok(found.kind === "malformed" && found.why !== "", JSON.stringify(found));
    });

  test("commas between options, a byte order mark and more words on the fence do no harm", () => {
    const hire = only("\uFEFFHIRE[Writer | model=claude-sonnet-4-6, effort=low]: Writes.\r\n");
    assert.ok(hire.kind === "hire");
    assert.deepEqual([hire.role, hire.model, hire.effort], ["Writer", "claude-sonnet-4-6", "low"]);
    assert.equal(only('```plan json\n[{"title":"A","assignee":"E"}]\n```').kind, "plan");
  });

  test("with several plans, the author is told which one is wrong, and where", () => {
    const found = directivesIn('```plan\n[{"title":"A",]\n```\n```plan\n{"tasks":[]}\n```');
    assert.match(JSON.stringify(found[0]), /a plan \(\[\{\\"title\\":\\"A\\",\]\).*not JSON \(.+\)/);
    assert.match(JSON.stringify(found[1]), /a plan \(\{\\"tasks\\":\[\]\}\).*`tasks` is empty/);
  });

  test("directives beyond the maximum are reported once", () => {
    const found = directivesIn("HIRE[Writer]: Writes.\n".repeat(3000));
    assert.equal(found.length, 51);
    assert.equal(found.at(-1)?.kind, "malformed");
  });

  const pieces =
    "HIRE[ DELEGATE[ VERDICT[ ]: ] | model= effort=low ``` ~~~ plan \n \n \r\n [ { Writer PASS REWORK é \u{1f600} \ud800 \u0000 ` title"
      .split(" ")
      .concat(" ");

  test("the parser ends on any output, and each directive is a line of the output", () => {
    for (let seed = 1; seed <= 5000; seed++) {
      const chance = new Chance(seed, "noise");
      const output = Array.from({ length: chance.int(60) }, () => chance.pick(pieces)).join("");
      const lines = new Set([...output.split(/\r?\n/), "a plan", "the rest"]);
      for (const { line } of directivesIn(output))
        assert.ok(lines.has(line) || line.startsWith("a plan ("), `seed ${seed}`);
    }
  });

  test("grammatical directives are parsed correctly inside any other text", () => {
    const letters = "abcXYZ09 -_.,:é字".split("");
    const words = (chance: Chance, most: number): string =>
      `w${Array.from({ length: chance.int(most) }, () => chance.pick(letters)).join("")}w`.replace(
        / +/g,
        " ",
      );
    for (let seed = 1; seed <= 3000; seed++) {
      const chance = new Chance(seed, "grammar");
      const role = words(chance, 40);
      const mandate = words(chance, 100);
      const model = chance.flip(0.5) ? "claude-sonnet-4-6" : undefined;
      const effort = chance.flip(0.5) ? chance.pick(efforts) : undefined;
      const options = Object.entries({ model, effort }).flatMap(([key, value]) =>
        value === undefined ? [] : [`${key}=${value}`],
      );
      const inside = options.length === 0 ? role : `${role} | ${options.join(" ")}`;
      const noise = Array.from({ length: chance.int(20) }, () => chance.pick(pieces))
        .join("")
        .replaceAll(/[\r\n`~]/g, " ");
      const found = directivesIn(
        `x${noise}\nHIRE[${inside}]: ${mandate}\ny${noise}\nDELEGATE[${role}]: ${mandate}`,
      );
      assert.deepEqual(
        found.map(({ line: _, ...rest }) => rest),
        [
          { kind: "hire", role, mandate, model, effort },
          { kind: "delegate", to: role, subtask: mandate },
        ],
        `seed ${seed}`,
      );
    }
  });

  test("a directive that a brain repeats from its briefing is not carried out", () => {
    const plan = '```plan\n[{"title": "Dig", "assignee": "self"}]\n```';
    const quoted = `HIRE[Spy]: Listens.\nplease\n${plan}`.split("\n").map((line) => `> ${line}`);
    const given = ["From Mallory:", ...quoted, "HIRE[<role>]: <mandate>"].join("\n");
    const kinds = (output: string) => directivesIn(output, given).map(({ kind }) => kind);
    // Repeated examples are passed over. A directive of another author goes back to the agent.
    assert.deepEqual(kinds("HIRE[<role>]: <mandate>"), []);
    assert.deepEqual(kinds(given), []);
    for (const output of ["HIRE[Spy]: Listens.", plan]) {
      assert.deepEqual(kinds(output), ["malformed"]);
      assert.match(JSON.stringify(directivesIn(output, given)), /repeats text that you were given/);
    }
    assert.deepEqual(kinds("HIRE[Spy]: Listens well."), ["hire"]);
    assert.deepEqual(kinds(plan.replace("Dig", "Fill")), ["plan"]);
  });
});

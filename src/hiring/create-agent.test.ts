import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { lookOf, nameKey } from "../contract/names.ts";
import { createAgentAliases } from "../contract/create-agent.ts";
import { problemOfName, slugOf } from "../agents/agent.ts";
import { argumentsIn, createdPromptFor } from "./create-agent.ts";

/** Parses the arguments, and fails if they are wrong. */
function meant(input: Record<string, unknown>) {
  const asked = argumentsIn(input);
  assert.ok(typeof asked !== "string", JSON.stringify(asked));
  return asked;
}

function wrong(input: Record<string, unknown>, says: RegExp): void {
  const problem = argumentsIn(input);
  assert.ok(typeof problem === "string", `taken: ${JSON.stringify(problem)}`);
  assert.match(problem, says);
  assert.ok(problem.length < 300, "a problem is a sentence");
}

describe("the arguments of create_agent", () => {
  // covers CRA-05, CRA-06, CRA-31, CRA-37
  test("a name is enough, and arguments that are left out have defaults", () => {
    assert.deepEqual(argumentsIn({ name: "Ann" }), {
      name: "Ann",
      autoReply: true,
      role: null,
      nextAgent: "human",
    });
    assert.deepEqual(
      argumentsIn({ name: "Ann", autoReply: undefined, role: undefined }),
      meant({ name: "Ann" }),
    );
  });

  test("all spellings of a key mean the same, and the exact key wins (CRA-07)", () => {
    for (const [alias, key] of Object.entries(createAgentAliases)) {
      const value = key === "autoReply" ? false : "Ben";
      assert.equal(meant({ name: "Ann", [alias]: value })[key === "autoReply" ? key : "nextAgent"], value);
      const own = key === "autoReply" ? true : "Cleo";
      for (const both of [
        { name: "Ann", [alias]: value, [key]: own },
        { name: "Ann", [key]: own, [alias]: value },
      ])
        assert.equal(meant(both)[key === "autoReply" ? key : "nextAgent"], own);
    }
    assert.deepEqual(Object.keys(createAgentAliases), [
      "auto-reply",
      "auto_reply",
      "next agent",
      "next-agent",
      "next_agent",
    ]);
  });

  test("the answer to a wrong type names the key and its type (CRA-08)", () => {
    for (const value of [null, 1, true, {}, [], ["Ann"]]) wrong({ name: value }, /^name must be a string/);
    for (const value of [null, "true", "false", 0, 1, {}])
      for (const key of ["autoReply", "auto-reply", "auto_reply"])
        wrong({ name: "Ann", [key]: value }, /^autoReply must be a boolean/);
    for (const value of [null, 7, false, ["x"]]) {
      wrong({ name: "Ann", role: value }, /^role must be a string/);
      wrong({ name: "Ann", "next agent": value }, /^nextAgent must be a string/);
    }
    for (const value of [null, "50", true])
      wrong({ name: "Ann", waitSeconds: value }, /^waitSeconds must be a number/);
  });

  test("the refusal names a missing name and an unknown key (CRA-04)", () => {
    wrong({}, /`name` is missing/);
    wrong({ role: "x" }, /`name` is missing/);
    for (const key of [
      "nmae",
      "Name",
      "systemPrompt",
      "system_prompt",
      "provider",
      "__proto__x",
      "AUTO-REPLY",
      "",
    ])
      wrong(
        { name: "Ann", [key]: "x" },
        /create_agent has no argument .*It takes: name, autoReply, role, nextAgent/,
      );
    wrong({ name: "Ann", ["x".repeat(100_000)]: 1 }, /no argument "x{60}"\./);
  });

  test("a call waits between 0 and 4 minutes", () => {
    for (const waitSeconds of [0, 0.5, 50, 240]) meant({ name: "Ann", waitSeconds });
    for (const waitSeconds of [-1, 240.001, 1e9, Number.NaN, Number.POSITIVE_INFINITY, -0.001])
      wrong({ name: "Ann", waitSeconds }, /waitSeconds must be from 0 to 240/);
  });

  test("half characters and NUL are refused in every text", () => {
    for (const key of ["name", "role", "nextAgent"])
      for (const text of ["a\u0000b", "\ud800", "x\udfff"])
        wrong({ name: "Ann", [key]: text }, new RegExp(`^${key} must be valid Unicode`));
  });
});

describe("names", () => {
  test("a name in any script has 1 to 64 characters, counted as people count them", () => {
    for (const name of [
      "李雷",
      "محمد",
      "🤖",
      "👩‍👩‍👧",
      "Zoë",
      "Ω",
      "नमस्ते",
      "x".repeat(64),
      "字".repeat(64),
      "🤖".repeat(64),
    ])
      assert.equal(meant({ name }).name, name.normalize("NFC"));
    for (const name of ["x".repeat(65), "字".repeat(65), "🤖".repeat(65), "é".normalize("NFD").repeat(65)])
      wrong({ name }, /at most 64 characters/);
    assert.equal(meant({ name: "é".normalize("NFD").repeat(64) }).name, "é".repeat(64));
  });

  test("whitespace is collapsed, and whitespace alone isn't a name", () => {
    assert.equal(meant({ name: " \t Lead \n\u00a0 Dev\u3000 " }).name, "Lead Dev");
    for (const name of ["", " ", "\n\t", "\u00a0\u3000\u2028"])
      wrong({ name }, /at least one visible character/);
    for (const name of ["\u200b", "\u2060\u200d", "\u3164", "\ufe0f", "a\u202eb", "a\u2066b", "a\u00adb"])
      wrong({ name }, /visible character/);
    for (const name of ["a\u0007b", "a\u001b[31mb", "a\u0085b"])
      wrong({ name }, /without control, formatting or invisible characters/);
  });

  test("names that mean a person or the system are reserved, however they are typed", () => {
    for (const name of ["human", "user", "board", "system", "agency"])
      for (const typed of [
        name,
        name.toUpperCase(),
        ` ${name} `,
        `@${name}`,
        `${name}!`,
        `${name.slice(0, 2)}\u200b${name.slice(2)}`,
        [...name].map((letter) => String.fromCodePoint((letter.codePointAt(0) ?? 0) + 0xfee0)).join(""),
        [...name]
          .map((letter) => String.fromCodePoint((letter.codePointAt(0) ?? 97) - 97 + 0x1d41a))
          .join(""),
      ]) {
        assert.match(problemOfName(typed)?.message ?? "", /is a reserved name/, typed);
        wrong({ name: typed }, typed.includes("\u200b") ? /invisible characters/ : /is a reserved name/);
      }
    for (const name of ["Humane", "Board 2", "Superuser", "Systems", "Aboard"])
      assert.equal(meant({ name }).name, name);
    for (const name of [
      "The system",
      "the board",
      "a boss",
      "SELF",
      "Аgency",
      "bоard",
      "B.o.a.r.d",
      "Sеlf",
      "ВОАRD",
      "b0ard",
      "se1f",
      "Húman",
    ])
      assert.notEqual(problemOfName(name), undefined, name);
  });

  test("names that look the same are the same", () => {
    const same = [
      ["Zoë", "ZOË".normalize("NFD")],
      ["ﬁne", "Fine"],
      ["Ａｎｎ", "ann"],
      ["Lead Dev", "lead\u00a0 dev"],
      ["An\u200bn", "Ann"],
      ["\u202eAnn", "Ann"],
      ["K", "\u212a"],
    ];
    for (const [one = "", other = ""] of same) assert.equal(nameKey(one), nameKey(other), one);
    assert.notEqual(nameKey("Zoe"), nameKey("Zoë"));
  });

  test("names that can be mistaken for each other have the same look, and all other names differ", () => {
    const alike = ["Ada", "Аda", "АDА", "ａda"];
    for (const name of alike) assert.equal(lookOf(name), "ada", name);
    assert.equal(lookOf("Paul"), lookOf("PauI"));
    assert.equal(lookOf("Modem"), lookOf("Modern"));
    for (const [one, other] of [
      ["Zoe", "Zoë"],
      ["Ann", "Anne"],
      ["Writer", "Writer 2"],
      ["李雷", "李蕾"],
    ] as const)
      assert.notEqual(lookOf(one), lookOf(other));
  });

  test("no slug is empty, and every slug has only letters, digits and dashes", () => {
    const id = "01234567-89ab-7def-8123-456789abcdef";
    assert.equal(slugOf("Lead Dev", id), "lead-dev");
    assert.equal(slugOf("李雷", id), "李雷");
    assert.equal(slugOf("محمد علي", id), "محمد-علي");
    assert.equal(slugOf("Zoë".normalize("NFD"), id), "zoë");
    for (const name of ["🤖", "!!!", "—", "👩‍👩‍👧"]) assert.equal(slugOf(name, id), "agent-01234567");
    for (const name of ["a/b", "..", "-x-", "<b>", "a?b#c%20", "ﷺ", "नमस्ते"])
      assert.match(slugOf(name, id), /^[\p{L}\p{M}\p{N}]+(-[\p{L}\p{M}\p{N}]+)*$/u);
  });
});

describe("roles and next agents", () => {
  test("a role is one line of at most 240 characters, and nothing in it is expanded", () => {
    assert.equal(meant({ name: "Ann", role: " writes\n\n the\tnews " }).role, "writes the news");
    const long = meant({ name: "Ann", role: "word ".repeat(20_000) }).role ?? "";
    assert.equal(long.length, 239);
    assert.equal(meant({ name: "Ann", role: "🤖".repeat(100_000) }).role, "🤖".repeat(240));
    assert.equal(
      meant({ name: "Ann", role: "{{SECRET}} ${HOME} $1 $& %s {name}" }).role,
      "{{SECRET}} ${HOME} $1 $& %s {name}",
    );
    for (const role of ["", " ", "\n"]) assert.equal(meant({ name: "Ann", role }).role, null);
  });

  test("a next agent loses its @, keeps its spaces, and is not the agent itself", () => {
    for (const nextAgent of ["Lead Dev", "@Lead Dev", "@@Lead Dev", " @ Lead  Dev ", "@\tLead\nDev"])
      assert.equal(meant({ name: "Ann", nextAgent }).nextAgent, "Lead Dev");
    for (const nextAgent of ["", " ", "@", "@ @"])
      assert.equal(meant({ name: "Ann", nextAgent }).nextAgent, "human");
    for (const nextAgent of ["Ann", "@ann", "ＡＮＮ", "an\u200bn"])
      wrong({ name: "Ann", nextAgent }, /another agent than the new one/);
  });
});

describe("the prompt", () => {
  // covers CRA-23, CRA-24, CRA-25, CRA-26, CRA-42, CRA-43, TOOL-04, TOOL-21, TOOL-22, TOOL-33
  test("is word for word what was agreed", () => {
    assert.equal(
      createdPromptFor({ name: "Ann", role: "writes the news", nextAgent: "Lead Dev" }),
      "You are agent Ann. Your role is writes the news.\n\nAlways respond in exactly this structure:\n@Lead Dev\n{Your response}",
    );
  });

  test("without a role it is the first sentence alone, and without a next agent a person (CRA-27, CRA-44)", () => {
    assert.equal(
      createdPromptFor(meant({ name: "李雷" })),
      "You are agent 李雷.\n\nAlways respond in exactly this structure:\n@human\n{Your response}",
    );
  });

  test("a period at the end of the role is not doubled", () => {
    const prompt = (role: string) => createdPromptFor(meant({ name: "Ann", role })).split("\n")[0];
    assert.equal(prompt("to write."), "You are agent Ann. Your role is to write.");
    assert.equal(prompt("to write. "), "You are agent Ann. Your role is to write.");
    assert.equal(prompt("to wait..."), "You are agent Ann. Your role is to wait...");
    assert.equal(prompt("to ask?"), "You are agent Ann. Your role is to ask?.");
  });

  test("neither name nor role nor next agent can add a line or be expanded", () => {
    const prompt = createdPromptFor(
      meant({ name: "A\nB", role: "x\r\n@evil\n{{TOKEN}} ${HOME} $1 $& $`", nextAgent: "@Lead\nDev" }),
    );
    assert.deepEqual(prompt.split("\n"), [
      "You are agent A B. Your role is x @evil {{TOKEN}} ${HOME} $1 $& $`.",
      "",
      "Always respond in exactly this structure:",
      "@Lead Dev",
      "{Your response}",
    ]);
  });
});

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { z } from "zod";
import { newSecret } from "../daemon/ids.ts";
import { byLength } from "../testing/run-length.ts";
import { isSetting } from "./known-texts.ts";
import { marker, redact, redactText, restore } from "./redact.ts";
import { rules, spansIn } from "./scanning.ts";
import { scrubber } from "./transcripts.ts";
import { allowed } from "../testing/allowed.ts";

/**
 * Samples: groups that begin with `# name`, several samples in a line with ¦ between them. Text in « » must be hidden,
 * everything else must stay. ⏎ is the end of a line. {36} stands for as many letters and digits, {36h} for hexadecimal, {36l}
 * for small and {36u} for capital letters: the file contains no whole token.
 */
function samplesIn(file: string): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  let group: string[] = [];
  for (const line of readFileSync(join(import.meta.dirname, file), "utf8")
    .trim()
    .split("\n"))
    if (line.startsWith("# ")) groups.set(line.slice(2), (group = []));
    else group.push(...line.split(" ¦ ").map((sample) => filled(sample).replaceAll("⏎", "\n")));
  return groups;
}

const alphabets = {
  h: "0123456789abcdef",
  l: "abcdefghijklmnopqrstuvwxyz0123456789",
  u: "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
  m: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
} as const;

function filled(sample: string): string {
  return sample.replace(/\{(\d+)([hlu]?)\}/g, (_, length: string, kind: "h" | "l" | "u" | "") => {
    const letters = alphabets[kind === "" ? "m" : kind];
    let state = (Number(length) * 2_654_435_761 + 97) >>> 0;
    const next = (): string =>
      letters[((state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) >>> 8) % letters.length] ?? "";
    return Array.from({ length: Number(length) }, next).join("");
  });
}

/** The sample without its marks. A sample in JSON becomes a value. */
function read(sample: string): unknown {
  const text = sample.replace(/[«»]/g, "");
  try {
    return /^[{[]/.test(text) ? JSON.parse(text) : text;
  } catch {
    return text;
  }
}

const written = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
const expected = (sample: string): string =>
  sample.replace(/(?<=[:[,])«[^»]*»(?=[,}\]])/g, `"${marker}"`).replace(/«[^»]*»/g, marker);

const {
  "key names": lists = [],
  "whole tokens": tokens = [],
  ...others
} = Object.fromEntries(samplesIn("secret-samples.txt"));
const words = (lines: readonly string[]): string[] => lines.flatMap((line) => line.split(" "));
const names = words(lists);
const groups = { "whole tokens": words(tokens).map((token) => `«${token}»`), ...others };
const secrets = Object.values(groups).flat();
const harmless = [...samplesIn("harmless-samples.txt").values()].flat().map(read);

/** A value in several places. */
const placed = (value: unknown): unknown[] => [
  value,
  { note: value },
  { a: { b: [0, { c: value }] } },
  { config: JSON.stringify({ x: value }) },
];

describe("the recognition of secrets", () => {
  // covers GOV-38, GOV-70
  for (const [group, samples] of Object.entries(groups))
    test(`${group}: ${samples.length} samples, of which only the secrets go`, () => {
      const wrong = samples.filter((sample) => written(redact(read(sample)).value) !== expected(sample));
      assert.deepEqual(
        wrong.map((sample) => [expected(sample), written(redact(read(sample)).value)]),
        [],
      );
    });

  test(`${names.length} names whose value is a secret, in every form`, () => {
    const shown = names.flatMap((name) => [
      redact({ [name]: "swordfish" }),
      redact({ list: [0, { [name]: "swordfish" }] }),
      redact({ args: [`--${name.replaceAll(".", "-")}`, "swordfish"] }),
      redact(`${name}=swordfish`),
      redact(`"${name}": "swordfish"`),
    ]);
    assert.deepEqual(
      shown.map(({ value }) => written(value)).filter((text) => text.includes("swordfish")),
      [],
    );
  });

  test("at any place, with other text unchanged, and sending the text back restores the secret", () => {
    for (const value of secrets.map(read).flatMap(placed)) {
      const { value: shown, redactedPaths } = redact(value);
      assert.ok(written(shown).includes(marker) && redactedPaths.length > 0, written(value));
      assert.equal(written(redact(shown).value), written(shown));
      assert.equal(written(restore(shown, value)), written(value));
    }
  });

  test(`${rules.length} rules, each of which finds something that no other rule finds`, () => {
    const covered = (text: string, wanted = rules): number =>
      new Set(
        spansIn(text, wanted).flatMap(([from, to]) =>
          Array.from({ length: to - from }, (_, at) => from + at),
        ),
      ).size;
    const texts = secrets.map(read).map(written);
    const idle = rules.filter((rule) => {
      const others = rules.filter((other) => other !== rule);
      return texts.every((text) => covered(text, others) === covered(text));
    });
    assert.deepEqual(
      idle.map((rule) => rules.indexOf(rule)),
      [],
    );
  });
});

test(`${harmless.length} harmless values stay byte for byte, wherever they stand`, () => {
  const touched = harmless.flatMap(placed).filter((value) => written(redact(value).value) !== written(value));
  assert.deepEqual(
    touched.map((value) => [value, redact(value).value]),
    [],
  );
});

test("every token that Agency makes is hidden, wherever it stands and whatever it contains", () => {
  const sources = globSync("src/**/*.ts", { cwd: join(import.meta.dirname, "../..") });
  const prefixes = sources.flatMap((file) =>
    [
      ...readFileSync(join(import.meta.dirname, "../..", file), "utf8").matchAll(
        /`(\w+)\$\{[\w.]*newSecret\(\)\}/g,
      ),
    ].map(([, prefix = ""]) => prefix),
  );
  assert.deepEqual([...new Set(prefixes)].toSorted(), ["agb_", "agk_", "agl_", "agp_", "ags_", "agw_"]);
  const places = [
    "",
    "http://127.0.0.1:4600/sign-in#",
    "x=",
    "id:",
    "a.",
    '{"x":"',
    '"\\\\n',
    "?to=%2Fsign-in%23",
  ];
  for (const prefix of prefixes)
    for (const place of places)
      for (let time = 0; time < 100; time += 1) {
        const text = `${place}${prefix}${newSecret()}`;
        assert.equal(redactText(text), `${place}${marker}`, text);
      }
});

test("a long value is hidden to its end", () => {
  const end = "\nnext: line";
  for (const length of [500, 600, 610, 4100, 9100, 50_000]) {
    const text = "tiger cat\n".repeat(length / 10);
    for (const [before, after, value = text] of [
      ['password = """', '"""'],
      ["password = '''", "'''"],
      ["secret_key = <<EOT\n", "\nEOT", `${text}.`],
      ["const token = `", "`;"],
      ["const token = `", "`;", `${text}\\\\`],
      ["const token = `", "`;", `${text}\\\`${text}`],
      ["<password>", "</password>", `${text}.`],
      ['<param name="token">', "</param>", `${text}.`],
    ] as const)
      assert.equal(redactText(before + value + after + end), before + marker + after + end, before + length);
  }
});

describe("a value that a schema marks as secret", () => {
  const schema = z.strictObject({
    env: z.record(z.string(), z.string()).meta({ secret: true }).optional(),
    servers: z.array(
      z.union([z.object({ url: z.string() }), z.object({ code: z.string().meta({ secret: true }) })]),
    ),
    deep: z.object({ a: z.string().meta({ secret: true }).nullable().default(null) }).optional(),
  });
  const marks = new Map([["config", [schema]]]);
  const value = {
    x: [{ config: { env: { A: "b", N: "c d" }, servers: [{ url: "u" }, { code: "e" }], deep: { a: "f" } } }],
  };

  test("is hidden whatever its form, and restored", () => {
    const { value: shown, redactedPaths } = redact(value, marks);
    assert.deepEqual(shown, {
      x: [
        {
          config: {
            env: { A: marker, N: marker },
            servers: [{ url: "u" }, { code: marker }],
            deep: { a: marker },
          },
        },
      ],
    });
    assert.deepEqual(
      redactedPaths,
      ["env.A", "env.N", "servers[1].code", "deep.a"].map((path) => `x[0].config.${path}`),
    );
    assert.deepEqual(restore(shown, value, marks), value);
  });
});

describe("the text that is shown", () => {
  test("paths name each hidden value, with quotes around unusual names", () => {
    const value = {
      adapterConfig: { env: { API_KEY: "x" } },
      list: [0, 0, { token: "y" }],
      "a.b": { "c d": { token: "x" } },
    };
    assert.deepEqual(redact(value).redactedPaths, [
      "adapterConfig.env.API_KEY",
      "list[2].token",
      '["a.b"]["c d"].token',
    ]);
    assert.deepEqual(redact("Bearer hunter2").redactedPaths, [""]);
  });

  test("a key named __proto__ is a key, and two keys that are secrets stay two", () => {
    const { value: copy } = redact(JSON.parse('{"__proto__":{"password":"hunter2"}}'));
    assert.equal(JSON.stringify(copy), `{"__proto__":{"password":"${marker}"}}`);
    const value = { [filled("ghp_{36}")]: 1, [filled("ghp_{37}")]: 2 };
    assert.deepEqual(redact(value).value, { [marker]: 1, [`${marker} 2`]: 2 });
    assert.deepEqual(restore({ [marker]: 1, [`${marker} 2`]: 3 }, value), {
      ...value,
      [filled("ghp_{37}")]: 3,
    });
  });

  test("a value nested too deeply is hidden completely", () => {
    let value: unknown = { token: "hunter2" };
    for (let level = 0; level < 5000; level += 1) value = level % 2 === 0 ? [value] : { a: value };
    let shown = redact(value).value;
    while (typeof shown === "object" && shown !== null) [shown] = Object.values(shown);
    assert.equal(shown, marker);
    assert.ok(!redactText(`${"[".repeat(50_000)}"ghp_${"x1".repeat(18)}"`).includes("x1"));
  });
});

describe("sending back what was shown", () => {
  test("keeps changes, additions and omissions, and restores each secret at its place", () => {
    const former = { command: "run", env: { A: "1", B: "2" }, args: ["--token", "x", "y"] };
    const sent = { command: "walk", env: { A: marker, C: "3" }, args: ["--token", marker], more: [1] };
    assert.deepEqual(restore(sent, former), {
      command: "walk",
      env: { A: "1", C: "3" },
      args: ["--token", "x"],
      more: [1],
    });
    assert.deepEqual(restore({ token: marker }, null), { token: marker });
    assert.deepEqual(restore({ other: { token: marker } }, { token: "x" }), { other: { token: marker } });
  });

  test("does not put a secret behind another host", () => {
    const sent = { url: `https://me:${marker}@elsewhere.example/` };
    assert.deepEqual(restore(sent, { url: "https://me:hunter2@example.com/" }), sent);
  });
});

describe("a transcript", () => {
  const scrubbed = (text: string, size: number, known: readonly string[] = []): string => {
    const { write, end } = scrubber(known);
    const bytes = Buffer.from(text);
    let shown = "";
    for (let at = 0; at < bytes.length; at += size) shown += write(bytes.subarray(at, at + size));
    return shown + end();
  };
  const key = filled("-----BEGIN PRIVATE KEY-----\n{64}\n{63}\n-----END PRIVATE KEY-----");
  const text = `Grüße\nuse ${filled("ghp_{36}")} now\n${key}\npassword: |\n  swordfish\nname: API_KEY\nvalue: hunter2\n{"env":{"A":"b"}}\nplain`;
  const shown = `Grüße\nuse ${marker} now\n${marker}\npassword: |\n  ${marker}\nname: API_KEY\nvalue: ${marker}\n{"env":{"A":"${marker}"}}\nplain`;

  for (const size of [1, 2, 7, 40, 5000])
    test(`in pieces of ${size} bytes has no secret, and all the rest`, () => {
      assert.equal(scrubbed(text, size), shown);
    });

  test("has none of the secrets that were given, nor one that is far into a line without an end", () => {
    assert.equal(scrubbed("it said correct horse\n", 3, ["correct horse"]), `it said ${marker}\n`);
    const long = `${"word ".repeat(40_000)}${filled("ghp_{36}")}${" word".repeat(40_000)}`;
    assert.equal(scrubbed(long, 1000), long.replace(/ghp_\w+/, marker));
  });
});

const length = byLength({ quick: 100_000, whole: 300_000 });

describe(`a text of ${length} characters is read in a moment`, () => {
  const pieces = [
    ..."a¦a ¦a-¦a.¦=¦[¦{¦<¦A ¦aB3¦token=x ¦token=\"¦token=\\\"¦token='¦token:¦password: x\n¦password:\n ¦password=¦authorization: $A ¦cookie=a¦key is ¦key=¦--token ¦--token\n¦-u a:¦-p a ¦-H 'X-Auth: ".split(
      "¦",
    ),
    ...'eyJ¦eyJ-¦eyJa.¦sk-¦sk-a-¦SG.¦ghp_¦://¦a://b:¦a://b@¦a:b@¦a:b@c.¦https://x/¦?sig=¦auth=¦login ¦mysql ¦mysql -p¦basic ¦bearer ¦<password>¦<a >¦%3A¦%40a¦echo a|¦name: token ¦value=¦\\"¦"¦\''.split(
      "¦",
    ),
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN CERTIFICATE-----",
    "LS0tLS1CRUdJTi",
    '{"a":',
    "PuTTY-User-Key-File-2 ",
    "1234567890:",
    "\n- ",
    "a_live_",
    "hooks.slack.com/services/",
    "AAAA",
    "aGVsbG8g",
    "key=<<A\n",
    'key="""',
    "key=`",
    "key=`\\\\",
    "<token>a",
    '"token": {"type":"string",',
    'x name="token">',
    "token: [",
    "kind: Secret\ndata:\n a: b\n",
    "data:\n a: b\n",
    "Password for a: ",
    ...[" {33}", "{60}/", `${"x".repeat(79)} `, "x".repeat(82), '"{30h}-us', "token{33}", "$a$1$"].map(
      filled,
    ),
  ];
  for (const piece of pieces)
    test(JSON.stringify(piece.slice(0, 30)), () => {
      const text = piece.repeat(Math.ceil(length / piece.length));
      const begin = performance.now();
      redact({ text });
      // A million characters take some tenths of a second. A rule that looks at each place again would take minutes.
      assert.ok(performance.now() - begin < allowed(500 + (15_000 * length) / 1_000_000));
    });
});

test("ordinary settings stay readable, possible secrets are hidden", () => {
  for (const [name, value] of [
    ["ANTHROPIC_MODEL", "claude-sonnet-5"],
    ["ANTHROPIC_MODEL", "claude-opus-4-5-20251101"],
    ["MODEL", "openai/gpt-5.5-codex"],
    ["MODEL", "qwen3-coder:30b"],
    ["NODE_ENV", "production"],
    ["DEBUG", "true"],
    ["LANG", "en_US.UTF-8"],
    ["INITIAL_AGENT_MODE", "agent-full-access"],
  ] as const)
    assert.equal(isSetting(name, value), true, `${name}=${value}`);
  for (const [name, value] of [
    ["API_TOKEN", "claude-sonnet-5"],
    ["DB_PASSWORD", "production"],
    ["SETTING", "pl4nted-by-the-Board-Xk29f"],
    ["SETTING", "sk-ant-api03-Zk29fQm71zLw58cTr63v"],
    ["SETTING", "claude-Zk29fQm71zLw58cTr63vBn94s"],
    ["SETTING", "postgres://user:production@host/db"],
    ["SETTING", '{"private_key":"words and words"}'],
    ["SETTING", "-----BEGIN KEY-----\nwords\n-----END KEY-----"],
    ["SETTING", "two words"],
    ["SETTING", "correcthorsebatterystaple"],
    ["SETTING", "hunter2secret"],
    ["SETTING", "deadbeefcafe0123456789"],
  ] as const)
    assert.equal(isSetting(name, value), false, `${name}=${value}`);
});

test("texts that look ordinary at first sight have nothing that the rules would hide", () => {
  const words =
    "the login vault mysql bearer pin key password echo Notes été x a1 AC 42 1234 123456 1234567".split(" ");
  const ids = [40, 64].map((length) => filled(`{${length}h}`));
  const tokens = ["AKIA{16u}", "oy2{43l}", "SK{32h}"].map(filled);
  const first = [...words, ...ids, ...tokens];
  const texts = [" ", ", ", "\n", " (", ""].flatMap((between) =>
    first.flatMap((one) => words.flatMap((two) => [one, two].join(between))),
  );
  for (const text of [...first, ...texts]) {
    const all = rules.flatMap((rule) => [...rule(text)]);
    assert.equal(spansIn(text).length, all.length, text);
  }
});

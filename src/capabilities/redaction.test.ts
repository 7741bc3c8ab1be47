import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { harmlessNamed, harmlessTexts } from "../testing/harmless-samples.ts";
import { body, handwritten, providerKeys, secretNames, secretSamples } from "../testing/secret-samples.ts";
import { byLength } from "../testing/run-length.ts";
import { marker, redact, redactionRules, redactWith, restore, type Rule } from "./redaction.ts";

const samples = secretSamples();

/** Whether these rules let it through. */
function leaks(rules: readonly Rule[], { value, secret, path }: (typeof samples)[number]): boolean {
  const shown = redactWith(rules, value);
  return (
    JSON.stringify(shown.value).includes(JSON.stringify(secret).slice(1, -1)) ||
    !shown.redactedPaths.includes(path)
  );
}

/** Every harmless value in several places. */
function harmlessValues(): unknown[] {
  return [
    ...harmlessNamed.flatMap(([name, value]) => [
      { [name]: value },
      { a: { b: [0, { [name]: value }] } },
      { config: JSON.stringify({ [name]: value }) },
    ]),
    ...harmlessTexts.flatMap((text) => [
      text,
      { prompt: text },
      { list: ["x", [text]] },
      { deep: { er: { note: text } } },
    ]),
  ];
}

describe("what is a secret", () => {
  // covers GOV-38, GOV-70
  test("more than two hundred shapes, and none is shown", () => {
    const shapes = secretNames.length + Object.keys(providerKeys).length + Object.keys(handwritten).length;
    assert.ok(shapes >= 200, `${shapes} shapes`);
    assert.ok(samples.length >= 1000, `${samples.length} samples`);
    const leaked = samples.filter((sample) => leaks(redactionRules, sample));
    assert.deepEqual(
      leaked.map(({ about }) => about),
      [],
    );
  });

  test("what is shown has the marker, and nothing more is taken out the second time", () => {
    for (const { value, about } of samples) {
      const { value: shown } = redact(value);
      assert.ok(JSON.stringify(shown).includes(marker), about);
      assert.equal(JSON.stringify(redact(shown).value), JSON.stringify(shown), about);
    }
  });

  for (const taken of redactionRules)
    test(`without the rule for ${taken.on} "${taken.name}" something is shown`, () => {
      const others = redactionRules.filter((rule) => rule !== taken);
      assert.ok(samples.some((sample) => leaks(others, sample)));
    });
});

describe("what is none", () => {
  test("more than two hundred harmless values stay byte for byte, wherever they stand", () => {
    assert.ok(harmlessNamed.length + harmlessTexts.length >= 200);
    const touched = harmlessValues().flatMap((value) => {
      const { value: shown, redactedPaths } = redact(value);
      const isSame = JSON.stringify(shown) === JSON.stringify(value) && redactedPaths.length === 0;
      return isSame ? [] : [`${JSON.stringify(value)} became ${JSON.stringify(shown)}`];
    });
    assert.deepEqual(touched, []);
  });

  test("the value itself is not changed, and what is shown is a copy", () => {
    const value = { a: [{ token: "hunter2" }], b: { c: 1 } };
    const { value: shown } = redact(value);
    assert.deepEqual(value, { a: [{ token: "hunter2" }], b: { c: 1 } });
    assert.deepEqual(shown, { a: [{ token: marker }], b: { c: 1 } });
    assert.notEqual(shown.b, value.b);
  });
});

describe("what is shown", () => {
  const shown = (value: unknown): unknown => redact(value).value;

  test("of a text only the secret goes", () => {
    assert.equal(
      shown("https://me:hunter2@db/x?token=abc&page=2"),
      `https://me:${marker}@db/x?token=${marker}&page=2`,
    );
    assert.equal(shown(`Push with ghp_${body(36)}, then stop.`), `Push with ${marker}, then stop.`);
    assert.equal(shown("Authorization: Bearer hunter2"), `Authorization: Bearer ${marker}`);
    assert.equal(shown("run --token=abc --verbose"), `run --token=${marker} --verbose`);
    assert.equal(shown("user: me\npassword: hunter2\nhost: db"), `user: me\npassword: ${marker}\nhost: db`);
  });

  test("of an environment the names stay", () => {
    assert.deepEqual(shown({ env: { API_KEY: "x", MODE: "y" } }), { env: { API_KEY: marker, MODE: marker } });
    assert.deepEqual(shown({ env: ["A=b", "HOME"] }), { env: [`A=${marker}`, "HOME"] });
    assert.deepEqual(shown({ env: [{ name: "A", value: "b" }] }), { env: [{ name: "A", value: marker }] });
    assert.deepEqual(shown({ env: "A=b\n# c\nD='e f'" }), { env: `A=${marker}\n# c\nD=${marker}` });
  });

  test("paths lead to it, also through names that need quoting", () => {
    assert.deepEqual(
      redact({ adapterConfig: { env: { API_KEY: "x" } }, list: [0, 0, { token: "y" }] }).redactedPaths,
      ["adapterConfig.env.API_KEY", "list[2].token"],
    );
    assert.deepEqual(redact({ "a.b": { "c d": { token: "x" } } }).redactedPaths, ['["a.b"]["c d"].token']);
    assert.deepEqual(redact("Bearer hunter2").redactedPaths, [""]);
  });

  test("a key named __proto__ is a key, and changes nothing else", () => {
    const value: unknown = JSON.parse('{"__proto__":{"password":"hunter2"},"constructor":{"token":"x"}}');
    const { value: copy } = redact(value);
    assert.equal(
      JSON.stringify(copy),
      `{"__proto__":{"password":"${marker}"},"constructor":{"token":"${marker}"}}`,
    );
    assert.equal(Object.getPrototypeOf(copy), Object.prototype);
    assert.equal("password" in {}, false);
  });

  test("two keys of an object that are secrets stay two", () => {
    const value = { [`ghp_${body(36)}`]: 1, [`ghp_${body(36, "mixed", 1)}`]: 2 };
    assert.deepEqual(shown(value), { [marker]: 1, [`${marker} 2`]: 2 });
    assert.deepEqual(restore({ [marker]: 1, [`${marker} 2`]: 3 }, value), {
      [`ghp_${body(36)}`]: 1,
      [`ghp_${body(36, "mixed", 1)}`]: 3,
    });
  });

  test("as deep as it goes; and what is deeper than anything sensible goes whole", () => {
    const nest = (depth: number): unknown => {
      let value: unknown = { token: "hunter2" };
      for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value };
      return value;
    };
    for (const depth of [1, 10, 100, 900, 5000])
      assert.ok(!flat(shown(nest(depth))).includes("hunter2"), `${depth}`);
    assert.ok(!String(shown(`${"[".repeat(50_000)}"hunter2"${"]".repeat(50_000)}`)).includes("hunter2"));
  });
});

/** JSON.stringify does not go as deep. */
function flat(value: unknown): string {
  const texts: string[] = [];
  for (const queue = [value]; queue.length > 0;) {
    const next = queue.pop();
    if (typeof next === "object" && next !== null) queue.push(...Object.values(next));
    else texts.push(String(next));
  }
  return texts.join(" ");
}

describe("sending back what was shown", () => {
  test("restores every secret", () => {
    for (const { value, about } of samples)
      assert.equal(JSON.stringify(restore(redact(value).value, value)), JSON.stringify(value), about);
    for (const value of harmlessValues())
      assert.equal(JSON.stringify(restore(redact(value).value, value)), JSON.stringify(value));
  });

  test("keeps what was changed, added and left out", () => {
    const former = { command: "run", env: { A: "1", B: "2" }, args: ["--token", "x", "y"] };
    assert.deepEqual(
      restore({ command: "walk", env: { A: marker, C: "3" }, args: ["--token", marker], more: [1] }, former),
      { command: "walk", env: { A: "1", C: "3" }, args: ["--token", "x"], more: [1] },
    );
    assert.deepEqual(restore({ env: { A: "new" } }, former), { env: { A: "new" } });
    assert.equal(restore(marker, { token: "x" }), marker);
    assert.deepEqual(restore({ token: marker }, {}), { token: marker });
    assert.deepEqual(restore({ token: marker }, null), { token: marker });
    assert.deepEqual(restore({ list: [{ token: marker }] }, { list: { token: "x" } }), {
      list: [{ token: marker }],
    });
  });

  test("means the same place: what was moved is not found", () => {
    const former = { list: [{ token: "a" }, { token: "b" }] };
    assert.deepEqual(restore({ list: [{ token: marker }] }, former), { list: [{ token: "a" }] });
    assert.deepEqual(restore({ other: { token: marker } }, former), { other: { token: marker } });
  });

  test("does not put a secret behind another host", () => {
    const former = { url: "https://me:hunter2@example.com/" };
    const sent = { url: `https://me:${marker}@elsewhere.example/` };
    assert.deepEqual(restore(sent, former), sent);
  });

  test("takes no prototype for a place", () => {
    const sent: unknown = JSON.parse('{"__proto__":{"x":1},"constructor":2,"toString":3}');
    assert.equal(JSON.stringify(restore(sent, { a: 1 })), JSON.stringify(sent));
  });
});

const length = byLength({ quick: 200_000, whole: 1_000_000 });

describe(`a text of ${length} characters`, () => {
  const pieces = [
    ...'a|a |a-|a.|=|[|A |aB3|token=x |token="|token=\\"|token=\'|password: x\n|password=|authorization: x |cookie=a|key is |--token |-u a:'.split(
      "|",
    ),
    ..."eyJ|eyJ-|eyJa.|sk-|sk-a-|SG.|ghp_|://|a://b:|a://b@|https://x/|?sig=|auth=|otp=|key=|token:|login |mysql |mysql -|basic |bearer |<password>|<a >".split(
      "|",
    ),
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN CERTIFICATE-----",
    "LS0tLS1CRUdJTi",
    "LS0tLS1CRUdJTiBS\n",
    '{"a":',
    '\\"',
    "PuTTY-User-Key-File-2 ",
    ` ${body(33)}`,
    `${body(60)}/`,
    `${"x".repeat(79)} `,
    "x".repeat(82),
    "1234567890:",
    "\n- ",
    "a_live_",
    "dt0c01.A",
    "hooks.slack.com/services/",
    "a.webhook.office.com/",
    `"${body(30, "hex")}-us`,
    "pypi-a-",
    "AAAA",
    "aGVsbG8g",
  ];
  for (const piece of pieces)
    test(`of ${JSON.stringify(piece.slice(0, 30))} is read in a moment`, () => {
      const text = piece.repeat(Math.ceil(length / piece.length));
      const begin = performance.now();
      redact({ text });
      // Some tenths of a second here; what looks at each place again takes minutes.
      assert.ok(
        performance.now() - begin < (15_000 * length) / 1_000_000,
        `${Math.round(performance.now() - begin)} ms`,
      );
    });
});

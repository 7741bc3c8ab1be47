import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Refusal } from "../contract/refusal.ts";
import { wordsOf } from "../store/search-words.ts";
import { allowed } from "../testing/allowed.ts";
import { decodeContent, encodeContent, excerptOf, linksIn, searchableText } from "./content.ts";

const id = "0190a0b0-0000-7000-8000-00000000000a";
const other = "0190a0b0-0000-7000-8000-00000000000b";

describe("content", () => {
  test("text and bytes are read back unchanged", () => {
    const everyByte = Uint8Array.from({ length: 256 }, (_, value) => value);
    for (const bytes of [
      everyByte,
      new Uint8Array(),
      Buffer.from("plain"),
      Buffer.from("naïve 東京 🚀 \u0000"),
    ]) {
      const { encoding, content } = encodeContent(bytes);
      assert.deepEqual(Buffer.from(decodeContent(content, encoding, 1000)), Buffer.from(bytes));
    }
    assert.equal(encodeContent(everyByte).encoding, "base64");
    assert.equal(encodeContent(Buffer.from("東京")).encoding, "utf8");
    // Of a view into a larger buffer, only the view is encoded.
    assert.equal(encodeContent(Buffer.from("xxmiddlexx").subarray(2, 8)).content, "middle");
  });

  test("base64 may be broken into lines and lack its padding, and is otherwise exact", () => {
    const text = "any carnal pleas";
    for (const given of [
      "YW55IGNhcm5hbCBwbGVhcw==",
      "YW55IGNhcm5hbCBwbGVhcw",
      "YW55IGNh\r\ncm5hbCBw\nbGVhcw==\n",
    ])
      assert.equal(Buffer.from(decodeContent(given, "base64", 1000)).toString(), text);
    for (const given of ["YW55IGNh*", "YW5=5IGN", "YW55I", "====", "YQ===", "Y", "YW5-_w==", "🚀"])
      assert.equal(
        refused(() => decodeContent(given, "base64", 1000)),
        "invalid",
        given,
      );
  });

  test("the limit counts bytes, not characters, and is exact to the byte", () => {
    assert.equal(decodeContent("é".repeat(5), undefined, 10).byteLength, 10);
    assert.equal(
      refused(() => decodeContent("é".repeat(5), undefined, 9)),
      "too_large",
    );
    const ten = Buffer.alloc(10).toString("base64");
    assert.equal(decodeContent(ten, "base64", 10).byteLength, 10);
    assert.equal(
      refused(() => decodeContent(ten, "base64", 9)),
      "too_large",
    );
    // Line breaks are not part of the content.
    const broken = Buffer.alloc(7600).toString("base64").replace(/.{76}/g, "$&\r\n");
    assert.equal(decodeContent(broken, "base64", 7600).byteLength, 7600);
  });

  test("a link is found wherever a kb:// id occurs, and each link once", () => {
    const text = `[a](kb://${id}) kb://${id.toUpperCase()}, KB://${other}. kb://${id}/x kb://nothing kb:/${id}`;
    assert.deepEqual(linksIn(Buffer.from(text)), [id, other]);
    assert.deepEqual(linksIn(Buffer.from(`\u00ff kb://${id}`, "latin1")), []);
    const many = Array.from(
      { length: 1500 },
      (_, index) => `kb://${id.slice(0, -4)}${String(index).padStart(4, "0")}`,
    );
    assert.equal(linksIn(Buffer.from(many.join(" "))).length, 1000);
  });

  test("words are letters, digits and marks of every script, and nothing else", () => {
    assert.deepEqual(wordsOf(`" OR 1=1; NEAR(a*) 'b' \\ c:d ^e`), [
      "or",
      "1",
      "1",
      "near",
      "a",
      "b",
      "c",
      "d",
      "e",
    ]);
    assert.deepEqual(wordsOf("Zoe\u0308 МОСКВА 東京"), ["zoe", "москва", "東京"]);
    assert.deepEqual(wordsOf(`*'"()🚀 \u0000`), []);
    assert.equal(wordsOf("word ".repeat(100)).length, 20);
  });

  test("the normalized beginning of a text is searchable, and bytes are not", () => {
    assert.equal(searchableText(Buffer.from([0xff, 0xfe, 0x41])), "");
    assert.equal(searchableText(Buffer.from("a\u0000b")), "a b");
    assert.equal(searchableText(Buffer.from("cafe\u0301")), "café");
    const long = searchableText(Buffer.from("🚀".repeat(100_000)));
    assert.ok(long.length > 99_000 && long.length <= 100_000 && long.isWellFormed());
  });

  test("an excerpt is a line around the first word found", () => {
    const body = `${"before ".repeat(50)}needle${" after".repeat(50)}`;
    const excerpt = excerptOf(body, ["needle"]);
    assert.match(excerpt, /^….*needle.*…$/);
    assert.ok(excerpt.length <= 202);
    assert.equal(excerptOf("short\n\ntext", ["nothing"]), "short text");
  });

  test("an excerpt has no Markdown marks, but characters that only look like marks stay", () => {
    const id = "01a1e38b-0000-7000-8000-000000000001";
    const page = `# Voice\n\nSee [House style](kb://${id}) and **bold** *words*, \`code\`.\n\n## Always\n\n- One idea\n1. Then two\n> said\n\n| a | b |\n|---|:-:|\n| 1 | 2 |\n`;
    assert.equal(
      excerptOf(page, ["voice"]),
      "Voice See House style and bold words, code. Always One idea Then two said a b 1 2",
    );
    assert.equal(excerptOf("2 * 3 is a*b, #4 and x - y [1]", ["is"]), "2 * 3 is a*b, #4 and x - y [1]");
    const started = performance.now();
    for (const evil of ["[", "|", "-", " ", "*", "`", "> ", "- ", "[a]("])
      excerptOf(evil.repeat(20_000), ["nothing"]);
    assert.ok(performance.now() - started < allowed(2000));
  });
});

function refused(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
  return "not refused";
}

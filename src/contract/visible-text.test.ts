import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { onOneLine, shown, showsItself } from "./visible-text.ts";
import { Name, Title } from "./words.ts";

/** Characters that act or hide: terminal commands, direction, line ends, letters without width. */
const acting = [
  "\u0007",
  "\u001b",
  "\u007f",
  "\u009b",
  "\u0085",
  "\r",
  "\v",
  "\u061c",
  "\u200e",
  "\u200f",
  "\u202a",
  "\u202e",
  "\u2066",
  "\u2069",
  "\u2028",
  "\u2029",
  "\u00ad",
  "\u034f",
  "\u115f",
  "\u17b4",
  "\u180e",
  "\u200b",
  "\u200c",
  "\u200d",
  "\u2060",
  "\u2064",
  "\u2800",
  "\u3164",
  "\ufe0f",
  "\ufeff",
  "\uffa0",
  "\u{e0001}",
  "\u{e0041}",
  "\u{1d173}",
];

describe("text that others wrote", () => {
  test("a title or a name shows every character, or is refused", () => {
    for (const one of acting) {
      const text = `a${one}b`;
      assert.equal(showsItself(text, ""), false, JSON.stringify(one));
      assert.equal(Title.safeParse(text).success, false, JSON.stringify(one));
      // Spaces of any kind become one space in a name. Every other such character is refused.
      const name = Name.safeParse(text);
      if (name.success) assert.equal(name.data, "a b", JSON.stringify(one));
      assert.equal(/\s/u.test(one), name.success, JSON.stringify(one));
    }
    for (const text of ["Ada", "李雷", "नमस्ते", "Zoë", "محمد علي", "👩‍💻 at work", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "1️⃣ first", "a 🗺️ b"])
      assert.ok(Title.safeParse(text).success, text);
  });

  test("reaches a terminal escaped, with its line ends and emoji", () => {
    assert.equal(shown("a\u001b]52;c;AAAA\u0007\n\tb"), "a\\u001b]52;c;AAAA\\u0007\n\tb");
    assert.equal(shown("👩‍💻 \u202eevil"), "👩‍💻 \\u202eevil");
    for (const one of acting) {
      const json = JSON.stringify({ text: `a${one}b` });
      assert.ok(showsItself(shown(json), ""), JSON.stringify(one));
      assert.deepEqual(JSON.parse(shown(json)), { text: `a${one}b` });
    }
  });

  test("becomes one line where a title is made from it", () => {
    assert.equal(onOneLine(" Write\n\n the\u200b news\u001b[2J\t👩‍💻 "), "Write the news [2J 👩‍💻");
    for (const one of acting) assert.ok(Title.safeParse(onOneLine(`a${one}b`)).success, JSON.stringify(one));
  });
});

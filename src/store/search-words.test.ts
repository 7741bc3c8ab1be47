import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import { areEntryWords, entryQuery, entryWords, firstPlace, hasWords, searchWords } from "./search-words.ts";
import { missingMigrations } from "./migrations.ts";

describe("the words of searches", () => {
  test("are those that SQLite makes, for every letter, digit and mark that it knows", () => {
    const db = new DatabaseSync(":memory:");
    const create = missingMigrations([])
      .flatMap(({ statements }) => statements("sqlite"))
      .find((statement) => statement.includes("fts5"));
    db.exec(`${create}; create virtual table terms using fts5vocab(search, instance); begin`);
    const insert = db.prepare("insert into search (rowid, description, body) values (?, '', ?)");
    const texts = new Map<number, string>();
    for (let code = 0x21; code < 0x30000; code++) {
      const letter = String.fromCodePoint(code);
      if (!/[\p{L}\p{N}\p{M}]/u.test(letter)) continue;
      texts.set(code, `x${letter}y`.normalize("NFC"));
      insert.run(code, texts.get(code) ?? "");
    }
    const made = new Map<number, string[]>();
    for (const { doc, term } of db.prepare("select doc, term from terms order by doc, offset").iterate())
      made.set(Number(doc), [...(made.get(Number(doc)) ?? []), String(term)]);
    db.close();
    const differ = [...texts].filter(([code, text]) => searchWords(text).join() !== made.get(code)?.join());
    const codes = differ.map(([code]) => code);
    assert.ok(texts.size > 130_000);
    // SQLite's tables are older than the capitals of these scripts. SQLite also keeps both accents of one letter, and turns one
    // accent into a letter.
    const isYoung = (code: number): boolean =>
      /\p{Lu}/u.test(String.fromCodePoint(code)) &&
      (code === 0x37f ||
        (code >= 0x528 && code < 0x530) ||
        (code >= 0x13a0 && code < 0x1d00) ||
        code >= 0xa698 ||
        code === 0x2c2f);
    assert.deepEqual(
      codes
        .filter((code) => !isYoung(code))
        .map((code) => `${code.toString(16)} ${String.fromCodePoint(code)}`),
      ["1e0 Ǡ", "1e1 ǡ", "345 \u0345"],
    );
  });

  test("are not longer than PostgreSQL takes, in bytes", () => {
    for (const letter of ["a", "я", "東", "𐐀", "e\u0305"])
      for (const word of searchWords(letter.repeat(5000))) assert.ok(Buffer.byteLength(`.${word}`) <= 2046);
    assert.deepEqual(searchWords(`${"𐐀".repeat(600)} b`), ["𐐨".repeat(500), "b"]);
  });

  test("of a text begin with the words of a query, and the place of the first is known", () => {
    assert.equal(hasWords("Über die Straße", ["str", "uber"]), true);
    assert.equal(hasWords("Über die Straße", ["str", "ber"]), false);
    assert.equal(firstPlace("so: Ελλάς, then", ["ελ"]), 4);
    assert.equal(firstPlace("so: nothing", ["thing"]), 0);
  });

  test("of an entry stand in PostgreSQL's index once, and those of the description marked too", () => {
    assert.equal(
      entryWords("Null, plan", "A plan: a 'b' \"c\""),
      '{"a","plan","b","c","null",".null",".plan"}',
    );
    assert.equal(entryWords("", "…"), "{}");
    assert.equal(entryQuery(["a", "b"], "anywhere"), "'a':* & 'b':*");
    assert.equal(entryQuery(["a"], "description"), "'.a':*");
    assert.equal(areEntryWords(".plan a plan", "plan", "a"), true);
    assert.equal(areEntryWords("a plan", "plan", "a"), false);
    assert.equal(areEntryWords("", "", ""), true);
  });
});

/**
 * The words of texts and of queries, the same on both stores and in every locale of PostgreSQL. SQLite divides its entries
 * itself (migrations.ts) and gets the same words, with one exception: it does not know the capitals of scripts that are newer
 * than its tables.
 */
export function searchWords(text: string): string[] {
  const words = folded(text).match(isAscii(text) ? asciiWord : word) ?? [];
  return words.map((one) => (one.length > mostCharacters ? cut(one) : one));
}

/** The words of a query: letters and digits only, so a search engine's own syntax can't get through. */
export function wordsOf(query: string): string[] {
  return searchWords(query).slice(0, 20);
}

/** Whether each of the words begins a word of the text. */
export function hasWords(text: string, words: readonly string[]): boolean {
  const missing = new Set(words);
  for (const said of searchWords(text)) {
    for (const one of missing) if (said.startsWith(one)) missing.delete(one);
    if (missing.size === 0) return true;
  }
  return missing.size === 0;
}

/** The place of the first word in the text that begins with one of these words, or 0. */
export function firstPlace(text: string, words: readonly string[]): number {
  for (const { 0: said, index } of text.matchAll(word)) {
    const [first = ""] = searchWords(said);
    if (words.some((one) => first.startsWith(one))) return index;
  }
  return 0;
}

/**
 * An entry of PostgreSQL's index, as an array of its words. The words of the description are there a second time with a mark,
 * because they can be searched alone.
 */
export function entryWords(description: string, body: string): string {
  const words = wordsOfEntry(description, body);
  return words.size === 0 ? "{}" : `{"${[...words].join('","')}"}`;
}

/** Whether the entry consists of these words, with spaces between them. */
export function areEntryWords(stored: string, description: string, body: string): boolean {
  const words = wordsOfEntry(description, body);
  const found = stored.split(" ").filter((one) => one !== "");
  return found.length === words.size && found.every((one) => words.has(one));
}

function wordsOfEntry(description: string, body: string): Set<string> {
  const words = new Set(searchWords(body));
  for (const one of searchWords(description)) words.add(one).add(`${mark}${one}`);
  return words;
}

/** Finds the entries in which each of these words begins a word. */
export function entryQuery(words: readonly string[], where: "anywhere" | "description"): string {
  const prefix = where === "description" ? mark : "";
  return words.map((one) => `'${prefix}${one}':*`).join(" & ");
}

/** A character that no word contains. */
const mark = ".";

/** A word of PostgreSQL's index has at most 2,046 bytes. */
const mostCharacters = 500;
const cut = (one: string): string => [...one].slice(0, mostCharacters).join("");

const word = /[\p{L}\p{N}\p{M}]+/gu;
const asciiWord = /[a-z0-9]+/g;
const isAscii = (text: string): boolean => !/\P{ASCII}/u.test(text);

/** The text without case. Latin letters also lose the accents that SQLite removes. */
function folded(text: string): string {
  if (isAscii(text)) return text.toLowerCase();
  return text
    .toLowerCase()
    .normalize("NFD")
    .replace(/[ςſµϐϑϕϖϰϱϵ]/g, (letter) => letter.toUpperCase().toLowerCase())
    .replace(
      /(?<=[a-z])[\u0300-\u0304\u0306-\u030c\u030f\u0311\u031b\u0323-\u0328\u032d\u032e\u0330\u0331]+/g,
      "",
    )
    .normalize("NFC");
}

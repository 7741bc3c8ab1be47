/** Does a word look as if a machine had made it up? Without I/O; each look takes time in proportion to the word. */

/** For a value whose name already suggests a key: letters and digits mixed as no person mixes them. */
export function isKeyLike(whole: string): boolean {
  const word = whole.slice(0, 512);
  if (word.length < 16 || !/^[A-Za-z0-9+/_=.~-]+$/.test(word)) return false;
  if (isId(word) || /^[./~]/.test(word)) return false;
  if (/^[0-9a-f]+$/i.test(word)) return word.length >= 24 && /[a-f]/i.test(word);
  return digitRuns(word) >= 2 && /[A-Za-z]/.test(word) && readable(word) <= 0.45;
}

/**
 * For a word of which nothing is known. Narrow, because commits, digests, ids, paths and names of models must stay
 * readable: 32 characters or more, upper and lower case and digits throughout, few separators, hardly a piece that reads
 * like a word. What decodes to plain text is plain text.
 */
export function isRandom(word: string): boolean {
  if (word.length < 32 || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(word)) return false;
  if (isId(word) || harmlessBeginnings.test(word)) return false;
  const separators = word.match(/[-_+/]/g)?.length ?? 0;
  const [upper, lower] = [word.match(/[A-Z]/g)?.length ?? 0, word.match(/[a-z]/g)?.length ?? 0];
  if (separators > word.length * 0.15 || upper < 3 || lower < 3) return false;
  return digitRuns(word) >= 2 && readable(word) <= 0.45 && decodedText(word) === undefined;
}

/** The text that a base64 word stands for; undefined when it stands for something else. */
export function decodedText(word: string): string | undefined {
  if (!/^[A-Za-z0-9+/_-]{4,}={0,2}$/.test(word)) return undefined;
  const text = Buffer.from(word, "base64").toString("latin1");
  return text.length > 0 && /^[\t\n\r\x20-\x7e]+$/.test(text) ? text : undefined;
}

/** Digests, public keys, pictures and archives in base64; addresses; and ids such as `msg_01…`, which name and do not open. */
const harmlessBeginnings =
  /^(?:sha\d{3}-|AAAA[A-Z]|iVBORw0KGgo|\/9j\/|R0lGOD|UklGR|JVBERi|H4sI|UEsD|pk_(?:live|test)_|0x[0-9a-fA-F]+$|[a-z]{2,12}[_-][A-Za-z0-9]+$)/;

function isId(word: string): boolean {
  return (
    /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(word) ||
    /^\d{4}-\d\d-\d\d/.test(word)
  );
}

function digitRuns(word: string): number {
  return word.match(/\d+/g)?.length ?? 0;
}

/** The share of it that reads like words. */
function readable(word: string): number {
  return (word.match(/[A-Z]?[a-z]{3,}/g) ?? []).join("").length / word.length;
}

/** Tests for what the value of a secret looks like. Each takes time in proportion to the length of the value. */
export type Test = (value: string) => boolean;

export const anyText: Test = () => true;
export const oneWord: Test = (value) => !/\s/.test(value);
export const notPath: Test = (value) => !/^(?:[./~]|[A-Za-z]:[\\/])/.test(value);
/** `5`, `12,000` and `90k` count tokens. */
export const notAmount: Test = (value) => !/^[\d.,_ ]*[kKmM]?$/.test(value);
export const digits: Test = (value) => /^[\d -]{4,12}$/.test(value);
const isId: Test = (word) =>
  /^(?:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$|\d{4}-\d\d-\d\d|\d+(?:\.\d+)*$)/i.test(word);

/** Could be a short key: not plain words, a path, an id or a file name. */
export const couldBeKey: Test = (value) =>
  /^[\x21-\x7e]{6,}$/.test(value) &&
  !/^[a-z+]+:\/\/|:$|\.(?:pem|key|json|p12|pfx|crt|cer|txt|ya?ml|env|[jt]s|py|md)$/i.test(value) &&
  !(isId(value) || !notPath(value)) &&
  !value.split(/[-_./:+@,%]/).every((piece) => readable.test(piece));
const readable = /^(?:[A-Z]?[a-z]*(?:[A-Z][a-z]{2,})*|[A-Z]+|v?\d{0,4})$/;

/** Also accepts one long word. A short word is more likely the name of a field or a key on the keyboard. */
export const couldBeWord: Test = (value) =>
  couldBeKey(value) || (!isId(value) && /^(?:[A-Za-z]{9,}|[A-Z]{6,}|(?=.*\d)[^\s/]{8,})$/.test(value));

/** Looks generated: letters and digits are mixed, and few parts read like words. */
export const looksMade: Test = (value) => {
  if (!/^[\w+/=.~-]{16,}$/.test(value) || isId(value) || !notPath(value)) return false;
  if (/^[0-9a-f]+$/i.test(value)) return value.length >= 24 && /[a-f]/i.test(value);
  return /\d\D+\d/.test(value) && /[A-Za-z]/.test(value) && wordShare(value) <= 0.45;
};
/** Accepts `mapboxKey: "pk12345x"`, but not `s3Key: "a/b1.png"`. */
export const couldBeNumbered: Test = (value) =>
  looksMade(value) || (/^(?=.*\d)[^/]{8,}$/.test(value) && couldBeKey(value));
/** The share of characters that read like words. */
const wordShare = (word: string): number =>
  (word.match(/[A-Z]?[a-z]{3,}/g) ?? []).join("").length / word.length;

/** A generated key, or `user:password`, also in base64. */
export const isLogin: Test = (value) =>
  looksMade(value) || /^[^\s:/]+:[^\s/:]+$/.test(value) || decoded(value)?.includes(":") === true;
export const couldBeLogin: Test = (value) => notScheme(value) && (couldBeWord(value) || isLogin(value));
const scheme =
  /^(?:o?auth\d?|api-?key|none|basic|bearer|digest|m?tls|kerberos|negotiate|anonymous|certificate)$/i;
export const notScheme: Test = (value) => !scheme.test(value);

/**
 * A long word without a telling name must mix upper case, lower case and digits, have few separators, and have few parts
 * that read like words. Commits, digests, ids, paths and model names stay.
 */
export const isRandom: Test = (word) => {
  const count = (kind: RegExp): number => word.match(kind)?.length ?? 0;
  if (count(/[A-Z]/g) < 3 || count(/[a-z]/g) < 3 || isId(word) || isPublic.test(word)) return false;
  if (decoded(word) !== undefined) return false;
  // An AWS secret has 40 characters and may have few digits.
  if (/^(?=.*[/+])(?=.*\d)[A-Za-z0-9][A-Za-z0-9+/]{39}$/.test(word)) return wordShare(word) <= 0.3;
  return count(/[-_+/]/g) <= word.length * 0.15 && count(/\d+/g) >= 2 && wordShare(word) <= 0.45;
};

/** Digests, public keys, images and archives in base64, wallet addresses, and ids such as `msg_01…`. */
const isPublic =
  /^(?:sha\d{3}-|AAAA[B-Z]|iVBORw0KGgo|\/9j\/|R0lGOD|UklGR|JVBERi|H4sI|UEsD|pk_(?:live|test)_|0x[0-9a-fA-F]+$|[a-z]{2,12}[_-][A-Za-z0-9]{1,31}$)/;

/** Decodes a base64 word. Returns undefined if the result is not plain text. */
export function decoded(word: string): string | undefined {
  const text = /^[\w+/-]{4,}={0,2}$/.test(word) ? Buffer.from(word, "base64").toString("latin1") : "";
  return /^[\t\n\r\x20-\x7e]+$/.test(text) ? text : undefined;
}

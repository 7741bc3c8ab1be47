import { testFor } from "./names.ts";
import { marker } from "./redact.ts";
import { isRandom, looksMade } from "./values.ts";

/** The text without what it must not show. */
export type Hide = (text: string) => string;

/**
 * Hides these exact texts, also escaped as JSON or for a URL, in base64 or hexadecimal, and line by line. Texts under 8
 * characters would match everywhere. A hostile writer can still change a text in some other way. So a secret must not be known
 * in a place that it may not leave.
 */
export function hiderOf(known: readonly string[]): Hide {
  const all = known.flatMap((secret) => [
    secret,
    JSON.stringify(secret).slice(1, -1),
    ...inAddress(secret),
    ...inHex(secret),
    ...inBase64(secret),
    ...secret.split("\n"),
    withoutBreaks(secret),
  ]);
  const hide = replacer(all.filter((secret) => secret.trim().length >= shortest));
  return (text) => {
    const shown = hide(text);
    const joined = withoutBreaks(text);
    if (joined === text) return shown;
    const hidden = hide(joined);
    // The form in lines stays, unless it shows more.
    return inOneLine(hidden) === inOneLine(shown) ? shown : hidden;
  };
}

/** Every text here is at least this long. */
const shortest = 8;
const block = 4;
const furthest = shortest - block + 1;

/**
 * Replaces all occurrences of any of these texts in one pass: a company may have hundreds of secrets, each in some twenty forms, and
 * an answer to search has megabytes. At each place the last four of eight characters say how far ahead the next place is where one
 * of the texts can begin (Wu and Manber).
 */
function replacer(texts: readonly string[]): Hide {
  if (texts.length === 0) return (text) => text;
  const all = new Set(texts);
  // At most one of sixteen places in the table is taken.
  const bits = Math.ceil(Math.log2(all.size * furthest * 16));
  const slotAt = (text: string, at: number): number => mixed(text, at) >>> (32 - bits);
  const ahead = new Uint8Array(2 ** bits).fill(furthest);
  const ending = new Map<number, string[]>();
  for (const text of all)
    for (let at = 0; at < furthest; at++) {
      const slot = slotAt(text, at);
      ahead[slot] = Math.min(ahead[slot] ?? 0, furthest - 1 - at);
      if (at === furthest - 1) ending.set(slot, [...(ending.get(slot) ?? []), text]);
    }
  for (const found of ending.values()) found.sort((a, b) => b.length - a.length);
  return (text) => {
    let shown = "";
    let from = 0;
    // Texts may overlap. One marker replaces everything that any of them covers.
    let hiddenTo = 0;
    for (let at = 0; at + shortest <= text.length;) {
      const slot = slotAt(text, at + furthest - 1);
      const step = ahead[slot] ?? 1;
      const found = step === 0 ? ending.get(slot)?.find((secret) => text.startsWith(secret, at)) : undefined;
      if (found !== undefined) {
        if (at >= hiddenTo) {
          shown += text.slice(from, at) + marker;
          hiddenTo = at;
        }
        hiddenTo = Math.max(hiddenTo, at + found.length);
        from = hiddenTo;
      }
      at += Math.max(step, 1);
    }
    return from === 0 ? text : shown + text.slice(from);
  };
}

const mixed = (text: string, at: number): number => {
  const high = Math.imul(text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16), 0x9e3779b1);
  const low = Math.imul(text.charCodeAt(at + 2) | (text.charCodeAt(at + 3) << 16), 0x85ebca6b);
  return high ^ low;
};

const inOneLine = (text: string): string => text.replaceAll(/\r?\n/g, "");

/** Base64 and hexadecimal in lines of equal length as one line. */
const withoutBreaks = (text: string): string => text.replaceAll(/(?<=[\w+/-]{32})\r?\n(?=[\w+/=-])/g, "");

/** Escaped for a URL: only what must be, with capital or small letters, and every byte. */
function inAddress(secret: string): string[] {
  const usual = encodeURIComponent(secret.toWellFormed());
  const small = usual.replaceAll(/%../g, (code) => code.toLowerCase());
  const all = Buffer.from(secret).toString("hex").replaceAll(/../g, "%$&");
  return [usual, small, all, all.toUpperCase(), usual.replaceAll("%20", "+")];
}

/** Bytes in hexadecimal, also with separators, as programs print them. */
function inHex(secret: string): string[] {
  const plain = Buffer.from(secret).toString("hex");
  const apart = [" ", ":"].map((between) => plain.replaceAll(/..(?!$)/g, `$&${between}`));
  return [plain, ...apart].flatMap((text) => [text, text.toUpperCase()]);
}

/**
 * Base64 of the secret and of longer texts that contain it. There, its first and last characters depend on the text around it.
 */
function inBase64(secret: string): string[] {
  return [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
    const [start, end] = [Math.ceil((before * 4) / 3), Math.floor((bytes.length * 4) / 3)];
    return (["base64", "base64url"] as const).map((form) => bytes.toString(form).slice(start, end));
  });
}
/**
 * Is the value of a variable an ordinary setting, such as `true`, `production` or the name of a model? It then stays readable in other
 * texts, unless the variable's name means a secret.
 */
export function isSetting(name: string, value: string): boolean {
  if (testFor(name, "tight")?.(value) === true || !/^[\w.:@+/-]{1,64}$/.test(value)) return false;
  if (value.split(/[-_.:@+]/).every((piece) => plainWord.test(piece))) return true;
  return modelName.test(value) && !looksMade(value) && !isRandom(value);
}
const plainWord = /^(?:[A-Z]?[a-z]{0,15}|[A-Z]{1,15}|v?\d{0,4}|20\d{6})$/;
const modelName =
  /^(?:[a-z-]{1,20}\/)?(?:claude|gpt|chatgpt|codex|o\d|gemini|gemma|llama|qwen|mistral|mixtral|codestral|devstral|deepseek|grok|kimi|glm|phi|command|nova|sonar)[a-z\d.:@-]{0,40}$/;

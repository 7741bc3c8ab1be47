import { StringDecoder } from "node:string_decoder";
import { marker, redactLines } from "./redact.ts";

/**
 * What a session prints, on its way to the transcript. A pipe cuts where it likes, so a line is held back until it is
 * whole; and a secret may reach over lines, so each line is judged together with what was printed before it. Only raw text
 * in memory has secrets: what comes out has none, and neither has the file.
 */
export interface Scrubber {
  /** What can be written now. */
  readonly write: (chunk: Buffer) => string;
  /** The rest. */
  readonly end: () => string;
}

/** A longer line is written in parts, with this much behind the cut: no token is longer. */
const mostHeld = 64 * 1024;
const longestToken = 8 * 1024;
/** What was written and is looked at again: enough for a name and its value on the next lines. */
const mostRemembered = 1024;

export function scrubber(known: readonly string[]): Scrubber {
  const decoder = new StringDecoder("utf8");
  const hide = hiderOf(known);
  let before = "";
  let held = "";
  const pass = (length: number): string => {
    const whole = before + held.slice(0, length);
    const shown = hide(redactLines(whole, before.length));
    held = held.slice(length);
    // From its beginning, if a private key has begun and not ended.
    const open = whole.lastIndexOf("-----BEGIN ");
    const isOpen = open >= 0 && whole.length - open < mostHeld && !whole.includes("-----END ", open);
    const from = Math.max(0, whole.length - mostRemembered);
    before = whole.slice(isOpen ? Math.min(open, from) : from);
    return shown;
  };
  return {
    write: (chunk) => {
      held += decoder.write(chunk);
      const lines = held.lastIndexOf("\n") + 1;
      const shown = lines === 0 ? "" : pass(lines);
      if (held.length <= mostHeld) return shown;
      const most = held.length - longestToken;
      // Where a word ends; a text without words has no tokens.
      const [word = ""] = /[^\s,;&"'`<>()[\]{}|]*$/.exec(held.slice(most - longestToken, most)) ?? [];
      return shown + pass(most - word.length);
    },
    end: () => {
      held += decoder.end();
      return pass(held.length);
    },
  };
}

/** Takes out these very texts, also as JSON and line by line. Shorter ones would be found everywhere. */
export function hiderOf(known: readonly string[]): (text: string) => string {
  const all = known.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), ...secret.split("\n")]);
  const long = [...new Set(all)]
    .filter((secret) => secret.trim().length >= 8)
    .toSorted((a, b) => b.length - a.length);
  return (text) => long.reduce((shown, secret) => shown.replaceAll(secret, () => marker), text);
}

import { StringDecoder } from "node:string_decoder";
import { hiderOf } from "./known-texts.ts";
import { redactLines } from "./redact.ts";

/**
 * Removes secrets from a session's output before it is stored. A pipe may cut anywhere, so the scrubber holds a line back
 * until it is complete. A secret may span lines, so each line is scanned together with the output before it. The raw
 * output exists only in memory.
 */
export interface Scrubber {
  /** Takes a chunk and returns the text that can be stored now. */
  readonly write: (chunk: Buffer) => string;
  /** Returns the rest. */
  readonly end: () => string;
}

/** A longer line is returned in parts. The scrubber then holds back as much as the longest token. */
const mostHeld = 64 * 1024;
const longestToken = 8 * 1024;
/** How much earlier output is scanned again: enough for a name whose value follows on the next lines. */
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
    // A private key that has begun and not ended is kept from its beginning.
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
      // Cut where a word ends, never inside a token.
      const [word = ""] = /[^\s,;&"'`<>()[\]{}|]*$/.exec(held.slice(most - longestToken, most)) ?? [];
      return shown + pass(most - word.length);
    },
    end: () => {
      held += decoder.end();
      return pass(held.length);
    },
  };
}

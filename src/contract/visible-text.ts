/**
 * Text of others can hold characters that act instead of being shown: terminal commands, text that runs backwards, letters
 * without width. Names and titles can't have them. In longer text, they are escaped.
 */
const acting = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/**
 * The text with every acting character replaced, except those allowed. An emoji may contain invisible joiners, so it is
 * matched as a whole and kept. The pattern of all emoji takes a megabyte, so it is compiled only for a text that needs it.
 */
function replaceActing(text: string, allowed: string, replace: (match: string) => string): string {
  const found = text.match(acting);
  if (found === null || found.every((one) => allowed.includes(one))) return text;
  // Emoji come first: at the same place, the pattern takes the longer match.
  return text.replace(new RegExp(`(\\p{RGI_Emoji})|${acting.source}`, "gv"), (match, emoji?: string) =>
    emoji !== undefined || allowed.includes(match) ? match : replace(match),
  );
}

/** Whether every character is visible, except those allowed. */
export function showsItself(text: string, allowed: string): boolean {
  return replaceActing(text, allowed, () => "") === text;
}

/** The same text with every acting character but line ends and tabs written as \uXXXX, also inside JSON. */
export function shown(text: string): string {
  return replaceActing(text, "\n\t", (match) =>
    Array.from({ length: match.length }, (_, at) => `\\u${hex(match.charCodeAt(at))}`).join(""),
  );
}

const hex = (unit: number): string => unit.toString(16).padStart(4, "0");

/** The text on one line, without acting characters. For titles made from longer text. */
export function onOneLine(text: string): string {
  return replaceActing(text.replace(/[\s\p{Cc}]+/gu, " "), "", () => "").trim();
}

/** The most characters of a name, a role or a job title. */
export const mostInName = 64;

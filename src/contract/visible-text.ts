/**
 * Text that others wrote can hold characters that act instead of being shown: terminal commands, text that runs backwards,
 * letters without width. Names and titles may not have them. Where longer text is shown, they are escaped.
 */
const acting =
  /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\u2800]|\p{RGI_Emoji}/gv;

/** An emoji may contain invisible joiners, so it is matched as a whole and kept. */
const isKept = (match: string, allowed: string): boolean =>
  allowed.includes(match) || /^\p{RGI_Emoji}$/v.test(match);

/** Does every character show, except those allowed? */
export function showsItself(text: string, allowed: string): boolean {
  return [...text.matchAll(acting)].every(([match]) => isKept(match, allowed));
}

/** The same text with every acting character but line ends and tabs written as \\uXXXX, also inside JSON. */
export function shown(text: string): string {
  return text.replace(acting, (match) =>
    isKept(match, "\n\t")
      ? match
      : Array.from({ length: match.length }, (_, at) => `\\u${hex(match.charCodeAt(at))}`).join(""),
  );
}

const hex = (unit: number): string => unit.toString(16).padStart(4, "0");

/** The text on one line, without acting characters. For titles made from longer text. */
export function onOneLine(text: string): string {
  return text
    .replace(/[\s\p{Cc}]+/gu, " ")
    .replace(acting, (match) => (isKept(match, "") ? match : ""))
    .trim();
}

/**
 * Directives and plans: requests of a brain without tools in its final output. This file has the rules that need only one line.
 * runtime/final-output/ reads the directives; the listener in processes/ notes those that were too far from the end.
 */

/** A directive as it must be written, at the very start of a line. */
export const startsDirective = /^(HIRE|DELEGATE|VERDICT)\[/;

/** Almost a directive: after a bullet, a number or an emphasis, indented, or in small letters. */
export const resemblesDirective =
  /^[ \t]*(?:(?:[-*+•–—]|\d{1,3}[.)])[ \t]+)?[*_]{0,3}(?:HIRE|DELEGATE|VERDICT)[ \t]?\[[^[\]]+\][*_]{0,3}:/i;

/** A code fence: the mark that opened it, and the words after that mark. */
export interface Fence {
  readonly mark: string;
  readonly name: string;
}

export const isPlanFence = ({ name }: Fence): boolean => /^plan(\s|$)/i.test(name);

/** Follows the code fences of a text line by line. `open` is the fence that the text begins in. */
export function fencesOf(open: Fence | null = null): (line: string) => {
  readonly at: "outside" | "opening" | "inside" | "closing";
  readonly fence: Fence | null;
} {
  let fence = open;
  return (line) => {
    const [, mark, rest = ""] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
    if (fence === null) {
      if (mark === undefined) return { at: "outside", fence };
      fence = { mark, name: rest.trim() };
      return { at: "opening", fence };
    }
    if (mark === undefined || !mark.startsWith(fence.mark) || rest.trim() !== "")
      return { at: "inside", fence };
    const closed = fence;
    fence = null;
    return { at: "closing", fence: closed };
  };
}

/** The part that a long output lost at its beginning. */
export interface Lost {
  /** The directives in the lost part, each plan as "a plan", and the address if the output was a message. */
  readonly directives: readonly string[];
  /** The code fence in which the kept part begins, and the beginning of its first line. */
  readonly fence: Fence | null;
  readonly line: string;
}

const mostLost = 20;
const mostOfLine = 1000;

/** Reads the part of an output that is not kept, piece by piece. */
export function losing(): { readonly add: (text: string) => void; readonly lost: () => Lost } {
  const follow = fencesOf();
  const directives: string[] = [];
  let fence: Fence | null = null;
  let line = "";
  let isFirst = true;
  const hear = (one: string): void => {
    const { at, fence: now } = follow(one);
    fence = at === "closing" ? null : now;
    const isAddress = isFirst && /^\s*@\S/.test(one);
    isFirst &&= one.trim() === "";
    const isDirective = at === "outside" && (startsDirective.test(one) || resemblesDirective.test(one));
    const isPlan = at === "closing" && now !== null && isPlanFence(now);
    if ((isAddress || isDirective || isPlan) && directives.length < mostLost)
      directives.push(isPlan ? "a plan" : one.slice(0, 300));
  };
  return {
    add: (text) => {
      const lines = (line + text).split(/\r?\n/);
      // A line may be longer than the kept part. A directive is at its beginning.
      line = (lines.pop() ?? "").slice(0, mostOfLine);
      for (const one of lines) hear(one);
    },
    lost: () => ({ directives, fence, line }),
  };
}

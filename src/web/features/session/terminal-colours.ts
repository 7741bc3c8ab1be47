import { shown } from "../../../contract/visible-text.ts";

/** A part of a text with one style. Only these styles exist, so the output of a program can't choose any other class. */
export interface Coloured {
  readonly text: string;
  readonly look: string;
}

const colours = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;

// oxlint-disable-next-line no-control-regex -- terminal commands begin with a control character
const commands = /\u001b(?:\[([0-?]*)[ -/]*([@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;

/** The text without control sequences and invisible characters. */
const visibleText = (text: string): string => shown(text.replace(commands, "").replace(/\r\n?/g, "\n"));

/** The text in parts, with the colours of its control sequences. */
export function colouredParts(text: string): readonly Coloured[] {
  const parts: Coloured[] = [];
  let colour = "";
  let isBold = false;
  let from = 0;
  const add = (end: number): void => {
    const words = visibleText(text.slice(from, end));
    if (words === "") return;
    const look = [colour, isBold ? "bold" : ""].filter((each) => each !== "").join(" ");
    parts.push({ text: words, look });
  };
  for (const { 0: all, 1: numbers = "", 2: letter, index } of text.matchAll(commands)) {
    add(index);
    from = index + all.length;
    if (letter !== "m") continue;
    const codes = numbers.split(";").map(Number);
    for (let at = 0; at < codes.length; at++) {
      const code = codes[at] ?? 0;
      if (code === 0) [colour, isBold] = ["", false];
      else if (code === 1) isBold = true;
      else if (code === 22) isBold = false;
      else if (code === 39) colour = "";
      // Colours by number or by RGB values are not supported. The values after them belong to them.
      else if (code === 38 || code === 48) at += codes[at + 1] === 5 ? 2 : 4;
      else if (code >= 30 && code <= 37) colour = colours[code - 30] ?? "";
      else if (code === 90) colour = "grey";
      else if (code >= 91 && code <= 97) colour = colours[code - 90] ?? "";
    }
  }
  add(text.length);
  return parts;
}

/** The lines of a text. If a colour continues after the end of a line, it is repeated at the start of the next. */
export function terminalLines(text: string): string[] {
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  let open = "";
  return lines.map((line) => {
    const whole = `${open}${line}`;
    for (const { 0: all, 1: numbers = "", 2: letter } of line.matchAll(commands))
      if (letter === "m") open = /^(?:0*;)*0*$/.test(numbers) ? "" : `${open}${all}`.slice(-200);
    return whole;
  });
}

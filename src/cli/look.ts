import { plural, timeAgo } from "../contract/phrases.ts";

/**
 * The appearance of everything that people read: styles, widths, times and tables. Nothing here writes. A styled text carries
 * marks. When the text is printed, they become colours, or nothing (`dress`). The marks have a random part, so no text of an
 * agent can contain one.
 */
export interface Drawing {
  /** The columns of the terminal. Infinity if the output is not a terminal; then nothing is cut. */
  readonly columns: number;
  readonly now: number;
  /** The text with short ids in place of the known ids. */
  readonly short: (text: string) => string;
}

/** Functions that draw the results of commands, by command. */
export type Screens = Readonly<Record<string, (output: unknown, look: Drawing) => string>>;

// Not from node:crypto, whose loading would take a fifth of the time of `agency status`. No text can guess this number: V8
// seeds it from the system in every process, and it is never printed.
const mark = `\uE000${Math.random().toString(16).slice(2)}`;
const marks = new RegExp(`${mark}(\\d+);`, "g");
const styles = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;
type Style = keyof typeof styles;

export const styled = (style: Style, text: string): string =>
  text === "" ? "" : `${mark}${styles[style]};${text}${mark}0;`;

/** The text as it is printed: with colours on a terminal, plain anywhere else. */
export const dress = (text: string, isColoured: boolean): string =>
  text.replace(marks, isColoured ? "\u001B[$1m" : "");

/** The style of each state. */
const stateStyles: Readonly<Record<string, Style>> = {
  running: "green",
  working: "green",
  active: "green",
  completed: "green",
  approved: "green",
  done: "green",
  pending: "yellow",
  pending_approval: "yellow",
  submitted: "yellow",
  paused: "yellow",
  blocked: "yellow",
  frozen: "yellow",
  failed: "red",
  stuck: "red",
  rejected: "red",
  terminated: "dim",
  closed: "dim",
  cancelled: "dim",
  archived: "dim",
};

/** A state in its colour, with spaces in place of underscores. */
export function stated(state: string): string {
  const style = stateStyles[state];
  const words = state.replaceAll("_", " ");
  return style === undefined ? words : styled(style, words);
}

/** The number of columns that a text takes. */
export function widthOf(text: string): number {
  let width = 0;
  for (const letter of text.replace(marks, "")) width += narrow.test(letter) ? 0 : wide.test(letter) ? 2 : 1;
  return width;
}

const narrow = /\p{Mn}|\p{Me}|\p{Cf}/u;
const wide =
  /\p{Emoji_Presentation}|[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]/u;

/** The text on one line with at most this many columns. A cut text loses its styles. */
export function cut(text: string, columns: number): string {
  const line = text.replace(/\s+/g, " ").trim();
  if (widthOf(line) <= columns) return line;
  let short = "";
  for (const letter of line.replace(marks, "")) {
    if (widthOf(short + letter) > columns - 1) break;
    short += letter;
  }
  return `${short.trimEnd()}…`;
}

/**
 * The text with its lines broken between words. Text that people copy stays whole: commands, and lines with an address or a
 * path, are never broken. Further lines begin where the text of the first one begins, after its label if it has one.
 */
export function wrapped(text: string, columns: number): string {
  return text
    .split("\n")
    .flatMap((line) => (widthOf(line) <= columns || isPath.test(line) ? [line] : broken(line, columns)))
    .join("\n");
}

const isPath = /:\/\/|(?<![\w>])\/\S+\//;

function broken(line: string, columns: number): string[] {
  const [quote = ""] = /^\s*(?:│ )?/.exec(line) ?? [];
  // A label is followed by at least two spaces: `Spent      $0.00`.
  const [label = ""] = /^\s*(?:[^\s│]+(?: \S+)*? {2,}){1,2}/.exec(line) ?? [];
  const isLabelled = label !== "" && widthOf(label) <= columns * 0.6;
  const start = isLabelled ? label : quote;
  const hanging = quote === "" || quote.includes("│") ? quote : `${quote}  `;
  const indent = isLabelled ? " ".repeat(widthOf(label)) : hanging;
  const lines: string[] = [];
  let begun = start;
  let isEmpty = true;
  for (const word of line.slice(start.length).match(wordOrCommand) ?? []) {
    const longer = isEmpty ? begun + word : `${begun} ${word}`;
    if (widthOf(longer) > columns && !isEmpty) {
      lines.push(begun);
      begun = indent + word;
    } else begun = longer;
    isEmpty = false;
  }
  return [...lines, begun];
}

/** A command ends with its sentence, its clause or the line. A quoted argument belongs to it. */
const wordOrCommand = /[`(]?\bagency [a-z](?:"[^"]*"|[^"])*?(?:[.,;:)`]+(?=\s)|$)|\S+/g;

export const padded = (text: string, columns: number): string =>
  text + " ".repeat(Math.max(0, columns - widthOf(text)));

const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;

/** "3 minutes ago", "in 2 hours". */
export function when(time: string, now: number): string {
  const ahead = Date.parse(time) - now;
  return ahead > 0 ? `in ${lasting(ahead)}` : timeAgo(-ahead);
}

/** "45 seconds", "3 minutes", "2 days". */
export function lasting(milliseconds: number): string {
  const seconds = Math.max(1, Math.round(milliseconds / 1000));
  if (seconds < 60) return plural(seconds, "second");
  if (seconds < 3600) return plural(Math.floor(seconds / 60), "minute");
  if (seconds < 86_400) return plural(Math.floor(seconds / 3600), "hour");
  return plural(Math.floor(seconds / 86_400), "day");
}

/** For a line of a list: "12s", "3m", "2h", "5d". */
export function briefly(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`;
}

/** A value of an answer as people read it. */
export function plain(value: unknown, look: Drawing): string {
  if (value === null || value === undefined || value === "") return "-";
  if (Array.isArray(value)) return value.length === 0 ? "-" : value.map((one) => plain(one, look)).join(", ");
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return isTime.test(value) ? when(value, look.now) : look.short(value);
  if (typeof value !== "object") return JSON.stringify(value);
  const object: Record<string, unknown> = { ...value };
  for (const key of ["name", "title"]) if (typeof object[key] === "string") return object[key];
  // The actor: an agent by its id, otherwise the board or the system.
  if ("agentId" in object)
    return typeof object["agentId"] === "string"
      ? look.short(object["agentId"])
      : plain(object["kind"], look);
  const parts = Object.entries(object)
    .filter(([, one]) => one !== null && one !== "")
    .map(([key, one]) => `${wordsOfKey(key).toLowerCase()} ${plain(one, look)}`);
  return parts.join(", ") || "-";
}

/** `startedAt` is "Started", `reportsTo` is "Reports to". */
export function wordsOfKey(key: string): string {
  if (key === "boss") return "Manager";
  const words = key
    .replace(/At$/, "")
    .replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    .replaceAll("_", " ");
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

/** The columns of a table of an answer, in this order. Other fields of a row are left to --json. */
const preferred = [
  "seq",
  "id",
  "agent",
  "actor",
  "by",
  "author",
  "from",
  "to",
  "body",
  "what",
  "summary",
  "type",
  "name",
  "title",
  "description",
  "role",
  "kind",
  "status",
  "state",
  "says",
  "level",
  "resource",
  "operation",
  "action",
  "boss",
  "responsible",
  "version",
  "at",
  "startedAt",
  "endedAt",
  "endReason",
  "sentAt",
  "updatedAt",
];

/** Columns that are shortened last. */
const kept = new Set(["id", "seq", "at", "status", "state", "level", "version", "startedAt"]);
const least = 8;

/** Rows as a table that fits the terminal. Columns without a value are left out. */
export function drawTable(
  rows: readonly Readonly<Record<string, unknown>>[],
  look: Drawing,
  known?: readonly string[],
): string {
  const [first] = rows;
  if (first === undefined) return "";
  const named = (known ?? preferred).filter((key) => key in first);
  // Agents and companies appear under their names.
  const wanted = named.filter((key) => known !== undefined || key !== "id" || !("slug" in first));
  const keys = (wanted.length === 0 ? Object.keys(first) : wanted).filter((key) =>
    rows.some((row) => plain(row[key], look) !== "-"),
  );
  const cells = rows.map((row) => keys.map((key) => plain(row[key], look).replace(/\s+/g, " ").trim()));
  const widths = keys.map((key, at) =>
    Math.max(widthOf(wordsOfKey(key)), ...cells.map((line) => widthOf(line[at] ?? ""))),
  );
  fit(widths, keys, look.columns);
  const drawn = cells.map((line) =>
    line
      .map((cell, at) => {
        const isState = ["status", "state", "end"].includes(keys[at] ?? "");
        return padded(
          isState ? stated(cut(cell, widths[at] ?? 0)) : cut(cell, widths[at] ?? 0),
          widths[at] ?? 0,
        );
      })
      .slice(0, widths.length)
      .join("  ")
      .trimEnd(),
  );
  const head = widths.map((width, at) => padded(cut(wordsOfKey(keys[at] ?? ""), width), width)).join("  ");
  return [styled("dim", head.trimEnd()), ...drawn].join("\n");
}

/** Narrows the widest columns until the table fits. If that is not enough, drops the last columns. */
function fit(widths: number[], keys: readonly string[], columns: number): void {
  const total = (): number => widths.reduce((sum, width) => sum + width + 2, -2);
  while (total() > columns) {
    const widest = widths.reduce(
      (best, width, at) =>
        width > least && !kept.has(keys[at] ?? "") && width > (widths[best] ?? 0) ? at : best,
      -1,
    );
    if (widest === -1) {
      if (widths.length === 1) return;
      widths.pop();
      continue;
    }
    widths[widest] = Math.max(least, Math.min((widths[widest] ?? 0) - 1, columns));
  }
}

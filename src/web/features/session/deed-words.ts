import { plural } from "../../../contract/phrases.ts";

/** Short texts about calls of tools. Tools of Agency are named verb_noun; the others are those of known programs. */

const things = new Set([
  "file",
  "outcome",
  "message",
  "agent",
  "version",
  "transcript",
  "approval",
  "permission",
  "command",
  "page",
  "branch",
  "repo",
]);

const pasts: Readonly<Record<string, string>> = {
  read: "read",
  write: "wrote",
  send: "sent",
  run: "ran",
  view: "viewed",
};

/** Tools of other programs, as verb_noun. */
const others: Readonly<Record<string, string>> = {
  Read: "read_file",
  Write: "write_file",
  Edit: "edit_file",
  MultiEdit: "edit_file",
  Bash: "run_command",
  shell: "run_command",
  exec_command: "run_command",
  WebFetch: "read_page",
};

/** "read 6 files", "ran 3 commands", "read_inbox, 3 times". */
export function runWords(tool: string, count: number): string {
  const name = /^mcp__.+?__(.+)$/.exec(tool)?.[1] ?? tool;
  const [verb = "", noun = "", ...more] = (others[name] ?? name).split("_");
  if (more.length > 0 || !things.has(noun)) return `${name}, ${count} times`;
  return `${pasts[verb] ?? pastOf(verb)} ${plural(count, noun, noun === "branch" ? "branches" : `${noun}s`)}`;
}

const pastOf = (verb: string): string => (verb.endsWith("e") ? `${verb}d` : `${verb}ed`);

/** An id, a hash, or a time to the millisecond, which no reader of a line needs. */
const isNoise =
  /^([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{40,}|\d{4}-\d\d-\d\dT[\d:.]+Z)$/;
const leading = ["title", "name", "description", "message", "summary"] as const;
const most = 200;

/** JSON in a few words, without ids and empty values. Any other text is returned unchanged. */
export function gistOf(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    const words = wordsOf(JSON.parse(text));
    return words.length > most ? `${words.slice(0, most)}…` : words;
  } catch {
    // A long result was cut when it was recorded, so its JSON is incomplete.
    return text;
  }
}

function wordsOf(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? "" : countOf(value.length, "entries");
  if (typeof value !== "object" || value === null) return plain(value);
  const parts = new Map<string, unknown>(Object.entries(value));
  const lead = leading.find((key) => plain(parts.get(key)) !== "");
  const said = [...parts].flatMap(([key, part]) => {
    if (key === lead || (Array.isArray(part) && part.length === 0)) return [];
    if (Array.isArray(part)) return [countOf(part.length, spaced(key))];
    if (part === true) return [spaced(key)];
    const words = typeof part === "object" ? nameIn(part) : plain(part);
    return words === "" ? [] : [`${spaced(key)} ${words}`];
  });
  const [empty] = [...parts].flatMap(([key, part]) => (isEmptyList(part) ? [spaced(key)] : []));
  const isNone = (part: unknown): boolean => part === 0 || part === null || isEmptyList(part);
  if (empty !== undefined && [...parts.values()].every(isNone)) return countOf(0, empty);
  return [...(lead === undefined ? [] : [plain(parts.get(lead))]), ...said].join(", ");
}

const isEmptyList = (part: unknown): boolean => Array.isArray(part) && part.length === 0;

function nameIn(part: unknown): string {
  const fields = new Map<string, unknown>(Object.entries(Object(part)));
  const lead = leading.find((key) => plain(fields.get(key)) !== "");
  return lead === undefined ? "" : plain(fields.get(lead));
}

function plain(value: unknown): string {
  if (value === true) return "yes";
  if (typeof value === "number") return String(value);
  return typeof value === "string" && !isNoise.test(value)
    ? value
        .replace(/\s*\(?kb:\/\/[0-9a-f-]{36}\)?/g, "")
        .replace(/\s+/g, " ")
        .trim()
    : "";
}

const spaced = (key: string): string =>
  key
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .replaceAll("_", " ")
    .toLowerCase();

const countOf = (count: number, many: string): string =>
  `${count === 0 ? "no" : count} ${count === 1 ? many.replace(/ies$/, "y").replace(/s$/, "") : many}`;

import { drawTable, type Drawing, plain, styled, wordsOfKey } from "./look.ts";
import { emptyList } from "./texts.ts";

/** Any result as text for people: a list as a table, an object as lines. It depends only on the shape of the result. */
export function show(output: unknown, look: Drawing, known?: readonly string[]): string {
  if (!isObject(output)) return String(output);
  const list = Object.entries(output).find(([, value]) => Array.isArray(value) && value.every(isObject));
  const isPage = "nextCursor" in output || "truncated" in output;
  if (list !== undefined && (isPage || Object.keys(output).length === 1)) {
    const [name, rows] = list;
    return `${table(name, Array.isArray(rows) ? rows.filter(isObject) : [], look, known)}${moreOf(output, Array.isArray(rows) ? rows.length : 0)}`;
  }
  if (output["encoding"] === "base64" && "hash" in output)
    return `${plain(output["description"], look)}\nThis is not text (${plain(output["mediaType"], look)}, ${plain(output["size"], look)} bytes). Save it: agency save ${plain(output["id"], look)}`;
  if (typeof output["content"] === "string" && "hash" in output)
    return `${output["content"]}\n-- version ${plain(output["version"], look)}, hash ${plain(output["hash"], look)}`;
  return record(output, look);
}

/** The number of rows, and how to see the others. */
function moreOf({ nextCursor, count, truncated }: Record<string, unknown>, shown: number): string {
  if (typeof nextCursor === "string")
    return `\n${typeof count === "number" ? `${shown} of ${count}. ` : ""}For more, add: --cursor "${nextCursor}"`;
  return truncated === true ? "\n… and more. Add a higher --limit." : "";
}

/** One line for every field with a value: a label and the value. Objects are indented below their label. */
function record(output: Record<string, unknown>, look: Drawing, indent = ""): string {
  const lines = Object.entries(output).flatMap(([key, value]): string[] => {
    if (value === null || value === "" || (Array.isArray(value) && value.length === 0)) return [];
    const label = `${indent}${styled("dim", `${wordsOfKey(key)}:`)}`;
    if (isList(value)) return [label, table(key, value, look).replace(/^/gm, `${indent}  `)];
    const isNamed = isObject(value) && ("name" in value || "title" in value);
    if (isObject(value) && !isNamed) {
      const inner = record(value, look, `${indent}  `);
      return inner === "" ? [] : [label, inner];
    }
    return [`${label} ${indented(plain(value, look))}`];
  });
  return lines.join("\n");
}

/** Further lines of a text are marked, so none of them can pass for a line of the command line itself. */
export function indented(text: string): string {
  return text.trimEnd().replaceAll("\n", "\n    │ ");
}

/** Rows under the name of the list. For an empty list, what to do next. */
export function table(
  name: string,
  rows: readonly Record<string, unknown>[],
  look: Drawing,
  known?: readonly string[],
): string {
  return rows.length === 0 ? emptyList(name) : drawTable(rows, look, known);
}

/** A list of steps or moves gets a table. A list of names fits on one line. */
function isList(value: unknown): value is Record<string, unknown>[] {
  return Array.isArray(value) && value.length > 0 && value.every((row) => isObject(row) && "what" in row);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

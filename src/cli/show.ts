/** Any result as text for people: a list as a table, an object as lines. Only the result's own shape decides. */
export function show(output: unknown): string {
  if (!isObject(output)) return String(output);
  const list = Object.entries(output).find(([, value]) => Array.isArray(value) && value.every(isObject));
  const isPage = "nextCursor" in output || "truncated" in output;
  if (list !== undefined && isPage) {
    const [name, rows] = list;
    const more =
      typeof output["nextCursor"] === "string" ? `\nFor more, add: --cursor "${output["nextCursor"]}"` : "";
    return `${table(name, Array.isArray(rows) ? rows.filter(isObject) : [])}${more}`;
  }
  if (typeof output["content"] === "string" && "hash" in output)
    return `${output["content"]}\n-- version ${text(output["version"])}, hash ${text(output["hash"])}`;
  return Object.entries(output)
    .map(([key, value]) => `${key}: ${isList(value) ? `\n${table(key, value)}` : indented(text(value))}`)
    .join("\n");
}

/** Later lines of a text are marked, so none of them can pass for a line of the command line itself. */
export function indented(text: string): string {
  return text.trimEnd().replaceAll("\n", "\n    │ ");
}

/** The columns of a table, in this order. A row's other fields are left to --json. */
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
  "level",
  "resource",
  "operation",
  "action",
  "boss",
  "responsible",
  "workable",
  "version",
  "at",
  "startedAt",
  "endedAt",
  "endReason",
  "sentAt",
];

export function table(name: string, rows: readonly Record<string, unknown>[]): string {
  const first = rows[0];
  if (first === undefined) return `No ${name}.`;
  const columns = preferred.filter((key) => key in first);
  const shown = columns.length === 0 ? Object.keys(first) : columns;
  const cells = rows.map((row) => shown.map((key) => short(text(row[key]))));
  const widths = shown.map((key, index) =>
    Math.max(key.length, ...cells.map((line) => line[index]?.length ?? 0)),
  );
  const lines = [shown, ...cells].map((line) =>
    line
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  return lines.join("\n");
}

function text(value: unknown): string {
  if (value === null || value === undefined) return "-";
  if (Array.isArray(value)) return value.length === 0 ? "-" : value.map(text).join(", ");
  if (isObject(value)) {
    for (const key of ["name", "title"]) if (typeof value[key] === "string") return value[key];
    // Who acted: an agent by its id, otherwise the board or the system.
    if ("agentId" in value)
      return typeof value["agentId"] === "string" ? value["agentId"] : text(value["kind"]);
    return JSON.stringify(value);
  }
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function short(cell: string): string {
  const line = cell.replace(/\s+/g, " ");
  return line.length > 60 ? `${line.slice(0, 59)}…` : line;
}

/** A list of steps or moves gets a table. A list of names fits on one line. */
function isList(value: unknown): value is Record<string, unknown>[] {
  return Array.isArray(value) && value.length > 0 && value.every((row) => isObject(row) && "what" in row);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

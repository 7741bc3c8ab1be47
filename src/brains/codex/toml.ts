/** Writes a configuration in TOML: values first, then the tables. */

type TomlValue = string | number | boolean | readonly string[];
interface TomlTable {
  readonly [key: string]: TomlValue | TomlTable;
}

export function toml(table: TomlTable, path: readonly string[] = []): string {
  const entries = Object.entries(table);
  const values = entries.flatMap(([key, value]) =>
    isTable(value) ? [] : [`${word(key)} = ${written(value)}`],
  );
  const tables = entries.flatMap(([key, value]) => (isTable(value) ? [toml(value, [...path, key])] : []));
  const head = path.length === 0 || values.length === 0 ? [] : [`[${path.map(word).join(".")}]`];
  return [...head, ...values, ...tables].join("\n");
}

const isTable = (value: TomlValue | TomlTable): value is TomlTable =>
  typeof value === "object" && !Array.isArray(value);

const word = (text: string): string => (/^[\w-]+$/.test(text) ? text : written(text));

/** A JSON string is a TOML string, with two exceptions: TOML also escapes U+007F, and can't hold half a surrogate pair. */
function written(value: TomlValue): string {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value === "string") return JSON.stringify(value.toWellFormed()).replaceAll("\u007f", "\\u007f");
  return `[${value.map(written).join(", ")}]`;
}

// Finds the places in an input from its schema, and puts values there.
import { JsonObject } from "../src/contract/words.ts";
import { z } from "zod";
import { changesNaming } from "./pending-changes.ts";

const Schema = z.looseObject({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  enum: z.array(z.unknown()).optional(),
  const: z.unknown().optional(),
  anyOf: z.array(z.record(z.string(), z.unknown())).optional(),
  oneOf: z.array(z.record(z.string(), z.unknown())).optional(),
  items: z.record(z.string(), z.unknown()).optional(),
  properties: z.record(z.string(), z.record(z.string(), z.unknown())).optional(),
  additionalProperties: z.union([z.boolean(), z.record(z.string(), z.unknown())]).optional(),
});

/** Every place that accepts text or any value. */
export function leavesOf(schema: unknown, path: string): string[] {
  const {
    type,
    oneOf,
    anyOf = oneOf,
    items,
    properties,
    additionalProperties,
    ...rest
  } = Schema.parse(schema);
  if (anyOf !== undefined) return [...new Set(anyOf.flatMap((one) => leavesOf(one, path)))];
  if (items !== undefined) return leavesOf(items, `${path}[]`);
  const join = (key: string): string => (path === "" ? key : `${path}.${key}`);
  if (properties !== undefined)
    return Object.entries(properties).flatMap(([key, one]) => leavesOf(one, join(key)));
  if (typeof additionalProperties === "object") return [join("*")];
  const isText = [type].flat().includes("string") && rest.enum === undefined && rest.const === undefined;
  return isText || type === undefined ? [path] : [];
}

/** The input with the value at the place. */
export function put(
  base: Readonly<Record<string, unknown>>,
  place: string,
  value: unknown,
): Record<string, unknown> {
  const [leaf = "", kind = ""] = place.split(" ");
  const change = changesNaming[leaf]?.[kind];
  if (change !== undefined) return { ...base, change: change(String(value), base["change"]) };
  const [first = "", second] = place.split(/\[\]\.?|\./);
  if (place.endsWith(".*")) return { ...base, [first]: value };
  if (place.endsWith("[]")) return { ...base, [first]: [value] };
  if (place === "file") return { ...base, file: value, body: undefined };
  if (second === undefined) return { ...base, [place]: value };
  if (place.includes("[]")) {
    const listed: unknown = base[first];
    const entry: unknown = Array.isArray(listed) ? listed[0] : {};
    return { ...base, [first]: [{ ...JsonObject.parse(entry), [second]: value }] };
  }
  return { ...base, [first]: { reason: "a reason", [second]: value } };
}

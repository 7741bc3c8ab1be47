import { z } from "zod";
import { SecretReference } from "../contract/secrets.ts";

/**
 * A schema marks a secret with `.meta({ secret: true })`, on a field or on a whole record. A marked value is always hidden.
 * If a value may follow several schemas, one mark is enough.
 */
export type Marks = ReadonlyMap<string, readonly z.ZodType[]>;

/** A node of a JSON Schema. Alternatives (`anyOf` and the like) are listed beside the node that offers them. */
export type SchemaNode = z.core.JSONSchema.BaseSchema;

const seen = new WeakMap<z.ZodType, readonly SchemaNode[]>();

export function nodesOf(schema: z.ZodType): readonly SchemaNode[] {
  const nodes = seen.get(schema) ?? flat(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }));
  seen.set(schema, nodes);
  return nodes;
}

export const isMarked = (nodes: readonly SchemaNode[]): boolean =>
  nodes.some((node) => node["secret"] === true);

/** The nodes for a key or an item. A mark also covers everything below it. */
export function below(nodes: readonly SchemaNode[], key: string | number): readonly SchemaNode[] {
  return nodes.flatMap((node) => {
    const { properties = {}, additionalProperties, prefixItems, items } = node;
    if (node["secret"] === true) return [node];
    if (typeof key === "number") return [prefixItems?.[key] ?? items].flat().flatMap(flat);
    return flat(Object.hasOwn(properties, key) ? properties[key] : additionalProperties);
  });
}

/** Replaces every text and every reference to a secret that the schemas mark. `key` is the key above it. */
export function replaceMarked(
  value: unknown,
  marks: Marks,
  replace: (value: unknown, key: string) => unknown,
): unknown {
  const walk = (here: unknown, nodes: readonly SchemaNode[], key: string): unknown => {
    if (isMarked(nodes) && (typeof here === "string" || isReference(here))) return replace(here, key);
    if (typeof here !== "object" || here === null) return here;
    if (Array.isArray(here)) {
      const items = here.map((item: unknown, index) => walk(item, below(nodes, index), key));
      return items.every((item, index) => item === here[index]) ? here : items;
    }
    const entries = Object.entries(here).map(([name, item]: [string, unknown]): [string, unknown] => [
      name,
      walk(item, [...below(nodes, name), ...(marks.get(name) ?? []).flatMap(nodesOf)], name),
    ]);
    return entries.every(([name, item]) => item === Reflect.get(here, name))
      ? here
      : Object.fromEntries(entries);
  };
  return walk(value, [], "");
}

/** The names of the secrets that a configuration refers to. */
export function secretNames(value: unknown): string[] {
  const reference = SecretReference.safeParse(value);
  if (reference.success) return [reference.data.secret];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(secretNames) : [];
}

export const isReference = (value: unknown): boolean => SecretReference.safeParse(value).success;

function flat(node: z.core.JSONSchema._JSONSchema | undefined): readonly SchemaNode[] {
  if (typeof node !== "object") return [];
  return [node, ...[node.anyOf, node.allOf, node.oneOf].flatMap((some) => some ?? []).flatMap(flat)];
}

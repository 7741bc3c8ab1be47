import { z } from "zod";

/**
 * Secrets that a schema marks with `.meta({ secret: true })`, on a field or on a whole record. What is marked is hidden
 * whatever it looks like. Where a value could follow several schemas, one that marks it is enough.
 */
export type Marks = ReadonlyMap<string, readonly z.ZodType[]>;

/** A schema as JSON; the alternatives that it offers stand beside it. */
export type SchemaNode = z.core.JSONSchema.BaseSchema;

const seen = new WeakMap<z.ZodType, readonly SchemaNode[]>();

export function nodesOf(schema: z.ZodType): readonly SchemaNode[] {
  const nodes = seen.get(schema) ?? flat(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }));
  seen.set(schema, nodes);
  return nodes;
}

export const isMarked = (nodes: readonly SchemaNode[]): boolean =>
  nodes.some((node) => node["secret"] === true);

/** What they say of a key or an item. Below what is marked everything is. */
export function below(nodes: readonly SchemaNode[], key: string | number): readonly SchemaNode[] {
  return nodes.flatMap((node) => {
    const { properties = {}, additionalProperties, prefixItems, items } = node;
    if (node["secret"] === true) return [node];
    if (typeof key === "number") return [prefixItems?.[key] ?? items].flat().flatMap(flat);
    return flat(Object.hasOwn(properties, key) ? properties[key] : additionalProperties);
  });
}

function flat(node: z.core.JSONSchema._JSONSchema | undefined): readonly SchemaNode[] {
  if (typeof node !== "object") return [];
  return [node, ...[node.anyOf, node.allOf, node.oneOf].flatMap((some) => some ?? []).flatMap(flat)];
}

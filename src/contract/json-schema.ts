import { objectFields } from "./object-fields.ts";
import { z } from "zod";
import { describedId, hiddenInSessions, hiddenInTools, nounsOfIds, shownAs, shownInTools } from "./words.ts";

/** JSON Schema for everything that can't read zod: OpenAPI, MCP tools, the flags of CLI commands. */

/** The input as a client sends it, before transforms. */
export function inputSchema(input: z.ZodObject): Record<string, unknown> {
  return schemaOf(input, [shownAs]);
}

/**
 * The input of a tool in a form that suits models: types, enums and descriptions. Models pay for every character and can't use
 * patterns, formats and limits; a refused call names what it expected. Schemas that another tool describes in full are left
 * out.
 */
export function toolSchema(input: z.ZodObject, forWhom: "sessions" | "others"): Record<string, unknown> {
  const hidden = forWhom === "sessions" ? [hiddenInTools, hiddenInSessions] : [hiddenInTools];
  return slim(schemaOf(input, [shownAs, shownInTools], hidden));
}

export function outputSchema(output: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(output, { io: "output", unrepresentable: "any" });
  return schema;
}

function schemaOf(
  input: z.ZodObject,
  substitutes: readonly (typeof shownAs)[],
  hidden?: readonly (typeof hiddenInTools)[],
): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(input, {
    io: "input",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => {
      for (const substitute of substitutes) replace(jsonSchema, substitute.get(zodSchema));
      // A pattern beside a format repeats it at greater length.
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
      delete jsonSchema.propertyNames;
      const noun = hidden && nounsOfIds.get(zodSchema)?.noun;
      if (noun !== undefined && jsonSchema.description === describedId(noun))
        jsonSchema.description = "UUID.";
      if (hidden !== undefined && zodSchema instanceof z.ZodObject)
        for (const [key, part] of Object.entries(zodSchema.shape))
          if (hidden.some((those) => those.has(part))) delete jsonSchema.properties?.[key];
    },
  });
  return schema;
}

function replace(
  jsonSchema: z.core.JSONSchema.BaseSchema,
  shown: Readonly<Record<string, unknown>> | undefined,
): void {
  if (shown === undefined) return;
  for (const key of ["anyOf", "oneOf", "properties", "required", "additionalProperties"])
    delete jsonSchema[key];
  Object.assign(jsonSchema, shown);
}

/** The parts of a schema that models see, and their form. */
const shownKeys: Readonly<Record<string, (part: unknown) => unknown>> = {
  ...Object.fromEntries(["type", "description", "enum", "required"].map((key) => [key, asItIs])),
  // The description of a list describes its items.
  items: (part) => slim({ ...objectFields(part), description: undefined }),
  properties: (part) =>
    Object.fromEntries(
      Object.entries(objectFields(part)).map(([name, one]) => [name, slim(objectFields(one))]),
    ),
  anyOf: slimAll,
  oneOf: slimAll,
};

function slim(schema: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { anyOf, const: only, ...rest } = schema;
  if (only !== undefined) return slim({ ...rest, type: undefined, enum: [only] });
  const [value, other] = Array.isArray(anyOf) ? anyOf : [];
  // A value that may also be null. A list of types says the same in fewer words.
  if (other?.type === "null" && value.type !== undefined)
    return slim({
      ...value,
      ...rest,
      type: [value.type, "null"],
      ...(value.enum && { enum: [...value.enum, null] }),
    });
  return Object.fromEntries(
    Object.entries(schema).flatMap(([key, part]) => {
      const show = shownKeys[key];
      return show === undefined || part === undefined ? [] : [[key, show(part)]];
    }),
  );
}

function slimAll(parts: unknown): unknown {
  return Array.isArray(parts) ? parts.map((one) => slim(Object(one))) : [];
}

function asItIs(part: unknown): unknown {
  return part;
}

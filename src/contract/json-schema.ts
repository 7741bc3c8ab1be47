import { z } from "zod";
import { shownAs, shownInTools } from "./words.ts";

/** JSON Schema for everything that does not speak zod: OpenAPI, MCP tools, the flags of CLI commands. */

/** The input as a client sends it, before transforms. */
export function inputSchema(input: z.ZodObject): Record<string, unknown> {
  return schemaOf(input, [shownAs]);
}

/** The input of a tool. Models pay for every character, so it leaves out what another tool describes in full. */
export function toolSchema(input: z.ZodObject): Record<string, unknown> {
  return schemaOf(input, [shownAs, shownInTools]);
}

export function outputSchema(output: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(output, { io: "output", unrepresentable: "any" });
  return schema;
}

function schemaOf(input: z.ZodObject, substitutes: readonly (typeof shownAs)[]): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(input, {
    io: "input",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => {
      for (const substitute of substitutes) replace(jsonSchema, substitute.get(zodSchema));
      // A pattern beside a format says the same again, at greater length.
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
      delete jsonSchema.propertyNames;
    },
  });
  return schema;
}

function replace(
  jsonSchema: z.core.JSONSchema.BaseSchema,
  shown: Readonly<Record<string, unknown>> | undefined,
): void {
  if (shown === undefined) return;
  delete jsonSchema.anyOf;
  delete jsonSchema.oneOf;
  Object.assign(jsonSchema, shown);
}

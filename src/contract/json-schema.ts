import { z } from "zod";
import { shownAs } from "./words.ts";

/** JSON Schema for everything that does not speak zod: OpenAPI, MCP tools, the flags of CLI commands. */

/** The input as a client sends it, before transforms. */
export function inputSchema(input: z.ZodObject): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(input, {
    io: "input",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => slim(zodSchema, jsonSchema),
  });
  return schema;
}

export function outputSchema(output: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(output, { io: "output", unrepresentable: "any" });
  return schema;
}

/**
 * Models pay for every character of a tool's schema. Patterns that repeat what `format` says are left out, and so is the
 * second type of an argument that may also arrive as text in a query string.
 */
function slim(zodSchema: z.core.$ZodType, jsonSchema: Record<string, unknown>): void {
  const shown = shownAs.get(zodSchema);
  if (shown !== undefined) {
    delete jsonSchema["anyOf"];
    Object.assign(jsonSchema, shown);
  }
  if (jsonSchema["format"] !== undefined) delete jsonSchema["pattern"];
  delete jsonSchema["propertyNames"];
}

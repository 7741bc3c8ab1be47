import { z } from "zod";

/** Schemas for those who do not speak zod: OpenAPI, MCP tools, the flags of CLI commands. */

/** The input as a client sends it (before transforms), as JSON Schema. */
export function inputSchema(input: z.ZodObject): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(input, { io: "input", unrepresentable: "any" });
  return schema;
}

export function outputSchema(output: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(output, { io: "output", unrepresentable: "any" });
  return schema;
}

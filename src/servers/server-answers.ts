import type { CallToolResult } from "@modelcontextprotocol/client";
import { z } from "zod";
import { shown } from "../contract/visible-text.ts";
import { JsonObject } from "../contract/words.ts";
import type { Hide } from "../redaction/known-texts.ts";
import { mcpClient } from "./mcp-client.ts";
import { toolOfServer, notAResult, outsideData } from "./texts.ts";

/**
 * Answers of a server on their way to a model: without the secrets that Agency knows, and marked as data from outside. Some
 * clients show a model only the text, others only the structured content, so both are marked.
 */
const Answer = z.looseObject({
  content: z.array(z.looseObject({ type: z.string() })).default([]),
  structuredContent: JsonObject.optional(),
});

export async function markedAnswer(server: string, answer: unknown, hide: Hide): Promise<CallToolResult> {
  const { isCallToolResult } = await mcpClient();
  const { content, structuredContent, ...rest } = Answer.parse(scrubbed(answer, hide));
  const mark = outsideData(server);
  const marked: unknown = {
    ...rest,
    content: [{ type: "text", text: mark }, ...content],
    ...(structuredContent && { structuredContent: { ...structuredContent, outsideData: mark } }),
  };
  if (!isCallToolResult(marked)) throw new TypeError(notAResult);
  return marked;
}

/** Resources and prompts have no place for a mark that every client shows. The door's instructions mark them instead. */
export const scrubbedResult = (answer: unknown, hide: Hide): Record<string, unknown> =>
  JsonObject.parse(scrubbed(answer, hide));

/**
 * The part of a tool that a model needs to call it. The output schema is left out, because the mark is not in it. Everything
 * else that a client would load or show is left out too.
 */
export function markedTool(
  server: string,
  tool: Readonly<Record<string, unknown>> & { readonly name: string },
  hide: Hide,
) {
  const { description, inputSchema, annotations } = JsonObject.parse(
    scrubbed(tool, (text) => shown(hide(text))),
  );
  return {
    name: tool.name,
    description: toolOfServer(server, typeof description === "string" ? description : ""),
    inputSchema: { ...JsonObject.parse(inputSchema), type: "object" as const },
    ...(annotations !== undefined && { annotations: JsonObject.parse(annotations) }),
  };
}

/** Hides secrets in every text, key and number of a value. */
function scrubbed(value: unknown, hide: Hide): unknown {
  if (typeof value === "string") return hide(value);
  if (typeof value === "number") {
    const shown = hide(String(value));
    return shown === String(value) ? value : shown;
  }
  if (Array.isArray(value)) return value.map((item) => scrubbed(item, hide));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [hide(key), scrubbed(item, hide)]));
}

import { z } from "zod";
import type { Ear, Heard } from "../brain.ts";
import { jsonIn, resultText } from "../lines.ts";
import { serverFailed } from "../texts.ts";

const Block = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  id: z.string().optional(),
  name: z.string().optional(),
  input: z.unknown().optional(),
  tool_use_id: z.string().optional(),
  content: z.unknown().optional(),
});
const Tokens = z.looseObject({
  input_tokens: z.number().catch(0),
  output_tokens: z.number().catch(0),
  cache_read_input_tokens: z.number().catch(0),
  cache_creation_input_tokens: z.number().catch(0),
});
const Line = z.looseObject({
  type: z.string(),
  subtype: z.string().optional(),
  session_id: z.string().optional(),
  mcp_servers: z.array(z.looseObject({ name: z.string(), status: z.string() })).optional(),
  message: z
    .looseObject({
      id: z.string().optional(),
      model: z.string().optional(),
      content: z.union([z.string(), z.array(Block)]).optional(),
      usage: Tokens.optional(),
    })
    .optional(),
  /** The call that started the speaking sub-agent. */
  parent_tool_use_id: z.string().nullish(),
  is_error: z.boolean().optional(),
  result: z.string().optional(),
});

/**
 * Understands the output of Claude Code with `--output-format stream-json`. The gateway counts the usage of a session, call by
 * call. Only the share of its sub-agents is read here, because only the program knows which of them asked.
 */
export function claudeEar(): Ear {
  const names = new Map<string, string>();
  const consulted = new Map<string, z.infer<typeof Tokens>>();
  return (line) => {
    const parsed = Line.safeParse(jsonIn(line));
    if (!parsed.success) return [];
    const { type, subtype, session_id, mcp_servers = [], message, is_error, result, ...rest } = parsed.data;
    if (type === "system" && subtype === "init")
      return [
        ...(session_id === undefined ? [] : [{ kind: "thread" as const, id: session_id }]),
        ...mcp_servers
          .filter(({ status }) => status !== "connected")
          .map(({ name, status }) => ({ kind: "error" as const, text: serverFailed(name, status) })),
      ];
    if (type === "result") return is_error === true ? [{ kind: "error", text: result ?? subtype ?? "" }] : [];
    if (type !== "assistant" && type !== "user") return [];
    // A text of the program itself in place of the model's is an error, which the last line repeats.
    if (message?.model === "<synthetic>") return [];
    const blocks = typeof message?.content === "string" ? [] : (message?.content ?? []);
    const isConsultant = typeof rest.parent_tool_use_id === "string";
    const heard = blocks.flatMap((block): Heard[] => {
      if (block.type === "tool_use") {
        names.set(block.id ?? "", block.name ?? "");
        return [{ kind: "tool", tool: block.name ?? "", text: JSON.stringify(block.input ?? {}) }];
      }
      if (block.type === "tool_result") {
        const tool = names.get(block.tool_use_id ?? "");
        names.delete(block.tool_use_id ?? "");
        return [{ kind: "result", ...(tool === undefined ? {} : { tool }), text: resultText(block.content) }];
      }
      // A sub-agent talks to the agent, not for it.
      if (block.type !== "text" || type !== "assistant" || isConsultant) return [];
      return [{ kind: "text", text: block.text ?? "" }];
    });
    if (!isConsultant || message?.usage === undefined) return heard;
    consulted.set(message.id ?? "", message.usage);
    return [...heard, { kind: "usage", usage: { ...noUsage, consultants: sum([...consulted.values()]) } }];
  };
}

const noUsage = { inputTokens: 0, outputTokens: 0, costUsd: 0 };

function sum(all: readonly z.infer<typeof Tokens>[]): typeof noUsage {
  return all.reduce(
    (total, one) => ({
      inputTokens:
        total.inputTokens + one.input_tokens + one.cache_read_input_tokens + one.cache_creation_input_tokens,
      outputTokens: total.outputTokens + one.output_tokens,
      costUsd: 0,
    }),
    noUsage,
  );
}

import { z } from "zod";
import type { ConversationEntry, Tokens } from "./conversation.ts";
import { textOf, type Wire } from "./wire.ts";

const Call = z.looseObject({
  id: z.string(),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
});
const Request = z.looseObject({
  model: z.string(),
  stream: z.boolean().optional(),
  messages: z.array(
    z.looseObject({
      role: z.string(),
      content: z.unknown().optional(),
      tool_calls: z.array(Call).nullish(),
      tool_call_id: z.string().optional(),
    }),
  ),
  tools: z.array(z.looseObject({ function: z.looseObject({ name: z.string() }) })).optional(),
});

/** `POST /v1/chat/completions` */
export const chat: Wire = {
  read: (body) => {
    const { model, stream, messages, tools } = Request.parse(body);
    const entries = messages.flatMap(({ role, content, tool_calls, tool_call_id }): ConversationEntry[] => {
      if (role === "tool") return [{ kind: "result", id: tool_call_id ?? "", text: textOf(content) }];
      if (role !== "assistant") return role === "user" ? [{ kind: "user", text: textOf(content) }] : [];
      const text = textOf(content);
      return [
        ...(text === "" ? [] : [{ kind: "assistant" as const, text }]),
        ...(tool_calls ?? []).map((call) => ({
          kind: "call" as const,
          id: call.id,
          tool: call.function.name,
          input: JSON.parse(call.function.arguments),
        })),
      ];
    });
    const system = messages.flatMap(({ role, content }) =>
      role === "system" || role === "developer" ? [textOf(content)] : [],
    );
    return {
      conversation: {
        dialect: "chat",
        model,
        system: system.join("\n"),
        entries,
        tools: tools?.map((tool) => tool.function.name) ?? [],
        body,
      },
      streams: stream === true,
    };
  },
  whole: ({ id, model, text, calls, tokens }) => ({
    id,
    object: "chat.completion",
    created: 0,
    model,
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: text,
          ...(calls.length === 0
            ? {}
            : {
                tool_calls: calls.map((call) => ({
                  id: call.id,
                  type: "function",
                  function: { name: call.tool, arguments: JSON.stringify(call.input) },
                })),
              }),
        },
        finish_reason: calls.length > 0 ? "tool_calls" : "stop",
      },
    ],
    usage: usageOf(tokens),
  }),
  stream: ({ id, model, text, calls, tokens }) => {
    const chunk = (choices: readonly object[], more: object = {}) => ({
      id,
      object: "chat.completion.chunk",
      created: 0,
      model,
      choices,
      ...more,
    });
    const delta = (content: object, finish_reason: string | null = null) =>
      chunk([{ index: 0, delta: content, finish_reason }]);
    const events = [
      delta({ role: "assistant", content: text }),
      ...calls.map((call, index) =>
        delta({
          tool_calls: [
            {
              index,
              id: call.id,
              type: "function",
              function: { name: call.tool, arguments: JSON.stringify(call.input) },
            },
          ],
        }),
      ),
      delta({}, calls.length > 0 ? "tool_calls" : "stop"),
      chunk([], { usage: usageOf(tokens) }),
    ];
    return [...events.map((event) => `data: ${JSON.stringify(event)}\n\n`), "data: [DONE]\n\n"];
  },
  error: (status, message, code) => ({ error: { message, type: "error", code: code ?? status } }),
};

const usageOf = ({ input, output, cacheRead, cacheWrite }: Tokens) => ({
  prompt_tokens: input + cacheRead + cacheWrite,
  prompt_tokens_details: { cached_tokens: cacheRead, cache_write_tokens: cacheWrite },
  completion_tokens: output,
  total_tokens: input + cacheRead + cacheWrite + output,
});

import { z } from "zod";
import type { Conversation, ConversationEntry, Tokens } from "./conversation.ts";
import { type Spoken, type Wire, textOf } from "./wire.ts";

const Block = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  id: z.string().optional(),
  name: z.string().optional(),
  input: z.unknown().optional(),
  tool_use_id: z.string().optional(),
  content: z.unknown().optional(),
});
const Content = z.union([z.string(), z.array(Block)]);
const Request = z.looseObject({
  model: z.string(),
  stream: z.boolean().optional(),
  system: Content.optional(),
  messages: z.array(z.looseObject({ role: z.string(), content: Content })),
  tools: z.array(z.looseObject({ name: z.string() })).optional(),
});

/** `POST /v1/messages` */
export const anthropic: Wire = {
  read: (body) => {
    const { model, stream, system, messages, tools } = Request.parse(body);
    const entries = messages.flatMap(({ role, content }): ConversationEntry[] => {
      const kind = role === "assistant" ? "assistant" : "user";
      if (typeof content === "string") return [{ kind, text: content }];
      return content.flatMap((block): ConversationEntry[] => {
        if (block.type === "tool_use")
          return [{ kind: "call", id: block.id ?? "", tool: block.name ?? "", input: block.input }];
        if (block.type === "tool_result")
          return [{ kind: "result", id: block.tool_use_id ?? "", text: textOf(block.content) }];
        return block.type === "text" ? [{ kind, text: block.text ?? "" }] : [];
      });
    });
    const conversation: Conversation = {
      dialect: "anthropic",
      model,
      system: textOf(system),
      entries: withoutReminders(entries),
      tools: tools?.map(({ name }) => name) ?? [],
      body,
    };
    return { conversation, streams: stream === true };
  },
  whole: ({ id, model, text, calls, tokens }) => ({
    id,
    type: "message",
    role: "assistant",
    model,
    content: [
      ...(text === "" ? [] : [{ type: "text", text }]),
      ...calls.map((call) => ({ type: "tool_use", id: call.id, name: call.tool, input: call.input })),
    ],
    stop_reason: calls.length > 0 ? "tool_use" : "end_turn",
    stop_sequence: null,
    usage: usageOf(tokens),
  }),
  stream: (spoken) =>
    [...events(spoken)].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
  error: (status, message, code) => ({
    type: "error",
    error: { type: code ?? errorTypes[status] ?? "api_error", message },
  }),
};

interface Event {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** Reminders that the client adds beside results are not messages of a person. */
function withoutReminders(entries: readonly ConversationEntry[]): ConversationEntry[] {
  return entries.filter(
    (entry, at) =>
      entry.kind !== "user" ||
      (!entry.text.startsWith("<system-reminder>") && entries[at - 1]?.kind !== "result") ||
      at === 0,
  );
}

function* events({ id, model, text, calls, tokens }: Spoken): Generator<Event> {
  const usage = usageOf(tokens);
  const message = {
    id,
    type: "message",
    role: "assistant",
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
  };
  yield { type: "message_start", message: { ...message, usage: { ...usage, output_tokens: 1 } } };
  let index = 0;
  const block = function* (start: object, delta: object): Generator<Event> {
    yield { type: "content_block_start", index, content_block: start };
    yield { type: "content_block_delta", index, delta };
    yield { type: "content_block_stop", index };
    index++;
  };
  if (text !== "") yield* block({ type: "text", text: "" }, { type: "text_delta", text });
  for (const call of calls)
    yield* block(
      { type: "tool_use", id: call.id, name: call.tool, input: {} },
      { type: "input_json_delta", partial_json: JSON.stringify(call.input) },
    );
  yield {
    type: "message_delta",
    delta: { stop_reason: calls.length > 0 ? "tool_use" : "end_turn", stop_sequence: null },
    usage,
  };
  yield { type: "message_stop" };
}

const usageOf = ({ input, output, cacheRead, cacheWrite }: Tokens) => ({
  input_tokens: input,
  output_tokens: output,
  cache_read_input_tokens: cacheRead,
  cache_creation_input_tokens: cacheWrite,
});

const errorTypes: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  429: "rate_limit_error",
  529: "overloaded_error",
};

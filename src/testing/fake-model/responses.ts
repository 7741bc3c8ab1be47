import { z } from "zod";
import type { ConversationEntry, Tokens } from "./conversation.ts";
import { type Spoken, textOf, type Wire } from "./wire.ts";

const Item = z.looseObject({
  type: z.string().optional(),
  role: z.string().optional(),
  content: z.unknown().optional(),
  call_id: z.string().optional(),
  name: z.string().optional(),
  namespace: z.string().optional(),
  arguments: z.string().optional(),
  output: z.unknown().optional(),
});
const Tool = z.looseObject({
  type: z.string(),
  name: z.string().optional(),
  tools: z.array(z.looseObject({ name: z.string() })).optional(),
});
const Request = z.looseObject({
  model: z.string(),
  stream: z.boolean().optional(),
  instructions: z.string().nullish(),
  input: z.union([z.string(), z.array(Item)]),
  tools: z.array(Tool).optional(),
});

/** `POST /v1/responses`. The tools of an MCP server are a namespace with tools; here they are named `<namespace>.<tool>`. */
export const responses: Wire = {
  read: (body) => {
    const { model, stream, instructions, input, tools = [] } = Request.parse(body);
    const items = typeof input === "string" ? [{ role: "user", content: input }] : input;
    const entries = items.flatMap((item): ConversationEntry[] => {
      const {
        type,
        role,
        call_id = "",
        name = "",
        namespace,
        arguments: args = "{}",
      } = z.looseObject(Item.shape).parse(item);
      if (type === "function_call")
        return [
          {
            kind: "call",
            id: call_id,
            tool: namespace === undefined ? name : `${namespace}.${name}`,
            input: JSON.parse(args),
          },
        ];
      if (type === "function_call_output")
        return [{ kind: "result", id: call_id, text: textOf(item.output) }];
      const text = textOf(item.content);
      return role === "user" || role === "assistant" ? [{ kind: role, text }] : [];
    });
    const system = items.flatMap((item) =>
      item.role === "developer" || item.role === "system" ? [textOf(item.content)] : [],
    );
    const names = tools.flatMap(({ type, name = "", tools: inside }) =>
      type === "namespace" ? (inside ?? []).map((tool) => `${name}.${tool.name}`) : name === "" ? [] : [name],
    );
    return {
      conversation: {
        dialect: "responses",
        model,
        system: [instructions ?? "", ...system].join("\n"),
        entries,
        tools: names,
        body,
      },
      streams: stream === true,
    };
  },
  whole: (spoken) => whole(spoken, "completed"),
  stream: (spoken) => {
    const events = [
      { type: "response.created", response: { ...whole(spoken, "in_progress"), output: [] } },
      ...itemsOf(spoken).flatMap((item, output_index) => [
        { type: "response.output_item.added", output_index, item },
        // Some clients read the text only from here.
        ...(item.type === "message"
          ? [
              {
                type: "response.output_text.delta",
                item_id: item.id,
                output_index,
                content_index: 0,
                delta: spoken.text,
              },
            ]
          : []),
        { type: "response.output_item.done", output_index, item },
      ]),
      { type: "response.completed", response: whole(spoken, "completed") },
    ];
    return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  },
  error: (status, message, code = String(status)) => ({ error: { message, type: "error", code } }),
};

function whole(spoken: Spoken, status: string) {
  return {
    id: spoken.id,
    object: "response",
    created_at: 0,
    status,
    model: spoken.model,
    output: itemsOf(spoken),
    usage: usageOf(spoken.tokens),
  };
}

function itemsOf({ id, text, calls }: Spoken) {
  const said = {
    type: "message",
    id: `msg_${id}`,
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text, annotations: [] }],
  };
  return [
    ...(text === "" ? [] : [said]),
    ...calls.map((call) => {
      const dot = call.tool.lastIndexOf(".");
      return {
        type: "function_call",
        id: `fc_${call.id}`,
        call_id: call.id,
        ...(dot < 0
          ? { name: call.tool }
          : { namespace: call.tool.slice(0, dot), name: call.tool.slice(dot + 1) }),
        arguments: JSON.stringify(call.input),
        status: "completed",
      };
    }),
  ];
}

const usageOf = ({ input, output, cacheRead, cacheWrite }: Tokens) => ({
  input_tokens: input + cacheRead + cacheWrite,
  input_tokens_details: { cached_tokens: cacheRead, cache_write_tokens: cacheWrite },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: input + cacheRead + cacheWrite + output,
});

import { z } from "zod";
import type { Ear, Heard } from "../brain.ts";
import { jsonIn, resultText } from "../lines.ts";

const Item = z.looseObject({
  id: z.string(),
  type: z.string(),
  text: z.string().optional(),
  message: z.string().optional(),
  command: z.string().optional(),
  aggregated_output: z.string().optional(),
  exit_code: z.number().nullish(),
  server: z.string().optional(),
  tool: z.string().optional(),
  arguments: z.unknown().optional(),
  result: z.looseObject({ content: z.unknown().optional() }).nullish(),
  error: z.looseObject({ message: z.string().optional() }).nullish(),
  changes: z.array(z.looseObject({ path: z.string(), kind: z.string().optional() })).optional(),
});
type Item = z.infer<typeof Item>;
const Line = z.looseObject({
  type: z.string(),
  thread_id: z.string().optional(),
  message: z.string().optional(),
  error: z.looseObject({ message: z.string().optional() }).nullish(),
  item: Item.optional(),
});

/** Understands the output of `codex exec --json`. The gateway counts the usage of a session, call by call. */
export function codexEar(): Ear {
  const begun = new Set<string>();
  return (line) => {
    const parsed = Line.safeParse(jsonIn(line));
    if (!parsed.success) return [];
    const { type, thread_id, message, error, item } = parsed.data;
    if (type === "thread.started") return thread_id === undefined ? [] : [{ kind: "thread", id: thread_id }];
    if (type === "error" || type === "turn.failed")
      return [{ kind: "error", text: error?.message ?? message ?? "The turn failed." }];
    if (item === undefined || !type.startsWith("item.")) return [];
    const isDone = type === "item.completed";
    if (item.type === "agent_message") return isDone ? [{ kind: "text", text: item.text ?? "" }] : [];
    // An item of type error is a warning. Errors that end the turn are not items.
    if (item.type === "error") return isDone ? [{ kind: "output", text: `${item.message ?? ""}\n` }] : [];
    const call = callIn(item);
    if (call === undefined) return [];
    const isNew = !begun.has(item.id);
    begun.add(item.id);
    const { tool, input, result } = call;
    const heard: Heard[] = isNew ? [{ kind: "tool", tool, text: input }] : [];
    return isDone ? [...heard, { kind: "result", tool, text: result }] : heard;
  };
}

function callIn(item: Item): { tool: string; input: string; result: string } | undefined {
  const { command, aggregated_output, exit_code, server, tool, changes } = item;
  if (item.type === "command_execution")
    return {
      tool: "shell",
      input: command ?? "",
      result: `${aggregated_output ?? ""}${exit_code === 0 ? "" : `\n(exit code ${exit_code ?? "unknown"})`}`,
    };
  if (item.type === "mcp_tool_call")
    return {
      tool: `${server ?? ""}.${tool ?? ""}`,
      input: JSON.stringify(item.arguments ?? {}),
      result: item.error?.message ?? resultText(item.result?.content),
    };
  if (item.type === "file_change") {
    const files = (changes ?? []).map(({ path, kind }) => `${kind ?? "change"} ${path}`).join("\n");
    return { tool: "apply_patch", input: files, result: files };
  }
  return undefined;
}

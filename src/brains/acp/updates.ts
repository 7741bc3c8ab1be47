import type { ContentBlock, SessionUpdate, ToolCallContent } from "@agentclientprotocol/sdk";
import { z } from "zod";
import type { tell } from "../own-program.ts";

type Entry = Parameters<typeof tell>[0];

/** Makes entries of a transcript from the updates of an agent's program. Words come in pieces and are said as a whole. */
export function entriesOf(tell: (entry: Entry) => void): {
  hear: (update: SessionUpdate) => void;
  end: () => void;
} {
  let words = "";
  const names = new Map<string, string>();
  const terminals = new Map<string, string>();
  const end = (): void => {
    if (words !== "") tell({ kind: "text", text: words });
    words = "";
  };
  return {
    end,
    hear: (update) => {
      if (update.sessionUpdate === "agent_message_chunk") {
        words += textIn(update.content);
        return;
      }
      if (update.sessionUpdate === "tool_call") {
        end();
        const tool = update.name ?? update.title;
        names.set(update.toolCallId, tool);
        tell({ kind: "tool", tool, text: JSON.stringify(update.rawInput ?? {}) });
      }
      if (update.sessionUpdate === "tool_call" || update.sessionUpdate === "tool_call_update") {
        const shown = (terminals.get(update.toolCallId) ?? "") + terminalIn(update._meta);
        terminals.set(update.toolCallId, shown.slice(-mostShown));
        if (update.status !== "completed" && update.status !== "failed") return;
        end();
        terminals.delete(update.toolCallId);
        const content = (update.content ?? []).map((one) => resultIn(one)).join("\n");
        const text = content || shown || rawText(update.rawOutput);
        const tool = names.get(update.toolCallId) ?? update.name ?? update.title ?? "";
        tell({ kind: "result", tool, text: text === "" ? update.status : text });
      }
      if (update.sessionUpdate === "notice" && update.severity === "error")
        tell({ kind: "error", text: `${update.title} ${update.description ?? ""}`.trim() });
    },
  };
}

function textIn(content: ContentBlock): string {
  return content.type === "text" ? content.text : `(${content.type})`;
}

const mostShown = 256 * 1024;
const Shown = z.object({ data: z.string() }).optional();
const WithTerminal = z.looseObject({ terminal_output: Shown, terminal_output_delta: Shown });

/** What a terminal of the program shows comes in pieces, beside the protocol. Zed began it, and Codex does it. */
function terminalIn(meta: unknown): string {
  const { data } = WithTerminal.safeParse(meta);
  return data?.terminal_output?.data ?? data?.terminal_output_delta?.data ?? "";
}

/** A terminal is only a name here. */
function resultIn(content: ToolCallContent): string {
  if (content.type === "content") return textIn(content.content);
  return content.type === "diff" ? `${content.path}:\n${content.newText}` : "";
}

/** Some programs, such as Codex, tell what a tool returned only in its own form. */
function rawText(output: unknown): string {
  if (output === undefined || output === null) return "";
  return typeof output === "string" ? output : JSON.stringify(output);
}

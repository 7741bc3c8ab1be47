import type { ContentBlock, SessionUpdate, ToolCallContent } from "@agentclientprotocol/sdk";
import { z } from "zod";
import type { tell } from "../own-program.ts";

type Entry = Parameters<typeof tell>[0];

/** Makes transcript entries from the updates of an agent's program. Words arrive in pieces and become one entry. */
export function entriesOf(tell: (entry: Entry) => void): {
  hear: (update: SessionUpdate) => void;
  end: () => void;
  /** The last piece of the program's words. */
  lastPiece: () => string;
} {
  let words = "";
  let piece = "";
  const names = new Map<string, string>();
  /** Calls without an entry yet, because the program has not sent their input. */
  const untold = new Set<string>();
  const terminals = new Map<string, string>();
  const end = (): void => {
    if (words !== "") tell({ kind: "text", text: words });
    words = "";
  };
  const tellCall = (id: string, input: unknown): void => {
    end();
    untold.delete(id);
    tell({ kind: "tool", tool: names.get(id) ?? "", text: JSON.stringify(input ?? {}) });
  };
  return {
    end,
    lastPiece: () => piece,
    hear: (update) => {
      if (update.sessionUpdate === "agent_message_chunk") {
        piece = textIn(update.content);
        words += piece;
        return;
      }
      if (update.sessionUpdate === "tool_call") {
        names.set(update.toolCallId, update.name ?? update.title);
        untold.add(update.toolCallId);
      }
      if (update.sessionUpdate === "tool_call" || update.sessionUpdate === "tool_call_update") {
        // Some programs, such as OpenCode, begin a call before they know its input.
        const { status } = update;
        const isOver = status === "completed" || status === "failed";
        if (untold.has(update.toolCallId) && (isOver || isWhole(update.rawInput)))
          tellCall(update.toolCallId, update.rawInput);
        const shown = (terminals.get(update.toolCallId) ?? "") + terminalIn(update._meta);
        terminals.set(update.toolCallId, shown.slice(-mostShown));
        if (!isOver) return;
        end();
        terminals.delete(update.toolCallId);
        const content = (update.content ?? []).map((one) => resultIn(one)).join("\n");
        const text = content || shown || rawText(update.rawOutput);
        const tool = names.get(update.toolCallId) ?? update.name ?? update.title ?? "";
        tell({ kind: "result", tool, text: text === "" ? status : text });
      }
      if (update.sessionUpdate === "notice" && update.severity === "error")
        tell({ kind: "error", text: `${update.title} ${update.description ?? ""}`.trim() });
    },
  };
}

/** OpenCode sends the folder of a command before the command. */
const isWhole = (input: unknown): boolean => Object.keys(Object(input)).some((key) => key !== "cwd");

function textIn(content: ContentBlock): string {
  return content.type === "text" ? content.text : `(${content.type})`;
}

const mostShown = 256 * 1024;
const Shown = z.object({ data: z.string() }).optional();
const WithTerminal = z.looseObject({ terminal_output: Shown, terminal_output_delta: Shown });

/**
 * The output of the program's terminal arrives in pieces, in an extension of the protocol. Zed introduced it, and Codex uses
 * it.
 */
function terminalIn(meta: unknown): string {
  const { data } = WithTerminal.safeParse(meta);
  return data?.terminal_output?.data ?? data?.terminal_output_delta?.data ?? "";
}

/** Of a terminal, this content has only the name. */
function resultIn(content: ToolCallContent): string {
  if (content.type === "content") return textIn(content.content);
  return content.type === "diff" ? `${content.path}:\n${content.newText}` : "";
}

/** Some programs, such as Codex, send a tool's result only in their own form. */
function rawText(output: unknown): string {
  if (output === undefined || output === null) return "";
  return typeof output === "string" ? output : JSON.stringify(output);
}

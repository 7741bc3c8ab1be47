import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type ModelMessage, modelMessageSchema, type ToolModelMessage } from "ai";
import { interrupted } from "./texts.ts";

/**
 * The conversation with the model, stored in the agent's home, one message a line. A message is on disk before the program acts
 * on it. So the next session can continue one that was cut off. The home stores only the newest conversation.
 */
export interface SavedConversation {
  readonly messages: readonly ModelMessage[];
  /** The number of messages that an earlier session left. */
  readonly resumed: number;
  add(...messages: readonly ModelMessage[]): void;
  /** Replaces all messages by these. */
  replace(messages: readonly ModelMessage[]): void;
}

export function openConversation(home: string, thread: string): SavedConversation {
  const folder = join(home, "conversations");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const name = `${thread}.jsonl`;
  for (const other of readdirSync(folder)) if (other !== name) rmSync(join(folder, other), { force: true });
  const file = join(folder, name);
  const lineOf = (message: ModelMessage): string => `${JSON.stringify(message)}\n`;
  let messages = existsSync(file) ? answered(messagesIn(readFileSync(file, "utf8"))) : [];
  const replace = (next: readonly ModelMessage[]): void => {
    messages = [...next];
    writeFileSync(`${file}.part`, messages.map(lineOf).join(""), { mode: 0o600 });
    renameSync(`${file}.part`, file);
  };
  const resumed = messages.length;
  replace(messages);
  return {
    get messages() {
      return messages;
    },
    resumed,
    add: (...more) => {
      messages.push(...more);
      appendFileSync(file, more.map(lineOf).join(""));
    },
    replace,
  };
}

/** A crash can leave an incomplete last line, which is left out. */
function messagesIn(text: string): ModelMessage[] {
  const messages: ModelMessage[] = [];
  for (const line of text.split("\n")) {
    try {
      messages.push(modelMessageSchema.parse(JSON.parse(line)));
    } catch {
      break;
    }
  }
  return messages;
}

/** Models refuse a conversation in which a call has no result. */
function answered(messages: readonly ModelMessage[]): ModelMessage[] {
  const last = messages.at(-1);
  if (last?.role !== "assistant" || typeof last.content === "string") return [...messages];
  const content = last.content.flatMap((part): ToolModelMessage["content"] =>
    part.type === "tool-call"
      ? [
          {
            type: "tool-result",
            toolCallId: part.toolCallId,
            toolName: part.toolName,
            output: { type: "error-text", value: interrupted },
          },
        ]
      : [],
  );
  return content.length === 0 ? [...messages] : [...messages, { role: "tool", content }];
}

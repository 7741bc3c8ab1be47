import { z } from "zod";
import type { Conversation, Tokens } from "./conversation.ts";

/** How one dialect reads a request and writes an answer. */
export interface Wire {
  readonly read: (body: unknown) => { readonly conversation: Conversation; readonly streams: boolean };
  /** The answer as one object. */
  readonly whole: (spoken: Spoken) => unknown;
  /** The answer as server-sent events. */
  readonly stream: (spoken: Spoken) => readonly string[];
  readonly error: (status: number, message: string, code?: string) => unknown;
}

/** An answer with its ids and tokens. */
export interface Spoken {
  readonly id: string;
  readonly model: string;
  readonly text: string;
  readonly calls: readonly { readonly id: string; readonly tool: string; readonly input: unknown }[];
  readonly tokens: Tokens;
}

const Part = z.looseObject({ text: z.string().optional() });

/** The text of a message's content, which is a string or a list of parts. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  const parts = z.array(Part).safeParse(content);
  return parts.success ? parts.data.map(({ text }) => text ?? "").join("\n") : "";
}

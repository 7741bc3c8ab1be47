/**
 * A request to a model, in the same form for every dialect. A script decides from it alone, so the server remembers nothing.
 */
export interface Conversation {
  readonly dialect: ModelDialect;
  readonly model: string;
  readonly system: string;
  readonly entries: readonly ConversationEntry[];
  /** The names of the tools as the client offers them. Empty for a side call, such as one for a title. */
  readonly tools: readonly string[];
  /** The whole request as it arrived. */
  readonly body: unknown;
}

export type ModelDialect = "anthropic" | "responses" | "chat";

export type ConversationEntry =
  | { readonly kind: "user" | "assistant"; readonly text: string }
  | { readonly kind: "call"; readonly id: string; readonly tool: string; readonly input: unknown }
  | { readonly kind: "result"; readonly id: string; readonly text: string };

/** The answer of a model. */
export type Reply = ModelAnswer | Fault;

export interface ModelAnswer {
  readonly text?: string;
  readonly calls?: readonly { readonly tool: string; readonly input: Readonly<Record<string, unknown>> }[];
  /** Tokens. Values that are not given follow from the lengths of request and answer. */
  readonly usage?: Partial<Tokens>;
  /** Headers of the answer, such as those of a subscription's windows. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Milliseconds before the first byte. */
  readonly after?: number;
}

export interface Fault {
  /** `hang`: never answers. `cut`: the stream ends in the middle. A number: that status, in the dialect's own form. */
  readonly fault: "hang" | "cut" | number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The message that goes with a status. */
  readonly says?: string;
  /** The provider's own word for the error, such as `insufficient_quota`. */
  readonly code?: string;
}

export interface Tokens {
  /** Without tokens read from a cache or written to it. */
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

/** The model's turn number, from 0: the number of answers since a person (or a briefing) last wrote. */
export function turnOf({ entries }: Conversation): number {
  let turns = 0;
  let inAnswer = false;
  for (const { kind } of entries) {
    const isAnswer = kind === "assistant" || kind === "call";
    if (isAnswer && !inAnswer) turns++;
    if (kind === "user") turns = 0;
    inAnswer = isAnswer;
  }
  return turns;
}

/** The text of the newest result of a tool, by its short name (`read_file`), or undefined. */
export function lastResult(conversation: Conversation, tool: string): string | undefined {
  const calls = conversation.entries.filter((entry) => entry.kind === "call" && isTool(entry.tool, tool));
  const id = calls.flatMap((entry) => (entry.kind === "call" ? [entry.id] : [])).at(-1);
  const result = conversation.entries.find((entry) => entry.kind === "result" && entry.id === id);
  return result?.kind === "result" ? result.text : undefined;
}

/** Clients put a server's name before its tools, each in a different form: `mcp__agency__read_file`, `agency_read_file`. */
export const isTool = (offered: string, short: string): boolean =>
  [short, `agency_${short}`, `agency-${short}`].includes(offered) ||
  offered.endsWith(`__${short}`) ||
  offered.endsWith(`.${short}`);

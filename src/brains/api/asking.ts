import { setTimeout as sleep } from "node:timers/promises";
import {
  APICallError,
  type FinishReason,
  jsonSchema,
  type LanguageModel,
  type LanguageModelUsage,
  type ModelMessage,
  streamText,
  tool,
  type ToolSet,
} from "ai";
import type { ModelApi } from "../brain.ts";
import { tell, SessionEnd } from "../own-program.ts";
import type { SessionTool } from "./own-tools.ts";
import { notReached } from "./texts.ts";

/** The settings of a request to the model, apart from the conversation. */
export interface ModelSpec {
  readonly api: ModelApi;
  /** The URL at which the gateway forwards to the provider. */
  readonly url: string;
  readonly token: string;
  readonly model: string;
  readonly effort: string | null;
  readonly contextTokens: number;
}

export interface ModelTurn {
  /** The words and calls of the model, as they are stored. */
  readonly messages: readonly ModelMessage[];
  readonly text: string;
  readonly calls: readonly ModelToolCall[];
  /** The tokens of the conversation including this turn. */
  readonly tokens: number;
  /** True if the answer reached the maximum length. */
  readonly isCut: boolean;
}

export interface ModelToolCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

/** Asks for the next turn. Calls of tools are returned, not run. */
export type AskModel = (messages: readonly ModelMessage[], mayCall?: boolean) => Promise<ModelTurn>;

/** If a provider asks to wait, the gateway does. Here only a lost connection is tried again. */
const pauses = [1000, 4000];

export async function modelFor(
  spec: ModelSpec,
  instructions: string,
  tools: readonly SessionTool[],
): Promise<AskModel> {
  const model = await languageModel(spec);
  const offered: ToolSet = Object.fromEntries(
    tools.map(({ name, description, inputSchema }) => [
      name,
      tool({ description, inputSchema: jsonSchema(inputSchema) }),
    ]),
  );
  const ask = async (messages: readonly ModelMessage[], mayCall: boolean): Promise<ModelTurn> => {
    const result = streamText({
      model,
      instructions: { role: "system", content: instructions, ...cached(spec) },
      messages: withCachedEnd(spec, messages),
      tools: offered,
      toolChoice: mayCall ? "auto" : "none",
      maxRetries: 0,
      maxOutputTokens: Math.min(16_000, Math.floor(spec.contextTokens / 4)),
      providerOptions: optionsOf(spec),
      onError: () => undefined,
    });
    const calls: ModelToolCall[] = [];
    let said = "";
    let text = "";
    let usage: LanguageModelUsage | undefined;
    let reason: FinishReason | undefined;
    for await (const part of result.fullStream) {
      if (part.type === "error") throw part.error;
      if (part.type === "text-start") text = "";
      if (part.type === "text-delta") text += part.text;
      if (part.type === "text-end" && text !== "") {
        said += text;
        tell({ kind: "text", text });
      }
      if (part.type === "tool-call")
        calls.push({ id: part.toolCallId, name: part.toolName, input: part.input });
      if (part.type === "finish-step") ({ usage, finishReason: reason } = part);
    }
    if (reason === undefined || reason === "error") throw new Error("The answer ended in the middle.");
    const answer = (await result.responseMessages).filter(({ role }) => role === "assistant");
    return {
      messages: answer,
      text: said,
      calls,
      tokens: (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0),
      isCut: reason === "length",
    };
  };
  return async (messages, mayCall = true) => {
    for (let tries = 0; ; tries++)
      try {
        return await ask(messages, mayCall);
      } catch (error) {
        const pause = pauses[tries];
        if (pause === undefined || !isLost(error)) throw endBy(error);
        await sleep(pause);
      }
  };
}

async function languageModel({ api, url, token, model }: ModelSpec): Promise<LanguageModel> {
  const baseURL = `${url}/v1`;
  if (api === "responses")
    return (await import("@ai-sdk/openai")).createOpenAI({ baseURL, apiKey: token }).responses(model);
  if (api === "messages")
    return (await import("@ai-sdk/anthropic")).createAnthropic({ baseURL, authToken: token })(model);
  const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
  return createOpenAICompatible({ name: "agency", baseURL, apiKey: token, includeUsage: true })(model);
}

type Options = NonNullable<Parameters<typeof streamText>[0]["providerOptions"]>;

function optionsOf({ api, effort }: ModelSpec): Options {
  if (api === "messages") return { anthropic: { toolStreaming: false, ...(effort !== null && { effort }) } };
  const reasoning = effort === null ? {} : { reasoningEffort: effort === "max" ? "xhigh" : effort };
  // The model's thoughts come back encrypted and are part of the conversation, because the provider stores nothing.
  return api === "chat" ? { agency: reasoning } : { openai: { ...reasoning, store: false } };
}

/** Marks the end of the part that the provider should cache. Only Anthropic's dialect has such marks. */
function cached({ api }: Pick<ModelSpec, "api">): { providerOptions?: Options } {
  return api === "messages"
    ? { providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } } }
    : {};
}

/**
 * The prompt and the tools are one cached prefix. The conversation is another, which ends after the newest and the last but one
 * results.
 */
function withCachedEnd(spec: ModelSpec, messages: readonly ModelMessage[]): ModelMessage[] {
  const ends = messages.flatMap(({ role }, index) => (role === "assistant" ? [] : [index])).slice(-2);
  return messages.map((message, index) => (ends.includes(index) ? { ...message, ...cached(spec) } : message));
}

const statusOf = (error: unknown): number | undefined =>
  APICallError.isInstance(error) ? error.statusCode : undefined;

/** The connection broke, or something between here and the model failed. */
function isLost(error: unknown): boolean {
  const status = statusOf(error);
  return status === undefined || status < 300 || status === 500 || status === 502 || status === 504;
}

function endBy(error: unknown): SessionEnd {
  const { message, cause } = error instanceof Error ? error : new Error(String(error));
  const says = cause instanceof Error ? `${message} (${cause.message})` : message;
  const status = statusOf(error);
  if (status === 401) return new SessionEnd("signed_out", says);
  if ((status === 400 || status === 413) && aboutLength.test(says))
    return new SessionEnd("out_of_context", says);
  if (status === 429 || status === 503 || status === 529) return new SessionEnd("overloaded", says);
  return isLost(error) ? new SessionEnd("overloaded", notReached(says)) : new SessionEnd("failed", says);
}

const aboutLength =
  /too long|too large|context.{0,20}(length|window|size)|maximum context|exceeds?.{0,40}tokens/i;

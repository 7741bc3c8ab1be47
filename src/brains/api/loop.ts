import type { ModelMessage, ToolModelMessage } from "ai";
import { tell, SessionEnd } from "../own-program.ts";
import type { AskModel, ModelToolCall, ModelTurn } from "./asking.ts";
import type { SavedConversation } from "./conversation.ts";
import { bounded, type SessionTool, type ToolAnswer } from "./own-tools.ts";
import * as texts from "./texts.ts";

/**
 * The loop of an API brain: the model is asked, its calls run one after the other, and the model is asked again, until it calls
 * no tool. Every message is saved before the next step.
 *
 * When the conversation fills 85 % of the context, the model is asked to save its state and to summarize. The conversation then
 * continues from that summary.
 */
export interface LoopParts {
  readonly ask: AskModel;
  readonly tools: readonly SessionTool[];
  readonly conversation: SavedConversation;
  readonly contextTokens: number;
  readonly briefing: string;
}

const mostFilled = 0.85;
/** How much of the context may be filled while the model saves its state. */
const mostSaving = 0.92;
/** Most texts have about four characters for a token. */
const charactersPerToken = 3.5;
const mostSavingTurns = 10;
const mostCutAnswers = 3;
/** Two summaries with fewer turns between them mean that the context is too small. */
const leastTurnsBetween = 3;

export async function runLoop(parts: LoopParts): Promise<void> {
  const { conversation, contextTokens } = parts;
  let tokens = estimate(conversation.messages);
  let turnsSince = leastTurnsBetween;
  let cutAnswers = 0;
  for (;;) {
    if (tokens > contextTokens * mostFilled) {
      if (turnsSince < leastTurnsBetween)
        throw new SessionEnd("out_of_context", texts.contextTooSmall(contextTokens));
      await summarize(parts, tokens);
      turnsSince = 0;
    }
    const turn = await askWithin(parts);
    turnsSince++;
    tokens = turn.tokens;
    if (turn.calls.length > 0) {
      tokens += estimate([await runCalls(parts, turn.calls)]);
      cutAnswers = 0;
    } else if (turn.isCut) {
      if (++cutAnswers === mostCutAnswers) throw new SessionEnd("failed", texts.tooLongAnswers);
      conversation.add({ role: "user", content: texts.answerCut });
    } else return;
  }
}

/** Asks for a turn and saves it. If the provider says that the conversation is too long, long results are cut first. */
async function askWithin({ ask, conversation }: LoopParts, mayCall = true): Promise<ModelTurn> {
  let turn: ModelTurn;
  try {
    turn = await ask(conversation.messages, mayCall);
  } catch (error) {
    if (!(error instanceof SessionEnd) || error.why !== "out_of_context") throw error;
    conversation.replace(conversation.messages.map((message) => shortened(message)));
    turn = await ask(conversation.messages, mayCall);
  }
  conversation.add(...turn.messages);
  return turn;
}

async function summarize(parts: LoopParts, tokens: number): Promise<void> {
  const { conversation, contextTokens, briefing } = parts;
  tell({ kind: "output", text: texts.compacted(tokens, contextTokens) });
  const percent = Math.round((100 * tokens) / contextTokens);
  conversation.add({ role: "user", content: texts.nearlyFull(percent) });
  let turn = await askWithin(parts);
  for (let turns = 1; turn.calls.length > 0; turns++) {
    await runCalls(parts, turn.calls);
    const isLast = turns >= mostSavingTurns || turn.tokens > contextTokens * mostSaving;
    if (isLast) conversation.add({ role: "user", content: texts.summarizeNow });
    turn = await askWithin(parts, !isLast);
    if (isLast) break;
  }
  const summary = turn.text;
  const content = texts.afterSummary(briefing, summary === "" ? texts.noSummary : summary);
  conversation.replace([{ role: "user", content }]);
}

async function runCalls(
  { tools, conversation, contextTokens }: LoopParts,
  calls: readonly ModelToolCall[],
): Promise<ModelMessage> {
  // One result may fill at most a quarter of the context.
  const mostResult = Math.min(100_000, Math.floor((contextTokens / 4) * charactersPerToken));
  const content: ToolModelMessage["content"] = [];
  for (const { id, name, input } of calls) {
    tell({ kind: "tool", tool: name, text: JSON.stringify(input) ?? "" });
    const { text, failed } = await answerOf(tools, name, input);
    const value = bounded(text, mostResult);
    tell({ kind: "result", tool: name, text: value });
    content.push({
      type: "tool-result",
      toolCallId: id,
      toolName: name,
      output: failed ? { type: "error-text", value } : { type: "text", value },
    });
  }
  const message = { role: "tool", content } satisfies ModelMessage;
  conversation.add(message);
  return message;
}

async function answerOf(tools: readonly SessionTool[], name: string, input: unknown): Promise<ToolAnswer> {
  const found = tools.find((one) => one.name === name);
  return found === undefined ? { text: texts.unknownTool(name), failed: true } : found.run(input);
}

const estimate = (messages: readonly ModelMessage[]): number =>
  Math.ceil(JSON.stringify(messages).length / charactersPerToken);

const mostOldResult = 1000;

function shortened(message: ModelMessage): ModelMessage {
  if (message.role !== "tool") return message;
  return {
    ...message,
    content: message.content.map((part) =>
      part.type === "tool-result" && (part.output.type === "text" || part.output.type === "error-text")
        ? { ...part, output: { ...part.output, value: bounded(part.output.value, mostOldResult) } }
        : part,
    ),
  };
}

import {
  type ModelAnswer,
  type Conversation,
  type Fault,
  isTool,
  type Reply,
  turnOf,
} from "./conversation.ts";

/** Plays the model in one conversation. */
export interface ModelScript {
  reply(conversation: Conversation): Reply;
  /** Sentences about what the script expected and did not see. */
  unused(): string[];
}

export type Step = (conversation: Conversation) => Reply;

/**
 * One step for each turn of the model. A request after the last step is unexpected. A step may be asked for twice, because
 * clients repeat a failed request.
 */
export function steps(...all: readonly Step[]): ModelScript {
  const seen = new Set<number>();
  return {
    reply: (conversation) => {
      const turn = turnOf(conversation);
      const step = all[turn];
      if (step === undefined)
        throw new UnexpectedCall(`The script has ${all.length} steps, and turn ${turn + 1} was asked for.`);
      seen.add(turn);
      return step(conversation);
    },
    unused: () => all.flatMap((_, turn) => (seen.has(turn) ? [] : [`Step ${turn + 1} was never asked for.`])),
  };
}

/** A script that decides each time from the conversation. No step is left unused. */
export const always = (step: Step): ModelScript => ({ reply: step, unused: () => [] });

/** A request that no script expects. The server answers 400 and remembers it. */
export class UnexpectedCall extends Error {}

export const answers =
  (text: string, more: Omit<ModelAnswer, "text"> = {}): Step =>
  () => ({ text, ...more });

/** Calls a tool by its short name. The client must offer it. The input may follow from the conversation. */
export const use =
  (
    tool: string,
    input:
      | Readonly<Record<string, unknown>>
      | ((conversation: Conversation) => Readonly<Record<string, unknown>>) = {},
    more: Omit<ModelAnswer, "calls"> = {},
  ): Step =>
  (conversation) => ({
    calls: [
      {
        tool: offered(conversation, tool),
        input: typeof input === "function" ? input(conversation) : input,
      },
    ],
    ...more,
  });

/** Fails the first `times` requests of a turn, then follows the step. */
export function failing(times: number, fault: Fault, step: Step): Step {
  let failed = 0;
  return (conversation) => (failed++ < times ? fault : step(conversation));
}

function offered({ tools }: Conversation, short: string): string {
  const found = tools.find((tool) => isTool(tool, short));
  if (found === undefined)
    throw new UnexpectedCall(`The tool ${short} is not offered. Offered: ${tools.join(", ") || "none"}.`);
  return found;
}

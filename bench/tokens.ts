import { tokensIn } from "../src/testing/tokens.ts";
import { audiencesOfAgents, isListed, toolsOf } from "../src/doors/mcp.ts";
import type { Audience } from "../src/contract/operation.ts";
import { sharedPrompt } from "../src/runtime/prompt.ts";
import type { Entry } from "./bench.ts";

/** What every session pays before it begins: the list of tools and the prompt that all agents share. */
export const tokens: Entry = {
  name: "tokens",
  about: "tokens of the lists of tools and of the prompt",
  run: async () => [
    figure("tools of an agent without reports", list(), 3500),
    figure("tools of a manager", list("manager"), 7000),
    figure("tools of a manager that may hire", list("manager", "hirer"), 7000),
    figure(
      "tools of an agent without reports that pushes to a repository",
      list("developer", "pusher"),
      3500,
    ),
    figure(
      "tools of an agent without reports that pushes to a repository and waits for a decision",
      list("developer", "pusher", "requester"),
      3500,
    ),
    figure("tools of an agent without reports that may hire", list("hirer"), 7000),
    figure("tools of an agent with every tool", list(...audiencesOfAgents), 7000),
    figure("prompt that all agents share", sharedPrompt),
  ],
};

function list(...audiences: Audience[]): string {
  const shown = toolsOf("").filter(({ operation }) => isListed(operation, new Set(audiences)));
  return JSON.stringify({ tools: shown.map(({ tool }) => tool) });
}

const figure = (name: string, text: string, atMost?: number) => ({
  name,
  unit: "tokens" as const,
  value: tokensIn(text),
  ...(atMost !== undefined && { aim: { atMost } }),
});

import { agentById } from "../src/agents/table.ts";
import { viewAgent } from "../src/contract/agents.ts";
import { readFile, writeFile } from "../src/contract/knowledge.ts";
import { createOutcome } from "../src/contract/outcomes.ts";
import { brief } from "../src/runtime/briefing.ts";
import { createOrganization, openTestStore } from "../src/testing/organization.ts";
import { tokensIn } from "../src/testing/tokens.ts";
import { audiencesOfAgents, isListed, toolsOf } from "../src/doors/mcp.ts";
import type { Audience } from "../src/contract/operation.ts";
import { sharedPrompt } from "../src/runtime/prompt.ts";
import type { Entry } from "./bench.ts";

/**
 * The tokens that every session costs before it begins: the list of tools, the prompt that all agents share, and the briefing.
 */
export const tokens: Entry = {
  name: "tokens",
  about: "tokens of the lists of tools, of the prompt and of a briefing",
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
    figure("briefing of an agent with three outcomes and a state document of 4 kB", await briefing()),
  ],
};

async function briefing(): Promise<string> {
  const { store, close } = await openTestStore("sqlite");
  try {
    const org = await createOrganization(store);
    const ann = await org.agent("Ann");
    for (const title of ["Write the report", "Check the figures", "Send it to the board"])
      await ann.call(createOutcome, { title, parents: [ann.id] });
    const { stateFileId } = await org.board(viewAgent, { id: ann.id });
    const { version, hash } = await ann.call(readFile, { id: stateFileId });
    const content = "The report is half written, and the figures of May are missing. ".repeat(64);
    await ann.call(writeFile, { id: stateFileId, content, version, hash });
    const { text } = await store.write(async (tx) => brief(tx, await agentById(tx, ann.id)));
    return text;
  } finally {
    await close();
  }
}

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

/** Texts of an API brain's program: for the model, and about itself. */

export const interrupted =
  "The session was cut off during this call. The call may have taken effect: look before you repeat it.";

export const nearlyFull = (percent: number): string =>
  [
    `Your context is ${percent} % full. Save what must last now: write results to the knowledge base and update your state document.`,
    "Then answer without calling a tool, with a summary of this conversation: what you were asked to do, what you did, what you",
    "found out, with the ids of files, outcomes and messages, and what is left to do in which order. The conversation then",
    "continues from your summary alone.",
  ].join("\n");

export const summarizeNow = "Call no more tools. Answer with the summary now.";

export const afterSummary = (briefing: string, summary: string): string =>
  [
    briefing,
    "",
    "You have worked on this for a while already. The conversation became too long, and this is your own summary of it:",
    "",
    summary,
    "",
    "Continue with what is left to do.",
  ].join("\n");

export const noSummary = "(There is no summary. Read your state document, your outcomes and your inbox.)";

export const answerCut = "Your answer was cut off because it was too long. Continue in smaller steps.";

export const tooLongAnswers = "The model exceeded the maximum length of an answer three times in a row.";

export const contextTooSmall = (tokens: number): string =>
  `The context of ${tokens.toLocaleString("en")} tokens is too small for the prompt, the tools and the work. Choose a model with a larger context.`;

export const compacted = (before: number, most: number): string =>
  `The context was ${Math.round((100 * before) / most)} % full. The conversation continues from a summary.\n`;

export const otherDialect = (provider: string, speaks: string, type: string): string =>
  `The provider ${provider} speaks ${speaks}. Agents that use it need the brain ${type}.`;

export const missingServers = (names: readonly string[]): string =>
  `These MCP servers could not be reached, so their tools are missing in this session: ${names.join(", ")}.`;

export const unknownTool = (name: string): string => `There is no tool called "${name}".`;

export const notReached = (says: string): string => `The model can't be reached: ${says}`;

export const leftOut = (count: number): string => `\n… ${count.toLocaleString("en")} characters left out …\n`;

export const noConversation = "The earlier conversation is gone. This session starts a new one.\n";

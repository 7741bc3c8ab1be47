/** What the program of an ACP brain says about the agent's program. */

export const programMissing = (command: string, says: string): string =>
  `The program ${command} can't be started: ${says}`;

export const programEnded = (command: string, how: string): string =>
  `The program ${command} ended before it answered (${how}).`;

export const noHttpServers = (command: string): string =>
  `The program ${command} can't use MCP servers over HTTP, so it can't reach Agency's tools.`;

export const mustSignIn = (command: string, says: string, ways: readonly string[]): string =>
  `The program ${command} asks to sign in: ${says}${ways.length === 0 ? "" : ` It offers: ${ways.join(", ")}.`}`;

export const stoppedBecause: Readonly<Record<string, string>> = {
  refusal: "The agent's program refused to continue.",
  max_tokens: "The agent's program reached the maximum length of its context.",
  max_turn_requests: "The agent's program reached the maximum number of requests in a turn.",
  cancelled: "The turn was cancelled.",
};

export const denied = (title: string): string => `Permission denied: ${title}`;

export const opening = (prompt: string, briefing: string): string => `${prompt}\n\n---\n\n${briefing}`;

/** Texts of an ACP brain's program about the agent's program. */

export const programMissing = (command: string, says: string): string =>
  `The program ${command} can't be started: ${says}`;

export const noneKnown = (known: readonly string[]): string =>
  `No program that speaks the Agent Client Protocol was found on the daemon's PATH (${known.join(", ")}). Install one there, or name another program: agency brains use acp --adapter-config '{"command":"<program>"}'`;

export const knownHere = (here: readonly (readonly string[])[]): string =>
  `found: ${here.map((words) => words.join(" ")).join(", ")}`;

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

export const denied = (title: string, why: string): string => `Permission denied: ${title}. ${why}`;

/** Reasons why a program can't use a tool. */
export const toolDenied = (tool: string): string =>
  `The tool ${tool} starts sub-agents, which needs the right org:consult.`;
export const toolUnknown =
  "The tool belongs to no MCP server of this session, and its program does not say what the tool does.";
export const kindUnknown = (kind: string): string => `Agency does not know tools of the kind "${kind}".`;
export const outsideWorkspace = (path: string): string =>
  `${path} is outside the session's workspace and the agent's home.`;
export const hostDenied = (host: string): string =>
  `This agent has no right to reach ${host === "*" ? "the internet" : host}. Ask the manager for it: request_permission with resource net:${host}.`;
export const modeStays = "A session keeps the mode it was started in.";
export const notOffered = "The program offers no answer that allows it.";

/** Reasons why the program does not work with the model or the effort of the agent. */
const offers = (names: readonly string[]): string =>
  names.length === 0 ? "It offers no choice" : `It offers: ${names.join(", ")}`;
export const modelNotSet = (command: string, model: string, names: readonly string[]): string =>
  `The model ${model} has no effect: the program ${command} does not take it. ${offers(names)}. Set the model in the program's own arguments or variables, or change the agent's model: agency agents update <agent> --model <name>`;
export const effortNotSet = (command: string, effort: string, names: readonly string[]): string =>
  `The effort ${effort} has no effect: the program ${command} does not take it. ${offers(names)}. To change it: agency agents update <agent> --effort <effort>`;

export const openingPrompt = (prompt: string, briefing: string): string => `${prompt}\n\n---\n\n${briefing}`;

export const usedBy = (input: number, output: number, cacheRead: number, cacheWrite: number): string =>
  `${input} input tokens (${cacheRead} read from the cache, ${cacheWrite} written to it), ${output} output tokens\n`;

import type { TokensUsed } from "./dialects.ts";
/** Texts of the gateway for programs that ask for a model, and for the board. */

export const onlySessions = "Only a running session of an agent may ask for a model.";
export const noProvider = (name: string): string => `There is no provider called "${name}" in this company.`;
export const providerNotUsed = (name: string): string =>
  `The brain of this agent does not use the provider "${name}". The agent's adapterConfig names its provider.`;
export const noEndpoint = (path: string): string => `The gateway does not forward ${path}.`;
export const bodyNotAnObject = "The body is not a JSON object.";
export const modelNotAllowed = (model: string, allowed: readonly string[]): string =>
  `This agent may not use the model "${model}". It may use ${allowed.join(", ")}.`;
export const noModel = (provider: string): string =>
  `This agent has no model, and the provider ${provider} has no default model. Ask your manager to set one.`;
export const noPrice = (model: string): string =>
  `The model "${model}" has no known price. The board can set one for the provider.`;
export const outsideNotAllowed = (wanted: readonly string[]): string =>
  `This session has no access to the internet, and the request asks for ${wanted.join(" and ")}. Leave it out, or ask your manager for the right: request_permission with resource net:*.`;
export const notForwarded = (wanted: readonly string[]): string =>
  `The gateway does not forward ${wanted.join(" and ")}. Leave it out.`;
export const keyMissing = (secret: string): string =>
  `The secret ${secret} is not set. The board sets it with: agency secrets set ${secret}`;
export const budgetTooSmall = (reason: string): string => `${reason}. The session ends.`;
/** A reason for the end of a session. */
export const contextNearlyFull = "its context is nearly full";
export const providerUnreachable = (provider: string): string => `The provider ${provider} can't be reached.`;
export const providerRefuses = (provider: string, says: string): string =>
  `The provider ${provider} does not accept its key: ${says}`;

interface Keyed {
  readonly secret?: string | undefined;
  readonly login?: string | undefined;
}

export const keyRefused = (provider: string, { secret, login }: Keyed, says: string, again: string): string =>
  [
    `The provider ${provider} does not accept the key of this company, and all agents that use it wait.`,
    "",
    `It says: ${JSON.stringify(says)}`,
    "",
    secret === undefined
      ? `Check the provider: agency providers list`
      : login === "codex"
        ? `Sign in again on the daemon's machine: codex login. The agents then continue by themselves.`
        : `Check the account of this key, or set another key: agency secrets set ${secret}. The agents then continue by themselves.`,
    "",
    `Agency tries again at ${again}, then after longer and longer waits of up to an hour. To try now: agency brains test <type>.`,
  ].join("\n");

export const subscription = "subscription";
export const windowUsedUp = (window: string, percent: number): string =>
  `The window of the subscription (${window}) is used up: ${percent} % is used.`;

/** The action that ends a wait early. */
const liftsWait = ({ secret, login }: Keyed): string => {
  if (secret === undefined) return "";
  const how = login === "codex" ? "codex login on the daemon's machine" : `agency secrets set ${secret}`;
  return ` With another account, agents continue at once: ${how}.`;
};
export const waitsUntilLifted = (says: string, keyed: Keyed): string => `${says}${liftsWait(keyed)}`;

export const providerWaits = (provider: string, keyed: Keyed, until: string, says: string): string =>
  [
    `The provider ${provider} asks Agency to wait until ${until}. Agents that use it continue then.${liftsWait(keyed)}`,
    "",
    `It says: ${JSON.stringify(says)}`,
  ].join("\n");

/** Texts of the relay for programs that ask for a host. */
export const onlySessionsConnect = "Only a running session of an agent may connect to other hosts.";
export const notAHost = "Name a host and a port, such as example.com:443.";
export const hostNotAllowed = (host: string): string =>
  `This agent has no right to reach ${host}. Ask your manager for it: request_permission with resource net:${host}.`;
export const addressNotAllowed = (host: string): string => `No agent may reach the address ${host}.`;
export const addressPrivate = (host: string): string =>
  `${host} leads to an address of a private network. An agent needs a right that names the address, such as net:10.0.0.7.`;
export const hostUnknown = (host: string): string =>
  `There is no address for the host ${host}. Check its name.`;
export const hostUnreachable = (host: string): string => `${host} can't be reached.`;
export const tooManyConnections = (most: number): string =>
  `This session has ${most} open connections, which is the limit. Close some first.`;

/** Results of a brain's test, each with what to do. */
export const modelUnknown = (provider: string, model: string, says: string): string =>
  `The provider ${provider} does not offer the model "${model}": ${says}`;
export const providerFails = (provider: string, status: number, says: string): string =>
  `The provider ${provider} answered with status ${status}: ${says}`;
export const providerBusy = (provider: string, says: string): string =>
  `The provider ${provider} asks to wait: ${says}`;
export const dialectNotSpoken = (provider: string, dialect: string): string =>
  `The provider ${provider} speaks the dialect ${dialect}, which this brain does not speak.`;
export const remedies = {
  provider: "Check the provider's address and models: agency providers list.",
  key: ({ secret, login }: Keyed = {}): string =>
    secret === undefined
      ? "Check the provider: agency providers list."
      : login === "codex"
        ? "Sign in again on the daemon's machine: codex login."
        : `Set another key: agency secrets set ${secret}.`,
  model: (type: string): string => `Try another model: agency brains test ${type} --model <name>.`,
  wait: "Try again later. Agents that use this provider wait and continue by themselves.",
  server: (address: string): string => `Is the server at ${address} running? Start it, then test again.`,
  budget: "Raise the company's budget: agency companies update --monthly-budget 20.",
};

export const hostNotInRecord = (host: string): string =>
  `The record of this MCP server does not name the host ${host}. The board can add it to "hosts".`;

/** Each kind of token separately, because each has its own price. */
export const tokensUsed = ({ input, output, cacheRead, cacheWrite }: TokensUsed): string => {
  const [all, read, kept, out] = [input + cacheRead + cacheWrite, cacheRead, cacheWrite, output].map(
    (count) => count.toLocaleString("en"),
  );
  return `${all} tokens in (${read} from the cache, ${kept} written to it), ${out} out`;
};

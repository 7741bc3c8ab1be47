import type { ProviderConfig } from "../contract/providers.ts";
import { invalid } from "../contract/refusal.ts";

/** Texts of the brains that run a program. */
interface Named {
  readonly name: string;
  readonly install: string;
}

export const cliMissing = ({ name, install }: Named, command: string): string =>
  `${name} is not installed: there is no program called "${command}" on the daemon's PATH. Install it with: ${install}`;

export const commandMissing = (command: string): string =>
  `There is no program called "${command}" ${command.startsWith("/") ? "on the daemon's machine" : "on the daemon's PATH"}. Install it there, or give the agent another brain: agency agents update <agent> --brain <type>`;

export const cliFails = ({ name, install }: Named, says: string): string =>
  `${name} does not run: ${says}. Install it again with: ${install}`;

export const cliNotStarted = (name: string, says: string): string =>
  `${name} can't be started${says === "" ? "" : `: ${says}`}`;

export const serverFailed = (server: string, status = "failed"): string =>
  `MCP server ${server} did not connect (${status}).`;

/** Whether this line is the one above, about this server or about any server. */
export const isServerFailed = (line: string, server = ""): boolean =>
  line.startsWith(`MCP server ${server === "" ? "" : `${server} `}`);

export const didNothing = (name: string): string => `${name} ended without a tool call and without a result`;

/** For a session that continues a conversation. */
export const continued = [
  "Your previous session was cut off, and this session continues its conversation. Its workspace is gone: you are in a new one.",
  "Everything you saved in the knowledge base is still there. Before you repeat a call, check whether it took effect.",
].join("\n");

/** Explanations of how a new company's brain was chosen. */
const otherBrain = "To choose another brain: agency brains use <type>.";

export const thinksWithCli = ({ name }: Named, type: string, secret: string): string =>
  `Brain: ${name} (${type}), because it is installed here and ${secret} is set. ${chargedTo(secret)} ${otherBrain}`;

export const thinksWithKey = (type: string, secret: string): string =>
  `Brain: ${type}, because ${secret} is set. ${chargedTo(secret)} ${otherBrain}`;

const chargedTo = (secret: string): string =>
  secret.endsWith("_KEY")
    ? "Its calls are charged to that key, within the company's budget."
    : "Its calls use that subscription, within the company's budget.";

export const thinksLocally = (name: string, { baseUrl, defaultModel = "" }: ProviderConfig): string =>
  `Brain: openai_compatible with the model ${defaultModel}, because ${name} answers at ${baseUrl}. ${otherBrain}`;

export const thinksAsTold = (type: string): string => `Brain: ${type}, as AGENCY_BRAIN says. ${otherBrain}`;

export const rehearses = (installed: readonly string[]): string =>
  installed.includes("Claude Code")
    ? `Brain: rehearsal, because Claude Code is installed here but Agency has no key for it. Set one: agency secrets set ANTHROPIC_API_KEY. Then: agency brains use claude_local.`
    : installed.includes("Codex")
      ? `Brain: rehearsal, because Codex is installed here but Agency has no key for it. Set one: agency secrets set OPENAI_API_KEY. Then: agency brains use codex_local.`
      : `Brain: rehearsal, because no model was found: the agents go through every step with sample results. To connect a model, set a key (agency secrets set ANTHROPIC_API_KEY), then: agency brains use anthropic_api.`;

export const rehearsesUnpriced = (baseUrl: string): string =>
  `Brain: rehearsal, because the model server at ${baseUrl} does not say that its models run on this machine, so their price is not known. Add it as a provider with prices (docs/guide/models.md), then: agency brains use openai_compatible --adapter-config '{"provider":"local"}'.`;

export const rehearsesUnsandboxed = (type: string): string =>
  `Brain: rehearsal, because ${type} needs a sandbox and there is none here. With a sandbox: agency brains use ${type}.`;

/** Reasons why the login of a person's own Codex can't be used. The path is a secret's value, so the texts don't contain it. */
const signIn =
  "Sign in on the daemon's machine, as its user: codex login. The agents then continue by themselves.";
const linking =
  "Set CODEX_LOGIN_FILE to the path of that file, usually ~/.codex/auth.json: agency secrets set CODEX_LOGIN_FILE";
export const codexLogin = {
  noFile: `The daemon can't read the file that CODEX_LOGIN_FILE names. ${signIn}`,
  notALogin: `CODEX_LOGIN_FILE does not name the file auth.json in which Codex keeps its login. ${linking}`,
  ofAnotherUser: `The file that CODEX_LOGIN_FILE names belongs to another user than the daemon's. ${signIn}`,
  inAgencysHome: `The file that CODEX_LOGIN_FILE names is in Agency's own folder, where agents may write. ${linking}`,
  noToken: `The file that CODEX_LOGIN_FILE names has no login with ChatGPT. Codex may keep it in the system's keyring, which Agency can't use. ${signIn}`,
  noProgram:
    'The login of Codex has expired, and only Codex may renew it, but there is no program called "codex" on the daemon\'s PATH. Install it with: npm install --global @openai/codex',
  signedOut: `Codex is signed out: its login could not be renewed. ${signIn}`,
  notRenewed:
    "Codex could not renew its login. Agency tries again in a minute. If this continues, run: codex login",
};

export const noBrainCalled = (type: string, installed: readonly string[]) =>
  invalid(`There is no brain called "${type}".`, `Use one of the installed brains: ${installed.join(", ")}.`);

export const configDoesNotFit = (type: string, problems: string, settings: readonly string[]) =>
  invalid(
    `The adapterConfig does not fit the brain ${type}. ${problems}`,
    `The brain ${type} takes ${settings.join(", ") || "no settings"}. GET /llms/agent-configuration/${type}.txt describes them.`,
  );

export const notAskedToTheEnd = "The daemon stopped meanwhile.";

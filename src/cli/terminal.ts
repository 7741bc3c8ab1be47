import type { Command } from "commander";
import { z } from "zod";
import { type Client, createClient } from "../client/client.ts";
import { type Company, listCompanies } from "../contract/companies.ts";
import { Limits } from "../contract/limits.ts";
import { nameKey } from "../contract/names.ts";
import { listAgents } from "../contract/agents.ts";
import { viewMe } from "../contract/people.ts";
import { Refusal } from "../contract/refusal.ts";
import { shown } from "../contract/visible-text.ts";
import { Id } from "../contract/words.ts";
import { dress, type Drawing, wrapped } from "./look.ts";
import type { ShortIds } from "./short-ids.ts";
import { badLimits, noCompanyYet, noSuchAgent, notAPort, severalAgents, whichCompany } from "./texts.ts";
import { homeOf, tokenOf, urlOf } from "./where.ts";

export interface Terminal {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly readStdin: () => Promise<Buffer>;
  /** Writes bytes unchanged. Absent on a terminal, because bytes could act on it. */
  readonly raw?: (bytes: Buffer) => void;
  /** Absent if the terminal is not interactive. */
  readonly ask?: (question: string) => Promise<string>;
  /** Like ask, but does not show the typed characters. */
  readonly askSecret?: (question: string) => Promise<string>;
  /** The number of columns. Absent if the output is not a terminal. */
  readonly columns?: number;
  readonly isColoured?: boolean;
  /**
   * Writes lines in place of those of the last call. An empty text leaves those in place. Absent if the output is not a
   * terminal.
   */
  readonly redraw?: (text: string) => void;
  /** Calls the handler on Ctrl-C instead of ending. Returns a function that undoes this. */
  readonly onInterrupt?: (handler: () => void) => () => void;
}

/** Thrown when the person pressed Ctrl-C at a question. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/** A terminal whose output passes through the filters below, in order. */
export interface Screen extends Terminal {
  /** Writes the content of a file, without shortening anything. */
  readonly exact: (text: string) => void;
  /** Resolves when everything is written. */
  readonly written: () => Promise<void>;
}

/**
 * Everything that the command line prints passes here. Texts of agents can't act on the person's terminal, ids become short
 * ids, and marks become colours. With --json only the first of these happens.
 */
export function screenOn(outer: Terminal, shorts: ShortIds, isJson: boolean): Screen {
  let queue = Promise.resolve();
  const then = (work: () => unknown): void => {
    queue = queue.then(async () => void (await work()));
  };
  const ready = (text: string): string => dress(shown(text), outer.isColoured === true);
  const shortened = async (text: string): Promise<string> => {
    if (isJson) return shown(text);
    await shorts.learn(text);
    return ready(wrapped(shorts.short(text), outer.columns ?? Infinity));
  };
  const { ask, askSecret, raw, redraw } = outer;
  return {
    ...outer,
    out: (text) => then(async () => outer.out(await shortened(text))),
    err: (text) => then(async () => outer.err(await shortened(text))),
    exact: (text) => then(() => outer.out(ready(text))),
    ...(raw && { raw: (bytes: Buffer) => then(() => raw(bytes)) }),
    ...(redraw && { redraw: (text: string) => then(async () => redraw(await shortened(text))) }),
    ...(ask && { ask: async (question: string) => queue.then(async () => ask(await shortened(question))) }),
    ...(askSecret && {
      askSecret: async (question: string) => queue.then(async () => askSecret(await shortened(question))),
    }),
    written: async () => queue,
  };
}

export interface Context {
  readonly env: NodeJS.ProcessEnv;
  readonly terminal: Screen;
  readonly shorts: ShortIds;
  /** The exit code if nothing is thrown. Commands that find faults without failing (doctor, audit verify) set it. */
  exitCode: number;
}

/** How to draw an answer. By then, all its ids are known. */
export async function drawingFor({ terminal, shorts }: Context, answer: unknown): Promise<Drawing> {
  await shorts.learn(JSON.stringify(answer) ?? "");
  return drawingOf(terminal, shorts);
}

export const drawingOf = ({ columns }: Terminal, { short }: ShortIds): Drawing => ({
  columns: columns ?? Infinity,
  now: Date.now(),
  short,
});

export function portOf(env: NodeJS.ProcessEnv): number {
  const port = Number(env["AGENCY_PORT"] ?? 4600);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw notAPort(env["AGENCY_PORT"] ?? "");
  return port;
}

/** The daemon's options from the environment. */
export const daemonOptions = (
  { env, terminal }: Context,
  logLine: (line: Record<string, unknown>) => string,
  brain = env["AGENCY_BRAIN"],
) => ({
  home: homeOf(env),
  ...databaseIn(env),
  limits: limitsIn(env),
  auditKey: env["AGENCY_AUDIT_KEY"],
  anchorCopy: env["AGENCY_AUDIT_ANCHOR"],
  secrets: takeSecrets(env),
  brain: {
    path: env["PATH"] ?? "",
    type: brain === "" ? undefined : brain,
    ports: modelPorts(env["AGENCY_MODEL_PORTS"]),
  },
  log: (line: Record<string, unknown>): void => terminal.err(logLine(line)),
});

export const databaseIn = (env: NodeJS.ProcessEnv) => ({
  databaseUrl: env["DATABASE_URL"],
  databaseUrlFile: fileOf(env, "DATABASE_URL"),
  databaseDirectUrl: env["DATABASE_DIRECT_URL"],
  databaseDirectUrlFile: fileOf(env, "DATABASE_DIRECT_URL"),
});

/** The descriptors that the environment names for settings. A daemon in another process needs them too. */
export const descriptorsIn = (env: NodeJS.ProcessEnv): number[] =>
  ["DATABASE_URL_FD", "DATABASE_DIRECT_URL_FD", "AGENCY_SECRETS_FD"].flatMap((name) =>
    /^\d{1,4}$/.test(env[name] ?? "") && Number(env[name]) > 2 ? [Number(env[name])] : [],
  );

/** A descriptor is a file too. */
const fileOf = (env: NodeJS.ProcessEnv, name: string): string | undefined =>
  env[`${name}_FD`] === undefined ? env[`${name}_FILE`] : `/dev/fd/${env[`${name}_FD`]}`;

/** The ports of model servers on this machine: `11434,8080`. With an empty text, none. */
function modelPorts(given: string | undefined): number[] | undefined {
  const ports = given?.split(",").flatMap((port) => (port.trim() === "" ? [] : [Number(port)]));
  if (ports?.some((port) => !Number.isInteger(port) || port < 1 || port > 65_535) === true)
    throw notAPort(given ?? "", "AGENCY_MODEL_PORTS");
  return ports;
}

/** The secrets in the environment. They are removed from it, because programs that the daemon starts may inherit it. */
function takeSecrets(env: NodeJS.ProcessEnv) {
  const take = (name: string): string | undefined => {
    const value = env[name];
    delete env[name];
    return value;
  };
  const prefix = "AGENCY_SECRET_";
  const variables = Object.keys(env).filter((name) => name.startsWith(prefix));
  const known = modelKeys.filter((name) => env[name] !== undefined && env[name] !== "");
  return {
    key: take("AGENCY_SECRETS_KEY"),
    keyFile: take("AGENCY_SECRETS_KEY_FILE"),
    descriptor: take("AGENCY_SECRETS_FD"),
    variables: Object.fromEntries(variables.map((name) => [name.slice(prefix.length), take(name) ?? ""])),
    keys: Object.fromEntries(known.map((name) => [name, take(name) ?? ""])),
  };
}

/** The keys of the built-in providers, under the names that their own programs use. */
const modelKeys = ["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "OPENAI_API_KEY", "CODEX_LOGIN_FILE"];

/** The limits of AGENCY_LIMITS, and the defaults of the others. */
export function limitsIn(env: NodeJS.ProcessEnv): Limits {
  try {
    return Limits.parse(JSON.parse(env["AGENCY_LIMITS"] ?? "{}"));
  } catch (error) {
    throw badLimits(error instanceof z.ZodError ? z.prettifyError(error) : String(error));
  }
}

export function clientOf(env: NodeJS.ProcessEnv): Client {
  // A wrong port is refused before it becomes part of an address.
  if (env["AGENCY_PORT"] !== undefined) portOf(env);
  return createClient({ url: urlOf(env), token: tokenOf(env), as: env["AGENCY_AS"] });
}

/** Whether this client calls as an agent: with its key, or from the position of a person. */
export async function isInPosition(client: Client): Promise<boolean> {
  try {
    return (await client.call(viewMe, {})).actingAs !== null;
  } catch (error) {
    if (error instanceof Refusal && error.code === "forbidden") return true;
    throw error;
  }
}

/** Prints a result: as JSON with --json, otherwise as these lines. */
export function print(
  { terminal }: Context,
  { json }: { readonly json?: true },
  result: unknown,
  ...lines: readonly string[]
): void {
  terminal.out(json === true ? JSON.stringify(result) : lines.join("\n"));
}

/** The command of a noun, which holds its verbs. It exists already if an operation has a verb there. */
export function nounOf(program: Command, noun: string): Command {
  return program.commands.find((command) => command.name() === noun) ?? program.command(noun);
}

/** The id of an agent by id, slug or name. The agent is in this company or, if none is named, in any. */
export async function agentOf(client: Client, wanted: string, company?: string): Promise<string> {
  if (Id.safeParse(wanted).success) return wanted;
  const key = nameKey(wanted.replace(/^@/, ""));
  const found: string[] = [];
  const left: string[] = [];
  const names: string[] = [];
  const places =
    company === undefined
      ? (await client.call(listCompanies, { limit: 1000 })).companies.map(({ id }) => id)
      : [await companyOf(client, company)];
  for (const companyId of places)
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const page = await client.call(listAgents, { companyId, limit: 1000, ...(cursor && { cursor }) });
      cursor = page.nextCursor ?? undefined;
      for (const { id, slug, name, status } of page.agents) {
        const isMeant = slug === key || nameKey(name) === key;
        if (status === "terminated") {
          if (isMeant) left.push(id);
          continue;
        }
        names.push(slug);
        if (isMeant) found.push(id);
      }
    }
  // A departed agent is meant only if no present agent has the name.
  const [only] = found.length === 0 ? left : found;
  if (only === undefined || (found.length === 0 && left.length > 1)) throw noSuchAgent(wanted, names);
  if (found.length > 1) throw severalAgents(wanted, found);
  return only;
}

/** The id of a company by id, name or slug. Without one, the only company that is not archived. */
export async function companyOf(client: Client, wanted: string | undefined): Promise<string> {
  return (await findCompany(client, wanted)).id;
}

export async function findCompany(
  client: Client,
  wanted: string | undefined,
): Promise<z.infer<typeof Company>> {
  const { companies } = await client.call(listCompanies, { limit: 1000 });
  const key = nameKey(wanted ?? "");
  const called = (list: typeof companies) =>
    wanted === undefined
      ? list
      : list.filter(({ id, name, slug }) => [id, slug, nameKey(name)].includes(key));
  let found = called(companies);
  if (found.length === 0 && wanted !== undefined)
    found = called((await client.call(listCompanies, { limit: 1000, archived: true })).companies);
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  throw companies.length === 0 && wanted === undefined
    ? noCompanyYet()
    : whichCompany(wanted, found.length > 1 ? found : companies, found.length > 1);
}

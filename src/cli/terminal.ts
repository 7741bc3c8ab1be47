import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { z } from "zod";
import { type Client, createClient } from "../client/client.ts";
import { listCompanies } from "../contract/companies.ts";
import { Limits } from "../contract/limits.ts";
import { nameKey } from "../contract/names.ts";
import { listAgents } from "../contract/agents.ts";
import { shown } from "../contract/visible-text.ts";
import { Id } from "../contract/words.ts";
import { badLimits, noCompanyYet, noSuchAgent, notAPort, severalAgents, whichCompany } from "./texts.ts";

export interface Terminal {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly readStdin: () => Promise<Buffer>;
  /** Absent if the terminal is not interactive. */
  readonly ask?: (question: string) => Promise<string>;
  /** Like ask, but what is typed is not shown. */
  readonly askSecret?: (question: string) => Promise<string>;
}

/** Everything the command line prints passes here. What agents wrote can't act on the person's terminal. */
export function escaping({ out, err, ask, askSecret, readStdin }: Terminal): Terminal {
  return {
    out: (text) => out(shown(text)),
    err: (text) => err(shown(text)),
    readStdin,
    ...(ask && { ask: (question) => ask(shown(question)) }),
    ...(askSecret && { askSecret: (question) => askSecret(shown(question)) }),
  };
}

export interface Context {
  readonly env: NodeJS.ProcessEnv;
  readonly terminal: Terminal;
  /** The exit code if nothing is thrown. Commands that find a fault without failing (doctor, audit verify) set it. */
  exitCode: number;
}

export function homeOf(env: NodeJS.ProcessEnv): string {
  return env["AGENCY_HOME"] ?? join(homedir(), ".agency");
}

export function portOf(env: NodeJS.ProcessEnv): number {
  const port = Number(env["AGENCY_PORT"] ?? 4600);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw notAPort(env["AGENCY_PORT"] ?? "");
  return port;
}

/** What a daemon takes from the environment. */
export const daemonOptions = ({ env, terminal }: Context) => ({
  home: homeOf(env),
  databaseUrl: env["DATABASE_URL"],
  limits: limitsIn(env),
  auditKey: env["AGENCY_AUDIT_KEY"],
  anchorCopy: env["AGENCY_AUDIT_ANCHOR"],
  secrets: takeSecrets(env),
  log: (line: Record<string, unknown>): void => terminal.err(JSON.stringify(line)),
});

/** What the environment says about secrets. It is removed from there, because programs that the daemon starts may inherit it. */
function takeSecrets(env: NodeJS.ProcessEnv) {
  const take = (name: string): string | undefined => {
    const value = env[name];
    delete env[name];
    return value;
  };
  const prefix = "AGENCY_SECRET_";
  const variables = Object.keys(env).filter((name) => name.startsWith(prefix));
  return {
    key: take("AGENCY_SECRETS_KEY"),
    keyFile: take("AGENCY_SECRETS_KEY_FILE"),
    descriptor: take("AGENCY_SECRETS_FD"),
    variables: Object.fromEntries(variables.map((name) => [name.slice(prefix.length), take(name) ?? ""])),
  };
}

/** The limits of AGENCY_LIMITS, and the defaults of all others. */
export function limitsIn(env: NodeJS.ProcessEnv): Limits {
  try {
    return Limits.parse(JSON.parse(env["AGENCY_LIMITS"] ?? "{}"));
  } catch (error) {
    throw badLimits(error instanceof z.ZodError ? z.prettifyError(error) : String(error));
  }
}

/** The daemon's address: AGENCY_URL, else the address the daemon wrote to this home, else the default. */
export function urlOf(env: NodeJS.ProcessEnv): string {
  if (env["AGENCY_URL"] !== undefined) return env["AGENCY_URL"];
  try {
    const announced: unknown = JSON.parse(readFileSync(join(homeOf(env), "daemon.json"), "utf8"));
    if (typeof announced === "object" && announced !== null && "url" in announced)
      return String(announced.url);
  } catch {
    // No daemon has written its address to this home.
  }
  return `http://127.0.0.1:${portOf(env)}`;
}

/** The credential: AGENCY_TOKEN (for example an agent's API key), else the board token of this home. */
export function tokenOf(env: NodeJS.ProcessEnv): string | undefined {
  if (env["AGENCY_TOKEN"] !== undefined) return env["AGENCY_TOKEN"];
  try {
    return readFileSync(join(homeOf(env), "board-token"), "utf8").trim();
  } catch {
    return undefined;
  }
}

export function clientOf(env: NodeJS.ProcessEnv): Client {
  return createClient({ url: urlOf(env), token: tokenOf(env) });
}

/** Prints a result: with --json as JSON, otherwise as these lines. */
export function print(
  { terminal }: Context,
  { json }: { readonly json?: true },
  result: unknown,
  ...lines: readonly string[]
): void {
  terminal.out(json === true ? JSON.stringify(result) : lines.join("\n"));
}

/** The command that holds the verbs of a noun. It exists already if an operation has a verb there. */
export function nounOf(program: Command, noun: string): Command {
  return program.commands.find((command) => command.name() === noun) ?? program.command(noun);
}

/** The id of an agent given by id, slug or name, in any company. */
export async function agentOf(client: Client, wanted: string): Promise<string> {
  if (Id.safeParse(wanted).success) return wanted;
  const key = nameKey(wanted.replace(/^@/, ""));
  const found: string[] = [];
  for (const { id: companyId } of (await client.call(listCompanies, { limit: 1000 })).companies)
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const page = await client.call(listAgents, { companyId, limit: 1000, ...(cursor && { cursor }) });
      cursor = page.nextCursor ?? undefined;
      for (const { id, slug, name, status } of page.agents)
        if (status !== "terminated" && (slug === key || nameKey(name) === key)) found.push(id);
    }
  const [only] = found;
  if (only === undefined) throw noSuchAgent(wanted);
  if (found.length > 1) throw severalAgents(wanted, found);
  return only;
}

/** The id of a company given by id or name. If none is given, the only company there is. */
export async function companyOf(client: Client, wanted: string | undefined): Promise<string> {
  const { companies } = await client.call(listCompanies, { limit: 1000 });
  const found =
    wanted === undefined
      ? companies
      : companies.filter(({ id, name }) => id === wanted || name.toLowerCase() === wanted.toLowerCase());
  const [only] = found;
  if (only !== undefined && found.length === 1) return only.id;
  throw companies.length === 0 ? noCompanyYet() : whichCompany(wanted, companies);
}

import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { type Client, createClient } from "../client/client.ts";
import { listCompanies } from "../contract/companies.ts";
import { nameKey } from "../contract/names.ts";
import { listAgents } from "../contract/agents.ts";
import { Refusal } from "../contract/refusal.ts";
import { Id } from "../contract/words.ts";

export interface Terminal {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly readStdin: () => Promise<Buffer>;
  /** Absent where nobody sits at the terminal. */
  readonly ask?: (question: string) => Promise<string>;
}

export interface Context {
  readonly env: NodeJS.ProcessEnv;
  readonly terminal: Terminal;
  /** What the process answers when nothing is thrown; commands that find something wrong (doctor, verify) set it. */
  exitCode: number;
}

export function homeOf(env: NodeJS.ProcessEnv): string {
  return env["AGENCY_HOME"] ?? join(homedir(), ".agency");
}

export function portOf(env: NodeJS.ProcessEnv): number {
  const port = Number(env["AGENCY_PORT"] ?? 4600);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new Refusal(
      "invalid",
      `AGENCY_PORT is not a port: ${env["AGENCY_PORT"] ?? ""}.`,
      "Use a number from 0 to 65535.",
    );
  return port;
}

/** Where the daemon listens: AGENCY_URL, else what the daemon of this home wrote down, else the default. */
export function urlOf(env: NodeJS.ProcessEnv): string {
  if (env["AGENCY_URL"] !== undefined) return env["AGENCY_URL"];
  try {
    const announced: unknown = JSON.parse(readFileSync(join(homeOf(env), "daemon.json"), "utf8"));
    if (typeof announced === "object" && announced !== null && "url" in announced)
      return String(announced.url);
  } catch {
    // No daemon wrote down where it is.
  }
  return `http://127.0.0.1:${portOf(env)}`;
}

/** AGENCY_TOKEN (an agent's key, say), else the board's token of this home. */
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

/** An agent by id, slug or name, wherever it is. */
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
  if (only !== undefined && found.length === 1) return only;
  throw new Refusal(
    only === undefined ? "not_found" : "invalid",
    only === undefined ? `There is no agent ${wanted}.` : `Several agents are named ${wanted}.`,
    only === undefined ? "agency org shows who there is." : `Say which by its id: ${found.join(", ")}.`,
  );
}

/** The company by id or name; without one, the only company there is. */
export async function companyOf(client: Client, wanted: string | undefined): Promise<string> {
  const { companies } = await client.call(listCompanies, { limit: 1000 });
  const found =
    wanted === undefined
      ? companies
      : companies.filter(({ id, name }) => id === wanted || name.toLowerCase() === wanted.toLowerCase());
  const [only] = found;
  if (only !== undefined && found.length === 1) return only.id;
  const names = companies.slice(0, 10).map(({ id, name }) => `${name} (${id})`);
  throw new Refusal(
    "invalid",
    companies.length === 0
      ? "There is no company yet."
      : wanted === undefined
        ? "Which company?"
        : `There is no one company ${wanted}.`,
    companies.length === 0
      ? "Make one: agency companies create <name>."
      : `Name it: --company <id or name>. ${names.join(", ")}`,
  );
}

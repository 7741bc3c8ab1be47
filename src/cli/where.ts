import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * The daemon's address and the caller's credential, from the environment and the home folder. This file loads no schema:
 * `agency status` and completion answer while the rest of the program would still be loading.
 */
export function homeOf(env: NodeJS.ProcessEnv): string {
  return env["AGENCY_HOME"] ?? join(homedir(), ".agency");
}

export interface SignedIn {
  readonly url: string;
  readonly token: string;
}

export const signInFile = (home: string, name = "sign-in"): string => join(home, `${name}.json`);

export function signInOf(home: string, name?: string): SignedIn | undefined {
  const { url, token } = jsonIn(signInFile(home, name));
  return typeof url === "string" && typeof token === "string" ? { url, token } : undefined;
}

/** The address and the process that the daemon of this home announced. */
export function announcedIn(home: string): { url?: string; pid?: number } {
  const { url, pid } = jsonIn(join(home, "daemon.json"));
  return { ...(typeof url === "string" && { url }), ...(typeof pid === "number" && { pid }) };
}

function jsonIn(path: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    // The file is missing, or it is not one of ours.
    return {};
  }
}

/** The daemon's address: AGENCY_URL, else that of this home's daemon, else that of the sign-in, else the default. */
export function urlOf(env: NodeJS.ProcessEnv): string {
  const { url } = announcedIn(homeOf(env));
  const port = env["AGENCY_PORT"];
  return (
    env["AGENCY_URL"] ??
    url ??
    (port === undefined ? signInOf(homeOf(env))?.url : undefined) ??
    `http://127.0.0.1:${port ?? 4600}`
  );
}

/** The credential: AGENCY_TOKEN (for example an agent's API key), else the sign-in of this home, else its board token. */
export function tokenOf(env: NodeJS.ProcessEnv): string | undefined {
  if (env["AGENCY_TOKEN"] !== undefined) return env["AGENCY_TOKEN"];
  const kept = signInOf(homeOf(env));
  if (kept?.url === urlOf(env)) return kept.token;
  try {
    return readFileSync(join(homeOf(env), "board-token"), "utf8").trim();
  } catch {
    return undefined;
  }
}

/** The company for commands without --company: AGENCY_COMPANY, else the one chosen with `agency use`. */
export function chosenCompany(env: NodeJS.ProcessEnv): string | undefined {
  if (env["AGENCY_COMPANY"] !== undefined && env["AGENCY_COMPANY"] !== "") return env["AGENCY_COMPANY"];
  try {
    return readFileSync(join(homeOf(env), chosenFile), "utf8").trim() || undefined;
  } catch {
    return undefined;
  }
}

/** The file in the home folder with the id of the company chosen with `agency use`. */
export const chosenFile = "chosen-company";

/** The file that Node runs as `agency`. */
export const entryPoint = (): string =>
  fileURLToPath(new URL(`../cli/main${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url));

/** The body of the daemon's answer. Undefined if the daemon refuses or does not answer: the caller then takes the long way. */
export async function askDaemon(env: NodeJS.ProcessEnv, path: string): Promise<unknown> {
  const token = tokenOf(env);
  const url = new URL(path, urlOf(env));
  if (url.protocol !== "http:") return undefined;
  const as = env["AGENCY_AS"];
  // Loading node:http takes longer than everything else in `agency status`. With HTTP/1.0 it is not needed: the answer is
  // complete when the daemon closes the connection.
  const head = [
    `GET ${url.pathname}${url.search} HTTP/1.0`,
    `host: ${url.host}`,
    ...(token === undefined ? [] : [`authorization: Bearer ${token.replace(/[^\x21-\x7e]/g, "")}`]),
    ...(as === undefined ? [] : [`x-agency-as: ${encodeURIComponent(as)}`]),
  ];
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const socket = connect(Number(url.port || 80), url.hostname.replace(/^\[|\]$/g, ""));
    socket.setTimeout(10_000, () => socket.destroy());
    socket.on("error", () => socket.destroy());
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    socket.on("close", () => resolve(jsonOf(Buffer.concat(chunks).toString("utf8"))));
    socket.write(`${head.join("\r\n")}\r\n\r\n`);
  });
}

function jsonOf(response: string): unknown {
  const end = response.indexOf("\r\n\r\n");
  if (end === -1 || !/^HTTP\/1\.\d 200 /.test(response)) return undefined;
  try {
    return JSON.parse(response.slice(end));
  } catch {
    // The answer is incomplete, or comes from another program.
    return undefined;
  }
}

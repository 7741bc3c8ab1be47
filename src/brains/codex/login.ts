import { spawn } from "node:child_process";
import { readFileSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, sep } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { programFile } from "../cli-program.ts";
import { jsonIn } from "../lines.ts";
import { codexLogin as texts } from "../texts.ts";

/**
 * The login of a person's own Codex, which `codex login` stores in `auth.json`. A login is in one of these states:
 *
 *   usable ──expires soon, or its token was refused──▶ renewing ──▶ usable
 *                                                               ──▶ failed (signed out: until the file changes; else a minute)
 *
 * Only the access token and the account's id are read. Codex itself renews the login, because a refresh token works once: a second
 * program that uses it signs the person out. For each file, only one program at a time is asked to renew.
 */
export interface CodexLogin {
  readonly token: string;
  readonly accountId: string | undefined;
  /** Null if the token has no expiry. */
  readonly expiresAt: number | null;
}

/** The reason why a login can't be used now. */
export interface LoginTrouble {
  readonly says: string;
  /** The milliseconds until it may work again. Null if it waits for a change. */
  readonly wait: number | null;
}

export interface CodexLogins {
  /** The present content of the file. Nothing is renewed. */
  look(file: string): CodexLogin | LoginTrouble;
  /** A usable login, renewed if needed. `refused` is a token that was not accepted. */
  use(file: string, refused?: string): Promise<CodexLogin | LoginTrouble>;
}

/** If the token expires within this time, Codex renews it when it starts. */
const soon = 5 * 60_000;
/** After a renewal, a token that is refused again is not renewed for this long, for each file. */
const pause = 60_000;
/** A renewal takes about two seconds. */
const patience = 30_000;
/** How long to wait for Codex, which may be writing the file at the moment. */
const writingTime = 100;

interface Read {
  /** A value that changes with the file. */
  readonly stamp: string;
  readonly found: CodexLogin | LoginTrouble;
}

/** `home` is Agency's own folder. Agents write there, so Codex must never take its settings from it. */
export function keepCodexLogins(
  parts: { readonly home?: string; readonly path?: string; readonly env?: NodeJS.ProcessEnv } = {},
): CodexLogins {
  const { path, env = process.env } = parts;
  const read = new Map<string, Read>();
  const renewing = new Map<string, Promise<void>>();
  const renewals = new Map<
    string,
    { readonly stamp: string; readonly over: number; readonly says?: string; readonly isLasting: boolean }
  >();
  const program = (): string | undefined => programFile("codex", path ?? env["PATH"] ?? "");

  function lookAt(file: string): Read {
    try {
      const { mtimeMs, size, ino, uid } = statSync(file);
      const stamp = `${mtimeMs} ${size} ${ino}`;
      const known = read.get(file);
      if (known?.stamp === stamp) return known;
      const found = mayUse(file, uid, parts.home) ?? loginIn(readFileSync(file, "utf8"));
      // Codex may be writing it just now.
      if ("token" in found) read.set(file, { stamp, found });
      return { stamp, found };
    } catch {
      return { stamp: "", found: { says: texts.noFile, wait: null } };
    }
  }

  function lookIn(file: string): CodexLogin | LoginTrouble {
    const { stamp, found } = lookAt(file);
    if ("says" in found) return found;
    const last = renewals.get(file);
    if (last?.stamp === stamp && last.says !== undefined) {
      const wait = last.over - performance.now();
      if (last.isLasting) return { says: last.says, wait: null };
      if (wait > 0) return { says: last.says, wait };
    }
    return isOver(found) && program() === undefined ? { says: texts.noProgram, wait: null } : found;
  }

  async function useIn(file: string, refused?: string): Promise<CodexLogin | LoginTrouble> {
    await renewing.get(file);
    if ("says" in lookIn(file)) await sleep(writingTime);
    const now = lookIn(file);
    if ("says" in now || !mustRenew(now, refused)) return now;
    const last = renewals.get(file);
    // Even the new token is refused, so another one would not help.
    if (last?.stamp === lookAt(file).stamp && performance.now() < last.over) return now;
    const codex = program();
    if (codex === undefined) return refused === undefined ? now : { says: texts.noProgram, wait: null };
    const running =
      renewing.get(file) ??
      renew(file, codex, now, refused !== undefined).finally(() => renewing.delete(file));
    renewing.set(file, running);
    await running;
    return lookIn(file);
  }

  async function renew(file: string, codex: string, old: CodexLogin, isRefused: boolean): Promise<void> {
    const isNew = (): boolean => {
      const { found } = lookAt(file);
      return "token" in found && found.token !== old.token;
    };
    const end = await askCodex(codex, dirname(file), env, isNew);
    const { stamp } = lookAt(file);
    const isNeeded = !isNew() && (isRefused || isOver(old));
    const isLasting = end === "signed out";
    const says = isLasting ? texts.signedOut : texts.notRenewed;
    renewals.set(file, { stamp, over: performance.now() + pause, isLasting, ...(isNeeded ? { says } : {}) });
  }

  return { look: (file) => lookIn(fileAt(file)), use: (file, refused) => useIn(fileAt(file), refused) };
}

/** The path as a person writes it: `~` is the home of the daemon's user. */
const fileAt = (path: string): string => path.trim().replace(/^~(?=\/)/, homedir());

const isOver = ({ expiresAt }: CodexLogin): boolean => expiresAt !== null && expiresAt <= Date.now();

const mustRenew = ({ token, expiresAt }: CodexLogin, refused: string | undefined): boolean =>
  token === refused || (expiresAt !== null && expiresAt < Date.now() + soon);

/** Whether a login file may be used. Codex finds its settings beside the file, so an agent must not be able to write there. */
function mayUse(file: string, owner: number, home: string | undefined): LoginTrouble | undefined {
  if (!isAbsolute(file) || basename(file) !== "auth.json") return { says: texts.notALogin, wait: null };
  if (owner !== process.getuid?.()) return { says: texts.ofAnotherUser, wait: null };
  const places = [file, dirname(file)].map((place) => `${realpathSync(place)}${sep}`);
  return home !== undefined && places.some((place) => place.startsWith(`${realpathSync(home)}${sep}`))
    ? { says: texts.inAgencysHome, wait: null }
    : undefined;
}

const LoginFile = z.looseObject({
  tokens: z.looseObject({ access_token: z.string().min(1), account_id: z.string().nullish() }),
});
const Claims = z.looseObject({
  exp: z.number().optional(),
  "https://api.openai.com/auth": z.looseObject({ chatgpt_account_id: z.string().optional() }).optional(),
});

function loginIn(text: string): CodexLogin | LoginTrouble {
  const { data } = LoginFile.safeParse(jsonIn(text));
  if (data === undefined) return { says: texts.noToken, wait: null };
  const { access_token: token, account_id } = data.tokens;
  const claims = Claims.safeParse(
    jsonIn(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8")),
  ).data;
  return {
    token,
    accountId: account_id ?? claims?.["https://api.openai.com/auth"]?.chatgpt_account_id,
    expiresAt: claims?.exp === undefined ? null : claims.exp * 1000,
  };
}

const Answer = z.looseObject({
  id: z.number(),
  result: z.looseObject({ account: z.unknown().optional() }).optional(),
});

/**
 * Asks the person's own Codex to renew its login. Codex renews at its start if the token expires soon. So the request that
 * forces a renewal is made only if the first one changed nothing. Its answer may be an error although the login was renewed,
 * for example without a connection to ChatGPT: the file decides. Standard input is closed instead of ending the program,
 * because Codex may have a new login that it has not written yet.
 */
async function askCodex(
  program: string,
  folder: string,
  env: NodeJS.ProcessEnv,
  isNew: () => boolean,
): Promise<"asked" | "signed out"> {
  const own = Object.entries(env).filter(([name]) => !name.startsWith("AGENCY_"));
  const child = spawn(program, ["app-server"], {
    cwd: folder,
    env: { ...Object.fromEntries(own), CODEX_HOME: folder },
    stdio: ["pipe", "pipe", "ignore"],
  });
  const tell = (message: object): void => void child.stdin.write(`${JSON.stringify(message)}\n`);
  const read = (id: number, refreshToken: boolean): void =>
    tell({ id, method: "account/read", params: { refreshToken } });
  return new Promise((resolve) => {
    let how: "asked" | "signed out" = "asked";
    // The next renewal must not begin before this program is gone.
    const gone = (): void => {
      clearTimeout(timeout);
      resolve(how);
    };
    const timeout = setTimeout(() => {
      child.stdin.end();
      setTimeout(() => child.kill("SIGKILL"), patience).unref();
    }, patience);
    child.stdin.on("error", () => undefined);
    child.once("error", gone);
    child.once("exit", gone);
    createInterface({ input: child.stdout }).on("line", (line) => {
      const { data } = Answer.safeParse(jsonIn(line));
      if (data === undefined) return;
      if (data.id === 1) {
        tell({ method: "initialized" });
        read(2, false);
      } else if (data.id === 2 && !isNew()) read(3, true);
      else if (data.id > 1) {
        if (data.result?.account === null) how = "signed out";
        child.stdin.end();
      }
    });
    tell({
      id: 1,
      method: "initialize",
      params: { clientInfo: { name: "agency", title: "Agency", version: "1" } },
    });
  });
}

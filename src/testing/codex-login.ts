import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A login of Codex in a separate folder, and a stand-in for the program that renews it. */
export interface FakeLogin {
  readonly file: string;
  /** A PATH with the stand-in. */
  readonly path: string;
  /** Sets the token that the stand-in writes when it renews. Undefined means signed out. */
  renewsTo(token: string | undefined): void;
  /** How often the stand-in renewed the login, or tried to. */
  renewals(): number;
  /** Writes the file that `codex login` leaves behind. */
  signIn(token: string): void;
  readonly refreshToken: () => string;
  remove(): void;
}

let count = 0;

/** A token like those of ChatGPT, which expires in this many seconds. No two are the same. */
export function fakeAccessToken(seconds: number): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = {
    exp: Math.floor(Date.now() / 1000) + seconds,
    "https://api.openai.com/auth": { chatgpt_plan_type: "plus", chatgpt_account_id: fakeAccount },
  };
  return `${part({ alg: "none", typ: "JWT" })}.${part(claims)}.${part({ canary: ++count })}`;
}
export const fakeAccount = "account-of-ada";

export const loginFileWith = (token: string, refresh: string): string =>
  JSON.stringify({
    auth_mode: "chatgpt",
    OPENAI_API_KEY: null,
    tokens: {
      id_token: fakeAccessToken(3600),
      access_token: token,
      refresh_token: refresh,
      account_id: fakeAccount,
    },
    last_refresh: new Date().toISOString(),
  });

export function fakeLogin(): FakeLogin {
  const folder = mkdtempSync(join(tmpdir(), "agency-login-"));
  const [file, next, log] = ["auth.json", "next", "log"].map((name) => join(folder, name));
  if (file === undefined || next === undefined || log === undefined) throw new Error("no folder");
  mkdirSync(join(folder, "bin"));
  const program = join(folder, "bin", "codex");
  writeFileSync(program, `#!${process.execPath}\n${standIn}`);
  chmodSync(program, 0o755);
  return {
    file,
    path: join(folder, "bin"),
    renewsTo: (token) => (token === undefined ? rmSync(next, { force: true }) : writeFileSync(next, token)),
    renewals: () => (existsSync(log) ? readFileSync(log, "utf8").length : 0),
    signIn: (token) => writeFileSync(file, loginFileWith(token, `rt-signed-in-${++count}`), { mode: 0o600 }),
    refreshToken: () => Object(JSON.parse(readFileSync(file, "utf8"))).tokens.refresh_token,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The stand-in acts like Codex: it answers in lines of JSON, renews only if it is forced to, and takes a while. */
const standIn = `
const { appendFileSync, existsSync, readFileSync, writeFileSync } = require("node:fs");
const home = process.env.CODEX_HOME;
if (process.argv[2] !== "app-server" || Object.keys(process.env).some((name) => name.startsWith("AGENCY_"))) process.exit(2);
const say = (message) => process.stdout.write(JSON.stringify(message) + "\\n");
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize") return say({ id, result: { userAgent: "stand-in" } });
  if (method !== "account/read") return;
  if (!params.refreshToken) return say({ id, result: { account: { type: "chatgpt" } } });
  appendFileSync(home + "/log", ".");
  setTimeout(() => {
    if (!existsSync(home + "/next")) return say({ id, result: { account: null } });
    const login = JSON.parse(readFileSync(home + "/auth.json", "utf8"));
    login.tokens.access_token = readFileSync(home + "/next", "utf8");
    login.tokens.refresh_token += "-renewed";
    writeFileSync(home + "/auth.json", JSON.stringify(login));
    say({ id, result: { account: { type: "chatgpt" } } });
  }, 50);
});
`;

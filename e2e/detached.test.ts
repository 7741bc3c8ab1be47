// A daemon in the background closes the descriptors it is given, and its log has lines of JSON without a credential.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { createClient } from "../src/client/client.ts";
import { createAgent } from "../src/contract/hiring.ts";
import { listCompanies } from "../src/contract/companies.ts";
import { testDatabase } from "../src/testing/postgres.ts";
import { agency, builtMain, isAlive, startDaemon, temporaryFolder } from "./support/daemon.ts";

const databases = (process.env["AGENCY_TEST_STORES"] ?? "postgres").includes("postgres");

/** Runs a command with the files of a folder as its descriptors 3 and 4. */
const withDescriptors = (folder: string) =>
  [
    "bash",
    "-c",
    'exec 3<"$0/url" 4<"$0/secrets"; exec "$@"',
    folder,
    process.execPath,
    builtMain,
  ] as const satisfies [string, ...string[]];

async function prepared(t: TestContext) {
  const folder = temporaryFolder("detached");
  const database = databases ? await testDatabase() : undefined;
  t.after(async () => {
    await database?.drop();
    folder.remove();
  });
  const value = "swordfish-of-the-descriptor-0123456789";
  writeFileSync(join(folder.path, "secrets"), JSON.stringify({ BY_DESCRIPTOR: value }), { mode: 0o600 });
  writeFileSync(join(folder.path, "url"), `${database?.url ?? ""}\n`, { mode: 0o600 });
  const home = join(folder.path, "home");
  const env = { ...(database && { DATABASE_URL_FD: "3" }), AGENCY_SECRETS_FD: "4" };
  return { folder: folder.path, value, options: { home, env, command: withDescriptors(folder.path) } };
}

async function usesAndHides(folder: string, home: string, pid: number, url: string): Promise<void> {
  const token = readFileSync(join(home, "board-token"), "utf8").trim();
  const board = createClient({ url, token });
  const [company] = (await board.call(listCompanies, {})).companies;
  assert.equal(existsSync(join(home, "agency.db")), !databases);
  const open = readdirSync(`/proc/${pid}/fd`).map((name) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${name}`);
    } catch {
      return "";
    }
  });
  assert.ok(open.length > 3);
  for (const name of ["url", "secrets"])
    assert.ok(!open.includes(join(folder, name)), `${name} is still open: ${open.join(", ")}`);
  await board.call(createAgent, {
    companyId: company?.id ?? "",
    name: "Gnu",
    role: "x",
    adapterType: "human",
  });
}

const Started = z.object({ url: z.string(), pid: z.number(), log: z.string() });

test("a detached daemon gets its descriptors and closes them, and its log has no credential", async (t) => {
  const { folder, value, options } = await prepared(t);
  const up = await agency(["up", "--detach", "--port", "0", "--json"], options);
  assert.equal(up.code, 0, up.err);
  const { url, pid, log } = Started.parse(JSON.parse(up.out));
  t.after(() => {
    if (isAlive(pid)) process.kill(pid, "SIGKILL");
  });
  // The daemon answers before its first company exists.
  const logged = async (text: string): Promise<void> => {
    while (!readFileSync(log, "utf8").includes(text)) await sleep(50);
  };
  await logged("Agency is running");
  await usesAndHides(folder, options.home, pid, url);
  await logged("Gnu");
  const stopped = await agency(["stop"], { home: options.home });
  assert.equal(stopped.code, 0, stopped.err);
  const text = readFileSync(log, "utf8");
  assert.doesNotMatch(text, /agl_|agb_|sign-in#/);
  assert.ok(!text.includes(value));
  const lines = text
    .trimEnd()
    .split("\n")
    .map((line): Record<string, unknown> => Object(JSON.parse(line)));
  for (const line of lines) assert.ok(typeof line["at"] === "string" && typeof line["level"] === "string");
  const says = (about: string) =>
    lines.flatMap((line) => (line["about"] === about ? [String(line["says"])] : [])).join("\n");
  assert.ok(says("start").includes(`Agency is running at ${url}`), text);
  assert.match(says("start"), /To sign in .*agency open --print/);
  assert.match(says("event"), /Gnu/);
  assert.match(says("stop"), /Stopped\./);
});

test("a daemon in the foreground closes its descriptors, and tells programs no sign-in link", async (t) => {
  const { folder, options } = await prepared(t);
  const daemon = await startDaemon(options).ready;
  try {
    await usesAndHides(folder, options.home, daemon.pid, daemon.url);
  } finally {
    await daemon.stop();
  }
});

test("a setting that can't be used is refused before anything starts", async (t) => {
  const { folder, options } = await prepared(t);
  const { home } = options;
  const refused = async (env: Record<string, string>, says: RegExp) => {
    const up = await agency(["up", "--port", "0"], { home, env });
    assert.notEqual(up.code, 0);
    assert.match(up.err, says);
    assert.ok(!existsSync(join(home, "daemon.json")));
  };
  await refused({ DATABASE_URL_FD: "63" }, /Descriptor 63 is not open for reading/);
  await refused({ DATABASE_URL_FILE: "/dev/fd/1" }, /Descriptor 1 is not open for reading/);
  for (const seconds of ["soon", "-1", "Infinity"])
    await refused({ AGENCY_DRAIN_SECONDS: seconds }, /AGENCY_DRAIN_SECONDS is .* not a number of seconds/);
  await refused(
    { DATABASE_URL: "postgres://agency@127.0.0.1:1/agency" },
    /^The database does not answer, so Agency did not start\.\n(?!.*continues)/,
  );
  // The password of the database is not in the arguments, which every user of the machine can read.
  writeFileSync(join(folder, "there"), "no address\n", { mode: 0o600 });
  const moved = await agency(["migrate", "--to", join(folder, "there")], { home });
  assert.match(moved.err, /has no address like postgres:/);
});

// A session that looks for the secrets of its company's MCP servers finds none. It runs as a normal user and, if the tests run
// as root, also as root. The test then looks for the secrets in everything that the daemon stored, printed and answered.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { chownSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { updateAgent } from "../src/contract/agents.ts";
import { viewAttention } from "../src/contract/attention.ts";
import { grantPermission } from "../src/contract/capabilities.ts";
import { viewCompany } from "../src/contract/companies.ts";
import { createAgent } from "../src/contract/hiring.ts";
import { viewInstallation } from "../src/contract/installation.ts";
import { listEvents } from "../src/contract/ledger.ts";
import { sendMessage } from "../src/contract/mail.ts";
import { why } from "../src/contract/why.ts";
import { exportCompany } from "../src/contract/roster.ts";
import { listSecrets, setSecret } from "../src/contract/secrets.ts";
import { listMcpServers, putMcpServer, testMcpServer } from "../src/contract/servers.ts";
import { allowed } from "../src/testing/allowed.ts";
import { hiderOf } from "../src/redaction/known-texts.ts";
import { type BuiltDaemon, startDaemon, temporaryFolder } from "./support/daemon.ts";

const built = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));
const thief = fileURLToPath(new URL("support/thief.mjs", import.meta.url));
const everything = fileURLToPath(
  new URL("../node_modules/@modelcontextprotocol/server-everything/dist/index.js", import.meta.url),
);
const isRoot = process.getuid?.() === 0;
const other = 65_534;
/** 200 secrets: by descriptor at the start, by environment at the start, set later, and given as plain values of a server. */
const canary = (): string => `cnry-${randomBytes(16).toString("hex")}`;
const some = (prefix: string): Record<string, string> =>
  Object.fromEntries(Array.from({ length: 50 }, (_, number) => [`${prefix}_${number}`, canary()]));

// covers SEC-01, SEC-02, SEC-05
for (const user of isRoot ? ["root", "a normal user"] : ["a normal user"])
  test(`a session of ${user} finds 0 of 200 canaries, and none is stored, printed or answered`, async (t) => {
    const home = temporaryFolder("canaries");
    const [byDescriptor, byVariable] = [some("FD"), some("ENV")];
    const given = join(home.path, "..", `${home.path.split("/").at(-1) ?? ""}.given`);
    writeFileSync(given, JSON.stringify(byDescriptor), { mode: 0o600 });
    const isOther = isRoot && user !== "root";
    if (isOther) chownSync(home.path, other, other);
    const daemon = await startDaemon({
      home: home.path,
      env: {
        AGENCY_ALLOW_UNSANDBOXED: "",
        AGENCY_SECRETS_FD: "40",
        AGENCY_SECRETS_KEY: randomBytes(32).toString("hex"),
        ...Object.fromEntries(
          Object.entries(byVariable).map(([key, value]) => [`AGENCY_SECRET_${key}`, value]),
        ),
      },
      command: [
        "bash",
        "-c",
        'exec 40<"$0"; rm "$0"; exec "$@"',
        given,
        ...(isOther ? ["setpriv", `--reuid=${other}`, `--regid=${other}`, "--clear-groups"] : []),
        process.execPath,
        built,
      ],
    }).ready;
    try {
      await play(t, daemon, byDescriptor, byVariable);
    } finally {
      await daemon.stop();
      home.remove();
    }
  });

async function play(
  t: TestContext,
  daemon: BuiltDaemon,
  byDescriptor: Readonly<Record<string, string>>,
  byVariable: Readonly<Record<string, string>>,
): Promise<void> {
  const { board, companyId, home } = daemon;
  const answered: unknown[] = [];
  const hear = async <T>(answer: Promise<T>): Promise<T> => {
    const heard = await answer;
    answered.push(heard);
    return heard;
  };
  const [set, plain] = [some("SET"), some("PLAIN")];
  for (const [name, value] of Object.entries(set))
    await hear(board.call(setSecret, { companyId, name, value }));
  const canaries = [byDescriptor, byVariable, set, plain].flatMap((one) => Object.values(one));
  assert.equal(new Set(canaries).size, 200);
  const references = [byDescriptor, byVariable, set].flatMap((one) => Object.keys(one));
  const env = { ...plain, ...Object.fromEntries(references.map((name) => [name, { secret: name }])) };
  const command = process.execPath;
  const put = (name: string, config: (typeof putMcpServer)["input"]["_output"]["config"]) =>
    hear(board.call(putMcpServer, { companyId, name, config }));
  await put("every", { command, args: [everything, "stdio"], env });
  // This server prints its whole environment as errors, and ends.
  await put("broken", { command: "/bin/sh", args: ["-c", "env >&2; env | base64 >&2; exit 1"], env });
  await put("unset", { command: "/bin/true", env: { KEY: { secret: "NEVER_SET" } } });
  assert.equal((await hear(board.call(testMcpServer, { companyId, name: "every" }))).status, "works");
  assert.equal((await hear(board.call(testMcpServer, { companyId, name: "broken" }))).status, "fails");
  const { rootAgentId } = await board.call(viewCompany, { companyId });
  await board.call(updateAgent, { id: rootAgentId, adapterType: "human" });
  const adapterConfig = { command, args: [thief] };
  const { id } = await board.call(createAgent, {
    companyId,
    name: "Thief",
    role: "x",
    adapterType: "process",
    adapterConfig,
  });
  for (const name of ["every", "broken", "unset"])
    await board.call(grantPermission, { companyId, to: id, resource: `mcp:${name}` });
  await board.call(sendMessage, { companyId, to: id, body: "begin" });
  const transcripts = join(home, "transcripts");
  const said = await until(
    () =>
      /looked at \d+ places, found \d+/.exec(
        readdirSync(transcripts)
          .map((name) => readFileSync(join(transcripts, name), "utf8"))
          .join("\n"),
      )?.[0],
  );
  t.diagnostic(said);
  const text = readdirSync(transcripts)
    .map((name) => readFileSync(join(transcripts, name), "utf8"))
    .join("\n");
  assert.deepEqual(text.match(/FOUND \d+ in [^"\\]*/g) ?? [], []);
  assert.match(said, /found 0$/);
  assert.match(text, /FD_49/, "the thief saw the names of the server's variables");
  // `why` and the attention list name the secret that is missing and the server that fails.
  const { says } = await hear(board.call(why, { id }));
  assert.match(says, /The MCP server unset does not work: The secret NEVER_SET has no value/);
  assert.match(says, /The MCP server broken does not work/);
  await hear(board.call(viewAttention, { companyId }));
  await hear(board.call(listMcpServers, { companyId }));
  await hear(board.call(listSecrets, { companyId }));
  await hear(board.call(viewInstallation, {}));
  await hear(board.call(listEvents, { companyId, limit: 1000 }));
  await hear(board.call(exportCompany, { companyId }));
  const hide = hiderOf(canaries);
  const hits = (where: string, content: string): string[] => (hide(content) === content ? [] : [where]);
  const { files, stored } = await until(() => {
    try {
      const paths = filesIn(home);
      const found = paths.flatMap((path) => hits(path, readFileSync(path, "latin1")));
      return { files: paths.length, stored: found };
    } catch (error) {
      // The daemon renamed a file meanwhile, so look at all of them again.
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
      throw error;
    }
  });
  assert.deepEqual(stored, [], "files of the home, the database included");
  assert.deepEqual(hits("answers", JSON.stringify(answered)), []);
  assert.deepEqual(hits("log", daemon.log()), []);
  const outside = readdirSync("/proc").flatMap((pid) => {
    try {
      return hits(`argv of ${pid}`, readFileSync(`/proc/${pid}/cmdline`, "latin1"));
    } catch {
      return [];
    }
  });
  assert.deepEqual(outside, []);
  t.diagnostic(
    `0 of ${canaries.length} canaries in ${files} files, ${answered.length} answers, logs and arguments`,
  );
}

function filesIn(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    const found = statSync(path, { throwIfNoEntry: false });
    return found?.isDirectory() === true ? filesIn(path) : found?.isFile() === true ? [path] : [];
  });
}

async function until<T>(look: () => T | undefined): Promise<T> {
  for (const begun = performance.now(); performance.now() - begun < allowed(60_000); await sleep(100)) {
    const found = look();
    if (found !== undefined) return found;
  }
  throw new Error("it did not happen within 60 seconds");
}

// The first start: which brain a new company gets. Finding the brain neither delays the start nor shows a secret.
import assert from "node:assert/strict";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { viewAgent } from "../src/contract/agents.ts";
import { createCompany, viewCompany } from "../src/contract/companies.ts";
import { viewInstallation } from "../src/contract/installation.ts";
import { listProviders } from "../src/contract/providers.ts";
import { importCompany } from "../src/contract/roster.ts";
import { listSecrets, setSecret } from "../src/contract/secrets.ts";
import { agency, type BuiltDaemon, startDaemon, temporaryFolder } from "./support/daemon.ts";

const key = "sk-ant-the-key-of-the-environment-0123456789";

/** Starts a daemon on a new home. It finds no brain of the machine that runs the tests. */
async function first(
  env: Readonly<Record<string, string>>,
  play: (daemon: BuiltDaemon, folder: string) => Promise<void>,
  prepare: (folder: string) => Readonly<Record<string, string>> = () => ({}),
): Promise<void> {
  const folder = temporaryFolder("first-start");
  const home = join(folder.path, "home");
  mkdirSync(home);
  const options = {
    home,
    env: { PATH: "/usr/bin:/bin", AGENCY_BRAIN: "", AGENCY_MODEL_PORTS: "", ...env, ...prepare(folder.path) },
  };
  const daemon = await startDaemon(options).ready;
  try {
    await play(daemon, folder.path);
  } finally {
    await daemon.stop();
    folder.remove();
  }
}

const rootOf = async ({ board, companyId }: BuiltDaemon) =>
  board.call(viewAgent, { id: (await board.call(viewCompany, { companyId })).rootAgentId });

test("without any model a new company rehearses, and every screen says how to connect a model", () =>
  first({}, async (daemon) => {
    assert.equal((await rootOf(daemon)).adapterType, "rehearsal");
    const { brain } = await daemon.board.call(viewInstallation, {});
    assert.match(brain.says, /no model was found/);
    const made = await agency(["companies", "create", "Bakery"], { home: daemon.home });
    assert.ok(made.out.endsWith(`${brain.says}\n`), made.out);
    assert.match((await agency(["doctor"], { home: daemon.home })).out, /no model was found/);
  }));

test("with Claude Code and a key, the root agent and later companies use Claude Code, and the search runs no program", () =>
  first(
    { ANTHROPIC_API_KEY: key },
    async (daemon, folder) => {
      const { board, companyId } = daemon;
      assert.equal((await rootOf(daemon)).adapterType, "claude_local");
      const { settings } = await board.call(viewCompany, { companyId });
      assert.equal(settings.defaultAdapterType, "claude_local");
      const second = await board.call(createCompany, { name: "Second" });
      assert.equal(second.brain.type, "claude_local");
      assert.match(second.brain.says, /Claude Code.*ANTHROPIC_API_KEY.*agency brains use/);
      assert.equal(existsSync(join(folder, "ran")), false, "the program was run");

      // The key can be used, but is nowhere to be read. A key that the company sets itself takes precedence.
      const provider = async () =>
        (await board.call(listProviders, { companyId })).providers.find(({ name }) => name === "anthropic");
      assert.equal((await provider())?.status, "ready");
      for (const file of readdirSync(daemon.home, { recursive: true, withFileTypes: true }))
        if (file.isFile())
          assert.ok(
            !readFileSync(join(file.parentPath, file.name)).includes(key),
            `${file.name} has the key`,
          );
      assert.ok(!daemon.log().includes(key));
      await board.call(setSecret, { companyId, name: "ANTHROPIC_API_KEY", value: "sk-ant-own-0123456789" });
      const [own] = (await board.call(listSecrets, { companyId })).secrets;
      assert.equal(own?.kept, "encrypted");

      // A company made from files keeps the brain that its files name.
      const manifest = (more: object) => [
        {
          path: "company.json",
          content: JSON.stringify({
            format: "agency-company/1",
            name: "Files",
            settings: {},
            mcpServers: [],
            knowledge: [],
            ...more,
          }),
        },
      ];
      const named = await board.call(importCompany, {
        name: "Named",
        files: manifest({ settings: { defaultAdapterType: "rehearsal" } }),
      });
      assert.deepEqual([named.company.settings.defaultAdapterType, named.brain], ["rehearsal", null]);
      const open = await board.call(importCompany, { name: "Open", files: manifest({}) });
      assert.deepEqual(
        [open.company.settings.defaultAdapterType, open.brain?.type],
        ["claude_local", "claude_local"],
      );

      // A person changes it with one command.
      const args = ["brains", "use", "rehearsal", "--company", "Second"];
      assert.match(
        (await agency(args, { home: daemon.home })).out,
        /Root \(Second\) now uses the brain rehearsal/,
      );
      assert.equal((await board.call(viewAgent, { id: second.rootAgentId })).adapterType, "rehearsal");
      const after = await board.call(viewCompany, { companyId: second.id });
      assert.equal(after.settings.defaultAdapterType, "rehearsal");
    },
    (folder) => {
      const bin = join(folder, "bin");
      mkdirSync(bin);
      writeFileSync(join(bin, "claude"), `#!/bin/sh\ntouch ${join(folder, "ran")}\necho 2.1.0\n`);
      chmodSync(join(bin, "claude"), 0o755);
      return { PATH: `${bin}:/usr/bin:/bin` };
    },
  ));

test("a server of this machine that never answers does not delay the start", async (t) => {
  const silent = createServer(() => undefined).listen(0, "127.0.0.1");
  await once(silent, "listening");
  const address = silent.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  try {
    const begun = performance.now();
    await first({ AGENCY_MODEL_PORTS: String(port) }, async (daemon) => {
      t.diagnostic(`ready after ${Math.round(performance.now() - begun)} ms`);
      assert.equal((await rootOf(daemon)).adapterType, "rehearsal");
    });
  } finally {
    silent.close().closeAllConnections();
  }
});

test("a model server of this machine becomes a provider of the company", async () => {
  const own = { models: [{ name: "qwen3:8b", digest: "1" }] };
  const local = createServer(
    ({ url }, response) =>
      void response.end(JSON.stringify(url === "/api/tags" ? own : { data: [{ id: "qwen3:8b" }] })),
  );
  await once(local.listen(0, "127.0.0.1"), "listening");
  const address = local.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  try {
    await first({ AGENCY_MODEL_PORTS: String(port) }, async (daemon) => {
      const { board, companyId } = daemon;
      const root = await rootOf(daemon);
      assert.equal(root.adapterType, "openai_compatible");
      const { providers } = await board.call(listProviders, { companyId });
      const found = providers.find(({ name }) => name === "local");
      assert.deepEqual(
        [found?.config.baseUrl, found?.config.defaultModel, found?.status],
        [`http://127.0.0.1:${port}`, "qwen3:8b", "ready"],
      );
    });
  } finally {
    local.close().closeAllConnections();
  }
});

test("where programs can't run, a new company rehearses and the sentence says why", () =>
  first({ ANTHROPIC_API_KEY: key, AGENCY_SANDBOX: "off", AGENCY_ALLOW_UNSANDBOXED: "" }, async (daemon) => {
    assert.equal((await rootOf(daemon)).adapterType, "rehearsal");
    assert.match((await daemon.board.call(viewInstallation, {})).brain.says, /anthropic_api needs a sandbox/);
  }));

test("AGENCY_BRAIN names the brain, and a wrong name is refused at the start", async () => {
  await first({ ANTHROPIC_API_KEY: key, AGENCY_BRAIN: "rehearsal" }, async (daemon) => {
    assert.equal((await rootOf(daemon)).adapterType, "rehearsal");
  });
  const home = temporaryFolder("first-start");
  const { code, err } = await agency(["up", "--port", "0", "--brain", "telepathy"], { home: home.path });
  home.remove();
  assert.equal(code, 2);
  assert.match(err, /There is no brain called "telepathy".*claude_local/s);
});

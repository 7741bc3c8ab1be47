import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { keepCodexLogins } from "../brains/codex/login.ts";
import { findStartingBrain } from "../brains/finding.ts";
import { listAgents, setPermissions, updateAgent } from "../contract/agents.ts";
import { updateCompany } from "../contract/companies.ts";
import { listBrains } from "../contract/hiring.ts";
import { putProvider } from "../contract/providers.ts";
import { removeSecret, setSecret } from "../contract/secrets.ts";
import { noteRefused } from "../gateway/states.ts";
import { refusal, sharedOrganization, storeKinds } from "../testing/organization.ts";
import { probe as probeBrain, recordOf } from "./brain-probe.ts";

const folder = mkdtempSync(join(tmpdir(), "agency-brain-probe-"));
const path = process.env["PATH"];
const install = (...programs: readonly string[]): void => {
  process.env["PATH"] = mkdtempSync(join(folder, "bin-"));
  for (const name of programs)
    writeFileSync(join(process.env["PATH"], name), "#!/bin/sh\necho 1.2.3\n", { mode: 0o755 });
};
after(() => {
  process.env["PATH"] = path;
  rmSync(folder, { recursive: true, force: true });
});

for (const kind of storeKinds)
  describe(`whether brains could work now on ${kind}`, async () => {
    const { org } = await sharedOrganization(kind);
    const { board, companyId } = org;
    const listed = async () =>
      new Map((await board(listBrains, { companyId })).brains.map((brain) => [brain.type, brain]));
    const available = async () =>
      [...(await listed()).values()].flatMap((brain) => (brain.available ? [brain.type] : []));
    const always = ["rehearsal", "process", "human"];
    beforeEach(() => install());

    test("without programs and keys, each brain names the missing part and the next step", async () => {
      assert.deepEqual(await available(), always);
      const says = [...(await listed()).values()].map((brain) => [brain.type, brain.says] as const);
      const next: Readonly<Record<string, RegExp>> = {
        claude_local: /Claude Code is not installed.*npm install --global @anthropic-ai\/claude-code/,
        codex_local: /Codex is not installed.*npm install --global @openai\/codex/,
        anthropic_api: /ANTHROPIC_API_KEY is not set.*agency secrets set ANTHROPIC_API_KEY/,
        openai_compatible: /OPENAI_API_KEY is not set.*agency secrets set OPENAI_API_KEY/,
        acp: /No program that speaks .* was found.*gemini.*agency brains use acp --adapter-config/,
      };
      for (const [type, words] of says) if (type in next) assert.match(words, next[type] ?? /./);
      // The chief stays the chief without its own right to hire.
      await board(setPermissions, { id: org.rootId, canCreateAgents: false });
      assert.equal((await org.root(listBrains, {})).brains.length, says.length);
      const other = await org.another();
      await refusal(other.root(listBrains, { companyId }), "not_found");
    });

    test("a program needs its key too, and a first start chooses a brain that could work", async () => {
      const secrets = ["CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"];
      for (const programs of [[], ["claude"], ["codex"], ["gemini"]])
        for (const secret of [undefined, ...secrets]) {
          install(...programs);
          if (secret !== undefined)
            await board(setSecret, { companyId, name: secret, value: "sk-0123456789" });
          const found = await available();
          const choice = await findStartingBrain({
            path: process.env["PATH"] ?? "",
            has: (name) => name === secret,
            ports: [],
          });
          const about = `${programs.join()} ${secret}: ${found.join()}`;
          assert.ok(found.includes(choice.type), `${about}: the first start chooses ${choice.type}`);
          const isAnthropic = secret !== undefined && secret !== "OPENAI_API_KEY";
          assert.equal(found.includes("claude_local"), programs.includes("claude") && isAnthropic, about);
          assert.equal(
            found.includes("codex_local"),
            programs.includes("codex") && secret === "OPENAI_API_KEY",
            about,
          );
          assert.equal(found.includes("acp"), programs.includes("gemini"), about);
          assert.equal(found.includes("openai_compatible"), secret === "OPENAI_API_KEY", about);
          if (secret === "CLAUDE_CODE_OAUTH_TOKEN" && programs.includes("claude"))
            assert.match((await listed()).get("claude_local")?.says ?? "", /'\{"login":"subscription"\}'/);
          if (secret !== undefined) await board(removeSecret, { companyId, name: secret });
        }
    });

    test("programs that take long are asked at the same time, and other calls are answered meanwhile", async () => {
      install();
      const bin = process.env["PATH"] ?? "";
      const at = (name: string): string => join(bin, name);
      // Each program answers only after the other has been asked as well, and after the file exists.
      for (const [name, other] of [
        ["claude", "codex"],
        ["codex", "claude"],
      ] as const)
        writeFileSync(
          at(name),
          `#!/bin/sh\n: > "$0.asked"\nuntil [ -e ${at(`${other}.asked`)} ] && [ -e ${at("answer")} ]; do /bin/sleep 0.05; done\necho 1.2.3\n`,
          { mode: 0o755 },
        );
      let isListed = false;
      const listing = listed().finally(() => (isListed = true));
      while (!existsSync(at("claude.asked")) && !isListed) await sleep(10);
      const { agents } = await board(listAgents, { companyId });
      assert.deepEqual([agents.length > 0, isListed], [true, false]);
      writeFileSync(at("answer"), "");
      const found = await listing;
      assert.deepEqual(
        ["claude_local", "codex_local"].map((type) => found.get(type)?.version),
        ["1.2.3", "1.2.3"],
      );
    });

    test("a model server of this machine counts only while it runs", async () => {
      const server = createServer((socket) => socket.end());
      await once(server.listen(0, "127.0.0.1"), "listening");
      const address = server.address();
      const baseUrl = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
      await board(putProvider, { companyId, name: "local", config: { dialect: "openai", baseUrl } });
      const there = (await listed()).get("openai_compatible");
      assert.equal(there?.available, true);
      assert.match(
        there.says,
        /agency brains use openai_compatible --adapter-config '\{"provider":"local"\}'/,
      );
      server.close();
      await once(server, "close");
      assert.deepEqual(await available(), always);
    });

    test("the root agent's configuration is used first, then the company's", async () => {
      install("my-acp");
      const config = { adapterType: "acp", adapterConfig: { command: "my-acp" } };
      await board(updateAgent, { id: org.rootId, ...config });
      assert.equal((await listed()).get("acp")?.available, true);
      install();
      const gone = (await listed()).get("acp");
      assert.deepEqual([gone?.available, /no program called "my-acp"/.test(gone?.says ?? "")], [false, true]);
      await board(updateAgent, { id: org.rootId, adapterType: "rehearsal", adapterConfig: {} });
      const defaults = { defaultAdapterType: "process", defaultAdapterConfig: { command: "my-agent" } };
      await board(updateCompany, { companyId, ...defaults });
      assert.equal((await listed()).get("process")?.available, false);
      await board(updateCompany, { companyId, defaultAdapterType: "rehearsal", defaultAdapterConfig: {} });
    });

    test("a brain that runs programs needs a sandbox, and a provider that refuses its key is not asked", async () => {
      const sandbox = {
        status: "works" as const,
        unsandboxedAllowed: false,
        says: "No bwrap.",
        remedy: "Install it.",
      };
      const parts = {
        logins: keepCodexLogins(),
        secrets: { valueFor: async () => "k" },
        sandbox: () => sandbox,
      };
      const asked = { type: "anthropic_api", config: "{}" };
      const probe = (more = {}) =>
        org.core.store
          .read((tx) => recordOf(tx, parts, companyId, asked))
          .then((record) => probeBrain({ ...parts, ...more }, record));
      assert.equal((await probe()).available, true);
      const unsafe = await probe({ sandbox: () => ({ ...sandbox, status: "missing" }) });
      assert.deepEqual([unsafe.available, /No bwrap\. Install it\./.test(unsafe.says)], [false, true]);
      await org.core.store.write((tx) =>
        noteRefused(tx, companyId, "anthropic", { says: "bad key", key: "k" }),
      );
      const refused = await probe();
      assert.equal(refused.available, false);
      assert.match(
        refused.says,
        /does not accept its key: bad key Set another key: agency secrets set ANTHROPIC_API_KEY/,
      );
    });
  });

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { updateAgent } from "../contract/agents.ts";
import { updateCompany } from "../contract/companies.ts";
import { createAgent, hireAgent, viewConfiguration } from "../contract/hiring.ts";
import { viewInstallation } from "../contract/installation.ts";
import { createFile, readFile } from "../contract/knowledge.ts";
import { why } from "../contract/why.ts";
import { applyReorganization, planReorganization, undoReorganization } from "../contract/reorganization.ts";
import { listSecrets, removeSecret, setSecret } from "../contract/secrets.ts";
import { agentById } from "../agents/table.ts";
import { dynamic } from "../store/query.ts";
import { tableNames } from "../store/schema.ts";
import type { Store } from "../store/store.ts";
import { bothStores, createOrganization, openTestStore, refusal } from "../testing/organization.ts";
import { forgetUnused, keepSecrets, type SecretStore } from "./secrets.ts";

const key = "a secrets key with more than 32 characters";
const value = "pl4nted-Value-Zx81mQ";
const brain = (env: Record<string, unknown>) => ({
  adapterType: "process",
  adapterConfig: { command: "true", env },
});

for (const kind of bothStores)
  describe(`secrets on ${kind}`, async () => {
    const opened = await openTestStore(kind);
    after(() => opened.close());
    const { store } = opened;
    const secrets = keepSecrets({ key });
    const org = await createOrganization(store, { secrets });
    const { board, companyId } = org;
    let number = 0;
    const made = async (env: Record<string, unknown>): Promise<string> =>
      (await board(createAgent, { companyId, name: `Agent ${++number}`, role: "x", ...brain(env) })).id;
    const resolved = (from: SecretStore, id: string) =>
      store.read(async (tx) => {
        const { config, missing } = await from.resolve(tx, await agentById(tx, id));
        return { env: Object(JSON.parse(config)).env, missing };
      });

    test("a plain value in a marked key is replaced before anything is stored, and comes back for a session", async () => {
      const id = await made({ API_KEY: value, EMPTY: "" });
      assert.deepEqual((await resolved(secrets, id)).env, { API_KEY: value, EMPTY: "" });
      const { configuration, redactedPaths } = await board(viewConfiguration, { id });
      assert.deepEqual(Object(configuration["adapterConfig"]).env, { API_KEY: "[redacted]", EMPTY: "" });
      assert.deepEqual(redactedPaths, ["adapterConfig.env.API_KEY"]);
      await board(updateAgent, { id, adapterConfig: brain({ API_KEY: `${value}-2` }).adapterConfig });
      await board(updateCompany, {
        companyId,
        defaultAdapterType: "process",
        defaultAdapterConfig: brain({ X: `${value}-3` }).adapterConfig,
      });
      assert.deepEqual(await hits(store), []);
    });

    test("encrypted values survive a restart only with the same key, and only in their own row", async () => {
      const id = await made({ API_KEY: value });
      assert.deepEqual(await resolved(keepSecrets({ key }), id), { env: { API_KEY: value }, missing: [] });
      const names = (await resolved(keepSecrets({ key: `${key}!` }), id)).missing;
      assert.match(names.join(), /^API_KEY-[0-9a-f]{12}$/);
      assert.deepEqual((await resolved(keepSecrets(), id)).missing, names);
      await board(setSecret, { companyId, name: "STRANGE", value: "another value" });
      await opened.tamper(
        `update secrets set sealed = (select s.sealed from secrets s where s.name = 'STRANGE') where name = '${names[0] ?? ""}'`,
      );
      assert.deepEqual((await resolved(keepSecrets({ key }), id)).missing, names);
    });

    test("a key of the environment counts only where a company has no secret of that name, and is hidden everywhere", async () => {
      const ambient = "sk-ambient-0123456789";
      const read = (from: SecretStore) =>
        store.read((tx) => from.valueFor(tx, companyId, "ANTHROPIC_API_KEY"));
      const started = () => keepSecrets({ key, fallback: { ANTHROPIC_API_KEY: ambient } });
      assert.equal(await read(started()), ambient);
      assert.equal(started().hideIn(companyId, `It is ${ambient}.`), "It is [redacted].");
      assert.equal(started().hide(ambient), "[redacted]");
      await board(setSecret, { companyId, name: "ANTHROPIC_API_KEY", value: `${value}-own` });
      assert.equal(await read(started()), `${value}-own`);
      // This daemon does not know the company's own key. It must not use another company's key instead.
      assert.equal(
        await read(keepSecrets({ key: `${key}!`, fallback: { ANTHROPIC_API_KEY: ambient } })),
        undefined,
      );
      await board(removeSecret, { companyId, name: "ANTHROPIC_API_KEY" });
      assert.equal(await read(started()), ambient);
    });

    test("the board refers to a secret by name, and agents that wait for the secret are listed until it is set", async () => {
      const id = await made({ TOKEN: { secret: "DEPLOY_TOKEN" } });
      const { says, moves } = await board(why, { id });
      assert.equal(moves, false);
      assert.match(
        says,
        /the secret DEPLOY_TOKEN of its brain is missing\. Set it: agency secrets set DEPLOY_TOKEN/,
      );
      const { missing } = (await board(viewInstallation, {})).secrets;
      assert.deepEqual(missing.find(({ name }) => name === "DEPLOY_TOKEN")?.usedBy, [`Agent ${number}`]);
      const set = await board(setSecret, { companyId, name: "DEPLOY_TOKEN", value });
      assert.deepEqual(
        [set.status, set.kept, set.usedBy, JSON.stringify(set).includes(value)],
        ["available", "encrypted", [`Agent ${number}`], false],
      );
      assert.equal((await board(why, { id })).moves, true);
      assert.ok(
        (await board(listSecrets, { companyId })).secrets.some(({ name }) => name === "DEPLOY_TOKEN"),
      );
      assert.equal((await board(removeSecret, { companyId, name: "DEPLOY_TOKEN" })).status, "missing");
      assert.deepEqual((await resolved(secrets, id)).missing, ["DEPLOY_TOKEN"]);
      await refusal(board(removeSecret, { companyId, name: "NEVER_SET" }), "not_found");
    });

    test("an agent can't refer to a secret, and secrets of one company don't exist in another", async () => {
      await board(updateCompany, { companyId, allowedAdapterTypes: ["process", "rehearsal"] });
      await board(setSecret, { companyId, name: "OURS", value });
      const asked = { name: "Thief", role: "x", mandate: "x", ...brain({ A: { secret: "OURS" } }) };
      assert.match(
        (await refusal(org.root(hireAgent, asked), "forbidden")).message,
        /Only the board can refer/,
      );
      await board(updateCompany, {
        companyId,
        allowedAdapterTypes: ["process", "rehearsal", "claude_local"],
      });
      const exposed = { exposeSecrets: { A: { secret: "OURS" } } };
      await refusal(
        org.root(hireAgent, { ...asked, adapterType: "claude_local", adapterConfig: exposed }),
        "forbidden",
      );
      const other = await org.another();
      const agent = await other.board(createAgent, {
        companyId: other.companyId,
        name: "Other",
        role: "x",
        ...brain({ A: { secret: "OURS" } }),
      });
      assert.deepEqual((await resolved(secrets, agent.id)).missing, ["OURS"]);
      await board(removeSecret, { companyId, name: "OURS" });
    });

    test("a call that is refused leaves no secret behind", async () => {
      const before = secrets.valuesOf(companyId);
      await refusal(made({ API_KEY: { wrong: 1 } }), "invalid");
      const bad = {
        ...brain({ API_KEY: `${value}-refused` }),
        reportsTo: "00000000-0000-4000-8000-000000000000",
      };
      await refusal(board(createAgent, { companyId, name: "Nobody", role: "x", ...bad }), "not_found");
      assert.deepEqual(secrets.valuesOf(companyId), before);
      assert.equal(secrets.hide(`${value}-refused`), `[redacted]-refused`);
    });

    test("known values are hidden in every incoming text, even encoded, but ordinary words of a configuration are not", async () => {
      await made({ NODE_ENV: "production", API_KEY: value });
      const encoded = Buffer.from(`key=${value};`).toString("base64");
      const content = `a ${value} b ${encoded} c production`;
      const { id } = await org.root(createFile, { description: `about ${value}`, content });
      const file = await org.root(readFile, { id });
      assert.match(file.content, /^a \[redacted\] b \S*\[redacted\]\S* c production$/);
      assert.equal(file.description, "about [redacted]");
      assert.deepEqual(await hits(store), []);
    });

    test("known values are also hidden in a file that a session takes from its workspace", async () => {
      await made({ API_KEY: value });
      const workspace = mkdtempSync(join(tmpdir(), "agency-secrets-"));
      after(() => rmSync(workspace, { recursive: true }));
      writeFileSync(join(workspace, "text"), `é ${value}`);
      writeFileSync(join(workspace, "bytes"), Buffer.concat([Buffer.from([0xff, 0]), Buffer.from(value)]));
      const { call } = await org.session(org.rootId, workspace);
      const text = await call(createFile, { description: "text", path: "text" });
      assert.equal((await call(readFile, { id: text.id })).content, "é [redacted]");
      const bytes = await call(createFile, { description: "bytes", path: "bytes" });
      const { content } = await call(readFile, { id: bytes.id });
      assert.deepEqual(
        Buffer.from(content, "base64"),
        Buffer.concat([Buffer.from([0xff, 0]), Buffer.from("[redacted]")]),
      );
    });

    test("a plan with a secret is applied with its hash", async () => {
      const change = {
        kind: "hand_over" as const,
        agent: await made({}),
        ...brain({ PLANNED: `${value}-plan` }),
      };
      const { hash } = await board(planReorganization, { companyId, change });
      await board(applyReorganization, { companyId, change, hash });
      assert.deepEqual(await hits(store), []);
    });

    test("a secret with a generated name that nothing refers to is removed after a while", async () => {
      const id = await made({ REPLACED: `${value}-old` });
      await board(updateAgent, { id, adapterConfig: brain({}).adapterConfig });
      const isThere = async () =>
        (await board(listSecrets, { companyId })).secrets.some(({ name }) => name.startsWith("REPLACED-"));
      assert.equal(await isThere(), true);
      const kept = await made({ KEPT: value });
      await store.write((tx) => forgetUnused(tx, companyId, tx.now + 1000));
      assert.equal(await isThere(), false);
      assert.deepEqual((await resolved(secrets, kept)).missing, []);
    });

    test("a secret of a brain that was handed over is there again after the undo, however much later", async () => {
      const id = await made({ HANDED: `${value}-handed` });
      const change = { kind: "hand_over" as const, agent: id, adapterType: "human" };
      const { id: applied } = await board(applyReorganization, { companyId, change });
      await store.write((tx) => forgetUnused(tx, companyId, tx.now + 1000));
      await board(undoReorganization, { id: applied });
      const { env, missing } = await resolved(secrets, id);
      assert.deepEqual([env, missing], [{ HANDED: `${value}-handed` }, []]);
    });

    test("without a key only the name is stored, and values given at the start need no row", async () => {
      const given = {
        GIVEN: "a given value",
        [org.companyId]: { OWN: "an own value" },
        Elsewhere: { OWN: "no" },
      };
      const plain = keepSecrets({ given });
      const second = await createOrganization(store, { secrets: plain });
      const agent = await second.board(createAgent, {
        companyId,
        name: "Given",
        role: "x",
        ...brain({ A: { secret: "GIVEN" }, B: { secret: "OWN" }, C: "kept in memory 1" }),
      });
      const { env, missing } = await resolved(plain, agent.id);
      assert.deepEqual(
        [env, missing],
        [{ A: "a given value", B: "an own value", C: "kept in memory 1" }, []],
      );
      assert.match(
        (await resolved(keepSecrets({ key, given }), agent.id)).missing.join(),
        /^C-[0-9a-f]{12}$/,
      );
      const kept = (await second.board(listSecrets, { companyId })).secrets;
      assert.deepEqual(
        ["GIVEN", "OWN"].map((name) => kept.find((one) => one.name === name)?.kept),
        ["given", "given"],
      );
      assert.deepEqual(await hits(store, "kept in memory 1", "an own value"), []);
    });
  });

/** The tables that contain the value. */
async function hits(store: Store, ...values: string[]): Promise<string[]> {
  const wanted = values.length === 0 ? [value] : values;
  return store.read(async (tx) => {
    const found: string[] = [];
    for (const table of tableNames) {
      const rows = await tx.all(
        dynamic((db) => db.selectFrom(table).selectAll()),
        {},
      );
      const all = JSON.stringify(rows, (_, one: unknown) =>
        one instanceof Uint8Array ? Buffer.from(one).toString("utf8") : one,
      );
      if (wanted.some((one) => all.includes(one))) found.push(table);
    }
    return found;
  });
}

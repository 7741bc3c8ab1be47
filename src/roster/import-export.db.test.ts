import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { grantPermission, revokePermission } from "../contract/capabilities.ts";
import { viewConfiguration } from "../contract/configurations.ts";
import { createFile, listFiles, readFile, viewLinks } from "../contract/knowledge.ts";
import { listEvents } from "../contract/ledger.ts";
import {
  createAgent,
  createKey,
  listAgents,
  listCompanies,
  putMcpServer,
  updateCompany,
  viewCompany,
} from "../contract/organization.ts";
import { type CompanyFile, exportCompany, importCompany, listRoster } from "../contract/roster.ts";
import {
  createOrganization,
  openTestStore,
  type Organization,
  refusal,
  storeKinds,
  type TestStore,
} from "../testing/organization.ts";

const definition = (name: string, more = ""): CompanyFile => ({
  path: `agents/${name.toLowerCase()}.md`,
  content: `---\nname: ${name}\nrole: worker\n${more}---\nDo the work of ${name}.\n`,
});
const manifest = (more: Record<string, unknown> = {}): CompanyFile => ({
  path: "company.json",
  content: JSON.stringify({
    format: "agency-company/1",
    name: "Elsewhere",
    settings: {},
    mcpServers: [],
    knowledge: [],
    ...more,
  }),
});
const oneFile = "00000000-0000-4000-8000-000000000001";

for (const kind of storeKinds)
  describe(`a company as files (${kind})`, () => {
    let opened: TestStore;
    let org: Organization;
    before(async () => {
      opened = await openTestStore(kind);
      org = await createOrganization(opened.store, { approvals: true });
    });
    after(() => opened.close());

    const count = async (): Promise<number> =>
      (await org.board(listCompanies, { limit: 1000 })).companies.length;
    const bring = (files: CompanyFile[], more: { name?: string; allowCommands?: boolean } = {}) =>
      org.board(importCompany, { files, ...more });

    // covers ORG-04, ORG-08
    test("definitions alone make a company: a root agent, and everybody below whom they name", async () => {
      const { company, agents, notices } = await bring(
        [
          definition("Ada", "reportsTo: Grace\nmodel: m1\neffort: low\n"),
          definition("Grace", "title: Head\n"),
        ],
        { name: "From files" },
      );
      assert.equal(agents, 3);
      assert.deepEqual(notices, []);
      const { agents: roster } = await org.board(listRoster, { companyId: company.id });
      assert.deepEqual(
        roster
          .map(
            ({ name, boss, model, effort, status }) =>
              `${name} < ${boss?.name ?? "board"} ${model ?? "-"} ${effort ?? "-"} ${status}`,
          )
          .toSorted(),
        ["Ada < Grace m1 low idle", "Grace < Root - - idle", "Root < board - - idle"],
      );
      const ada = roster.find(({ name }) => name === "Ada");
      const shown = await org.board(viewConfiguration, { id: ada?.id ?? "" });
      assert.equal(shown.configuration.mandate, "Do the work of Ada.");
      const { events } = await org.board(listEvents, { companyId: company.id });
      assert.deepEqual(
        events.map(({ operation, subject }) => [operation, roster.find(({ id }) => id === subject)?.name]),
        [
          ["agent.create", "Grace"],
          ["agent.create", "Ada"],
        ],
      );
    });

    test("what was exported makes the same files again, under other ids", async () => {
      const source = await org.another();
      const { companyId, board } = source;
      await board(updateCompany, {
        companyId,
        maxSessions: 7,
        name: "Source",
        requireBoardApprovalForNewAgents: false,
      });
      await board(putMcpServer, {
        companyId,
        name: "wiki",
        config: { type: "http", url: "https://wiki.example/mcp" },
      });
      const grace = await source.agent("Grace");
      const ada = await source.agent("Ada", grace.id);
      const style = await board(createFile, {
        companyId,
        description: "House style: short!",
        content: "Short.",
      });
      const image = await board(createFile, {
        companyId,
        description: "画像",
        mediaType: "image/png",
        content: Buffer.from([0x89, 0x50, 0xff, 0x00]).toString("base64"),
        encoding: "base64",
      });
      const own = await grace.call(createFile, {
        description: "Grace's notes",
        content: `See kb://${style.id} and kb://${ada.id}.`,
      });
      const guide = await board(createAgent, {
        companyId,
        name: 'Guide: the "1st"',
        role: "guide",
        mandate: `Keep to kb://${style.id.toUpperCase()} and kb://${own.id}.\n\nAsk kb://${grace.id}.`,
        prompt: `Read kb://${image.id} first.`,
        grants: [{ resource: `kb:${style.id}`, level: "write" }, { resource: `mail:${ada.id}` }],
      });
      const gone = await board(grantPermission, { companyId, to: ada.id, resource: `kb:${image.id}` });
      await board(revokePermission, { id: gone.id });

      const first = await board(exportCompany, { companyId });
      assert.deepEqual(first.redacted, []);
      assert.deepEqual(
        first.files.map(({ path }) => path),
        [
          "company.json",
          "agents/ada.md",
          "agents/grace.md",
          "agents/guide-the-1st.md",
          "agents/root.md",
          "knowledge/0001-house-style-short.md",
          "knowledge/0002.png",
          "knowledge/0003-grace-s-notes.md",
        ],
      );
      const written = JSON.stringify(first.files);
      for (const id of [companyId, grace.id, ada.id, guide.id, style.id, image.id, own.id])
        assert.ok(!written.toLowerCase().includes(id), `an id of this place is in the files: ${id}`);

      const made = await bring(first.files);
      assert.deepEqual(
        [made.company.name, made.agents, made.files, made.notices],
        ["Source", 4, 3, ["Its settings let agents hire without your approval."]],
      );
      const second = await board(exportCompany, { companyId: made.company.id });
      assert.deepEqual(second, first);
      // And the same as what it was made from, by what can be done with it.
      const there = await board(viewCompany, { companyId: made.company.id });
      assert.equal(there.settings.maxSessions, 7);
      const { agents } = await board(listAgents, { companyId: made.company.id });
      const idOf = (name: string): string => agents.find((agent) => agent.name === name)?.id ?? "";
      const copy = await board(viewConfiguration, { id: idOf('Guide: the "1st"') });
      const files = (await board(listFiles, { companyId: made.company.id, kind: "file" })).files;
      const fileOf = (part: string): string =>
        files.find(({ description }) => description.includes(part))?.id ?? "";
      assert.equal(
        copy.configuration.mandate,
        `Keep to kb://${fileOf("House")} and kb://${fileOf("notes")}.\n\nAsk kb://${idOf("Grace")}.`,
      );
      assert.deepEqual(copy.configuration.grants, [
        { resource: `kb:${fileOf("House")}`, level: "write" },
        { resource: `mail:${idOf("Ada")}`, level: "send" },
      ]);
      const { links } = await board(viewLinks, { id: fileOf("notes") });
      assert.deepEqual(links.map(({ id }) => id).toSorted(), [fileOf("House"), idOf("Ada")].toSorted());
      assert.equal(
        (await board(readFile, { id: fileOf("画像") })).content,
        Buffer.from([0x89, 0x50, 0xff, 0x00]).toString("base64"),
      );
      // What she wrote is hers there, too, and what was taken from Ada stays taken.
      const asGrace = org.as((await board(createKey, { id: idOf("Grace") })).key);
      assert.match((await asGrace(readFile, { id: fileOf("notes") })).content, /See kb/);
      const asAda = org.as((await board(createKey, { id: idOf("Ada") })).key);
      await refusal(asAda(readFile, { id: fileOf("画像") }), "not_found");
    });

    test("secrets stay: they are named, and an agent that lacks one waits", async () => {
      const source = await org.another();
      const { companyId, board } = source;
      const secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEF";
      await board(createAgent, {
        companyId,
        name: "Runner",
        role: "runner",
        adapterType: "process",
        adapterConfig: { command: "run-me", env: { API_KEY: secret } },
        mandate: `Log in with ${secret}.`,
      });
      await board(createFile, { companyId, description: "Notes", content: `The key is ${secret}.` });
      const exported = await board(exportCompany, { companyId });
      assert.ok(!JSON.stringify(exported).includes(secret));
      assert.deepEqual(exported.redacted, [
        "knowledge/0001-notes.md",
        "agents/runner.md: adapterConfig.env.API_KEY",
        "agents/runner.md: mandate",
      ]);
      const made = await bring(exported.files, { allowCommands: true });
      assert.match(made.notices.join("\n"), /Runner is paused: a secret was taken out/);
      const { agents } = await board(listAgents, { companyId: made.company.id });
      assert.deepEqual(agents.map(({ name, status }) => `${name} ${status}`).toSorted(), [
        "Root idle",
        "Runner paused",
      ]);
      assert.deepEqual((await board(exportCompany, { companyId: made.company.id })).files, exported.files);
    });

    for (const [what, files, runs] of [
      [
        "a process brain",
        [definition("Ada", "adapterType: process\nadapterConfig: {command: evil, args: [now]}\n")],
        /agents\/ada\.md runs "evil now"/,
      ],
      [
        "a root agent with a process brain",
        [definition("Chief", "reportsTo: board\nadapterType: process\nadapterConfig: {command: evil}\n")],
        /agents\/chief\.md runs "evil"/,
      ],
      [
        "a process brain by default",
        [
          manifest({
            settings: { defaultAdapterType: "process", defaultAdapterConfig: { command: "evil" } },
          }),
        ],
        /agents without a brain of their own run "evil"/,
      ],
      [
        "a configuration for such a default",
        [
          manifest({ settings: { defaultAdapterType: "process", defaultAdapterConfig: { command: "a" } } }),
          definition("Ada", "adapterConfig: {command: evil}\n"),
        ],
        /agents\/ada\.md runs "evil"/,
      ],
      [
        "agents that may hire such",
        [manifest({ settings: { allowedAdapterTypes: ["rehearsal", "process"] } })],
        /may hire agents that run commands/,
      ],
      [
        "create_agent that makes such",
        [manifest({ settings: { chatLLMProvider: "process" } })],
        /create_agent run commands/,
      ],
      [
        "an MCP server that is a command",
        [manifest({ mcpServers: [{ name: "evil", config: { command: "evil", args: ["x"] } }] })],
        /the MCP server evil runs "evil x"/,
      ],
    ] as const)
      test(`nothing runs a command unless the board says so: ${what}`, async () => {
        const before = await count();
        const no = await refusal(bring([...files], { name: "Armed" }), "refused");
        assert.match(no.message, runs);
        assert.match(no.hint, /allowCommands/);
        assert.equal(await count(), before);
        const { company } = await bring([...files], { name: "Armed", allowCommands: true });
        assert.equal(company.name, "Armed");
      });

    const kb = (file: string, id = oneFile) => ({ file, id, description: "A file", mediaType: "text/plain" });
    const bad: Readonly<Record<string, [readonly CompanyFile[], RegExp]>> = {
      "a path upwards": [
        [{ path: "agents/../../x.md", content: "x" }],
        /agents\/\.\.\/\.\.\/x\.md: it has no place/,
      ],
      "a path from the root": [[{ path: "/etc/passwd", content: "x" }], /has no place/],
      "a hidden file": [[{ path: "knowledge/.profile", content: "x" }], /has no place/],
      "a backslash": [[{ path: "knowledge/..\\x", content: "x" }], /has no place/],
      "a folder of another kind": [[{ path: "skills/x/SKILL.md", content: "x" }], /has no place/],
      "an agent that is no Markdown": [[{ path: "agents/roster.json", content: "{}" }], /has no place/],
      "a path twice": [
        [definition("Ada"), { ...definition("Ada"), path: "agents/ADA.md" }],
        /it is there twice/,
      ],
      "a name twice": [
        [definition("Ada"), { ...definition("Ada"), path: "agents/b.md" }],
        /agents\/b\.md:2: agents\/ada\.md has this name/,
      ],
      "a definition with a slip": [
        [definition("Ada"), definition("Eve", "reprotsTo: Ada\n")],
        /agents\/eve\.md:4: nobody knows the key/,
      ],
      "a reserved name": [[definition("Human")], /agents\/human\.md: The name Human is reserved/],
      "a brain that is not there": [
        [definition("Ada", "adapterType: oracle\n")],
        /agents\/ada\.md: There is no brain oracle/,
      ],
      "a configuration the brain does not take": [
        [definition("Ada", "adapterType: human\nadapterConfig: {x: 1}\n")],
        /agents\/ada\.md: The configuration does not fit/,
      ],
      "a right to what is not there": [
        [definition("Ada", `grants: [{resource: "kb:${oneFile}"}]\n`)],
        /agents\/ada\.md: There is no file/,
      ],
      "an id twice": [
        [definition("Ada", `id: ${oneFile}\n`), definition("Eve", `id: ${oneFile}\n`)],
        /agents\/eve\.md: its id stands for something else/,
      ],
      "text that is no text": [
        [{ path: "agents/x.md", content: Buffer.from([0xff, 0xfe]).toString("base64"), encoding: "base64" }],
        /agents\/x\.md: it is no UTF-8/,
      ],
      "base64 that is none": [
        [{ path: "agents/x.md", content: "%%%", encoding: "base64" }],
        /agents\/x\.md: The content is not valid base64/,
      ],
      "no JSON": [[{ path: "company.json", content: "{" }], /company\.json: /],
      "JSON without end": [
        [
          {
            path: "company.json",
            content: manifest({ settings: { defaultAdapterConfig: "DEEP" } }).content.replace(
              '"DEEP"',
              `${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`,
            ),
          },
        ],
        /company\.json: there is something in it that looks like a secret .{1,210}$/,
      ],
      "YAML without end": [
        [definition("Ada", `adapterConfig: ${"[".repeat(5000)}\n`)],
        /agents\/ada\.md:4: /,
      ],
      "another format": [[manifest({ format: "agency-company/9" })], /company\.json: format/],
      "a key nobody knows": [[manifest({ extra: 1 })], /company\.json: .*extra/],
      "a setting nobody knows": [
        [manifest({ settings: { maxSesions: 3 } })],
        /company\.json: settings: .*maxSesions/,
      ],
      "a setting that does not fit": [
        [manifest({ settings: { defaultAdapterType: "oracle" } })],
        /company\.json: There is no brain oracle/,
      ],
      "knowledge that is not listed": [
        [manifest(), { path: "knowledge/a.txt", content: "x" }],
        /knowledge\/a\.txt: company\.json does not list it/,
      ],
      "knowledge that is not there": [
        [manifest({ knowledge: [kb("knowledge/a.txt")] })],
        /knowledge\/a\.txt: company\.json lists it/,
      ],
      "knowledge listed twice": [
        [
          manifest({ knowledge: [kb("knowledge/a.txt"), kb("knowledge/b.txt")] }),
          { path: "knowledge/a.txt", content: "x" },
        ],
        /listed twice/,
      ],
      "a secret in a definition": [
        [definition("Ada", "prompt: sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEF\n")],
        /agents\/ada\.md: .*looks like a secret \(prompt\)/,
      ],
      "a secret in an environment": [
        [definition("Ada", "adapterType: process\nadapterConfig: {command: x, env: {A: b}}\n")],
        /looks like a secret \(adapterConfig\.env\.A\)/,
      ],
      "a secret in the settings": [
        [manifest({ settings: { defaultAdapterConfig: { apiKey: "abcdefgh12345678" } } })],
        /company\.json: .*looks like a secret/,
      ],
      "a secret in knowledge": [
        [
          manifest({ knowledge: [kb("knowledge/a.txt")] }),
          { path: "knowledge/a.txt", content: "password: correcthorsebattery9" },
        ],
        /knowledge\/a\.txt: .*looks like a secret/,
      ],
    };
    for (const [what, [files, message]] of Object.entries(bad))
      test(`refused, and nothing is made: ${what}`, async () => {
        const before = await count();
        const no = await org.board(importCompany, { name: "Bad", files: [definition("Zoe"), ...files] }).then(
          () => assert.fail("not refused"),
          (error: unknown) => error,
        );
        assert.ok(no instanceof Error);
        assert.match(no.message, message);
        assert.equal(await count(), before);
      });

    test("too much is refused: one file, one definition, all together", async () => {
      const most = 200_001;
      await refusal(
        bring([{ path: "agents/x.md", content: "x".repeat(most) }], { name: "Big" }),
        "too_large",
      );
      const settings = { maxFileBytes: 10 };
      const files = [
        manifest({ settings, knowledge: [kb("knowledge/a.txt")] }),
        { path: "knowledge/a.txt", content: "x".repeat(11) },
      ];
      await refusal(bring(files), "too_large");
      const half = Buffer.alloc(9 * 1024 * 1024).toString("base64");
      const two = ["a", "b"].map((name): CompanyFile => ({
        path: `knowledge/${name}`,
        content: half,
        encoding: "base64",
      }));
      assert.match((await refusal(bring(two, { name: "Big" }), "too_large")).message, /together/);
    });

    test("a company without a name is none, and only the board imports or exports", async () => {
      await refusal(bring([definition("Ada")]), "invalid");
      await refusal(org.root(importCompany, { name: "Mine", files: [definition("Ada")] }), "forbidden");
      await refusal(org.root(exportCompany, {}), "forbidden");
    });

    test("files reach nothing that exists: an id in them is that of a new thing, or of nothing", async () => {
      const { id } = await org.agent("Known here");
      const file = await org.board(createFile, { companyId: org.companyId, description: "F", content: "f" });
      for (const resource of [`mail:${id}`, `kb:${file.id}`, `outcome:${id}`]) {
        const no = await refusal(
          bring([definition("Eve", `grants: [{resource: "${resource}"}]\n`)], { name: "Reaching" }),
          "invalid",
        );
        assert.match(no.message, /agents\/eve\.md: There is no/);
      }
      const taken = await bring([definition("Eve", `id: ${id}\n`)], { name: "Taking" });
      const { agents } = await org.board(listAgents, { companyId: taken.company.id });
      assert.ok(!agents.some((agent) => agent.id === id));
    });

    test("rights by the boss travel as rights; those whose chain is broken do not come to life", async () => {
      const source = await org.another();
      const { board, companyId } = source;
      const boss = await source.agent("Boss");
      const low = await source.agent("Low", boss.id);
      const file = await board(createFile, { companyId, description: "F", content: "f" });
      const held = await board(grantPermission, { companyId, to: boss.id, resource: `kb:${file.id}` });
      await boss.call(grantPermission, { to: low.id, resource: `kb:${file.id}` });
      const lowFile = async () =>
        (await board(exportCompany, { companyId })).files.find(({ path }) => path === "agents/low.md")
          ?.content ?? "";
      assert.match(await lowFile(), /kb:00000000-0000-4000-8000-000000000001/);
      await board(revokePermission, { id: held.id });
      assert.doesNotMatch(await lowFile(), /kb:/);
    });
  });

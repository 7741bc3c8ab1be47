import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { listCompanies } from "../contract/companies.ts";
import { type CompanyFile, importCompany } from "../contract/roster.ts";
import { definition, manifest } from "../testing/company-files.ts";
import { refusal, sharedOrganization, storeKinds } from "../testing/organization.ts";

const oneFile = "00000000-0000-4000-8000-000000000001";

for (const kind of storeKinds)
  describe(`files that an import refuses (${kind})`, async () => {
    const { org } = await sharedOrganization(kind);

    const count = async (): Promise<number> =>
      (await org.board(listCompanies, { limit: 1000 })).companies.length;
    const bring = (files: CompanyFile[], more: { name?: string; allowCommands?: boolean } = {}) =>
      org.board(importCompany, { files, ...more });

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
        /agents whose file names no brain run "evil"/,
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
      [
        "a skill that runs one",
        [{ path: "skills/x/SKILL.md", content: "!`evil`" }],
        /skills\/x\/SKILL\.md runs "evil"/,
      ],
      [
        "a skill that lets itself do more",
        [{ path: "skills/x/SKILL.md", content: "---\nallowed-tools: Bash\n---\n" }],
        /skills\/x\/SKILL\.md sets allowed-tools/,
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
        /agents\/\.\.\/\.\.\/x\.md: a company's folder can't hold/,
      ],
      "a path from the root": [[{ path: "/etc/passwd", content: "x" }], /can't hold a file with this path/],
      "a hidden file": [[{ path: "knowledge/.profile", content: "x" }], /can't hold a file with this path/],
      "a backslash": [[{ path: "knowledge/..\\x", content: "x" }], /can't hold a file with this path/],
      "a folder of another kind": [
        [{ path: "tools/x/SKILL.md", content: "x" }],
        /can't hold a file with this path/,
      ],
      "a skill without its text": [
        [{ path: "skills/x/more.md", content: "x" }],
        /skills\/x\/SKILL\.md: this file is missing/,
      ],
      "a skill that leads elsewhere": [
        [
          { path: "skills/x/SKILL.md", content: "x" },
          { path: "skills/x/../../../y", content: "x" },
        ],
        /a skill can't hold a file with this path/,
      ],
      "a skill with the program's name": [
        [{ path: "skills/agency/SKILL.md", content: "x" }],
        /the skill's name is not valid/,
      ],
      "a skill with a secret": [
        [{ path: "skills/x/SKILL.md", content: "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEF" }],
        /skills\/x\/SKILL\.md: a value here looks like a secret/,
      ],
      "a skill that is listed and missing": [
        [manifest({ skills: [{ file: "x/SKILL.md", id: oneFile }] })],
        /skills\/x\/SKILL\.md: company\.json lists this file, but it was not sent/,
      ],
      "an agent file that isn't Markdown": [
        [{ path: "agents/roster.json", content: "{}" }],
        /can't hold a file with this path/,
      ],
      "a path twice": [
        [definition("Ada"), { ...definition("Ada"), path: "agents/ADA.md" }],
        /this file was sent twice/,
      ],
      "a name twice": [
        [definition("Ada"), { ...definition("Ada"), path: "agents/b.md" }],
        /agents\/b\.md:2: agents\/ada\.md has the same name/,
      ],
      "a definition with a slip": [
        [definition("Ada"), definition("Eve", "reprotsTo: Ada\n")],
        /agents\/eve\.md:4: the key \w+ is unknown/,
      ],
      "a reserved name": [[definition("Human")], /agents\/human\.md: "Human" is a reserved name/],
      "a brain that is not there": [
        [definition("Ada", "adapterType: oracle\n")],
        /agents\/ada\.md: There is no brain called "oracle"/,
      ],
      "a configuration the brain does not take": [
        [definition("Ada", "adapterType: human\nadapterConfig: {x: 1}\n")],
        /agents\/ada\.md: The adapterConfig does not fit/,
      ],
      "a right to what is not there": [
        [definition("Ada", `grants: [{resource: "kb:${oneFile}"}]\n`)],
        /agents\/ada\.md: There is no file/,
      ],
      "an id twice": [
        [definition("Ada", `id: ${oneFile}\n`), definition("Eve", `id: ${oneFile}\n`)],
        /agents\/eve\.md: another file has the same id/,
      ],
      "a text file that isn't text": [
        [{ path: "agents/x.md", content: Buffer.from([0xff, 0xfe]).toString("base64"), encoding: "base64" }],
        /agents\/x\.md: this file is not UTF-8 text/,
      ],
      "base64 that is none": [
        [{ path: "agents/x.md", content: "%%%", encoding: "base64" }],
        /agents\/x\.md: content is not valid base64/,
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
        /company\.json: a value here looks like a secret .{1,210}$/,
      ],
      "YAML without end": [
        [definition("Ada", `adapterConfig: ${"[".repeat(5000)}\n`)],
        /agents\/ada\.md:4: /,
      ],
      "another format": [
        [manifest({ format: "agency-company/9" })],
        /company\.json: `format` is `agency-company\/9`/,
      ],
      "an unknown key": [[manifest({ extra: 1 })], /company\.json: .*extra/],
      "an unknown setting": [
        [manifest({ settings: { maxSesions: 3 } })],
        /company\.json: `settings\.maxSesions` is unknown/,
      ],
      "a setting that does not fit": [
        [manifest({ settings: { defaultAdapterType: "oracle" } })],
        /company\.json: There is no brain called "oracle"/,
      ],
      "knowledge that is not listed": [
        [manifest(), { path: "knowledge/a.txt", content: "x" }],
        /knowledge\/a\.txt: company\.json does not list this file/,
      ],
      "knowledge that is not there": [
        [manifest({ knowledge: [kb("knowledge/a.txt")] })],
        /knowledge\/a\.txt: company\.json lists this file/,
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

    test("a file, a definition and a set of files that are too large are refused", async () => {
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
  });

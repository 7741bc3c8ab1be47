// Attacks by files that a person imports: a company folder from elsewhere, or a skill.
import assert from "node:assert/strict";
import { listCompanies } from "../../src/contract/companies.ts";
import { Refusal } from "../../src/contract/refusal.ts";
import { type CompanyFile, importCompany } from "../../src/contract/roster.ts";
import { putSkill } from "../../src/contract/skills.ts";
import { allowed } from "../../src/testing/allowed.ts";
import { definition, manifest } from "../../src/testing/company-files.ts";
import type { DaemonAttack } from "./attack.ts";

const cls = "import" as const;

function notImported(threat: string, attempt: string, files: readonly CompanyFile[]): DaemonAttack {
  return {
    class: cls,
    threat,
    attempt,
    expected: "the whole import is refused, quickly, and no company is made",
    run: async ({ world }) => {
      const count = async () => (await world.org.board(listCompanies, { limit: 1000 })).companies.length;
      const before = await count();
      const started = performance.now();
      const error: unknown = await world.org.board(importCompany, { files: [...files] }).then(
        () => assert.fail("it was imported"),
        (reason: unknown) => reason,
      );
      assert.ok(error instanceof Refusal, String(error));
      assert.ok(performance.now() - started < allowed(5000), "the daemon was busy for seconds");
      assert.equal(await count(), before);
    },
  };
}

function notAdded(
  threat: string,
  attempt: string,
  files: readonly { path: string; content: string }[],
): DaemonAttack {
  return {
    class: cls,
    threat,
    attempt,
    expected: "refused",
    run: async ({ world }) => {
      const { companyId } = world.org;
      const error: unknown = await world.org
        .board(putSkill, { companyId, name: "planted", files: [...files] })
        .then(
          () => assert.fail("it was added"),
          (reason: unknown) => reason,
        );
      assert.ok(error instanceof Refusal, String(error));
    },
  };
}

const file = (path: string, content = "x"): CompanyFile => ({ path, content });
const skill = (front: string, body = "Do it.") => [
  { path: "SKILL.md", content: `---\n${front}\n---\n${body}\n` },
];
const aliases = Array.from(
  { length: 12 },
  (_, at) => `a${at + 1}: &a${at + 1} [${Array(9).fill(`*a${at}`).join(",")}]`,
);

export const importAttacks: readonly DaemonAttack[] = [
  ...[
    "../outside.md",
    "agents/../../outside.md",
    "/etc/passwd",
    "C:\\windows\\x.md",
    "agents\\..\\x.md",
    "agents/.",
    "a\u0000b.md",
    "agents/\u202ex.md",
  ].map((path) =>
    notImported("a path out of the folder", `a file at ${JSON.stringify(path)}`, [manifest({}), file(path)]),
  ),
  notImported("a command of the author", "a process brain without --allow-commands", [
    definition("Ada", "adapterType: process\nadapterConfig: {command: evil}\n"),
  ]),
  notImported("a command of the author", "an MCP server that is a command", [
    manifest({ mcpServers: [{ name: "evil", config: { command: "evil" } }] }),
  ]),
  notImported("a document that explodes", "nested aliases in YAML", [
    definition("Ada", `x: 1\na0: &a0 [1,1,1,1,1,1,1,1,1]\n${aliases.join("\n")}\n`),
  ]),
  notImported("a document that explodes", "100 kB of opening brackets in YAML", [
    definition("Ada", `x: ${"[".repeat(100_000)}\n`),
  ]),
  notImported("a document that explodes", "100 kB of one indentation deeper per line", [
    definition("Ada", Array.from({ length: 440 }, (_, at) => `${" ".repeat(at)}a:`).join("\n") + "\n"),
  ]),
  notImported("keys that mean something to the runtime", "__proto__ in the front matter", [
    definition("Ada", "__proto__: {admin: true}\n"),
  ]),
  notImported("a secret that travels", "a token in a brain's configuration", [
    definition("Ada", "adapterType: rehearsal\nprompt: use ghp_0123456789abcdefghijABCDEFGHIJ012345\n"),
  ]),
  notImported("two roots", "two agents that report to the board", [
    definition("Ada", "reportsTo: board\n"),
    definition("Bob", "reportsTo: board\n"),
  ]),
  notImported("a circle", "two agents that report to each other", [
    definition("Ada", "reportsTo: bob\n"),
    definition("Bob", "reportsTo: ada\n"),
  ]),
  notImported("passing for the board", "an agent called The Board", [definition("The Board", "")]),
  notAdded(
    "a command in a skill",
    "hooks in the front matter",
    skill("name: planted\ndescription: x\nhooks: {start: id}"),
  ),
  notAdded(
    "a command in a skill",
    "a line that a brain would run",
    skill("name: planted\ndescription: x", "Now: !`id`"),
  ),
  notAdded(
    "more tools by a skill",
    "allowed-tools in the front matter",
    skill("name: planted\ndescription: x\nallowed-tools: Bash"),
  ),
  notAdded("a path out of the skill", "a file at ../../settings.json", [
    ...skill("name: planted\ndescription: x"),
    { path: "../../settings.json", content: "{}" },
  ]),
];

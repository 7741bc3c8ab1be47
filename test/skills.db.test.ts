// Calls every example in skills/ unchanged and in order, against a real organization. An example names its tool or route after
// ```json. A name in <…> stands for an id that the test knows.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { requestRevision, listApprovals, viewApproval } from "../src/contract/approvals.ts";
import { hireAgent } from "../src/contract/hiring.ts";
import { createFile } from "../src/contract/knowledge.ts";
import { readInbox, sendMessage } from "../src/contract/mail.ts";
import type { Operation } from "../src/contract/operation.ts";
import { operations } from "../src/contract/operation-table.ts";
import { createOutcome } from "../src/contract/outcomes.ts";
import {
  createOrganization,
  openTestStore,
  type Organization,
  storeKinds,
} from "../src/testing/organization.ts";

const root = join(import.meta.dirname, "..", "skills");
const files = globSync("**/*.md", { cwd: root }).toSorted();

interface Example {
  readonly name: string;
  readonly text: string;
}

function examplesIn(markdown: string): Example[] {
  const fences = [...markdown.matchAll(/^( *)```(\S*) ?(.*)\n([\s\S]*?)^\1```$/gm)];
  return fences.map(([, , kind = "", name = "", text = ""]) => {
    assert.equal(kind, "json", `an example without a tool: ${text}`);
    return { name, text };
  });
}

function operationOf(name: string): Operation {
  const [method, path] = name.split(" ");
  const found = operations.find(({ mcp, http }) =>
    path === undefined ? mcp?.tool === name : http.method === method && http.path === path,
  );
  assert.ok(found !== undefined, `there is no ${name}`);
  return found;
}

describe("skills", () => {
  // covers GOV-55, GOV-58
  test("the core skill is short, and the front matter of each skill says its purpose", () => {
    assert.ok(readFileSync(join(root, "agency", "SKILL.md")).byteLength < 8192);
    for (const name of ["agency", "agency-create-agent"]) {
      const text = readFileSync(join(root, name, "SKILL.md"), "utf8");
      assert.match(text, new RegExp(`^---\nname: ${name}\ndescription: .{20,}\n---\n`));
    }
    assert.match(readFileSync(join(root, "agency", "SKILL.md"), "utf8"), /agency-create-agent/);
  });

  test("the API reference lists every route, and no other", () => {
    const text = readFileSync(join(root, "agency-create-agent", "references", "api-reference.md"), "utf8");
    const shape = (route: string): string => route.replace(/\?.*$/, "").replace(/<[^>]*>|:\w+/g, "*");
    const listed = [...text.matchAll(/^\| (`.*?`(?:, `.*?`)*) +\|/gm)].flatMap(([, cell = ""]) => {
      const path = /(\/[^\s`]*)`/.exec(cell)?.[1] ?? "";
      return [...cell.matchAll(/\b(GET|POST|PUT|PATCH|DELETE)\b/g)].map(([method]) =>
        shape(`${method} ${path}`),
      );
    });
    const routes = operations.map(({ http, summary }) => ({ route: `${http.method} ${http.path}`, summary }));
    assert.deepEqual(
      routes
        .filter(({ route }) => !listed.includes(shape(route)))
        .map(
          ({ route, summary }) =>
            `| \`${route.replace(/:(\w+)/g, "<$1>")}\` | who may call it | ${summary} |`,
        ),
      [],
      "add these rows to the API reference",
    );
    const known = new Set(routes.map(({ route }) => shape(route)));
    assert.deepEqual(
      listed.filter((route) => !known.has(route)),
      [],
    );
  });

  test("the API reference says of a route what its operation says", () => {
    const text = readFileSync(join(root, "agency-create-agent", "references", "api-reference.md"), "utf8");
    const rows = text
      .slice(text.indexOf("## All other routes"))
      .matchAll(/^\| `(\w+) ([^`]+)` .*\| (.+?) +\|$/gm);
    const path = (route: string): string => route.replaceAll(/<\w+>|:\w+/g, "*");
    assert.deepEqual(
      [...rows].flatMap(([, method, route = "", says]) => {
        const found = operations.find(
          ({ http }) => http.method === method && path(http.path) === path(route),
        );
        const [first = ""] = found?.summary.split(/\.(?: |$)/) ?? [];
        return says === `${first.charAt(0).toLowerCase()}${first.slice(1)}` ? [] : [`${route}: ${first}`];
      }),
      [],
    );
  });

  // covers GOV-78
  test("the hiring skill asks for the configuration that fits best", () => {
    const text = readFileSync(join(root, "agency-create-agent", "SKILL.md"), "utf8");
    assert.match(
      text.replaceAll(/\s+/g, " "),
      /Choose the brain, model and effort that fit the work and this installation best/,
    );
  });

  for (const kind of storeKinds)
    for (const file of files)
      // covers GOV-56, GOV-57
      test(`each example of ${file} works on ${kind}`, async () => {
        const opened = await openTestStore(kind);
        try {
          const org = await createOrganization(opened.store, { approvals: true });
          const known = await thingsIn(org);
          const examples = examplesIn(readFileSync(join(root, file), "utf8"));
          assert.ok(examples.length > 4);
          for (const { name, text } of examples) await execute(org, known, operationOf(name), text);
        } finally {
          await opened.close();
        }
      });

  test("an example that does not work is found", async () => {
    const opened = await openTestStore("sqlite", { fast: true });
    try {
      const org = await createOrganization(opened.store, { approvals: true });
      const known = await thingsIn(org);
      const wrong = '{ "name": "X", "role": "Y", "colour": "red" }';
      await assert.rejects(execute(org, known, operationOf("hire_agent"), wrong));
      await assert.rejects(execute(org, known, operationOf("list_roster"), '{ "id": "<nothing>" }'));
      assert.throws(() => operationOf("hire_everybody"));
      assert.throws(() => examplesIn("```sh\nls\n```"));
    } finally {
      await opened.close();
    }
  });
});

type Known = Map<string, string>;

/** Calls as the root agent, which has most of the rights. Calls that only the board may make are made as the board. */
async function execute(org: Organization, known: Known, operation: Operation, text: string): Promise<void> {
  const filled = text.replaceAll(/<([^>]+)>/g, (_, name: string) => {
    const id = known.get(name);
    assert.ok(id !== undefined, `the test knows no <${name}>`);
    return id;
  });
  const input: Record<string, unknown> = JSON.parse(filled);
  if (operation.http.path.includes(":id") && input["id"] === undefined)
    input["id"] = known.get(operation.http.path.startsWith("/api/agents") ? "report" : "approval");
  // If no earlier example has requested a revision, the board does so first.
  if (operation.name === "approval.resubmit" && !known.has("sent back"))
    await org.board(requestRevision, { id: String(input["id"]) });
  if (operation.name === "approval.request_revision") known.set("sent back", "");
  const isBoards = operation.needs === "board" || operation.http.path.endsWith("/permissions");
  await org.as(isBoards ? org.boardToken : (known.get("session") ?? ""))(operation, input);
}

async function thingsIn(org: Organization): Promise<Known> {
  const report = await org.agent("Ann");
  const own = async () => (await org.root(createOutcome, { title: "own", parents: [org.rootId] })).id;
  const file = await org.root(createFile, { description: "file", content: "text" });
  await org.board(sendMessage, { companyId: org.companyId, body: "hello" });
  const { messages } = await org.root(readInbox, {});
  const approvals = [];
  for (const name of ["First", "Second"])
    approvals.push((await org.root(hireAgent, { name, role: "x" })).approval?.id ?? "");
  const [approval = "", second = ""] = approvals;
  assert.equal((await org.root(listApprovals, {})).approvals.length, 2);
  return new Map([
    ["session", (await org.session(org.rootId)).token],
    ["report", report.id],
    ["outcome", org.rootId],
    ["own outcome", await own()],
    ["another own outcome", await own()],
    ["third own outcome", await own()],
    ["file", file.id],
    ["message", messages[0]?.id ?? ""],
    ["approval", approval],
    ["second approval", second],
    ["payload hash", (await org.board(viewApproval, { id: approval })).payloadHash],
  ]);
}

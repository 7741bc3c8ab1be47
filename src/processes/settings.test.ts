import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { scriptedAgent } from "../testing/scripted-runner.ts";
import type { StartSpec } from "./runner.ts";
import { settingsIn, writeSettings } from "./settings.ts";

const token = "a-token-that-must-not-be-written-anywhere";

function written(
  context: TestContext,
  granted: readonly string[],
  mayConsult = false,
  skills: StartSpec["skills"] = [],
): { folder: string; files: string[] } {
  const folder = mkdtempSync(join(tmpdir(), "agency-settings-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  writeSettings(
    {
      id: "s",
      token,
      workspace: folder,
      agent: scriptedAgent,
      limits: { processes: 100, memoryMb: 1000, diskMb: 100 },
      briefing: {
        text: "hello",
        assignment: "",
        systemPrompt: "# You are",
        situation: { version: 1, inbox: 2 },
        mcpServers: granted,
        mayConsult,
      },
      skills,
      secrets: [],
      onUsage: () => undefined,
    },
    "http://127.0.0.1:4600",
  );
  return { folder, files: Object.values(settingsIn(folder)) };
}
const read = (folder: string, name: string): string => readFileSync(join(folder, name), "utf8");
const names = (folder: string): string[] =>
  Object.keys(Object(JSON.parse(read(folder, ".mcp.json"))).mcpServers).toSorted();

// covers SES-09, SES-11, CAP-17
test("without grants a session has the door to all base tools, and its workspace", (context) => {
  const { folder } = written(context, []);
  assert.deepEqual(names(folder), ["agency"]);
  const { mcpServers: servers } = Object(JSON.parse(read(folder, ".mcp.json")));
  assert.equal(servers.agency.url, "http://127.0.0.1:4600/mcp");
  const { permissions } = Object(JSON.parse(read(folder, "settings.json")));
  assert.deepEqual(
    permissions.allow.toSorted(),
    ["mcp__agency", "Read(./**)", "Edit(./**)", "Write(./**)"].toSorted(),
  );
  assert.equal(read(folder, "system-prompt.md"), "# You are");
  assert.deepEqual(JSON.parse(read(folder, "briefing.json")), { version: 1, inbox: 2 });
});

// covers SES-11, CAP-20
test("a granted server is added, and none can take the place of our door", (context) => {
  const { folder } = written(context, ["slack", "agency"]);
  assert.deepEqual(names(folder), ["agency", "slack"]);
  const { mcpServers: servers } = Object(JSON.parse(read(folder, ".mcp.json")));
  assert.deepEqual(servers.slack, {
    type: "http",
    url: "http://127.0.0.1:4600/mcp/slack",
    headers: { Authorization: "Bearer ${AGENCY_TOKEN}" },
    timeout: 3_600_000,
  });
  assert.equal(servers.agency.url, "http://127.0.0.1:4600/mcp");
  assert.ok(Object(JSON.parse(read(folder, "settings.json"))).permissions.allow.includes("mcp__slack"));
});

// covers ORG-45
test("a brain starts its own sub-agents only for an agent that may consult", (context) => {
  const permissions = (mayConsult: boolean): { allow: string[]; deny: string[] } =>
    Object(JSON.parse(read(written(context, [], mayConsult).folder, "settings.json"))).permissions;
  assert.deepEqual(permissions(false).deny, ["Task", "Agent"]);
  for (const tool of ["Task", "Agent"]) {
    assert.ok(!permissions(false).allow.includes(tool));
    assert.ok(permissions(true).allow.includes(tool));
  }
  assert.deepEqual(permissions(true).deny, []);
});

test("a session gets the company's skills beside Agency's own", (context) => {
  const skills = [
    { path: "review/SKILL.md", content: Buffer.from("Twice.") },
    { path: "review/references/a/list.md", content: Buffer.from("1.") },
  ];
  const { folder } = written(context, [], false, skills);
  const laid = join(folder, ".claude", "skills");
  assert.deepEqual(readdirSync(laid), ["agency", "agency-create-agent", "review"]);
  for (const { path, content } of skills) assert.equal(read(laid, path), content.toString("utf8"));
});

test("the token is in none of the files, and other users of the machine can't read them", (context) => {
  const { folder, files } = written(context, ["slack"]);
  assert.equal(files.length, 3);
  assert.deepEqual(readdirSync(join(folder, ".claude", "skills")), ["agency", "agency-create-agent"]);
  for (const name of readdirSync(folder).filter((entry) => entry !== ".claude")) {
    assert.ok(!read(folder, name).includes(token), name);
    assert.equal(statSync(join(folder, name)).mode & 0o077, 0, name);
  }
  assert.ok(read(folder, ".mcp.json").includes("Bearer ${AGENCY_TOKEN}"));
});

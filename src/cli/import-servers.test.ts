import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openCommandLine } from "../testing/command-line.ts";

test("agency servers import: values become secrets by name, and nothing prints them", async (context) => {
  const line = await openCommandLine();
  context.after(() => line.close());
  const value = "ghp_pl4ntedValue0123456789abcdefghij";
  const path = join(line.folder, ".mcp.json");
  const mcpServers = {
    github: { command: "github-mcp", args: ["stdio"], env: { TOKEN: value, ORG: "${GITHUB_ORG}" } },
    docs: { type: "http", url: "https://docs.example/mcp", headers: { Authorization: `Bearer ${value}` } },
    leaky: { command: "leaky-mcp", args: ["--api-key", value] },
    old: { type: "sse", url: "https://old.example/sse" },
  };
  writeFileSync(path, JSON.stringify({ mcpServers }));
  const { code, out } = await line.agency("servers", "import", path);
  assert.equal(code, 0);
  assert.match(
    out,
    /Added github\. Stored as secrets: GITHUB_TOKEN\. Set if missing: agency secrets set GITHUB_ORG/,
  );
  assert.match(out, /Added docs\. Stored as secrets: DOCS_AUTHORIZATION/);
  assert.match(out, /Left out leaky: The command of the MCP server leaky seems to contain a secret/);
  assert.match(out, /Left out old/);
  assert.ok(!out.includes(value));
  const { servers } = await line.json("servers", "list");
  assert.deepEqual(
    Object(servers).map((one: object) => [Reflect.get(one, "name"), Reflect.get(one, "status")]),
    [
      ["docs", "untried"],
      ["github", "no_secret"],
    ],
  );
  assert.ok(!JSON.stringify(servers).includes(value));
  assert.equal((await line.agency("servers", "import", join(line.folder, "none.json"))).code, 2);
});

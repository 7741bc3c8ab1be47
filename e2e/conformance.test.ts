// The official MCP conformance suite against each of our MCP servers, in every revision of the protocol it knows.
// The suite expects a test server: most of its scenarios call tools, prompts or resources that only such a server has.
// Scenarios that need only what our servers offer must pass. For each of the others, this file says why it does not apply.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { mcpServers } from "../src/contract/operation.ts";
import { viewCompany } from "../src/contract/companies.ts";
import { createKey } from "../src/contract/agents.ts";
import { type BuiltDaemon, startDaemon, temporaryFolder } from "./support/daemon.ts";
import { startProxy } from "./support/proxy.ts";

const applies = ["server-initialize", "ping", "tools-list", "dns-rebinding-protection"];

const ownTool = "calls a tool that only the suite's own server has";
const noResources =
  "we offer no resources: knowledge is read by tools, where each reading is checked and on record";
const noPrompts = "we offer no prompts: what an agent is told comes from its briefing";
const askTheClient =
  "our server asks the client nothing: decisions of people are approvals, models are brains";

const doesNotApply: Readonly<Record<string, string>> = {
  "logging-set-level": "we send no log messages over MCP; the ledger has what happened",
  "completion-complete": "it completes arguments of prompts and resources, which we do not offer",
  "tools-call-simple-text": ownTool,
  "tools-call-image": ownTool,
  "tools-call-audio": ownTool,
  "tools-call-embedded-resource": ownTool,
  "tools-call-mixed-content": ownTool,
  "tools-call-with-logging": ownTool,
  "tools-call-error": `${ownTool}; mcp.test.ts shows our refusals`,
  "tools-call-with-progress": ownTool,
  "tools-call-sampling": askTheClient,
  "tools-call-elicitation": askTheClient,
  "json-schema-2020-12": ownTool,
  "elicitation-sep1034-defaults": askTheClient,
  "elicitation-sep1330-enums": askTheClient,
  "server-sse-polling":
    "our server is stateless: a call is answered on its own stream, so there is nothing to resume",
  "server-sse-multiple-streams": "our server is stateless: there is no session to open further streams in",
  "resources-list": noResources,
  "resources-read-text": noResources,
  "resources-read-binary": noResources,
  "resources-templates-read": noResources,
  "resources-subscribe": noResources,
  "resources-unsubscribe": noResources,
  "prompts-list": noPrompts,
  "prompts-get-simple": noPrompts,
  "prompts-get-with-args": noPrompts,
  "prompts-get-embedded-resource": noPrompts,
  "prompts-get-with-image": noPrompts,
};

const document = fileURLToPath(new URL("../docs/mcp-conformance.md", import.meta.url));
const suite = fileURLToPath(new URL("../node_modules/.bin/conformance", import.meta.url));
const folder = temporaryFolder("conformance");
/** Scenario → the revisions of the protocol it is for. */
const scenarios = new Map<string, string[]>();
let daemon: BuiltDaemon;
let proxy: Awaited<ReturnType<typeof startProxy>>;

before(async () => {
  for (const [, name = "", revisions = ""] of (await conformance("list", "--server")).matchAll(
    /^ {2}- (\S+) \[(\S+)\]$/gm,
  ))
    scenarios.set(name, revisions.split(","));
  daemon = await startDaemon({ home: join(folder.path, "home") }).ready;
  const { board, companyId } = daemon;
  const { rootAgentId } = await board.call(viewCompany, { companyId });
  proxy = await startProxy(daemon.url, (await board.call(createKey, { id: rootAgentId })).key);
});

after(async () => {
  await proxy.stop();
  await daemon.stop();
  folder.remove();
});

test("every scenario of the suite is run, or says why it does not apply", () => {
  assert.ok(scenarios.size > 0, "the suite lists no scenario");
  assert.deepEqual([...applies, ...Object.keys(doesNotApply)].toSorted(), [...scenarios.keys()].toSorted());
});

test("the document shows the same table", () => {
  const start = "<!-- made by e2e/conformance.test.ts -->\n";
  const text = readFileSync(document, "utf8");
  const wanted = text.slice(0, text.indexOf(start)) + start + table();
  if (process.env["AGENCY_TEST_WRITE"] === "1") writeFileSync(document, wanted);
  assert.equal(
    readFileSync(document, "utf8"),
    wanted,
    "run with AGENCY_TEST_WRITE=1 to rewrite the document",
  );
});

for (const server of mcpServers) {
  test(`/mcp/${server} passes what applies, in every revision the suite knows`, async (t) => {
    const revisions = new Set([...scenarios.values()].flat());
    for (const revision of revisions) {
      const results = await runSuite(server, revision);
      const wanted = [...scenarios].filter(([, of]) => of.includes(revision)).map(([name]) => name);
      assert.deepEqual([...results.keys()].toSorted(), wanted.toSorted(), revision);
      for (const [scenario, checks] of results) {
        const failed = checks.filter(({ status }) => status === "FAILURE" || status === "WARNING");
        const passed = checks.filter(({ status }) => status === "SUCCESS");
        if (applies.includes(scenario)) {
          assert.deepEqual(failed, [], `${scenario} in ${revision}`);
          assert.ok(passed.length > 0, `${scenario} in ${revision} checked nothing`);
        } else
          assert.ok(
            failed.length > 0,
            `${scenario} passes in ${revision}: move it to the list of scenarios that apply`,
          );
      }
      const passed = applies.filter((scenario) => results.has(scenario));
      t.diagnostic(
        `${revision}: ${passed.length} of ${results.size} scenarios apply and pass: ${passed.join(", ")}`,
      );
    }
  });
}

const Check = z.object({ id: z.string(), status: z.string(), errorMessage: z.string().optional() });
type Check = z.infer<typeof Check>;

/** Scenario → its checks. */
async function runSuite(server: string, revision: string): Promise<Map<string, Check[]>> {
  const output = join(folder.path, `${server}-${revision}`);
  const url = `${proxy.url}/mcp/${server}`;
  await conformance("server", "--url", url, "--suite", "all", "--spec-version", revision, "-o", output);
  const results = readdirSync(output).map((name): [string, Check[]] => {
    const scenario = name.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, "");
    return [
      scenario,
      z.array(Check).parse(JSON.parse(readFileSync(join(output, name, "checks.json"), "utf8"))),
    ];
  });
  return new Map(results);
}

/** The suite's exit code says that a scenario failed. The test decides itself whether that scenario had to pass. */
async function conformance(...args: string[]): Promise<string> {
  const child = spawn(process.execPath, [suite, ...args], {
    cwd: folder.path,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [out] = await Promise.all([text(child.stdout), once(child, "exit")]);
  return out;
}

/** Aligns the columns as this repository's formatter does. */
function table(): string {
  const rows = [...scenarios].map(([name, revisions]) => {
    const reason = doesNotApply[name];
    return [
      `\`${name}\``,
      revisions.join(", "),
      reason === undefined ? "passes" : "does not apply",
      reason ?? "",
    ];
  });
  const head = ["scenario", "revisions", "result", "why"];
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[], fill: string): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0, fill)).join(" | ")} |`;
  return ["", line(head, " "), line(["", "", "", ""], "-"), ...rows.map((row) => line(row, " ")), ""].join(
    "\n",
  );
}

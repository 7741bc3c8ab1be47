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
import { sampleOf } from "../src/testing/seeds.ts";
import { type BuiltDaemon, startDaemon, temporaryFolder } from "./support/daemon.ts";
import { startProxy } from "./support/proxy.ts";

/** Scenarios that use only what our servers offer. */
const applies = [
  "server-initialize",
  "server-stateless",
  "ping",
  "tools-list",
  "server-sse-multiple-streams",
  "dns-rebinding-protection",
  "caching",
  "http-header-validation",
  "input-required-result-unsupported-methods",
];

const ownTool = "calls a tool that only the suite's own server has";
const noResources =
  "we offer no resources: knowledge is read by tools, where each reading is checked and on record";
const noPrompts = "we offer no prompts: what an agent is told comes from its briefing";
const askTheClient =
  "our server asks the client nothing: decisions of people are approvals, models are brains";
const noTasks = "we offer no tasks: work is an outcome, and a call that takes long reports progress";
const stateless = "our server is stateless: there is no session to open, resume or end";
const noSkills = "we offer no skills over MCP: they are files in the agent's home";

const doesNotApply: Readonly<Record<string, string>> = {
  "server-session-lifecycle": stateless,
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
  "http-custom-header-server-validation": "none of our tools takes an argument from a header",
  "elicitation-sep1034-defaults": askTheClient,
  "elicitation-sep1330-enums": askTheClient,
  "server-sse-polling": `${ownTool}, in a session; ${stateless}`,
  "resources-list": noResources,
  "resources-read-text": noResources,
  "resources-read-binary": noResources,
  "resources-templates-read": noResources,
  "resources-subscribe": noResources,
  "resources-unsubscribe": noResources,
  "sep-2164-resource-not-found": noResources,
  "prompts-list": noPrompts,
  "prompts-get-simple": noPrompts,
  "prompts-get-with-args": noPrompts,
  "prompts-get-embedded-resource": noPrompts,
  "prompts-get-with-image": noPrompts,
  "input-required-result-basic-elicitation": askTheClient,
  "input-required-result-basic-sampling": askTheClient,
  "input-required-result-basic-list-roots": askTheClient,
  "input-required-result-request-state": askTheClient,
  "input-required-result-multiple-input-requests": askTheClient,
  "input-required-result-multi-round": askTheClient,
  "input-required-result-missing-input-response": askTheClient,
  "input-required-result-non-tool-request": noPrompts,
  "input-required-result-result-type": askTheClient,
  "input-required-result-tampered-state": askTheClient,
  "input-required-result-capability-check": askTheClient,
  "input-required-result-ignore-extra-params": askTheClient,
  "input-required-result-validate-input": `${ownTool}, and passes because we refuse that tool`,
  "tasks-lifecycle": noTasks,
  "tasks-capability-negotiation": noTasks,
  "tasks-wire-fields": noTasks,
  "tasks-request-state-removal": noTasks,
  "tasks-mrtr-input": noTasks,
  "tasks-request-headers": noTasks,
  "tasks-dispatch-and-envelope": noTasks,
  "tasks-status-notifications": noTasks,
  "tasks-required-task-error": noTasks,
  "tasks-mrtr-composition": noTasks,
  "sep-2640-skills-directory": noSkills,
  "sep-2640-skills-enumeration": noSkills,
  "sep-2640-skills-manifest": noSkills,
};

/** Single checks of a scenario that applies. */
const checksThatDoNotApply: Readonly<Record<string, string>> = {
  "server-sse-multiple-streams-session": stateless,
  "sep-2575-server-rejects-undeclared-capability": ownTool,
  "sep-2575-missing-capability-http-400": ownTool,
  "sep-2575-http-server-no-independent-requests-on-stream": ownTool,
  "sep-2575-server-no-log-without-loglevel": ownTool,
  "sep-2575-server-sends-tools-list-changed-on-subscription":
    "the suite changes the list with its tool `test_trigger_tool_change`, and reads our refusal of an unknown tool (-32602) as a change; src/servers/list-changes.db.test.ts shows the notice",
  "sep-2549-prompts-list-caching-hints": noPrompts,
  "sep-2549-resources-list-caching-hints": noResources,
  "sep-2549-resources-templates-list-caching-hints": noResources,
};

/** In these scenarios, refusing a missing tool looks the same as refusing its input. */
const passesWithoutTool = ["input-required-result-validate-input"];

type Run = { readonly name: string; readonly chosenBy: readonly string[] };
/** The requirements of a revision are fixed with its release. For older revisions, the suite has no such list. */
const runs: readonly Run[] = [
  ...["2026-07-28", "2025-11-25"].map((name) => ({ name, chosenBy: ["--requirements", name] })),
  { name: "2025-06-18", chosenBy: ["--suite", "all", "--spec-version", "2025-06-18"] },
];

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

for (const door of ["/mcp", ...mcpServers.map((server) => `/mcp/${server}`)]) {
  // One handler serves all doors. The first door plays all revisions; each other door plays one that the base seed draws.
  const played = door === "/mcp" ? runs : sampleOf(runs, 1);
  test(`${door} passes what applies, in ${played.map(({ name }) => name).join(", ")}`, async (t) => {
    const succeeded = new Set<string>();
    for (const run of played) {
      const results = await runSuite(door, run);
      assert.ok(results.size > 0, `nothing ran in ${run.name}`);
      let passed = 0;
      for (const [scenario, checks] of results) {
        const where = `${scenario} in ${run.name}`;
        const failed = checks.filter(({ status }) => status === "FAILURE" || status === "WARNING");
        const isPassed = failed.length === 0 && checks.some(({ status }) => status === "SUCCESS");
        if (applies.includes(scenario)) {
          assert.deepEqual(
            failed.filter(({ id, errorMessage = "" }) => {
              // Without a repository, this door has no tools.
              if (door === "/mcp/repo" && errorMessage.startsWith("Not testable: server lists no tools"))
                return false;
              return checksThatDoNotApply[id] === undefined;
            }),
            [],
            where,
          );
          const wrong = checks.filter(({ id, status }) => status === "SUCCESS" && id in checksThatDoNotApply);
          assert.deepEqual(wrong, [], `${where}: the check passes, so it applies`);
          if (checks.some(({ status }) => status === "SUCCESS")) succeeded.add(scenario);
          passed += 1;
        } else if (!passesWithoutTool.includes(scenario))
          assert.ok(!isPassed, `${where} passes: move it to the list of scenarios that apply`);
      }
      t.diagnostic(`${run.name}: ${passed} of ${results.size} scenarios apply and pass`);
    }
    if (played.length === runs.length)
      assert.deepEqual(
        [...succeeded].toSorted(),
        applies.toSorted(),
        "each one checked something in some revision",
      );
  });
}

const Check = z.object({ id: z.string(), status: z.string(), errorMessage: z.string().optional() });
type Check = z.infer<typeof Check>;

/** Scenario → its checks. */
async function runSuite(door: string, { name, chosenBy }: Run): Promise<Map<string, Check[]>> {
  const output = join(folder.path, `${door.replaceAll("/", "-")}-${name}`);
  await conformance("server", "--url", proxy.url + door, ...chosenBy, "-o", output);
  const results = readdirSync(output).map((name): [string, Check[]] => {
    const scenario = name.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, "");
    return [
      scenario,
      z.array(Check).parse(JSON.parse(readFileSync(join(output, name, "checks.json"), "utf8"))),
    ];
  });
  return new Map(results);
}

/** The exit code says that some scenario failed. The test itself decides whether that scenario had to pass. */
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
  for (const [check, reason] of Object.entries(checksThatDoNotApply))
    rows.push([
      `check \`${check}\``,
      check.startsWith("sep-") ? "2026-07-28" : "2025-11-25",
      "does not apply",
      reason,
    ]);
  const head = ["scenario", "revisions", "result", "why"];
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[], fill: string): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0, fill)).join(" | ")} |`;
  return ["", line(head, " "), line(["", "", "", ""], "-"), ...rows.map((row) => line(row, " ")), ""].join(
    "\n",
  );
}

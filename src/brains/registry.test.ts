import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../contract/refusal.ts";
import { brains, checkBrainConfig, defaultBrainType, findBrain, launchBrain } from "./registry.ts";

const session = {
  id: "one",
  token: "the-token",
  mayConsult: false,
  home: "/home-of-ada",
  model: null,
  effort: null,
  contextTokens: null,
  workspace: "/w",
  url: "http://127.0.0.1:1",
  systemPromptFile: "/w/system-prompt.md",
  mcpConfigFile: "/w/.mcp.json",
  settingsFile: "/w/settings.json",
  briefing: "the briefing",
  assignment: "",
};
const invalid = (error: unknown): boolean =>
  error instanceof Refusal && error.code === "invalid" && error.hint !== "";

test("every brain has a unique name, explains each of its keys, and refuses any other", async () => {
  assert.equal(new Set(brains.map(({ type }) => type)).size, brains.length);
  assert.ok(brains.some(({ type }) => type === defaultBrainType));
  for (const brain of brains) {
    assert.match(brain.type, /^[a-z0-9_]+$/);
    assert.notEqual(brain.documentation, "");
    assert.equal(findBrain(brain.type), brain);
    for (const [key, schema] of Object.entries(brain.config.shape))
      assert.notEqual(Object(schema).description ?? "", "", `${brain.type}.${key} has no description`);
    for (const config of [{ surprise: 1 }, { hooks: {} }, { __proto__: null, shell: "sh" }])
      assert.throws(() => checkBrainConfig(brain.type, config), invalid);
    for (const config of ["text", 7, [], false])
      assert.throws(() => checkBrainConfig(brain.type, config), invalid);
    const { available, says } = await brain.probe();
    assert.equal(typeof available, "boolean");
    assert.notEqual(says, "");
  }
});

test("an unknown brain is refused with the names of those there are", () => {
  assert.throws(
    () => findBrain("telepathy"),
    (error) =>
      invalid(error) && error instanceof Refusal && brains.every(({ type }) => error.hint.includes(type)),
  );
});

test("a process takes a command and passes its arguments as they are, with no shell between", () => {
  for (const wrong of [
    {},
    { command: "" },
    { command: "x", args: "y" },
    { command: "x", env: { "A B": "c" } },
  ])
    assert.throws(() => checkBrainConfig("process", wrong), invalid);
  const config = checkBrainConfig("process", {
    command: "run me",
    args: ["$(id)", "; rm -rf /", "--flag=a b"],
    env: { MODE: "x" },
  });
  assert.deepEqual(launchBrain("process", config, session)?.launch, {
    command: "run me",
    args: ["$(id)", "; rm -rf /", "--flag=a b"],
    env: { MODE: "x" },
    stdin: "the briefing",
  });
});

test("a person is never launched, and the rehearsal runs with nothing but Node", () => {
  assert.equal(launchBrain("human", checkBrainConfig("human", undefined), session), null);
  const { launch } = launchBrain("rehearsal", checkBrainConfig("rehearsal", { delayMs: 5 }), session) ?? {};
  assert.equal(launch?.command, process.execPath);
  assert.match(launch?.args[0] ?? "", /rehearsal[/\\]main\.ts$/);
  assert.equal(launch?.env["AGENCY_REHEARSAL_DELAY"], "5");
  for (const delayMs of [-1, 1.5, "1", 60_001])
    assert.throws(() => checkBrainConfig("rehearsal", { delayMs }), invalid);
});

test("a secret is exposed under no name that steers the program, and nothing of it is in what the program is started with", () => {
  const exposing = (name: string) => ({ exposeSecrets: { [name]: { secret: "HOUSE" } } });
  for (const type of ["claude_local", "codex_local", "anthropic_api", "openai_compatible"]) {
    for (const name of [
      "PATH",
      "HOME",
      "LD_PRELOAD",
      "NODE_OPTIONS",
      "NPM_CONFIG_USERCONFIG",
      "GIT_SSH_COMMAND",
      "ANTHROPIC_BASE_URL",
      "https_proxy",
      "A B",
    ])
      assert.throws(() => checkBrainConfig(type, exposing(name)), invalid, name);
    for (const name of ["GITHUB_TOKEN", "GIT_TOKEN", "NPM_TOKEN", "NODE_AUTH_TOKEN"])
      checkBrainConfig(type, exposing(name));
    const config = JSON.stringify({ exposeSecrets: { GITHUB_TOKEN: "the-value" } });
    const { launch } = launchBrain(type, config, session) ?? assert.fail();
    assert.equal(launch.env["GITHUB_TOKEN"], "the-value");
    assert.ok(![launch.command, ...launch.args, launch.stdin].join(" ").includes("the-value"));
  }
});

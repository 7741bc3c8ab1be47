// The output of the brains' programs, line by line. The tests of the ears read recordings of it (src/testing/recordings).
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { pauseAgent, resumeAgent } from "../../../src/contract/agents.ts";
import { findBrain, launchBrain } from "../../../src/brains/registry.ts";
import { always, type ModelScript, use } from "../../../src/testing/fake-model/script.ts";
import type { Heard } from "../../../src/brains/brain.ts";
import { heardOverAcp } from "../../../src/testing/acp-recording.ts";
import { temporaryFolder } from "../../support/daemon.ts";
import { type Adapter, fileOfProgram, pathWithPrograms } from "./adapters.ts";
import { programFolder } from "./programs.ts";
import { grantBrokenServer } from "./server-down.ts";
import { diligent, onBrain } from "./stage.ts";

const folder = fileURLToPath(new URL("../../../src/testing/recordings", import.meta.url));

const work = (adapter: Adapter): ModelScript =>
  diligent(
    adapter.shell("echo made-by-the-shell"),
    use("create_file", { description: "Report", content: "All is well." }, { text: "I write it down." }),
  );
const recordedScripts = {
  work,
  /** The session may use an MCP server that is down. */
  "server-down": work,
  refused: (): ModelScript => always(() => ({ fault: 401 })),
};
type Recorded = keyof typeof recordedScripts;

const fileOf = ({ type, recorded = type }: Adapter, name: Recorded): string =>
  join(folder, `${recorded}-${name}.jsonl`);

/**
 * Plays a script and returns the lines that the program printed. A wrapper program records them. There is no sandbox, because
 * it would show only one of the two programs. For a program that answers over ACP, only its updates are recorded.
 */
async function linesOf(adapter: Adapter, program: string, name: Recorded): Promise<string[]> {
  const place = temporaryFolder("recording");
  const command = join(place.path, program);
  // A message that was not acknowledged may start another session, which must not overwrite what the first one printed.
  const kept = `${place.path}/lines-$(date +%s%N)`;
  const isAcp = adapter.configOf !== undefined;
  const runs = `"${fileOfProgram(program)}" "$@"`;
  const keeps = isAcp ? `${runs} | tee "$kept"` : `${runs} > "$kept"\ncode=$?\ncat "$kept"\nexit $code`;
  writeFileSync(command, `#!/bin/sh\nkept="${kept}"\n${keeps}\n`);
  chmodSync(command, 0o755);
  let home = "";
  try {
    await onBrain(
      adapter,
      recordedScripts[name](adapter),
      async (stage) => {
        ({ home } = stage.daemon());
        const { board } = stage.daemon();
        // Otherwise the notice of the grant would start a session before the message arrives.
        await board.call(pauseAgent, { id: stage.agentId });
        await stage.tell("Write a report.");
        if (name === "server-down") await grantBrokenServer(stage);
        await board.call(resumeAgent, { id: stage.agentId });
        await stage.ended(1);
      },
      { config: { command }, env: { AGENCY_SANDBOX: "off", AGENCY_ALLOW_UNSANDBOXED: "1" } },
    );
    const [first = ""] = readdirSync(place.path)
      .filter((file) => file.startsWith("lines-"))
      .toSorted();
    const lines = readFileSync(join(place.path, first), "utf8")
      .replaceAll(home, "/agency")
      .replaceAll(dirname(dirname(programFolder())), "/programs")
      .trim()
      .split("\n");
    return isAcp ? lines.filter((line) => line.includes('"session/update"')) : lines;
  } finally {
    place.remove();
  }
}

/** Starts the program of a brain like a session, but with this token, and returns how it ended. */
export async function withToken(adapter: Adapter, url: string, token: string) {
  const place = temporaryFolder("token");
  const [workspace, home] = [join(place.path, "workspace"), join(place.path, "home")];
  const put = (name: string, content: string): string => {
    writeFileSync(join(workspace, name), content);
    return join(workspace, name);
  };
  try {
    for (const folder of [workspace, home]) mkdirSync(folder);
    const headers = { Authorization: "Bearer ${AGENCY_TOKEN}" };
    const servers = { agency: { type: "http", url: `${url}/mcp`, headers } };
    const brain = launchBrain(adapter.type, JSON.stringify({ ...adapter.config, provider: "fake" }), {
      id: randomUUID(),
      token,
      workspace,
      home,
      url,
      model: adapter.model,
      effort: null,
      contextTokens: null,
      mayConsult: false,
      briefing: "Hello.",
      assignment: "",
      systemPromptFile: put("system-prompt.md", "You are Ada."),
      mcpConfigFile: put(".mcp.json", JSON.stringify({ mcpServers: servers })),
      settingsFile: put("settings.json", "{}"),
    });
    if (brain === null) throw new Error("the brain is never started");
    brain.prepare();
    const child = spawn(brain.launch.command, brain.launch.args, {
      cwd: workspace,
      env: {
        PATH: pathWithPrograms(),
        HOME: home,
        AGENCY_URL: url,
        AGENCY_TOKEN: token,
        ...brain.launch.env,
      },
    });
    child.stdin.end(brain.launch.stdin);
    const [out, err, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, "close"),
    ]);
    const heard = out.split("\n").flatMap((line) => [...(brain.ear?.(line) ?? [])]);
    const textOf = (wanted: string): string =>
      heard.flatMap((one) => (one.kind === wanted && "text" in one ? [one.text] : [])).join("\n");
    const toolCalls = heard.filter(({ kind }) => kind === "tool").length;
    const errors = `${textOf("error")}\n${err}`;
    const named = heard.flatMap((one) => (one.kind === "error" ? [one.text] : [])).at(-1) ?? "";
    return {
      ...brain.judge({ code: Number(code), signal: null, said: textOf("text"), toolCalls, errors, named }),
      toolCalls,
    };
  } finally {
    place.remove();
  }
}

/** Checks that the program still prints what its recordings contain. `npm test` reads the recordings. */
export function testRecordings(adapter: Adapter, program: string, names: readonly Recorded[]): void {
  for (const name of names)
    test(`prints what the recording "${name}" has`, async () => {
      const lines = await linesOf(adapter, program, name);
      assert.deepEqual(shapeOf(adapter, lines), shapeOf(adapter, recordingOf(adapter, name, lines)));
    });
}

/** The ear's results for these lines, without the parts that differ between runs. */
function shapeOf(adapter: Adapter, lines: readonly string[]): string[] {
  const ear = findBrain(adapter.type).ear?.();
  const all: readonly Heard[] =
    adapter.configOf === undefined ? lines.flatMap((line) => [...(ear?.(line) ?? [])]) : heardOverAcp(lines);
  const shape = all
    .filter(({ kind }) => kind !== "output" && kind !== "usage")
    .map((heard) => ("tool" in heard ? `${heard.kind} ${heard.tool}` : heard.kind));
  if (adapter.configOf === undefined) return shape;
  // Over ACP, Claude Code sends the words before a call and the call itself independently. Either may arrive first.
  for (const [at, kind] of shape.entries())
    if (kind === "text" && shape[at - 1]?.startsWith("tool ") === true)
      shape.splice(at - 1, 2, "text", shape[at - 1] ?? "");
  return shape;
}

function recordingOf(adapter: Adapter, name: Recorded, lines: readonly string[]): string[] {
  const file = fileOf(adapter, name);
  if (process.env["AGENCY_TEST_RECORD"] === "1" || !existsSync(file)) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(file, `${lines.join("\n")}\n`);
  }
  return readFileSync(file, "utf8").trim().split("\n");
}

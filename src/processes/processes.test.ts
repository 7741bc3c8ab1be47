import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { scriptedAgent, scriptedStart } from "../testing/scripted-runner.ts";
import { demandHeldStill, place } from "../testing/process-place.ts";
import { asText, localTranscript, readTranscript } from "./transcript.ts";
import { usageIn } from "./usage-line.ts";

const transcriptIn = (folder: string, id = "one") =>
  readTranscript(localTranscript(join(folder, "transcripts"), id));
const textIn = async (folder: string): Promise<string> => asText((await transcriptIn(folder)).entries);

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

test("a process does nothing before its release, and then gets the briefing", async (context) => {
  const { start, folder } = await place(context);
  const running = await start('touch ran; read -r line; echo "got $line"');
  const ran = join(folder, "workspaces", "one", "ran");
  await sleep(200);
  assert.ok(isAlive(running.pid));
  assert.ok(!existsSync(ran));
  running.release();
  const exit = await running.exited;
  assert.deepEqual([exit.code, exit.reason, exit.output], [0, "exited with code 0", "got the briefing\n"]);
  assert.ok(existsSync(ran));
});

// covers SES-02, SES-03
test("a session's workspace is separate and is removed with it; its transcript stays", async (context) => {
  const { start, runner, folder } = await place(context);
  const running = await start("pwd; ls -A; echo 'on stderr' >&2");
  running.release();
  const { output } = await running.exited;
  const [path, ...names] = output.trim().split("\n");
  assert.equal(path, runner.workspaceFor("one"));
  assert.deepEqual(names.toSorted(), [
    ".claude",
    ".mcp.json",
    ".tmp",
    "briefing.json",
    "settings.json",
    "system-prompt.md",
  ]);
  assert.equal(statSync(path).mode & 0o077, 0);
  await runner.cleanUp("one");
  assert.deepEqual(readdirSync(join(folder, "workspaces")), []);
  const transcript = () => textIn(folder);
  // The error line is written asynchronously.
  for (let tries = 0; !(await transcript()).includes("on stderr") && tries < 6000; tries++) await sleep(10);
  assert.match(await transcript(), /on stderr/);
  assert.match(await transcript(), /settings.json/);
  assert.equal((await transcriptIn(folder)).truncated, false);
  assert.deepEqual(await transcriptIn(folder, "unknown"), {
    entries: [],
    next: 0,
    truncated: false,
  });
});

test("a session gets a separate environment without the daemon's variables", async (context) => {
  process.env["A_SECRET_OF_THE_DAEMON"] = "hidden";
  context.after(() => delete process.env["A_SECRET_OF_THE_DAEMON"]);
  const { start } = await place(context);
  const running = await start("env | cut -d= -f1 | sort | tr '\\n' ' '");
  running.release();
  const names = (await running.exited).output.trim().split(" ");
  const own = ["AGENCY_TOKEN", "AGENCY_URL", "AGENCY_WORKSPACE", "EXTRA", "HOME", "LANG", "PATH", "TMPDIR"];
  const proxies = ["HTTPS_PROXY", "HTTP_PROXY", "NODE_USE_ENV_PROXY", "NO_PROXY"];
  proxies.push("http_proxy", "https_proxy", "no_proxy");
  // The shell itself sets a few variables.
  assert.deepEqual(
    names.filter((name) => !["PWD", "OLDPWD", "SHLVL", "_"].includes(name)),
    [...own, ...proxies].toSorted(),
  );
});

test("no secret that a process prints is stored, whether printed in parts or given to the process", async (context) => {
  const { start, folder } = await place(context);
  const running = await start(
    'printf "it has $AGENCY_TOKEN and $EXTRA, ghp_"; sleep 0.1; echo "Tok3nInTwoParts01 and more" >&2; echo Tok3nInTwoParts02',
  );
  running.release();
  const { output } = await running.exited;
  assert.equal(output, "it has [redacted] and [redacted], ghp_Tok3nInTwoParts02\n");
  // On a busy machine, both outputs are read together, and either may come first.
  const lines = async () => (await textIn(folder)).split("\n").toSorted();
  for (let tries = 0; (await lines()).length < 3 && tries < 6000; tries++) await sleep(10);
  assert.deepEqual(await lines(), [
    "",
    "Tok3nInTwoParts01 and more",
    "it has [redacted] and [redacted], [redacted]",
  ]);
});

test("killing a process kills everything it started", async (context) => {
  const { start, folder } = await place(context);
  const running = await start("sleep 100 & echo $!; wait");
  running.release();
  while ((await textIn(folder)) === "") await sleep(10);
  running.kill();
  const exit = await running.exited;
  assert.deepEqual([exit.code, exit.reason], [null, "ended by SIGKILL"]);
  const child = Number(exit.output.trim());
  for (let tries = 0; isAlive(child) && !isZombie(child) && tries < 6000; tries++) await sleep(10);
  assert.ok(!isAlive(child) || isZombie(child));
});

test("processes that a session leaves in the background end with it, and do not hold it open", async (context) => {
  const { start } = await place(context);
  const running = await start("sleep 100 & echo $!");
  running.release();
  const exit = await running.exited;
  assert.equal(exit.code, 0);
  const child = Number(exit.output.trim());
  for (let tries = 0; isAlive(child) && !isZombie(child) && tries < 6000; tries++) await sleep(10);
  assert.ok(!isAlive(child) || isZombie(child));
});

test("processes that left the session's group end with it as well, whether it was killed or not", async (context) => {
  const { start, runner } = await place(context);
  for (const [id, last] of [
    ["ends", "until [ -e up ]; do sleep 0.01; done"],
    ["is killed", "wait; sleep 100"],
  ] as const) {
    const running = await start(`setsid sh -c 'echo $$; touch up; exec sleep 100' & ${last}`, id);
    running.release();
    if (id === "is killed") {
      const up = join(runner.workspaceFor(id), "up");
      for (let tries = 0; !existsSync(up) && tries < 6000; tries++) await sleep(10);
      running.kill();
    }
    const child = Number((await running.exited).output.trim());
    assert.ok(child > 0);
    for (let tries = 0; isAlive(child) && !isZombie(child) && tries < 6000; tries++) await sleep(10);
    assert.ok(!isAlive(child) || isZombie(child), id);
  }
});

test("an orphan is killed only if it is still the same process", async (context) => {
  const { start, runner } = await place(context);
  const running = await start("sleep 100");
  running.release();
  runner.killOrphan(running.pid, `${running.started}0`, "another session");
  await sleep(50);
  assert.ok(isAlive(running.pid));
  runner.killOrphan(running.pid, running.started, "one");
  assert.equal((await running.exited).code, null);
});

test("the output is the last 64 kB in whole characters, however the pipe splits them", async (context) => {
  const { start } = await place(context);
  const running = await start(
    `i=0; while [ $i -lt 3000 ]; do printf '語語語語語語語語語語'; i=$((i+1)); done > big; cat big; echo; echo '{"usage":{"inputTokens":7,"outputTokens":3,"costUsd":0.5}}'; printf '終わり'`,
  );
  running.release();
  const { output, usage } = await running.exited;
  assert.ok(output.endsWith("終わり"));
  assert.ok(!output.includes("\uFFFD"), "half a character");
  assert.ok(output.length <= 64 * 1024);
  assert.deepEqual(usage, { inputTokens: 7, outputTokens: 3, costUsd: 0.5 });
});

test("directives before the last 64 kB are kept separately, without secrets", async (context) => {
  const { start } = await place(context);
  const running = await start(
    `echo '@board'; echo "HIRE[Writer]: Writes with $AGENCY_TOKEN."; echo '~~~'; echo 'HIRE[Spy]: x'; echo '~~~'
     echo '~~~plan'; echo '[]'; echo '~~~'; echo '\`\`\`ts'; i=0
     while [ $i -lt 1000 ]; do printf '%080d\n' 0; i=$((i+1)); done > big; cat big; echo 'HIRE[Clerk]: x'`,
  );
  running.release();
  const { lost, output } = await running.exited;
  assert.ok(output.endsWith("HIRE[Clerk]: x\n"));
  assert.match(lost?.directives[1] ?? "", /^HIRE\[Writer\]: Writes with \[redacted\]/);
  assert.deepEqual(
    lost?.directives.map((line) => line.slice(0, 12)),
    ["@board", "HIRE[Writer]", "a plan"],
  );
  assert.deepEqual(lost?.fence, { mark: "```", name: "ts" });
  assert.match(`${lost?.line}${output}`, /^0{80}\n0{80}\n/);
});

test("the last valid report of usage counts, even without a line end", async (context) => {
  const { start } = await place(context);
  const running = await start(
    `echo '{"usage":{"inputTokens":1}}'; echo '{"usage": broken'; printf '{"usage":{"inputTokens":2,"outputTokens":1,"costUsd":0.1}}'`,
  );
  running.release();
  assert.deepEqual((await running.exited).usage, { inputTokens: 2, outputTokens: 1, costUsd: 0.1 });
  assert.equal(usageIn("plain text"), undefined);
  assert.equal(usageIn('{"usage"'), undefined);
  assert.equal(usageIn('["usage"]'), undefined);
  assert.deepEqual(usageIn('{"usage":{"inputTokens":-5,"outputTokens":"many","costUsd":1e999}}'), {
    inputTokens: 0,
    outputTokens: 0,
    costUsd: Number.POSITIVE_INFINITY,
  });
});

test("endless output of a process is read in pieces with pauses, up to its end", async (context) => {
  const { start } = await place(context);
  const running = await start("head -c 1000000 /dev/zero | tr '\\0' a; echo end");
  const begun = performance.now();
  running.release();
  const { output } = await running.exited;
  assert.ok(output.endsWith("aend\n"));
  assert.ok(performance.now() - begun > 800);
});

test("a report is read at once and only once, even in pieces, without a line end, or on the error output", async (context) => {
  const { start, heard } = await place(context);
  const running = await start(
    `printf '{"usage":{"inputTo'; sleep 0.1; printf 'kens":5}}'; sleep 0.1; printf '\\n'; sleep 0.1
     printf 'noise\\n{"usage":{"inputTokens":7}}\\r\\n' >&2; sleep 100`,
  );
  running.release();
  const amounts = (): number[] => heard.map(({ inputTokens }) => inputTokens);
  for (let tries = 0; heard.length < 2 && tries < 6000; tries++) await sleep(10);
  await sleep(50);
  assert.deepEqual(amounts(), [5, 7]);
  running.kill();
  const { usage, output } = await running.exited;
  assert.equal(usage?.inputTokens, 7);
  assert.ok(!output.includes("noise"), "what goes to the error output is not what it says");
});

test("a missing command ends at once with an exit code, and a person is never started", async (context) => {
  const { start, runner } = await place(context);
  const running = await start("exec /nowhere/at-all");
  running.release();
  assert.equal((await running.exited).code, 127);
  await assert.rejects(
    runner.start({
      ...scriptedStart,
      workspace: runner.workspaceFor(scriptedStart.id),
      agent: { ...scriptedAgent, brain_type: "human", brain_config: "{}" },
    }),
    /never started/,
  );
});

test("a process does nothing before it is released, nor while it is held still", async (context) => {
  await demandHeldStill(await place(context));
});

function isZombie(pid: number): boolean {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

test("the end of a process is kept until it is handled, even across a restart of the node", async (t) => {
  const { folder, runner, nextLife, start } = await place(t);
  assert.equal(runner.takeExit("one"), undefined);
  const usage = '{"usage":{"inputTokens":3,"outputTokens":2,"costUsd":0.5,"consultants":{"inputTokens":1}}}';
  const running = await start(`echo 'DELEGATE[Writer]: Schöne Grüße.'; echo '${usage}'; exit 0`);
  running.release();
  const exit = await running.exited;
  assert.match(exit.output, /Schöne Grüße/);
  const next = nextLife();
  const file = join(folder, "transcripts", "one.exit");
  assert.equal(statSync(file).mode & 0o777, 0o600);
  // Only once: an exit that crashes the daemon must not do so at every start.
  assert.deepEqual([next.takeExit("one"), next.takeExit("one")], [exit, undefined]);
  for (const broken of ["", '{"code":0', '{"code":"0"}']) {
    writeFileSync(file, broken);
    assert.equal(next.takeExit("one"), undefined);
  }
  writeFileSync(file, "{}");
  await next.cleanUp("one");
  assert.deepEqual(readdirSync(join(folder, "transcripts")), ["one.jsonl"]);
});

test("the workspaces of earlier runs are removed, those of this run are not", async (context) => {
  const { runner, start, folder } = await place(context);
  const running = await start("mkdir locked && chmod 000 locked");
  running.release();
  await running.exited;
  mkdirSync(join(folder, "workspaces", "old", "deep"), { recursive: true });
  await runner.cleanUpOthers((id) => id === "one");
  assert.deepEqual(readdirSync(join(folder, "workspaces")), ["one"]);
  await runner.cleanUpOthers(() => false);
  assert.deepEqual(readdirSync(join(folder, "workspaces")), []);
});

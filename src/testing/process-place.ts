import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Usage } from "../contract/budgets.ts";
import { processRunner } from "../processes/processes.ts";
import type { Running, SessionLimits } from "../processes/runner.ts";
import { keepSandbox } from "../processes/sandbox.ts";
import { keepWatchdog, type Watchdog } from "../processes/watchdog.ts";
import { scriptedAgent, scriptedStart } from "./scripted-runner.ts";

export interface ProcessPlace {
  readonly folder: string;
  /** The usage reports so far. */
  readonly heard: Usage[];
  readonly start: (script: string, id?: string, config?: object) => Promise<Running>;
  readonly runner: ReturnType<typeof processRunner>;
  readonly watchdog: Watchdog;
  readonly nextLife: () => ReturnType<typeof processRunner>;
}

/**
 * A runner whose brain is a shell script, with or without a sandbox. In a sandbox, a web server answers in the daemon's place.
 */
export async function place(
  context: TestContext,
  how: { sandbox?: true; inside?: string; limits?: Partial<SessionLimits>; leaseMilliseconds?: number } = {},
): Promise<ProcessPlace> {
  const folder = how.inside ?? mkdtempSync(join(tmpdir(), "agency-processes-"));
  const started: Running[] = [];
  const heard: Usage[] = [];
  const wanted = how.sandbox === true;
  const sandbox = keepSandbox({ folder: join(folder, "sandbox"), wanted, unsandboxedAllowed: !wanted });
  const watchdog = keepWatchdog();
  watchdog.renewal()(how.leaseMilliseconds ?? 100_000);
  const found = await sandbox.tried;
  assert.equal(found.status, wanted ? "works" : "off", found.says);
  const web = createServer((request, response) => response.end(`asked for ${request.url ?? ""}`));
  const nextLife = () =>
    processRunner({
      workspaces: join(folder, "workspaces"),
      transcripts: join(folder, "transcripts"),
      agentHomes: join(folder, "homes"),
      home: folder,
      url: () => "http://127.0.0.1:4601",
      sandbox,
      watchdog,
      onDoor: (door) => door.on("connection", (socket) => web.emit("connection", socket)),
      path: "/usr/bin:/bin",
    });
  const runner = nextLife();
  context.after(async () => {
    for (const running of started) running.kill();
    await Promise.all(started.map(({ exited }) => exited));
    sandbox.stop();
    await watchdog.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    folder,
    heard,
    runner,
    watchdog,
    nextLife,
    start: async (script, id = "one", changes = {}) => {
      const config = JSON.stringify({
        command: "/bin/sh",
        args: ["-c", script],
        env: { EXTRA: "given words" },
        ...changes,
      });
      const running = await runner.start({
        ...scriptedStart,
        id,
        token: "the-token",
        workspace: runner.workspaceFor(id),
        agent: { ...scriptedAgent, brain_type: "process", brain_config: config },
        briefing: { ...scriptedStart.briefing, text: "the briefing" },
        limits: { processes: 256, memoryMb: 1024, diskMb: 64, ...how.limits },
        onUsage: (usage) => void heard.push(usage),
      });
      started.push(running);
      return running;
    },
  };
}

/** Starts a program that writes again and again. Fails if it writes before it is released, or while it is held still. */
export async function demandHeldStill({ start, runner }: ProcessPlace): Promise<void> {
  const file = join(runner.workspaceFor("one"), "beats");
  // The started shell starts a second program, and both must end.
  const running = await start(`sh -c 'while :; do echo x >> beats; sleep 0.01; done'; true`);
  writeFileSync(file, "");
  const beats = (): number => readFileSync(file, "utf8").length;
  await sleep(300);
  assert.equal(beats(), 0);
  const moves = async (): Promise<boolean> => {
    const before = beats();
    await sleep(200);
    return beats() > before;
  };
  running.release();
  while (beats() === 0) await sleep(5);
  running.hold(true);
  // On a busy machine, a program that waits for a core in the middle of a write finishes the write first.
  for (let tries = 0; await moves(); tries++) assert.ok(tries < 20, "it still moves");
  assert.equal(await moves(), false);
  running.hold(false);
  for (let tries = 0; !(await moves()); tries++) assert.ok(tries < 300, "it stays still");
  running.hold(true);
  running.kill();
  assert.equal((await running.exited).code, null);
}

// `agency stop` also ends a daemon that can't answer.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { testDatabase } from "../src/testing/postgres.ts";
import { startTcpProxy } from "../src/testing/tcp-proxy.ts";
import { agency, isAlive, noOtherDaemon, startDaemon } from "./support/daemon.ts";
import { onNewHome } from "./support/home.ts";

test("a daemon without its database is stopped", async () => {
  const database = await testDatabase();
  const proxy = await startTcpProxy(database.url);
  try {
    await onNewHome("sqlite", async ({ home }) => {
      const daemon = await startDaemon({ home, databaseUrl: proxy.url }).ready;
      try {
        proxy.cut();
        while ((await fetch(`${daemon.url}/api/health`)).status !== 503) await sleep(50);
        const stopped = await agency(["stop", "--seconds", "600"], { home, env: noOtherDaemon });
        assert.equal(stopped.code, 0, stopped.out + stopped.err);
        assert.match(stopped.out, /Agency is stopped/);
      } finally {
        await daemon.kill();
      }
    });
  } finally {
    await proxy.stop();
    await database.drop();
  }
});

test("a daemon that hangs is named after the limit, and killed by force", () =>
  onNewHome("sqlite", async ({ home }) => {
    const daemon = await startDaemon({ home }).ready;
    try {
      process.kill(daemon.pid, "SIGSTOP");
      const late = await agency(["stop", "--seconds", "3"], { home, env: noOtherDaemon });
      assert.equal(late.code, 1, late.out + late.err);
      assert.match(late.out, /Waiting up to 3 seconds/);
      assert.match(late.err, /not stopped within 3 seconds[^]*agency stop --force/);
      assert.ok(isAlive(daemon.pid));
      const killed = await agency(["stop", "--force"], { home, env: noOtherDaemon });
      assert.equal(killed.code, 0, killed.out + killed.err);
    } finally {
      await daemon.kill();
    }
    const none = await agency(["stop"], { home, env: noOtherDaemon });
    assert.match(none.err, /No daemon is running/);
  }));

test("only the daemon itself is killed by force, not another program that now has its process id", () =>
  onNewHome("sqlite", async ({ home }) => {
    const { lockHome, openHome } = await import("../src/daemon/home.ts");
    const daemon = await startDaemon({ home }).ready;
    const left = JSON.parse(readFileSync(join(home, "daemon.json"), "utf8"));
    await daemon.kill();
    // Another program, such as a restore, holds the home now.
    const lock = lockHome(openHome(home));
    const other = spawn("sleep", ["60"]);
    const ended = once(other, "exit");
    try {
      writeFileSync(join(home, "daemon.json"), JSON.stringify({ ...left, pid: other.pid }));
      const stopped = await agency(["stop", "--force"], { home, env: noOtherDaemon });
      assert.match(stopped.err, /No daemon is running/);
      assert.ok(isAlive(other.pid ?? 0));
    } finally {
      lock.release();
      other.kill();
      await ended;
    }
  }));

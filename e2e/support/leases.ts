// A daemon that is suspended or dies does not keep its sessions.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { listSessions } from "../../src/contract/sessions.ts";
import { gone, sessionProcesses } from "./processes.ts";
import { withCrowd } from "./stops.ts";

const promisedEnd = 15_000;

export function testLeases(sandbox: "on" | "off"): void {
  const crowd = { sandbox, leads: 1, workers: 3, runaway: true };

  test(`a session whose daemon stands still is gone after 15 s (sandbox ${sandbox})`, (t) =>
    withCrowd(t, crowd, async ({ daemon, sessions }) => {
      const { home, board, companyId } = daemon;
      process.kill(daemon.pid, "SIGSTOP");
      try {
        const took = await gone(() => sessionProcesses(home), promisedEnd, "SIGSTOP");
        t.diagnostic(`${sessions.length} sessions ended ${Math.round(took)} ms after SIGSTOP`);
        assert.ok(took > 5000, "a short pause must not end a session");
      } finally {
        process.kill(daemon.pid, "SIGCONT");
      }
      const ids = new Set(sessions.map(({ id }) => id));
      for (let left = ids.size; left > 0; await sleep(50)) {
        const ended = (await board.call(listSessions, { companyId, limit: 1000 })).sessions.filter(
          ({ id, endedAt }) => ids.has(id) && endedAt !== null,
        );
        left = ids.size - ended.length;
        for (const { endReason } of ended) assert.match(endReason ?? "", /lease was not confirmed/);
      }
    }));

  test(`a session whose daemon was killed is gone within seconds, without a next daemon (sandbox ${sandbox})`, (t) =>
    withCrowd(t, crowd, async ({ daemon, sessions }) => {
      await daemon.kill();
      const took = await gone(() => sessionProcesses(daemon.home), promisedEnd, "kill -9");
      t.diagnostic(`${sessions.length} sessions ended ${Math.round(took)} ms after kill -9`);
    }));
}

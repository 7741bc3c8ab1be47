// A daemon at rest has returned the memory that a burst of calls needed.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createFile, listFiles, readFile } from "../src/contract/knowledge.ts";
import { allowed } from "../src/testing/allowed.ts";
import { mappedKilobytes } from "../src/testing/mapped-memory.ts";
import { startDaemon } from "./support/daemon.ts";
import { onNewHome } from "./support/home.ts";

test("after a burst of calls the memory of the heaps and of the database returns", async (t) => {
  await onNewHome("sqlite", async (options) => {
    const daemon = await startDaemon({
      ...options,
      env: { AGENCY_LIMITS: JSON.stringify({ boardCallsPerSecond: 100_000 }) },
    }).ready;
    try {
      const { board, companyId, pid, home } = daemon;
      /** Megabytes of the process's private memory, of malloc's part of it, and of the database file mapped into it. */
      const held = () => {
        const smaps = readFileSync(`/proc/${pid}/smaps`, "utf8");
        return {
          own: Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024,
          malloc: mappedKilobytes(smaps, "[heap]") / 1024,
          mapped: mappedKilobytes(smaps, join(home, "agency.db")) / 1024,
        };
      };
      const rest = held();
      const content = "x".repeat(20_000);
      const caller = async (): Promise<void> => {
        const isFull = ({ own, malloc, mapped } = held()): boolean =>
          own > rest.own + 30 && malloc > rest.malloc + 10 && mapped > 8;
        for (let round = 0; !isFull(); round++) {
          const { id } = await board.call(createFile, { companyId, description: "Text", content });
          await board.call(readFile, { id });
          if (round % 4 === 0) await board.call(listFiles, { companyId, limit: 1000 });
        }
      };
      await Promise.all(Array.from({ length: 8 }, caller));
      const full = held();
      const from = performance.now();
      const isAtRest = ({ own, malloc, mapped } = held()): boolean =>
        own < rest.own + 5 && malloc < rest.malloc + 6 && mapped < 4;
      while (!isAtRest()) {
        const says = `at rest ${JSON.stringify(rest)}, then ${JSON.stringify(full)}, now ${JSON.stringify(held())}`;
        assert.ok(performance.now() - from < allowed(20_000), says);
        await sleep(200);
      }
      t.diagnostic(
        `own memory ${Math.round(rest.own)} → ${Math.round(full.own)} → ${Math.round(held().own)} MB, malloc ${Math.round(full.malloc)} → ${Math.round(held().malloc)} MB, mapped ${Math.round(full.mapped)} → ${Math.round(held().mapped)} MB after ${Math.round(performance.now() - from)} ms`,
      );
    } finally {
      await daemon.stop();
    }
  });
});

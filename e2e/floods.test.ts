// A second client that works normally, while another caller floods the built daemon. What it sees is compared with a bare HTTP
// server under the same flood in the same minute, because other programs use this machine too.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "../src/client/client.ts";
import { createKey } from "../src/contract/agents.ts";
import { createAgent } from "../src/contract/hiring.ts";
import { createFile } from "../src/contract/knowledge.ts";
import { runLength } from "../src/testing/run-length.ts";
import { type BuiltDaemon, startDaemon, temporaryFolder } from "./support/daemon.ts";
import { bareServer, type Flood, memoryOf, type Probe, under } from "./support/floods.ts";

const [files, milliseconds] = runLength === "long" ? [500, 8000] : [120, 1500];

describe("under a flood, a second client sees at most 100 ms or four times a bare server, at p99", () => {
  const home = temporaryFolder("floods");
  let daemon: BuiltDaemon;
  let bare: Awaited<ReturnType<typeof bareServer>>;
  let floods: Record<string, Flood>;
  let probes: readonly Probe[];

  before(async () => {
    daemon = await startDaemon({ home: home.path, env: { AGENCY_AGENTS: "off" } }).ready;
    bare = await bareServer();
    const { companyId, board } = daemon;
    const [flooding, working] = [await keyOf("Flood"), await keyOf("Worker")];
    const words = Array.from({ length: 16_000 }, (_, at) => `w${((at * 7919) % 5000).toString(36)}`).join(
      " ",
    );
    for (let at = 0; at < files; at++)
      await board.call(createFile, {
        companyId,
        description: `file ${at}`,
        content: `all ${at} ${words}`.slice(0, 99_000),
      });
    const { id } = await createClient({ url: daemon.url, token: working }).call(createFile, {
      companyId,
      description: "small",
      content: "small",
    });
    const kb = `/api/companies/${companyId}/kb`;
    probes = [
      { method: "GET", path: "/api/companies", token: working },
      { method: "GET", path: `/api/kb/${id}`, token: working },
      { method: "POST", path: kb, token: working, body: JSON.stringify({ description: "d", content: "c" }) },
    ];
    const post = { method: "POST", path: kb };
    floods = {
      "an object of 53 MB": { ...post, loops: 2, token: flooding, body: { kind: "keys", bytes: 53e6 } },
      "objects of 900 kB": { ...post, loops: 4, token: flooding, body: { kind: "keys", bytes: 900e3 } },
      "bodies of 54 kB without a credential": { ...post, loops: 16, body: { kind: "keys", bytes: 54e3 } },
      "bodies of 54 kB": { ...post, loops: 16, token: flooding, body: { kind: "keys", bytes: 54e3 } },
      "uploads that never end": {
        ...post,
        loops: 40,
        token: flooding,
        body: { kind: "spaces", bytes: 18e6 },
        unfinished: true,
      },
      "searches over files of 99 kB": {
        method: "GET",
        path: `${kb}/search?query=all&limit=100`,
        loops: 16,
        token: daemon.token,
      },
    };
    async function keyOf(name: string): Promise<string> {
      const agent = await board.call(createAgent, { companyId, name, role: "Test" });
      return (await board.call(createKey, { id: agent.id })).key;
    }
  });
  after(async () => {
    await bare.stop();
    await daemon.stop();
    home.remove();
  });

  test("and memory returns to within 20 %", async (t) => {
    // The first time, the program takes the memory that it needs for its usual work.
    for (const flood of Object.values(floods)) await under(daemon, flood, probes, 500);
    const base = memoryOf(daemon);
    for (const [name, flood] of Object.entries(floods)) {
      const ratios: string[] = [];
      let isMet = false;
      // Another program may use the machine for a moment. A missing limit shows every time.
      for (let attempt = 0; attempt < 3 && !isMet; attempt++) {
        const usual = await under(bare, flood, probes, milliseconds);
        const seen = await under(daemon, flood, probes, milliseconds);
        ratios.push(`${seen.p99.toFixed(0)} ms, bare ${usual.p99.toFixed(0)} ms`);
        assert.deepEqual(new Set(seen.statuses), new Set([200, 201]), name);
        isMet = seen.p99 <= Math.max(100, 4 * usual.p99);
        t.diagnostic(
          `${name}: p50 ${seen.p50.toFixed(0)} ms, p99 ${ratios.at(-1) ?? ""}, flood ${seen.flooded}`,
        );
      }
      assert.ok(isMet, `${name}: ${ratios.join("; ")}`);
    }
    let now = 0;
    for (let waited = 0; waited < 30; waited++) {
      await under(daemon, undefined, probes, 700);
      now = memoryOf(daemon);
      if (now <= base * 1.2) break;
      await sleep(300);
    }
    t.diagnostic(`memory ${(base / 1e6).toFixed(0)} MB before, ${(now / 1e6).toFixed(0)} MB after`);
    assert.ok(now <= base * 1.2, `${base} bytes before, ${now} after`);
  });
});

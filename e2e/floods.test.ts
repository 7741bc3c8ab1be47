// A second client works normally while another caller floods the built daemon. The test must pass on a busy machine too, so its
// rules are: half of the calls are answered soon, or as fast as by a bare HTTP server under the same flood; the flood is
// refused slowly; memory is returned. `npm run bench -- --only floods` measures p99, for which the aim is 100 ms.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { runLength } from "../src/testing/run-length.ts";
import { type BuiltDaemon, startDaemon, temporaryFolder } from "./support/daemon.ts";
import { type Flooded, flooded } from "./support/flooded.ts";
import { bareServer, type Experience, memoryAtRest, told, under } from "./support/floods.ts";

const [files, milliseconds, sockets] = runLength === "long" ? [500, 8000, 900] : [300, 1000, 500];

/** Refusals for sending too much leave at this pace for all callers together, however many connections wait. */
const refusalsPerSecond = 200;

describe("the daemon under a flood of requests", () => {
  const home = temporaryFolder("floods");
  let daemon: BuiltDaemon;
  let bare: Awaited<ReturnType<typeof bareServer>>;
  let company: Flooded;

  before(async () => {
    daemon = await startDaemon({ home: home.path, env: { AGENCY_AGENTS: "off" } }).ready;
    bare = await bareServer();
    company = await flooded(daemon, files);
  });
  after(async () => {
    await bare.stop();
    await daemon.stop();
    home.remove();
  });

  test("a second client is answered, the flood is refused slowly, and memory returns to within 20 %", async (t) => {
    const { probes } = company;
    const floods = Object.entries(company.floods(sockets));
    // The first flood makes the program allocate the memory for its usual work.
    for (const [, flood] of floods) await under(daemon, flood, probes, milliseconds);
    const base = await memoryAtRest(daemon);
    for (const [name, flood] of floods) {
      const attempts: string[] = [];
      // Other tests may use the machine for some seconds, and a large request then takes longer. Each attempt lasts longer than the
      // one before, so five seldom all meet such seconds. A missing limit fails every attempt, however many there are.
      for (let isMet = false; !isMet;) {
        const seen = await under(daemon, flood, probes, milliseconds * (attempts.length + 1));
        attempts.push(told(seen));
        t.diagnostic(`${name}: ${attempts.at(-1) ?? ""}`);
        assert.deepEqual(new Set(seen.statuses), new Set([200, 201]), name);
        assertLimited(name, flood, seen);
        isMet =
          seen.flooded[flood.answer] !== undefined &&
          (seen.p50 <= 200 || seen.p50 <= 10 * (await under(bare, flood, probes, milliseconds)).p50);
        assert.ok(isMet || attempts.length < 5, `${name}: ${attempts.join("; ")}`);
      }
    }
    const now = await memoryAtRest(daemon, base * 1.2);
    t.diagnostic(`memory ${(base / 1e6).toFixed(0)} MB before, ${(now / 1e6).toFixed(0)} MB after`);
    assert.ok(now <= base * 1.2, `${base} bytes before, ${now} after`);
  });
});

function assertLimited(
  name: string,
  { answer, unfinished }: ReturnType<Flooded["floods"]>[string],
  { flooded: answers, seconds }: Experience,
): void {
  const { 429: refused = 0, [answer]: _, ...others } = answers;
  assert.deepEqual(others, {}, name);
  // Uploads are refused for their bytes, at once. All other floods are refused for their number.
  if (unfinished !== true)
    assert.ok(refused <= 1.25 * refusalsPerSecond * seconds, `${name}: ${refused} refusals`);
}

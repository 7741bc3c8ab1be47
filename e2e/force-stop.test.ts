import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { viewCompany } from "../src/contract/companies.ts";
import { listOutcomes } from "../src/contract/outcomes.ts";
import { reclaimOutcome } from "../src/contract/delegation.ts";
import { checkRefused } from "./support/living-checker.ts";
import { allPages } from "./support/pages.ts";
import { gone, sessionProcesses } from "./support/processes.ts";
import { nobodyWorks, promised, testStops, tokensIn, withCrowd } from "./support/stops.ts";

describe("stopping 200 sessions that run at once", () => {
  test("reclaiming their manager's mandate leaves no process and no accepted token within 5 s", (t) =>
    withCrowd(t, { sandbox: "off", leads: 10, workers: 189 }, async ({ daemon, boss, sessions }) => {
      const { board, companyId, home } = daemon;
      assert.equal(sessions.length, 200);
      const start = performance.now();
      await board.call(reclaimOutcome, { id: boss.mandateId, reason: "force-stop" });
      const answered = performance.now() - start;
      const ended = await gone(() => sessionProcesses(home), promised, "reclaim", start);
      t.diagnostic(
        `reclaim of ${sessions.length} live sessions: answered after ${Math.round(answered)} ms, ` +
          `no process after ${Math.round(ended)} ms`,
      );
      assert.deepEqual(await checkRefused(daemon.url, tokensIn(sessions)), []);
      await nobodyWorks(daemon);
      // Their work has moved to the boss's boss, and none of the agents is started again.
      const { rootAgentId } = await board.call(viewCompany, { companyId });
      const open = await allPages(
        (cursor) => board.call(listOutcomes, { companyId, status: "open", limit: 1000, cursor }),
        "outcomes",
      );
      assert.ok(open.every(({ responsible }) => responsible?.id === rootAgentId));
    }));

  test("SIGTERM to the daemon ends all of them and leaves no process", (t) =>
    withCrowd(t, { sandbox: "off", leads: 10, workers: 189 }, async ({ daemon, sessions }) => {
      const start = performance.now();
      assert.deepEqual(await daemon.stop(), { code: 0, signal: null });
      // They have been killed. A busy system may need a moment to end the last of them.
      const ended = await gone(() => sessionProcesses(daemon.home), promised, "SIGTERM", start);
      t.diagnostic(`${sessions.length} sessions ended ${Math.round(ended)} ms after SIGTERM`);
      assert.equal(daemon.log(), "");
    }));
});

testStops("off");

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { setBudget } from "../contract/budgets.ts";
import { viewAgent } from "../contract/agents.ts";
import { newId } from "../daemon/ids.ts";
import { storeKinds } from "../testing/organization.ts";
import { onBudget, tokenUse, uses, givenWork } from "../testing/spenders.ts";
import type { InCompany } from "./lanes.ts";
import { sessionById } from "./sessions.ts";
import { createMeter } from "./usage.ts";

for (const kind of storeKinds)
  describe(`the meter on ${kind}`, () => {
    test("a report is written without a turn of the scheduler, and an agent with no budget left is stopped at once", () =>
      onBudget(kind, async ({ org, runner, store, ...stage }) => {
        const ann = await org.agent("Ann");
        await org.board(setBudget, { id: ann.id, tokens: 100 });
        await givenWork(org, ann.id);
        const gate = Promise.withResolvers<void>();
        runner.plan(ann.id, uses(gate.promise));
        await stage.rest();
        const session = { id: runner.started[0]?.id ?? "", company_id: org.companyId };
        const stopped = Promise.withResolvers<string>();
        const bugs: unknown[] = [];
        const holds: boolean[] = [];
        const meter = createMeter({
          store,
          newId,
          stop: stopped.resolve,
          hold: (_, still) => void holds.push(still),
          reportBug: (error) => void bugs.push(error),
        });
        const used = async () => (await store.read((tx) => sessionById(tx, session.id)))?.input_tokens;
        meter.begin(session.id, { tokens: 100 });
        meter.heard(session, tokenUse(60));
        for (const start = performance.now(); (await used()) !== 60; await sleep(5))
          assert.ok(performance.now() - start < 60_000, "it is not written");
        meter.heard(session, tokenUse(100));
        const late = setTimeout(() => stopped.reject(new Error("the session was not stopped")), 60_000);
        assert.equal(await stopped.promise, session.id);
        clearTimeout(late);
        assert.equal((await org.board(viewAgent, { id: ann.id })).status, "paused");
        // The process was suspended before the report was written, and never resumed.
        assert.deepEqual(holds, [true]);
        assert.deepEqual(bugs, []);
        gate.resolve();
        await stage.rest();
      }));

    test("a report that could not be written is tried again, and the newest report counts", () =>
      onBudget(kind, async ({ org, runner, store, ...stage }) => {
        const ann = await org.agent("Ann");
        await givenWork(org, ann.id);
        const gate = Promise.withResolvers<void>();
        runner.plan(ann.id, uses(gate.promise));
        await stage.rest();
        const session = { id: runner.started[0]?.id ?? "", company_id: org.companyId };
        let failing = true;
        const bugs: unknown[] = [];
        const holds: boolean[] = [];
        const meter = createMeter({
          store: {
            ...store,
            write: (write) => (failing ? Promise.reject(new Error("no disk")) : store.write(write)),
          },
          newId,
          stop: () => assert.fail("it has enough"),
          hold: (_, still) => void holds.push(still),
          reportBug: (error) => void bugs.push(error),
        });
        const always: InCompany = async (_, work) => (await work(), true);
        meter.begin(session.id, { tokens: 20 });
        meter.heard(session, tokenUse(10));
        assert.deepEqual(holds, []);
        meter.heard(session, tokenUse(30));
        await meter.catchUp(always);
        assert.ok(bugs.length > 0);
        // After its share is used, the process stays suspended until it gets another.
        assert.deepEqual(holds, [true]);
        failing = false;
        await meter.catchUp(always);
        assert.deepEqual(holds, [true, false]);
        assert.equal((await store.read((tx) => sessionById(tx, session.id)))?.input_tokens, 30);
        gate.resolve();
        runner.otherwise(async () => undefined);
        await stage.rest();
      }));
  });

import assert from "node:assert/strict";
import { describe } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { listCosts, setBudget } from "../contract/budgets.ts";
import { updateCompany } from "../contract/companies.ts";
import { pauseAgent, updateAgent, viewAgent } from "../contract/agents.ts";
import { createOutcome } from "../contract/outcomes.ts";
import { why } from "../contract/why.ts";
import { listSessions } from "../contract/sessions.ts";
import type { Runner } from "../processes/runner.ts";
import { sessionById } from "../runtime/sessions.ts";
import { query } from "../store/query.ts";
import type { Store } from "../store/store.ts";
import { bothStores } from "../testing/organization.ts";
import { scriptedRunner } from "../testing/scripted-runner.ts";
import {
  budgetLineOf,
  demandConserved,
  stagedOnBudget,
  overrides,
  tokenUse,
  uses,
  givenWork,
  spending,
  limitTokens,
} from "../testing/spenders.ts";
import type { Stage } from "../testing/stage.ts";

for (const kind of bothStores)
  describe(`reservations for sessions on ${kind}`, () => {
    const staged = stagedOnBudget(kind);

    staged(
      "an agent waits for amounts that others have reserved, and no agent is paused and no request is made",
      async ({ org, runner, ...stage }) => {
        await limitTokens(org, 100, 80);
        const [ann, ben, cid] = [await org.agent("Ann"), await org.agent("Ben"), await org.agent("Cid")];
        const first = Promise.withResolvers<void>();
        runner.plan(ann.id, uses(first.promise));
        await givenWork(org, ann.id);
        await stage.rest();
        const second = Promise.withResolvers<void>();
        runner.plan(ben.id, uses(second.promise, 15));
        await givenWork(org, ben.id);
        await givenWork(org, cid.id);
        await stage.rest();
        assert.deepEqual(
          runner.started.map(({ agent }) => agent.name),
          ["Ann", "Ben"],
        );
        assert.match((await org.board(why, { id: cid.id })).says, /is reserved for running sessions/);
        // Its share is used and no other is free. The session ends, and starts again when Ann returns a part.
        runner.started[1]?.onUsage(tokenUse(20));
        await stage.rest();
        assert.equal((await org.board(viewAgent, { id: ben.id })).status, "idle");
        assert.deepEqual(await overrides(org), []);
        runner.otherwise(async () => undefined);
        first.resolve();
        await stage.rest();
        assert.ok(new Set(runner.started.slice(2).map(({ agent }) => agent.name)).has("Cid"));
        second.resolve();
      },
    );

    staged(
      "usage beyond every limit is charged to the budgets above, and no budget below gives out more than it has",
      async (stage) => {
        const { org, runner } = stage;
        const { companyId } = org;
        await org.board(updateCompany, { companyId, monthlyBudget: { tokens: 1000 } });
        const ann = await org.agent("Ann");
        const ben = await org.agent("Ben", ann.id);
        await org.board(setBudget, { id: ann.id, tokens: 100 });
        await ann.call(setBudget, { id: ben.id, tokens: 40 });
        const gate = await spending(stage, ben.id, 30);
        runner.started[0]?.onUsage(tokenUse(140));
        await stage.rest();
        await demandConserved(stage.store);
        const spentOf = async (agent: string) =>
          (await org.board(listCosts, { companyId, agent })).budget[0]?.spent;
        // Ben's budget is 40, Ann had 60 left in all, and 40 remain for the company.
        assert.deepEqual([await spentOf(ben.id), await spentOf(ann.id)], [40, 60]);
        assert.equal((await budgetLineOf(org, "tokens")).spent, 40);
        assert.equal((await org.board(listCosts, { companyId })).total.inputTokens, 140);
        gate.resolve();
      },
    );

    staged("after kill -9 no reported usage is lost, and reservations are given back", async (stage) => {
      const { org } = stage;
      const { companyId } = org;
      await org.board(updateCompany, { companyId, sessionBudget: { tokens: 500 } });
      const ann = await org.agent("Ann");
      await org.board(setBudget, { id: ann.id, tokens: 1000 });
      const gate = await spending(stage, ann.id, 10, 200);
      stage.crash(stage);
      const next = stage.node("node-1");
      const again = Promise.withResolvers<void>();
      next.runner.plan(ann.id, uses(again.promise, 300));
      await next.scheduler.start();
      await stage.rest();
      const [line] = (await ann.call(listCosts, {})).budget;
      assert.deepEqual([line?.spent, line?.reserved], [500, 200]);
      const { sessions } = await org.board(listSessions, { companyId });
      assert.deepEqual(
        sessions.map(({ usage }) => usage.inputTokens),
        [300, 200],
      );
      again.resolve();
      gate.resolve();
    });

    staged(
      "a reservation is held until the process of an ended session is gone, and its last report counts",
      async ({ org, ...stage }) => {
        const ann = await org.agent("Ann");
        await org.board(setBudget, { id: ann.id, tokens: 1000 });
        await givenWork(org, ann.id);
        stage.crash(stage);
        // The processes of this stage take long to die.
        const slow = scriptedRunner(org.core.dispatch);
        const gate = Promise.withResolvers<void>();
        slow.plan(ann.id, async () => {
          await gate.promise;
          return { usage: tokenUse(700) };
        });
        const runsOn: Runner = {
          ...slow,
          start: async (spec) => ({
            ...(await slow.start(spec)),
            stop: () => undefined,
            kill: () => undefined,
          }),
        };
        const { scheduler } = stage.node("node-2", { runner: runsOn });
        await scheduler.start();
        await org.board(pauseAgent, { id: ann.id });
        await scheduler.tick();
        const figures = async () => {
          const [line] = (await org.board(listCosts, { companyId: org.companyId, agent: ann.id })).budget;
          return [line?.spent, line?.reserved];
        };
        assert.deepEqual(await figures(), [0, 1000]);
        gate.resolve();
        await stage.rest();
        while (scheduler.running() > 0) await scheduler.tick();
        assert.deepEqual(await figures(), [700, 0]);
        slow.verify();
      },
    );

    staged(
      "fifty children of one parent spend what it has and not a token more, a crash between",
      async (stage) => {
        const { org, store } = stage;
        const { companyId, board } = org;
        stage.crash(stage);
        await board(updateCompany, { companyId, maxSessions: 60, sessionBudget: { tokens: 4 * step } });
        const parent = await org.agent("Parent");
        await board(updateAgent, { id: parent.id, adapterType: "human" });
        await board(setBudget, { id: parent.id, tokens: 4000 });
        for (let index = 0; index < 50; index++) {
          const { id } = await org.agent(`Child ${index}`, parent.id);
          if (index < 10) await board(setBudget, { id, tokens: 100 });
          await givenWork(org, id);
        }
        const first = await life(stage, 200);
        assert.ok(first.mostAtOnce === 50, `${first.mostAtOnce} at once`);
        const spent = await total(store);
        assert.ok(spent > 100 * step && spent < 4000, `${spent} were spent before the crash`);
        const second = await life(stage, 1_000_000);
        assert.ok(second.mostAtOnce > 5, `${second.mostAtOnce} at once`);
        assert.equal(await total(store), 4000);
        const { limit, reserved, left } = await budgetLineOf(org, "tokens", parent.id);
        assert.deepEqual([limit, reserved, left], [4000, 0, 0]);
      },
    );
  });

const step = 10;
const sumOfSessions = query((db, _: Record<never, never>) =>
  db.selectFrom("sessions").select(sql<number>`cast(sum(input_tokens) as bigint)`.as("sum")),
);
const total = async (store: Store): Promise<number> =>
  (await store.read((tx) => tx.first(sumOfSessions, {})))?.sum ?? 0;

/** Runs one node. After this many reports it stops, as if kill -9 had ended it, or when no agent can spend any more. */
async function life(stage: Stage, most: number): Promise<{ mostAtOnce: number }> {
  let reports = 0;
  let mostAtOnce = 0;
  let dead = false;
  const death = Promise.withResolvers<void>();
  const mortal: Store = {
    ...stage.store,
    write: (write) => (dead ? new Promise(() => undefined) : stage.store.write(write)),
  };
  const { scheduler, runner } = stage.node("node-1", { store: mortal });
  // Each report is recorded before the next one, so the session spends exactly what it reports.
  runner.otherwise(async (session) => {
    await session.call(createOutcome, { title: "progress", parents: [session.agent.id] });
    // In the first life, wait until all sessions run at once.
    while (!dead && reports === 0 && most < 1000 && runner.alive() < 50) await session.hold(sleep(20));
    for (let used = step; !dead; used += step) {
      session.onUsage(tokenUse(used));
      reports += 1;
      mostAtOnce = Math.max(mostAtOnce, runner.alive());
      if (reports >= most) {
        dead = true;
        death.resolve();
      }
      for (let seen = 0; seen < used && !dead;) {
        await session.hold(sleep(20));
        const row = await stage.store.read((tx) => sessionById(tx, session.id));
        if (row?.ended_at !== null) await session.hold(new Promise(() => undefined));
        seen = row?.input_tokens ?? 0;
      }
    }
  });
  await Promise.race([scheduler.start(), death.promise]);
  for (let calm = 0; calm < 5 && !dead; stage.advance(1000)) {
    // The killed node never finishes its work.
    await Promise.race([scheduler.tick(), death.promise]);
    await demandConserved(stage.store);
    calm = runner.alive() === 0 ? calm + 1 : 0;
    await sleep(5);
  }
  if (dead) runner.closeGates();
  stage.crash({ scheduler });
  return { mostAtOnce };
}

import assert from "node:assert/strict";
import { describe } from "node:test";
import { updateCompany } from "../contract/companies.ts";
import { sendMessage } from "../contract/mail.ts";
import { viewAgent, wakeAgent } from "../contract/agents.ts";
import { createOutcome } from "../contract/outcomes.ts";
import { storeKinds } from "../testing/organization.ts";
import { clearInbox, completes } from "../testing/scripts.ts";
import { type Stage, stagedOn } from "../testing/stage.ts";

for (const kind of storeKinds)
  describe(`places for sessions on ${kind}`, () => {
    const staged = stagedOn(kind);
    const names = ({ runner }: Pick<Stage, "runner">) => runner.started.map(({ agent }) => agent.name);

    // covers AGT-09
    staged(
      "an agent has one session at a time, however much work it has",
      async ({ org, runner, ...stage }) => {
        const ann = await org.agent("Ann");
        const gate = Promise.withResolvers<void>();
        runner.plan(ann.id, async (session) => {
          await session.hold(gate.promise);
          await clearInbox(session);
        });
        for (let index = 0; index < 5; index++) await org.root(sendMessage, { to: ann.id, body: `${index}` });
        await stage.rest();
        await org.root(sendMessage, { to: ann.id, body: "more" });
        await org.board(wakeAgent, { id: ann.id });
        stage.advance(40_000);
        await stage.rest();
        assert.equal((await org.board(viewAgent, { id: ann.id })).status, "running");
        assert.equal(runner.started.length, 1);
        gate.resolve();
        await stage.rest();
        assert.equal(runner.started.length, 1);
        assert.equal((await org.board(viewAgent, { id: ann.id })).status, "idle");
      },
    );

    staged(
      "a company has at most maxSessions, shared fairly: the agent that waited longest goes first",
      async (stage) => {
        const { org, runner } = stage;
        await org.board(updateCompany, { companyId: org.companyId, maxSessions: 2 });
        const gates: PromiseWithResolvers<void>[] = [];
        for (const name of ["A", "B", "C", "D"]) {
          const agent = await org.agent(name);
          const gate = Promise.withResolvers<void>();
          gates.push(gate);
          const first = await agent.call(createOutcome, { title: `${name}1`, parents: [agent.id] });
          const second = await agent.call(createOutcome, { title: `${name}2`, parents: [agent.id] });
          // The session does one of its agent's two outcomes and ends, so the agent still has work.
          runner.plan(
            agent.id,
            async (session) => {
              await session.hold(gate.promise);
              await completes(first.id)(session);
            },
            completes(second.id),
          );
        }
        await stage.rest();
        assert.equal(runner.started.length, 2);
        assert.equal(runner.alive(), 2);
        stage.advance(1000);
        // The free place goes to an agent that has not had one yet.
        const firstTwo = names(stage);
        const letGo = async (name: string | undefined): Promise<void> => {
          gates[["A", "B", "C", "D"].indexOf(name ?? "")]?.resolve();
          await stage.rest();
          stage.advance(1000);
        };
        await letGo(firstTwo[0]);
        assert.equal(runner.started.length, 3);
        assert.ok(!firstTwo.includes(names(stage)[2] ?? ""));
        await letGo(firstTwo[1]);
        assert.deepEqual(names(stage).slice(0, 4).toSorted(), ["A", "B", "C", "D"]);
        for (const name of names(stage).slice(2, 4)) await letGo(name);
        assert.equal(runner.started.length, 8);
        assert.deepEqual(names(stage).slice(4).toSorted(), ["A", "B", "C", "D"]);
        // Another company has its own places for sessions.
        const other = await org.another();
        const far = await other.agent("Far");
        runner.plan(far.id, clearInbox);
        await other.root(sendMessage, { to: far.id, body: "x" });
        await stage.rest();
      },
    );

    staged("a higher limit of sessions starts the agents that waited for a place", async (stage) => {
      const { org, runner } = stage;
      await org.board(updateCompany, { companyId: org.companyId, maxSessions: 0 });
      const ann = await org.agent("Ann");
      await org.root(sendMessage, { to: ann.id, body: "x" });
      await stage.rest();
      assert.deepEqual(names(stage), []);
      runner.plan(ann.id, clearInbox);
      await org.board(updateCompany, { companyId: org.companyId, maxSessions: 1 });
      await stage.rest();
      assert.deepEqual(names(stage), ["Ann"]);
    });
  });

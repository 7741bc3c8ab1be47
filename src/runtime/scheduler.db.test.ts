import assert from "node:assert/strict";
import { describe } from "node:test";
import { freezeCompany } from "../contract/companies.ts";
import { createFile } from "../contract/knowledge.ts";
import { sendDeferredMessage, sendMessage } from "../contract/mail.ts";
import { pauseAgent, resumeAgent, terminateAgent, updateAgent } from "../contract/agents.ts";
import {
  completeOutcome,
  createOutcome,
  listOutcomes,
  myOutcomes,
  updateOutcome,
} from "../contract/outcomes.ts";
import { delegateOutcome, reclaimOutcome } from "../contract/delegation.ts";
import { listSessions } from "../contract/sessions.ts";
import type { Store } from "../store/store.ts";
import { storeKinds } from "../testing/organization.ts";
import type { Script } from "../testing/scripted-runner.ts";
import { clearInbox, completes } from "../testing/scripts.ts";
import { type Stage, stagedOn } from "../testing/stage.ts";

const minute = 60_000;

for (const kind of storeKinds)
  describe(`the scheduler on ${kind}`, () => {
    const staged = stagedOn(kind);
    const names = ({ runner }: Pick<Stage, "runner">) => runner.started.map(({ agent }) => agent.name);

    // covers AGT-10, MSG-09, ROOT-06, ROOT-02, UNI-02
    staged("mail starts its reader, and agents with nothing to do are not started", async (stage) => {
      const { org, runner } = stage;
      const ann = await org.agent("Ann");
      await org.agent("Idle");
      await stage.rest();
      assert.deepEqual(names(stage), []);
      runner.plan(org.rootId, async (session) => {
        await clearInbox(session);
        await session.call(sendMessage, { to: ann.id, body: "please" });
      });
      runner.plan(ann.id, clearInbox);
      await org.board(sendMessage, { companyId: org.companyId, body: "a goal" });
      await stage.rest();
      assert.deepEqual(names(stage), ["Root", "Ann"]);
      const { sessions } = await org.board(listSessions, { companyId: org.companyId });
      assert.deepEqual(
        sessions.map(({ endReason, exitCode, epoch }) => [endReason, exitCode, epoch]),
        [
          ["exited with code 0", 0, 1],
          ["exited with code 0", 0, 1],
        ],
      );
      assert.deepEqual(
        (await org.board(listSessions, { companyId: org.companyId, live: true })).sessions,
        [],
      );
      assert.equal(runner.cleaned.length, 2);
    });

    staged("a deferred message starts its sender when its time has come", async (stage) => {
      const { org, runner } = stage;
      const ann = await org.agent("Ann");
      const deliverAt = new Date(stage.now() + minute).toISOString();
      await ann.call(sendDeferredMessage, { to: "self", body: "wake up", deliverAt });
      await stage.rest();
      assert.deepEqual(names(stage), []);
      runner.plan(ann.id, clearInbox);
      stage.advance(minute);
      await stage.rest();
      assert.deepEqual(names(stage), ["Ann"]);
    });

    staged(
      "an agent that was ready when a tick failed is started by the next one",
      async ({ org, store, ...stage }) => {
        stage.crash(stage);
        let fails = 0;
        const failing: Store = {
          ...store,
          write: (work) => (fails-- > 0 ? Promise.reject(new Error("the disk is full")) : store.write(work)),
        };
        const { runner, scheduler } = stage.node("node-2", { store: failing, sweepEvery: 1e9 });
        runner.otherwise(clearInbox);
        await stage.rest();
        const ann = await org.agent("Ann");
        await ann.call(createOutcome, { title: "think", parents: [ann.id] });
        const deliverAt = new Date(stage.now() + minute).toISOString();
        await org.root(sendDeferredMessage, { to: "self", body: "wake up", deliverAt });
        stage.advance(minute);
        fails = 1;
        await assert.rejects(scheduler.tick(), /the disk is full/);
        assert.equal(runner.started.length, 0);
        await stage.rest();
        assert.ok(runner.started.some(({ agent }) => agent.id === ann.id));
      },
    );

    staged(
      "new work starts its agent, and dependencies are worked on before the outcomes that wait for them",
      async (stage) => {
        const { org, runner } = stage;
        const ann = await org.agent("Ann");
        const ben = await org.agent("Ben");
        const first = await ann.call(createOutcome, { title: "first", parents: [ann.id] });
        const second = await org.board(createOutcome, {
          companyId: org.companyId,
          title: "second",
          parents: [ben.id],
          dependsOn: [first.id],
        });
        runner.plan(ann.id, completes(first.id));
        runner.plan(ben.id, completes(second.id));
        await stage.rest();
        assert.deepEqual(names(stage), ["Ann", "Ben"]);
      },
    );

    staged("when the last child is done, the agent responsible for the parent is started", async (stage) => {
      const { org, runner } = stage;
      const ann = await org.agent("Ann");
      const whole = await org.root(createOutcome, { title: "whole", parents: [org.rootId] });
      const part = await org.root(createOutcome, { title: "part", parents: [whole.id] });
      await org.root(delegateOutcome, { id: part.id, to: ann.id });
      runner.plan(ann.id, async ({ call, briefing }) => {
        assert.ok(briefing.text.includes(part.id));
        await call(sendMessage, { to: "boss", body: "done" });
        await call(updateOutcome, { id: part.id, blocked: { reason: "verify it" } });
      });
      runner.plan(
        org.rootId,
        async (session) => {
          assert.ok(!session.briefing.text.includes(whole.id));
          await clearInbox(session);
          await session.call(completeOutcome, { id: part.id });
          // The whole is workable now. This session leaves it to the next one.
        },
        async (session) => {
          assert.ok(session.briefing.text.includes(whole.id));
          await completes(whole.id)(session);
        },
      );
      await stage.rest();
      assert.deepEqual(names(stage), ["Ann", "Root", "Root"]);
    });

    staged(
      "when its last part moves to another outcome, the agent that waited for it is started",
      async (stage) => {
        const { org, runner } = stage;
        const [ann, ben] = [await org.agent("Ann"), await org.agent("Ben")];
        const whole = await ann.call(createOutcome, { title: "whole", parents: [ann.id] });
        const part = await ben.call(createOutcome, { title: "part", parents: [ben.id] });
        await ben.call(updateOutcome, { id: part.id, blocked: { reason: "held by the test" } });
        // Ben is started each time to read what the board changed.
        runner.plan(ben.id, clearInbox, clearInbox);
        await org.board(updateOutcome, { id: part.id, parents: [ben.id, whole.id] });
        await stage.rest();
        assert.deepEqual(names(stage), ["Ben"]);
        runner.plan(ann.id, completes(whole.id));
        await org.board(updateOutcome, { id: part.id, parents: [ben.id] });
        await stage.rest();
        assert.deepEqual(names(stage).toSorted(), ["Ann", "Ben", "Ben"]);
      },
    );

    staged(
      "a block starts the agent when its time or its cause has ended, and a block with only a reason does not",
      async (stage) => {
        const { org, runner } = stage;
        const ann = await org.agent("Ann");
        const ben = await org.agent("Ben");
        const cleo = await org.agent("Cleo");
        const timed = await ann.call(createOutcome, { title: "timed", parents: [ann.id] });
        const caused = await ben.call(createOutcome, { title: "caused", parents: [ben.id] });
        const reasoned = await cleo.call(createOutcome, { title: "reasoned", parents: [cleo.id] });
        const cause = await org.root(createOutcome, { title: "cause", parents: [org.rootId] });
        await org.root(updateOutcome, { id: cause.id, blocked: { reason: "held by the test" } });
        const until = new Date(stage.now() + 5 * minute).toISOString();
        await ann.call(updateOutcome, { id: timed.id, blocked: { reason: "later", until } });
        await org.board(updateOutcome, { id: caused.id, blocked: { reason: "first that", on: cause.id } });
        await cleo.call(updateOutcome, { id: reasoned.id, blocked: { reason: "no idea" } });
        // Ben reads what the board changed.
        runner.plan(ben.id, clearInbox);
        await stage.rest();
        assert.deepEqual(names(stage), ["Ben"]);
        runner.plan(ben.id, completes(caused.id));
        await org.root(completeOutcome, { id: cause.id });
        await stage.rest();
        assert.deepEqual(names(stage), ["Ben", "Ben"]);
        stage.advance(5 * minute - 1);
        await stage.rest();
        assert.deepEqual(names(stage), ["Ben", "Ben"]);
        assert.equal(await stage.scheduler.tick(), stage.now() + 1);
        runner.plan(ann.id, completes(timed.id));
        stage.advance(1);
        await stage.rest();
        assert.deepEqual(names(stage), ["Ben", "Ben", "Ann"]);
        runner.plan(cleo.id, completes(reasoned.id));
        await cleo.call(updateOutcome, { id: reasoned.id, blocked: null });
        await stage.rest();
        assert.deepEqual(names(stage), ["Ben", "Ben", "Ann", "Cleo"]);
      },
    );

    staged(
      "a new agent starts on the work it was hired for, and reclaimed work starts the manager",
      async (stage) => {
        const { org, runner } = stage;
        const job = await org.root(createOutcome, { title: "job", parents: [org.rootId] });
        await org.root(delegateOutcome, { id: job.id, hire: { name: "New", role: "worker" } });
        runner.plan(job.id, async ({ call, briefing }) => {
          assert.ok(briefing.text.includes(job.id));
          await call(updateOutcome, { id: job.id, blocked: { reason: "stuck" } });
        });
        await stage.rest();
        assert.deepEqual(names(stage), ["New"]);
        runner.plan(org.rootId, async (session) => {
          await clearInbox(session);
          await session.call(updateOutcome, { id: job.id, blocked: null });
          await session.call(completeOutcome, { id: job.id });
        });
        await org.root(reclaimOutcome, { id: job.id, reason: "I will" });
        await stage.rest();
        assert.deepEqual(names(stage), ["New", "Root"]);
      },
    );

    staged(
      "people, paused and departed agents are never started, and a resumed agent starts on its waiting work",
      async (stage) => {
        const { org, runner } = stage;
        const person = await org.agent("Person");
        const paused = await org.agent("Paused");
        const gone = await org.agent("Gone");
        await org.board(updateAgent, { id: person.id, adapterType: "human" });
        await org.root(pauseAgent, { id: paused.id });
        for (const { id } of [person, paused, gone]) await org.root(sendMessage, { to: id, body: "work!" });
        await org.board(terminateAgent, { id: gone.id });
        await stage.rest();
        stage.advance(10 * minute);
        await stage.rest();
        assert.deepEqual(names(stage), []);
        runner.plan(paused.id, clearInbox);
        await org.root(resumeAgent, { id: paused.id });
        await stage.rest();
        assert.deepEqual(names(stage), ["Paused"]);
        // When a program takes over a person's position, it is started with the messages that wait there.
        runner.plan(person.id, clearInbox);
        await org.board(updateAgent, { id: person.id, adapterType: "rehearsal" });
        await stage.rest();
        assert.deepEqual(names(stage), ["Paused", "Person"]);
      },
    );

    // covers ORG-52
    staged(
      "a departure stops no other agent: the new owner continues the open work",
      async ({ org, runner, ...stage }) => {
        const boss = await org.agent("Chief");
        const leaves = await org.agent("Leaves", boss.id);
        const stays = await org.agent("Stays", boss.id);
        for (const { id } of [leaves, stays])
          await org.board(updateOutcome, {
            id: await org.outcome("work", [id]),
            blocked: { reason: "later" },
          });
        const done: string[] = [];
        const finish: Script = async ({ call, agent }) => {
          const { outcomes } = await call(myOutcomes, { status: "open" });
          for (const { id, workable, kind } of outcomes)
            if (workable && kind === "work") await call(completeOutcome, { id, note: "done" });
          done.push(agent.name);
        };
        runner.otherwise(async (session) => {
          await clearInbox(session);
          return finish(session);
        });
        await org.board(terminateAgent, { id: leaves.id });
        const { outcomes } = await org.board(listOutcomes, { companyId: org.companyId, status: "open" });
        for (const { id, kind } of outcomes)
          if (kind === "work") await org.board(updateOutcome, { id, blocked: null });
        await stage.rest();
        assert.deepEqual(new Set(done), new Set(["Chief", "Stays"]));
        const left = await org.board(listOutcomes, { companyId: org.companyId, status: "open" });
        assert.deepEqual(
          left.outcomes.filter(({ kind }) => kind === "work"),
          [],
        );
      },
    );

    staged(
      "a program that was asked to end has not failed, whatever code it exits with",
      async ({ org, runner, ...stage }) => {
        const gate = Promise.withResolvers<void>();
        for (const name of ["Ann", "Ben", "Cleo", "Dan"]) {
          const { id } = await org.agent(name);
          runner.plan(id, (session) => session.hold(gate.promise));
          await org.root(sendMessage, { to: id, body: "x" });
        }
        await stage.rest();
        await org.board(freezeCompany, {});
        await stage.rest();
        assert.equal(runner.alive(), 0);
        const { sessions } = await org.board(listSessions, {});
        assert.deepEqual(
          sessions.map(({ exitCode, end }) => [exitCode, end]),
          sessions.map(() => [null, "stopped"]),
        );
        assert.equal(sessions.length, 4);
        gate.resolve();
      },
    );

    // covers STOP-01, SES-02
    staged(
      "pause, reclaim and firing end the process, and its calls are refused before that",
      async ({ org, runner, ...stage }) => {
        const gate = Promise.withResolvers<void>();
        const stopped: string[] = [];
        const never: Script = async (session) => {
          await session.hold(gate.promise);
          // The process runs on for a while, as if it had not noticed.
          stopped.push(session.agent.name);
        };
        const paused = await org.agent("Paused");
        const fired = await org.agent("Fired");
        const job = await org.root(createOutcome, { title: "job", parents: [org.rootId] });
        await org.root(delegateOutcome, { id: job.id, hire: { name: "Hired", role: "worker" } });
        for (const id of [paused.id, fired.id]) await org.root(sendMessage, { to: id, body: "x" });
        for (const id of [paused.id, fired.id, job.id]) runner.plan(id, never);
        await stage.rest();
        assert.equal(runner.alive(), 3);
        const tokens = runner.started.map(({ token }) => token);
        await org.root(updateOutcome, {
          id: job.id,
          blocked: { reason: "so that its owner does not start" },
        });
        await org.root(pauseAgent, { id: paused.id });
        await org.board(terminateAgent, { id: fired.id });
        runner.plan(org.rootId, clearInbox);
        await org.root(reclaimOutcome, { id: job.id, reason: "no" });
        // No call of these sessions is accepted after the answer to the call that ended them.
        for (const token of tokens) {
          const write = org.as(token)(createFile, { description: "late", content: "x" });
          await assert.rejects(write, { name: "Refusal" });
        }
        await stage.rest();
        assert.equal(runner.alive(), 0);
        assert.equal(runner.killed.size, 3);
        assert.equal(stage.scheduler.running(), 0);
        gate.resolve();
        assert.deepEqual(stopped, []);
        assert.equal(runner.cleaned.length, 4);
      },
    );
  });

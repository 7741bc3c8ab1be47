import assert from "node:assert/strict";
import type { Store } from "../store/store.ts";
import { describe } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createFile } from "../contract/knowledge.ts";
import { readInbox, sendMessage } from "../contract/mail.ts";
import { updateCompany } from "../contract/companies.ts";
import { pauseAgent, resumeAgent, viewAgent } from "../contract/agents.ts";
import { completeOutcome, createOutcome, viewOutcome } from "../contract/outcomes.ts";
import { listAgentSessions } from "../contract/sessions.ts";
import { allowed } from "../testing/allowed.ts";
import { type TestCaller, refusal, bothStores } from "../testing/organization.ts";
import type { Script } from "../testing/scripted-runner.ts";
import { clearInbox, forEver, hang } from "../testing/scripts.ts";
import { type Stage, stagedOn } from "../testing/stage.ts";

const minute = 60_000;

/** A scheduler that stops for good at this step, as if its process had been killed. */
function dieAt(step: string): { at: (name: string) => Promise<void>; dead: Promise<void> } {
  const died = Promise.withResolvers<void>();
  return {
    dead: died.promise,
    at: async (name) => {
      if (name !== step) return;
      died.resolve();
      await forEver;
    },
  };
}

for (const kind of bothStores)
  describe(`nodes on ${kind}`, () => {
    const staged = stagedOn(kind);
    /** Newest first, even if the clock stood still between them. */
    const sessionsOf = async (call: TestCaller, id: string) =>
      (await call(listAgentSessions, { id })).sessions.toSorted((a, b) => b.epoch - a.epoch);
    /** Removes the first node, as if it had never run. */
    const alone = (stage: Stage): void => stage.crash(stage);
    /** An agent whose session on the first node does nothing and does not end. */
    const hanging = async (stage: Stage) => {
      const { org, runner } = stage;
      const ann = await org.agent("Ann");
      runner.plan(ann.id, hang);
      await org.root(sendMessage, { to: ann.id, body: "x" });
      await stage.rest();
      return ann;
    };
    /** Such an agent, and a second node that started later. */
    const withAnother = async (stage: Stage) => {
      const ann = await hanging(stage);
      const other = stage.node("node-2");
      await other.scheduler.start();
      return { ann, other };
    };

    staged(
      "a restart ends the earlier sessions, kills their processes, and work continues",
      async (stage) => {
        const { org, runner } = stage;
        const ann = await hanging(stage);
        const [before] = runner.started;
        assert.ok(before !== undefined);
        stage.crash(stage);
        // The new node has not looked for old sessions yet, and the old token would still be accepted.
        const next = stage.node("node-1");
        next.runner.plan(ann.id, clearInbox);
        await next.scheduler.start();
        await refusal(org.as(before.token)(readInbox, {}), "unauthenticated");
        assert.deepEqual(next.runner.orphansKilled, [{ pid: 1001, started: "start-1001" }]);
        await stage.rest();
        const [second, first] = await sessionsOf(org.board, ann.id);
        assert.equal(first?.endReason, "the daemon was restarted");
        assert.deepEqual([second?.epoch, second?.exitCode], [2, 0]);
        assert.equal((await org.board(viewAgent, { id: ann.id })).status, "idle");
      },
    );

    for (const step of ["intent", "intended", "spawned", "recorded"])
      staged(
        `a node that dies at "${step}" leaves nothing that the next one does not clear up`,
        async (stage) => {
          const { org } = stage;
          alone(stage);
          const ann = await org.agent("Ann");
          const death = dieAt(step);
          const dying = stage.node("node-2", { at: death.at });
          dying.runner.plan(ann.id, ...(step === "intent" || step === "intended" ? [] : [hang]));
          await org.root(sendMessage, { to: ann.id, body: "x" });
          void dying.scheduler.start();
          await death.dead;
          stage.crash(dying);
          // No started process has passed its gate: nothing of it ran.
          assert.equal(dying.runner.held(), 0);
          const next = stage.node("node-2");
          next.runner.plan(ann.id, clearInbox);
          await next.scheduler.start();
          stage.advance(1000);
          await stage.rest();
          const sessions = await sessionsOf(org.board, ann.id);
          assert.equal(sessions.length, step === "intent" ? 1 : 2);
          assert.ok(sessions.every(({ endedAt }) => endedAt !== null));
          // A process is recorded exactly from this step on.
          assert.equal(next.runner.orphansKilled.length, step === "recorded" ? 1 : 0);
          assert.equal((await ann.call(readInbox, {})).waiting, 0);
          for (const { token } of dying.runner.started)
            await refusal(org.as(token)(readInbox, {}), "unauthenticated");
          dying.runner.closeGates();
        },
      );

    staged("two nodes that check at the same time start an agent once", async (stage) => {
      const { org, runner } = stage;
      const other = stage.node("node-2");
      await other.scheduler.start();
      for (let round = 0; round < 5; round++) {
        const agent = await org.agent(`Agent ${round}`);
        const job = await agent.call(createOutcome, { title: "job", parents: [agent.id] });
        const finish: Script = async ({ call }) => {
          await call(completeOutcome, { id: job.id });
        };
        const gate = Promise.withResolvers<void>();
        const held: Script = async (session) => {
          await session.hold(gate.promise);
          await finish(session);
        };
        // Either node may start the session. The other node's plan is dropped below.
        for (const node of [runner, other.runner]) node.plan(agent.id, held);
        await Promise.all([stage.scheduler.tick(), other.scheduler.tick()]);
        await stage.rest();
        assert.equal(runner.alive() + other.runner.alive(), 1);
        assert.equal((await sessionsOf(org.board, agent.id)).length, 1);
        gate.resolve();
        await stage.rest();
        assert.equal((await agent.call(viewOutcome, { id: job.id })).status, "completed");
        for (const node of [runner, other.runner]) node.forget(agent.id);
      }
      assert.equal(runner.started.length + other.runner.started.length, 5);
    });

    staged("a place that frees on one node is taken on the other", async ({ org, runner, ...stage }) => {
      await org.board(updateCompany, { companyId: org.companyId, maxSessions: 1 });
      const ann = await org.agent("Ann");
      const ben = await org.agent("Ben");
      const gate = Promise.withResolvers<void>();
      runner.plan(ann.id, async (session) => {
        await session.hold(gate.promise);
        await clearInbox(session);
      });
      await org.root(sendMessage, { to: ann.id, body: "x" });
      await stage.rest();
      const other = stage.node("node-2");
      await other.scheduler.start();
      await org.root(sendMessage, { to: ben.id, body: "x" });
      await other.scheduler.tick();
      assert.equal(other.runner.started.length, 0);
      // The first node dies after its session has ended, before it looks for more to do.
      gate.resolve();
      while (stage.scheduler.running() > 0) await new Promise((resolve) => setTimeout(resolve, 1));
      stage.crash(stage);
      other.runner.plan(ben.id, clearInbox);
      await stage.rest();
      assert.equal(other.runner.started.length, 1);
    });

    staged(
      "a node that no longer renews its leases loses its sessions, and ends them when it is back",
      async (stage) => {
        const { org, runner } = stage;
        const { ann, other } = await withAnother(stage);
        // As long as the first node is up, its session is left alone.
        for (let step = 0; step < 5; step++) {
          stage.advance(12_000);
          await stage.rest();
        }
        assert.equal(runner.alive(), 1);
        assert.equal(other.runner.started.length, 0);
        // The first node is suspended (SIGSTOP, a lost network) for longer than its lease.
        for (let step = 0; step < 3; step++) {
          stage.advance(6000);
          await other.scheduler.tick();
        }
        assert.equal(other.runner.started.length, 0);
        other.runner.plan(ann.id, hang);
        for (let step = 0; step < 3; step++) {
          stage.advance(1500);
          await other.scheduler.tick();
        }
        assert.equal(other.runner.started.length, 1);
        const [stale] = runner.started;
        const [fresh] = other.runner.started;
        await refusal(
          org.as(stale?.token ?? "")(createFile, { description: "stale", content: "x" }),
          "unauthenticated",
        );
        await org.as(fresh?.token ?? "")(createFile, { description: "fresh", content: "x" });
        const [second, first] = await sessionsOf(org.board, ann.id);
        assert.equal(first?.endReason, "its node stopped answering");
        assert.deepEqual([first?.epoch, second?.epoch], [1, 2]);
        // The first node is back. Its session is ended; the other node's is not.
        await stage.scheduler.tick();
        assert.equal(runner.alive(), 0, "the process that lost its lease still runs");
        assert.equal(other.runner.alive(), 1);
        assert.equal((await sessionsOf(org.board, ann.id))[0]?.endedAt, null);
      },
    );

    staged(
      "a session of one node that is paused elsewhere is ended by the node that runs it",
      async (stage) => {
        const { org, runner } = stage;
        const { ann, other } = await withAnother(stage);
        await org.root(pauseAgent, { id: ann.id });
        await other.scheduler.tick();
        // The wrong node must not settle the session: its process would be forgotten.
        assert.equal(runner.alive(), 1);
        await stage.rest();
        assert.equal(runner.alive(), 0);
        for (const node of [runner, other.runner]) node.plan(ann.id, clearInbox);
        await org.root(resumeAgent, { id: ann.id });
        stage.advance(minute);
        await stage.rest();
        assert.equal(runner.started.length + other.runner.started.length, 2);
        for (const node of [runner, other.runner]) node.forget(ann.id);
      },
    );

    staged("three restarts in a row block nothing", async (stage) => {
      const { org } = stage;
      alone(stage);
      const ann = await org.agent("Ann");
      const job = await ann.call(createOutcome, { title: "job", parents: [ann.id] });
      for (let round = 0; round < 4; round++) {
        const node = stage.node("node-2");
        node.runner.plan(ann.id, hang);
        await node.scheduler.start();
        await stage.rest();
        assert.equal(node.runner.alive(), 1);
        if (round % 2 === 0) await node.scheduler.stop();
        stage.crash(node);
      }
      const { status, blocked } = await ann.call(viewOutcome, { id: job.id });
      assert.deepEqual([status, blocked ?? null], ["open", null]);
    });

    if (kind === "postgres")
      staged("a company whose lock is held elsewhere delays no other", async (stage) => {
        const { org } = stage;
        alone(stage);
        const other = await org.another();
        const patience = (signal: AbortSignal) => sleep(300, undefined, { signal }).catch(() => undefined);
        const node = stage.node("node-2", { patience, reportBug: () => undefined });
        node.runner.otherwise(clearInbox);
        await node.scheduler.start();
        const [blocked, free] = [await org.agent("Ann"), await other.agent("Ben")];
        for (const { root, to } of [
          { root: org.root, to: blocked.id },
          { root: other.root, to: free.id },
        ])
          await root(sendMessage, { to, body: "x" });
        const release = await holdLock(stage.store, org.companyId);
        for (
          const until = performance.now() + allowed(3000);
          node.runner.started.length === 0;
          await sleep(50)
        ) {
          assert.ok(performance.now() < until, "the scheduler waits for a company");
          await node.scheduler.tick();
        }
        assert.deepEqual(
          node.runner.started.map(({ agent }) => agent.id),
          [free.id],
        );
        await release();
        for (
          const until = performance.now() + allowed(10_000);
          node.runner.started.length < 2;
          await sleep(50)
        ) {
          assert.ok(performance.now() < until, "the company never continues");
          stage.advance(1000);
          await node.scheduler.tick();
        }
      });

    if (kind === "postgres")
      staged("a restart does not wait for a company whose lock is held elsewhere", async (stage) => {
        const { org } = stage;
        const ann = await hanging(stage);
        stage.crash(stage);
        const release = await holdLock(stage.store, org.companyId);
        const patience = (signal: AbortSignal) => sleep(300, undefined, { signal }).catch(() => undefined);
        const next = stage.node("node-1", { patience });
        next.runner.plan(ann.id, clearInbox);
        await next.scheduler.start();
        assert.equal(next.runner.orphansKilled.length, 1);
        const ended = async () => (await sessionsOf(org.board, ann.id)).at(-1)?.endReason ?? null;
        assert.equal(await ended(), null);
        await release();
        while ((await ended()) === null) await sleep(20);
        assert.equal(await ended(), "the daemon was restarted");
        while (next.runner.started.length === 0) {
          stage.advance(1000);
          await next.scheduler.tick();
        }
        await stage.rest();
      });

    staged("stopping a node ends its sessions, and another node can continue at once", async (stage) => {
      const { org, runner } = stage;
      const ann = await hanging(stage);
      await stage.scheduler.stop();
      assert.equal(runner.alive(), 0);
      const [session] = await sessionsOf(org.board, ann.id);
      assert.notEqual(session?.endedAt, null);
      stage.crash(stage);
      const other = stage.node("node-2");
      other.runner.plan(ann.id, clearInbox);
      await other.scheduler.start();
      stage.advance(1000);
      await stage.rest();
      assert.equal(other.runner.started.length, 1);
    });

    staged(
      "a starting node finds what happened while no node ran, with more agents than one sweep takes",
      async (stage) => {
        const { org } = stage;
        alone(stage);
        const agents = [];
        for (let index = 0; index < 60; index++) agents.push(await org.agent(`Agent ${index}`));
        const last = agents.toSorted((a, b) => (a.id < b.id ? -1 : 1)).at(-1);
        assert.ok(last !== undefined);
        const job = await last.call(createOutcome, { title: "job", parents: [last.id] });
        const node = stage.node("node-2");
        node.runner.plan(last.id, async ({ call }) => {
          await call(completeOutcome, { id: job.id });
        });
        await node.scheduler.start();
        await stage.rest();
        assert.equal(node.runner.started.length, 1);
      },
    );
  });

/** Holds the lock of a company, as another node would, until the returned function is called. */
async function holdLock(store: Store, companyId: string): Promise<() => Promise<void>> {
  let isReleased = false;
  const held = Promise.withResolvers<void>();
  const holding = store.write(async (tx) => {
    await tx.lock(companyId);
    held.resolve();
    // The server would end a silent transaction, so this one asks for the lock again and again.
    for (; !isReleased; await sleep(100)) await tx.lock(companyId);
  });
  await held.promise;
  return async () => {
    isReleased = true;
    await holding;
  };
}

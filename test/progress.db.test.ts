// Agents that keep busy without making progress on the work of others. Each attack plays every session of one agent for two
// simulated hours. The test counts the sessions that it gets, and checks that its manager is told.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { viewAgent, wakeAgent } from "../src/contract/agents.ts";
import { createFile, readFile, writeFile } from "../src/contract/knowledge.ts";
import { acknowledgeMessage, readInbox, sendDeferredMessage, sendMessage } from "../src/contract/mail.ts";
import * as outcomes from "../src/contract/outcomes.ts";
import { delegateOutcome } from "../src/contract/delegation.ts";
import { why } from "../src/contract/why.ts";
import {
  type Organization,
  type StoreKind,
  storeKinds,
  type TestCaller,
} from "../src/testing/organization.ts";
import { byLength } from "../src/testing/run-length.ts";
import { thirdOf } from "../src/testing/seeds.ts";
import type { Script, ScriptedSession } from "../src/testing/scripted-runner.ts";
import { clearInbox } from "../src/testing/scripts.ts";
import { onStage, type Stage } from "../src/testing/stage.ts";

const minute = 60_000;
const hour = 60 * minute;

interface Scene {
  readonly stage: Stage;
  readonly org: Organization;
  readonly ann: { id: string; call: TestCaller };
  /** The outcome that the root agent delegated to Ann. */
  readonly job: string;
}
type Attack = (session: ScriptedSession, scene: Scene, turn: number) => Promise<void>;

/** The attacks, with the number of sessions that Ann may get in the first and in the second hour. */
const attacks: Readonly<Record<string, { play: Attack; first: number; second: number }>> = {
  "creates files": {
    play: async ({ call }, _, turn) => {
      for (let each = 0; each < 5; each++)
        await call(createFile, { description: `file ${turn} ${each}`, content: "x" });
    },
    first: 3,
    second: 0,
  },
  "writes its state document": {
    play: async ({ call }, { ann }, turn) => {
      const { stateFileId: id } = await call(viewAgent, { id: ann.id });
      const { version, hash } = await call(readFile, { id });
      await call(writeFile, { id, content: `turn ${turn}`, version, hash });
    },
    first: 3,
    second: 0,
  },
  "mails itself": {
    play: async ({ call }, { stage, job }) => {
      await call(outcomes.updateOutcome, { id: job, blocked: { reason: "later" } });
      const deliverAt = new Date(stage.now() + 1000).toISOString();
      await call(sendDeferredMessage, { to: "self", body: "Go on.", deliverAt });
      await acknowledgeAll(call);
    },
    first: 10,
    second: 0,
  },
  "asks its manager in every session": {
    play: async ({ call }, _, turn) => {
      await call(sendMessage, { to: "boss", body: `What should I do? (${turn})` });
    },
    first: 3,
    second: 0,
  },
  "opens and closes children": {
    play: async ({ call }, { job }) => {
      const { id } = await call(outcomes.createOutcome, { title: "child", parents: [job] });
      await call(outcomes.closeOutcome, { id, rationale: "no" });
    },
    first: 3,
    second: 0,
  },
  "opens a child and closes the one before": {
    play: async ({ call }, { job }) => {
      for (const { id } of await mine(call, "child"))
        await call(outcomes.closeOutcome, { id, rationale: "another way" });
      await call(outcomes.createOutcome, { title: "child", parents: [job] });
    },
    first: 20,
    second: 0,
  },
  "completes children that it created": {
    play: async ({ call }, { job }) => {
      for (const { id } of await mine(call, "child")) await call(outcomes.completeOutcome, { id });
      await call(outcomes.createOutcome, { title: "child", parents: [job] });
    },
    first: 21,
    second: 0,
  },
  "completes children of its own children, which it replaces": {
    play: async ({ call }, { job }, turn) => {
      for (const { id } of await mine(call, "leaf")) await call(outcomes.completeOutcome, { id });
      if (turn % 5 === 4)
        for (const { id } of await mine(call, "branch")) await call(outcomes.completeOutcome, { id });
      const [branch] = await mine(call, "branch");
      const parent =
        branch?.id ?? (await call(outcomes.createOutcome, { title: "branch", parents: [job] })).id;
      await call(outcomes.createOutcome, { title: "leaf", parents: [parent] });
    },
    first: 22,
    second: 0,
  },
  "goes deeper with every child": {
    play: async ({ call }, { job }) => {
      const parent = (await mine(call, "deeper")).at(-1)?.id ?? job;
      await call(outcomes.createOutcome, { title: "deeper", parents: [parent] });
    },
    first: 20,
    second: 0,
  },
  "completes and reopens the same child": {
    play: async ({ call }, { job }, turn) => {
      const [child] = (await call(outcomes.myOutcomes, { limit: 100 })).outcomes.filter(
        ({ title }) => title === "again",
      );
      const id = child?.id ?? (await call(outcomes.createOutcome, { title: "again", parents: [job] })).id;
      if (turn > 0) await call(outcomes.completeOutcome, { id });
      if (turn > 0) await call(outcomes.reopenOutcome, { id, reason: "again" });
    },
    first: 21,
    second: 0,
  },
  "edits its outcome back and forth": {
    play: async ({ call }, { ann }, turn) => {
      for (const { id } of await mine(call, "own"))
        await call(outcomes.updateOutcome, { id, description: turn % 2 === 0 ? "one" : "other" });
      if (turn === 0) await call(outcomes.createOutcome, { title: "own", parents: [ann.id] });
    },
    first: 10,
    second: 0,
  },
  "unblocks its own work again and again": {
    play: async ({ call }, { ann }, turn) => {
      if (turn === 0)
        for (const title of ["own", "own"]) await call(outcomes.createOutcome, { title, parents: [ann.id] });
      for (const { id } of await mine(call, "own")) await call(outcomes.updateOutcome, { id, blocked: null });
    },
    first: 14,
    second: 1,
  },
  "blocks its work for a second": {
    play: async ({ call }, { stage, job }) => {
      const until = new Date(stage.now() + 1000).toISOString();
      await call(outcomes.updateOutcome, { id: job, blocked: { reason: "a moment", until } });
    },
    first: 3,
    second: 0,
  },
  "asks why 1,000 times": {
    play: async ({ call }, { job }) => {
      for (let each = 0; each < byLength({ quick: 100, whole: 1000 }); each++) await call(why, { id: job });
    },
    first: 3,
    second: 0,
  },
};

const mine = async (call: TestCaller, title: string) =>
  (await call(outcomes.myOutcomes, { status: "open", limit: 300 })).outcomes.filter(
    (outcome) => outcome.title === title,
  );

async function acknowledgeAll(call: TestCaller): Promise<void> {
  for (const { id } of (await call(readInbox, { limit: 100 })).messages)
    await call(acknowledgeMessage, { id });
}

const inScene = (kind: StoreKind, play: (scene: Scene) => Promise<void>): Promise<void> =>
  onStage(kind, async (stage) => {
    const { org } = stage;
    const ann = await org.agent("Ann");
    const job = await org.root(outcomes.createOutcome, { title: "job", parents: [org.rootId] });
    await org.root(delegateOutcome, { id: job.id, to: ann.id });
    // The manager's message is in her inbox.
    await acknowledgeAll(ann.call);
    await play({ stage, org, ann, job: job.id });
  });

/** Lets time pass, from one due moment to the next. Returns how many sessions of Ann started. */
async function pass({ stage, ann }: Scene, milliseconds: number, step = 1): Promise<number> {
  const sessions = (): number => stage.runner.started.filter(({ agent }) => agent.id === ann.id).length;
  const before = sessions();
  const end = stage.now() + milliseconds;
  while (stage.now() < end) {
    await stage.rest();
    const next = (await stage.scheduler.tick()) ?? end;
    stage.advance(Math.max(step, Math.min(next, end) - stage.now()));
  }
  return sessions() - before;
}

for (const kind of storeKinds)
  describe(`progress on ${kind}`, () => {
    // covers NOTE-05
    for (const [name, { play, first, second }] of thirdOf(Object.entries(attacks)))
      test(`an agent that ${name} is stopped`, (t) =>
        inScene(kind, async (scene) => {
          let turn = 0;
          scene.stage.runner.otherwise(async (session) => {
            if (session.agent.id === scene.ann.id) await play(session, scene, turn++);
            else await clearInbox(session);
          });
          const counts = [await pass(scene, hour), await pass(scene, hour, 10 * minute)];
          t.diagnostic(`${name}: ${counts.join(" and ")} sessions in an hour`);
          assert.ok(counts[0] !== undefined && counts[0] <= first, `${counts[0]} sessions in the first hour`);
          assert.ok(counts[1] !== undefined && counts[1] <= second, `${counts[1]} in the second hour`);
        }));

    test("ten outcomes that the agent completes for itself count as progress, and the eleventh does not", () =>
      inScene(kind, async (scene) => {
        const { stage, ann, job } = scene;
        for (let each = 0; each < 12; each++)
          await ann.call(outcomes.createOutcome, { title: "child", parents: [job] });
        stage.runner.otherwise(async (session) => {
          const { call } = session;
          if (session.agent.id !== ann.id) return clearInbox(session);
          const [next] = await mine(call, "child");
          if (next !== undefined) await call(outcomes.completeOutcome, { id: next.id });
          else await call(outcomes.submitOutcome, { id: job, note: "done" });
          return undefined;
        });
        await stage.rest();
        // No time has passed. The eleventh session made no progress, so the twelfth waits for a second.
        assert.equal((await mine(ann.call, "child")).length, 1);
        stage.advance(1000);
        await stage.rest();
        assert.equal((await mine(ann.call, "child")).length, 0);
        assert.equal((await ann.call(outcomes.viewOutcome, { id: job })).status, "open");
        stage.advance(2000);
        await stage.rest();
        assert.equal((await ann.call(outcomes.viewOutcome, { id: job })).status, "submitted");
        assert.equal(stage.runner.started.filter(({ agent }) => agent.id === ann.id).length, 13);
      }));

    test("work that others gave the agent counts as progress every time", () =>
      inScene(kind, async (scene) => {
        const { stage, org, ann, job } = scene;
        await ann.call(outcomes.closeOutcome, { id: job, rationale: "not this one" }).catch(() => undefined);
        const ids = [];
        for (let each = 0; each < 15; each++) {
          const { id } = await org.root(outcomes.createOutcome, { title: "task", parents: [org.rootId] });
          await org.root(delegateOutcome, { id, to: ann.id });
          ids.push(id);
        }
        await acknowledgeAll(ann.call);
        stage.runner.otherwise(async (session) => {
          const { call } = session;
          if (session.agent.id !== ann.id) return clearInbox(session);
          const [next] = await mine(call, "task");
          await call(outcomes.submitOutcome, { id: next?.id ?? job, note: "done" });
          return undefined;
        });
        await stage.rest();
        assert.equal((await mine(ann.call, "task")).length, 0);
      }));

    test("a message that arrives during the third idle session is read", () =>
      onStage(kind, async (stage) => {
        const { org, runner } = stage;
        const boss = await org.agent("Chief");
        const ann = await org.agent("Ann", boss.id);
        const idle: Script = async () => ({ code: 1, reason: "exited with code 1" });
        runner.plan(ann.id, idle, idle, async () => {
          await boss.call(sendMessage, { to: ann.id, body: "Stop that." });
          return { code: 1, reason: "exited with code 1" };
        });
        runner.plan(ann.id, async ({ call }) => {
          const { messages } = await call(readInbox, {});
          assert.deepEqual(
            messages.map(({ body }) => body),
            ["Start.", "Stop that."],
          );
          await acknowledgeAll(call);
        });
        await boss.call(sendMessage, { to: ann.id, body: "Start." });
        for (let step = 0; step < 6; step++) {
          await stage.rest();
          stage.advance(minute);
        }
        assert.equal((await ann.call(readInbox, {})).waiting, 0);
      }));

    test("a person who writes to the agent, or wakes it, does not wait for its pause to end", () =>
      inScene(kind, async ({ stage, org, ann }) => {
        const { companyId } = org;
        const sessions = (): number => stage.runner.started.filter(({ agent }) => agent.id === ann.id).length;
        stage.runner.otherwise(async (session) => {
          if (session.agent.id !== ann.id) await clearInbox(session);
          else if ((await session.call(readInbox, {})).waiting > 0) await acknowledgeAll(session.call);
          else await session.call(createFile, { description: "note", content: "x" });
        });
        await stage.rest();
        assert.equal(sessions(), 1);
        await org.root(sendMessage, { to: ann.id, body: "And?" });
        await stage.rest();
        assert.equal(sessions(), 1, "an agent's message waits");
        await org.board(sendMessage, { companyId, to: ann.id, body: "And?" });
        await stage.rest();
        // One session settled the mail, and one worked on the job again.
        assert.equal(sessions(), 3);
        await org.board(wakeAgent, { id: ann.id });
        await stage.rest();
        assert.equal(sessions(), 4);
      }));

    test("an agent that reminds itself once a day is not stopped", () =>
      inScene(kind, async (scene) => {
        const { stage, ann, job } = scene;
        await ann.call(outcomes.updateOutcome, { id: job, blocked: { reason: "waits for spring" } });
        const remind = async (call: TestCaller): Promise<void> => {
          const deliverAt = new Date(stage.now() + 24 * hour).toISOString();
          await call(sendDeferredMessage, { to: "self", body: "Look whether it is spring.", deliverAt });
        };
        await remind(ann.call);
        stage.runner.otherwise(async ({ call }) => {
          await acknowledgeAll(call);
          await remind(call);
        });
        let sessions = 0;
        for (let day = 0; day < 20; day++) {
          stage.advance(24 * hour);
          sessions += await pass(scene, minute);
        }
        assert.equal(sessions, 20);
      }));

    test("two agents that only write to each other are started less and less often", (t) =>
      inScene(kind, async (scene) => {
        const { stage, org, ann, job } = scene;
        await ann.call(outcomes.updateOutcome, { id: job, blocked: { reason: "talk first" } });
        stage.runner.otherwise(async ({ call, agent }) => {
          await acknowledgeAll(call);
          await call(sendMessage, { to: agent.id === ann.id ? "boss" : ann.id, body: "And you?" });
        });
        await org.root(sendMessage, { to: ann.id, body: "And you?" });
        const counts = [await pass(scene, hour), await pass(scene, 5 * hour, 10 * minute)];
        t.diagnostic(`${counts.join(" and ")} sessions in one and in five hours`);
        assert.ok((counts[0] ?? 0) <= 25 && (counts[1] ?? 0) <= 10, counts.join(" "));
      }));

    test("the manager is told once that an agent works only for itself", () =>
      inScene(kind, async (scene) => {
        const { stage, org, ann } = scene;
        const told: string[] = [];
        const play = attacks["completes children that it created"]?.play;
        let turn = 0;
        stage.runner.otherwise(async (session) => {
          if (session.agent.id === ann.id) return play?.(session, scene, turn++);
          for (const { body, from } of (await session.call(readInbox, {})).messages)
            if (from.kind === "system") told.push(body ?? "");
          return clearInbox(session);
        });
        await pass(scene, hour);
        assert.equal(told.length, 1, told.join("\n"));
        assert.match(told[0] ?? "", /^In its last 10 sessions Ann worked only on outcomes it created itself/);
        const [held] = await mine(ann.call, "child");
        assert.match(held?.blocked?.reason ?? "", /10 sessions of Ann in a row made no progress/);
        // The manager's message is still read, and a person can start the work again.
        const before = stage.runner.started.length;
        await org.root(sendMessage, { to: ann.id, body: "What are you doing?" });
        await pass(scene, 2 * hour, 10 * minute);
        assert.ok(stage.runner.started.length > before);
      }));
  });

import assert from "node:assert/strict";
import type { Output } from "../contract/operation.ts";
import { describe, test } from "node:test";
import { acknowledgeMessage, readInbox, sendMessage } from "../contract/mail.ts";
import { pauseAgent, resumeAgent, updateAgent } from "../contract/agents.ts";
import {
  closeOutcome,
  completeOutcome,
  createOutcome,
  submitOutcome,
  updateOutcome,
} from "../contract/outcomes.ts";
import { delegateOutcome } from "../contract/delegation.ts";
import { viewAttention } from "../contract/attention.ts";
import { freezeCompany, updateCompany } from "../contract/companies.ts";
import { whyMany } from "../contract/finding.ts";
import { hireAgent } from "../contract/hiring.ts";
import { why } from "../contract/why.ts";
import { query } from "../store/query.ts";
import { type TestCaller, refusal, storeKinds } from "../testing/organization.ts";
import type { Script } from "../testing/scripted-runner.ts";
import { clearInbox } from "../testing/scripts.ts";
import { onStage, type Stage } from "../testing/stage.ts";

// covers OUT-16
for (const kind of storeKinds)
  describe(`why on ${kind}`, () => {
    /** No agent is started, so the test can look at every state. ask() asks as the board. */
    const staged = (name: string, play: (stage: Stage, ask: Ask) => Promise<void>): void => {
      test(name, () => onStage(kind, (stage) => play(stage, async (id) => stage.org.board(why, { id }))));
    };
    type Ask = (id: string) => Promise<Output<typeof why>>;
    const make = (call: TestCaller, title: string, parents: string[], dependsOn: string[] = []) =>
      call(createOutcome, { title, parents, dependsOn });
    const ids = (answer: Awaited<ReturnType<Ask>>) => answer.path.map(({ id }) => id);

    staged(
      "a brain that isn't installed any more is named, and delays no other agent",
      async ({ org, store, ...stage }, ask) => {
        const ann = await org.agent("Ann");
        const job = await make(ann.call, "job", [ann.id]);
        await store.write((tx) => tx.run(setBrain, { id: ann.id, type: "retired_brain" }));
        const answer = await ask(job.id);
        assert.equal(answer.moves, false);
        assert.match(answer.says, /retired_brain, which is not installed/);
        const bob = await org.agent("Bob");
        const other = await make(bob.call, "other job", [bob.id]);
        stage.runner.plan(bob.id, async ({ call }) => {
          await call(completeOutcome, { id: other.id });
        });
        await stage.rest();
        assert.deepEqual(
          stage.runner.started.map(({ agent }) => agent.id),
          [bob.id],
        );
      },
    );

    staged("an idle agent with workable work is about to start", async ({ org }, ask) => {
      const ann = await org.agent("Ann");
      const job = await make(ann.call, "job", [ann.id]);
      const answer = await ask(job.id);
      assert.deepEqual([answer.kind, answer.moves, ids(answer)], ["outcome", true, [job.id, ann.id]]);
      assert.match(answer.says, /Ann is idle\. A session starts when it has work/);
      const agent = await ask(ann.id);
      assert.deepEqual([agent.kind, agent.moves, ids(agent)], ["agent", true, [ann.id, job.id, ann.id]]);
    });

    staged(
      "a running session keeps its outcome moving, and every agent that waits for the outcome",
      async ({ org, runner, ...stage }, ask) => {
        const ann = await org.agent("Ann");
        const job = await make(ann.call, "job", [ann.id]);
        const later = await make(ann.call, "later", [ann.id], [job.id]);
        const gate = Promise.withResolvers<void>();
        runner.plan(ann.id, async (session) => {
          await session.hold(gate.promise);
          await session.call(completeOutcome, { id: job.id });
          await session.call(completeOutcome, { id: later.id });
        });
        await stage.rest();
        const answer = await ask(later.id);
        assert.deepEqual([answer.moves, ids(answer)], [true, [later.id, job.id, ann.id]]);
        assert.match(answer.says, /Ann is at work/);
        assert.match((await ask(ann.id)).says, /is at work/);
        gate.resolve();
        await stage.rest();
        assert.deepEqual(
          [(await ask(job.id)).moves, (await ask(job.id)).says],
          [true, '"job" is completed.'],
        );
        assert.match((await ask(ann.id)).says, /It has nothing to do/);
      },
    );

    staged(
      "an agent that backs off starts again at a time that is named",
      async ({ org, runner, ...stage }, ask) => {
        const ann = await org.agent("Ann");
        const job = await make(ann.call, "job", [ann.id]);
        const idle: Script = async () => undefined;
        runner.plan(ann.id, idle);
        await stage.rest();
        const answer = await ask(job.id);
        assert.equal(answer.moves, true);
        assert.ok(answer.says.includes(new Date(stage.now() + 1000).toISOString()));
        // After two more it is blocked, and only an agent or a person can unblock it.
        runner.plan(ann.id, idle, idle);
        runner.plan(org.rootId, clearInbox);
        for (let step = 0; step < 3; step++) {
          stage.advance(60_000);
          await stage.rest();
        }
        const blocked = await ask(job.id);
        assert.equal(blocked.moves, false);
        assert.match(blocked.says, /"job" is blocked: 3 sessions of Ann in a row made no progress/);
        assert.match((await ask(ann.id)).says, /^Its work is stuck\. "job" is blocked: 3 sessions/);
      },
    );

    staged(
      "an outcome blocked until a time is scheduled, and one blocked by a reason alone is stuck",
      async ({ org, ...stage }, ask) => {
        const ann = await org.agent("Ann");
        const job = await make(ann.call, "job", [ann.id]);
        const stuck = await make(ann.call, "stuck", [ann.id]);
        await ann.call(updateOutcome, { id: stuck.id, blocked: { reason: "nobody knows how" } });
        const broken = await ask(stuck.id);
        assert.deepEqual([broken.moves, ids(broken)], [false, [stuck.id]]);
        // A person reads what to do, and an agent which tool does it.
        assert.match(
          broken.says,
          /"stuck" is blocked: nobody knows how\. The responsible agent, .* or the board can unblock it\.$/,
        );
        assert.match((await ann.call(why, { id: stuck.id })).says, /can unblock it \(update_outcome with/);
        const until = new Date(stage.now() + 60_000).toISOString();
        await ann.call(updateOutcome, { id: job.id, blocked: { reason: "a holiday", until } });
        const timed = await ask(job.id);
        assert.deepEqual([timed.moves, timed.says], [true, `"job" is blocked until ${until}: a holiday`]);
        await ann.call(updateOutcome, { id: job.id, blocked: { reason: "or then", until, on: stuck.id } });
        assert.equal((await ask(job.id)).moves, true);
        await ann.call(updateOutcome, { id: job.id, blocked: { reason: "first that", on: stuck.id } });
        const behind = await ask(job.id);
        assert.deepEqual([behind.moves, ids(behind)], [false, [job.id, stuck.id]]);
        // A block whose time is over no longer counts.
        await ann.call(updateOutcome, { id: job.id, blocked: { reason: "a holiday", until } });
        stage.advance(60_000);
        assert.match((await ask(job.id)).says, /Ann is idle/);
        await ann.call(updateOutcome, { id: job.id, blocked: { reason: "first that", on: stuck.id } });
        await ann.call(closeOutcome, { id: stuck.id, rationale: "given up" });
        assert.match((await ask(job.id)).says, /Ann is idle/);
      },
    );

    staged(
      "open work below and its dependencies are followed to their end, stuck work first",
      async ({ org }, ask) => {
        const ann = await org.agent("Ann");
        const ben = await org.agent("Ben");
        const whole = await make(org.root, "whole", [org.rootId]);
        const fine = await make(org.root, "fine", [whole.id]);
        const handed = await make(org.root, "handed", [whole.id]);
        await org.root(delegateOutcome, { id: fine.id, to: ann.id });
        await org.root(delegateOutcome, { id: handed.id, to: ben.id });
        const deep = await make(ben.call, "deep", [handed.id]);
        const moving = await ask(whole.id);
        assert.deepEqual([moving.moves, ids(moving)], [true, [whole.id, fine.id, ann.id]]);
        await org.root(pauseAgent, { id: ben.id });
        const stuck = await ask(whole.id);
        assert.deepEqual([stuck.moves, ids(stuck)], [false, [whole.id, handed.id, deep.id, ben.id]]);
        assert.match(stuck.says, /Ben is paused\. Its manager or the board can resume it/);
        assert.match((await ask(ben.id)).says, /is paused/);
        await org.root(resumeAgent, { id: ben.id });
        await org.root(pauseAgent, { id: ben.id, reason: "The key is refused." });
        assert.match((await ask(deep.id)).says, /Ben is paused: The key is refused\. Its manager/);
        const after = await make(org.root, "after", [org.rootId], [handed.id]);
        assert.deepEqual(ids(await ask(after.id)), [after.id, handed.id, deep.id, ben.id]);
        assert.equal((await ask(org.rootId)).moves, false);
      },
    );

    staged(
      "agents whose work depends on a closed outcome are told to change the dependency",
      async ({ org }, ask) => {
        const first = await make(org.root, "first", [org.rootId]);
        const second = await make(org.root, "second", [org.rootId], [first.id]);
        await org.root(closeOutcome, { id: first.id, rationale: "no" });
        const answer = await ask(second.id);
        assert.deepEqual([answer.moves, ids(answer)], [false, [second.id]]);
        assert.match(answer.says, /which was closed and will not be completed/);
        assert.ok(answer.references.some(({ kind, id }) => kind === "outcome" && id === first.id));
      },
    );

    staged("waiting in a circle is named", async ({ org }, ask) => {
      const ann = await org.agent("Ann");
      const [a, b, c] = [
        await make(ann.call, "a", [ann.id]),
        await make(ann.call, "b", [ann.id]),
        await make(ann.call, "c", [ann.id]),
      ];
      for (const [waiter, other] of [
        [a, b],
        [b, c],
        [c, a],
      ] as const)
        await ann.call(updateOutcome, { id: waiter.id, blocked: { reason: "after you", on: other.id } });
      const answer = await ask(a.id);
      assert.deepEqual([answer.moves, ids(answer)], [false, [a.id, b.id, c.id, a.id]]);
      assert.match(answer.says, /wait for each other in a circle/);
      // This also works if one link is a child and the other a block.
      const whole = await make(ann.call, "whole", [ann.id]);
      const part = await make(ann.call, "part", [whole.id]);
      await ann.call(updateOutcome, { id: part.id, blocked: { reason: "the whole first", on: whole.id } });
      const mixed = await ask(whole.id);
      assert.deepEqual([mixed.moves, ids(mixed)], [false, [whole.id, part.id, whole.id]]);
      assert.equal((await ask(ann.id)).moves, false);
    });

    staged(
      "a submitted outcome waits for its verifier: an agent, a person, or a verifier that will not look",
      async ({ org, runner }, ask) => {
        const boss = await org.agent("Chief");
        const ann = await org.agent("Ann", boss.id);
        const job = await make(boss.call, "job", [boss.id]);
        await boss.call(delegateOutcome, { id: job.id, to: ann.id });
        await ann.call(submitOutcome, { id: job.id });
        const waiting = await ask(job.id);
        assert.deepEqual([waiting.moves, ids(waiting)[0], ids(waiting).at(-1)], [true, job.id, boss.id]);
        // The verifier acknowledged the message without deciding, so nothing will make it look again.
        for (const { id } of (await boss.call(readInbox, {})).messages)
          await boss.call(acknowledgeMessage, { id });
        const forgotten = await ask(job.id);
        assert.equal(forgotten.moves, false);
        assert.match(forgotten.says, /no message that would start a session\. Send the verifier a message/);
        await ann.call(sendMessage, { to: "boss", body: "please look" });
        assert.equal((await ask(job.id)).moves, true);
        // A person counts as a live end of the trail.
        for (const { id } of (await boss.call(readInbox, {})).messages)
          await boss.call(acknowledgeMessage, { id });
        await org.board(updateAgent, { id: boss.id, adapterType: "human" });
        const person = await ask(job.id);
        assert.equal(person.moves, true);
        assert.match(person.says, /Chief is a person, who works from the inbox/);
        await org.board(updateAgent, { id: boss.id, adapterType: "rehearsal" });
        await org.root(pauseAgent, { id: boss.id });
        assert.equal((await ask(job.id)).moves, false);
        assert.equal(runner.started.length, 0);
      },
    );

    staged(
      "work submitted to a verifier with a blocked inbox is stuck",
      async ({ org, runner, ...stage }, ask) => {
        const boss = await org.agent("Chief");
        const ann = await org.agent("Ann", boss.id);
        await org.board(updateAgent, { id: ann.id, adapterType: "human" });
        const job = await make(boss.call, "job", [boss.id]);
        await boss.call(delegateOutcome, { id: job.id, to: ann.id });
        await ann.call(submitOutcome, { id: job.id });
        const idle: Script = async () => undefined;
        runner.plan(boss.id, idle, idle, idle);
        runner.plan(org.rootId, clearInbox);
        for (let step = 0; step < 4; step++) {
          await stage.rest();
          stage.advance(60_000);
        }
        const answer = await ask(job.id);
        assert.equal(answer.moves, false);
        assert.match(answer.says, /3 sessions of Chief in a row made no progress/);
      },
    );

    staged(
      "a person's outcome counts as moving, a mandate without open work as permanent, and unassigned work as stuck",
      async ({ org }, ask) => {
        const person = await org.agent("Person");
        await org.board(updateAgent, { id: person.id, adapterType: "human" });
        const job = await make(person.call, "by hand", [person.id]);
        assert.match((await ask(job.id)).says, /Person is a person/);
        assert.equal((await ask(job.id)).moves, true);
        const idle = await org.agent("Idle");
        assert.match((await ask(idle.id)).says, /It has nothing to do/);
      },
    );

    staged(
      "people get the calls that help with the last step, the same as in the attention list",
      async ({ org }, ask) => {
        const { board, companyId } = org;
        const chief = await org.agent("Chief");
        const ann = await org.agent("Ann", chief.id);
        const named = (answer: Pick<Output<typeof why>, "next">) =>
          answer.next.map(({ name, path }) => `${name} ${path}`);
        const job = await make(ann.call, "job", [ann.id]);
        assert.deepEqual((await ask(job.id)).next, []);
        await board(pauseAgent, { id: ann.id });
        const resume = `agent.resume /api/agents/${ann.id}/resume`;
        assert.deepEqual([named(await ask(job.id)), named(await ask(ann.id))], [[resume], [resume]]);
        // Several answers at once offer the same calls. An agent is offered none, because it has tools.
        const many = (await board(whyMany, { ids: [job.id, ann.id] })).answers;
        assert.deepEqual(many.map(named), [[resume], [resume]]);
        assert.deepEqual((await chief.call(why, { id: ann.id })).next, []);
        await board(resumeAgent, { id: ann.id });

        await ann.call(updateOutcome, { id: job.id, blocked: { reason: "no key" } });
        const blocked = await ask(job.id);
        assert.deepEqual(named(blocked), [
          `outcome.update /api/outcomes/${job.id}`,
          `outcome.close /api/outcomes/${job.id}/close`,
        ]);
        assert.deepEqual(blocked.next[0]?.body, { blocked: null });

        await board(updateCompany, { companyId, requireBoardApprovalForNewAgents: true });
        const { agent, approval } = await org.root(hireAgent, { name: "Maybe", role: "worker" });
        assert.equal((await ask(agent.id)).next[0]?.path, `/api/approvals/${approval?.id ?? ""}/approve`);
        const { items } = await board(viewAttention, { companyId, kind: "approval" });
        assert.deepEqual((await ask(agent.id)).next, items[0]?.abilities);
        await board(freezeCompany, { companyId, reason: "stop" });
        const other = await make(chief.call, "other", [chief.id]).catch(() => undefined);
        assert.equal(other, undefined);
        assert.deepEqual(named(await ask(chief.id)), [`company.thaw /api/companies/${companyId}/thaw`]);
      },
    );

    staged("an agent can ask only about itself, its reports and outcomes it may read", async ({ org }) => {
      const boss = await org.agent("Chief");
      const ann = await org.agent("Ann", boss.id);
      const ben = await org.agent("Ben");
      const job = await make(ann.call, "job", [ann.id]);
      assert.equal((await ann.call(why, { id: ann.id })).kind, "agent");
      assert.equal((await boss.call(why, { id: ann.id })).kind, "agent");
      assert.equal((await boss.call(why, { id: job.id })).kind, "outcome");
      await refusal(ben.call(why, { id: job.id }), "not_found");
      await refusal(ben.call(why, { id: ann.id }), "not_found");
      const elsewhere = await org.another();
      await refusal(elsewhere.root(why, { id: job.id }), "not_found");
      await refusal(org.board(why, { id: org.companyId }), "not_found");
    });
  });

const setBrain = query((db, p: { id: string; type: string }) =>
  db.updateTable("agents").set({ brain_type: p.type }).where("id", "=", p.id),
);

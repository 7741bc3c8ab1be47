import assert from "node:assert/strict";
import { describe } from "node:test";
import { createFile, readFile, viewHistory, writeFile } from "../contract/knowledge.ts";
import { readAuditLog } from "../contract/ledger.ts";
import { acknowledgeMessage, boardInbox, readInbox, sendMessage } from "../contract/mail.ts";
import { viewAgent, wakeAgent } from "../contract/agents.ts";
import {
  closeOutcome,
  completeOutcome,
  createOutcome,
  myOutcomes,
  updateOutcome,
  viewOutcome,
} from "../contract/outcomes.ts";
import { listAgentSessions, listSessions, submitSummary, viewSession } from "../contract/sessions.ts";
import { type TestCaller, refusal, storeKinds } from "../testing/organization.ts";
import type { Script } from "../testing/scripted-runner.ts";
import { clearInbox } from "../testing/scripts.ts";
import { type Stage, stagedOn } from "../testing/stage.ts";

const minute = 60_000;
const idle: Script = async () => ({ code: 1, reason: "exited with code 1" });

async function saveState(call: TestCaller, content: string): Promise<void> {
  const { outcomes } = await call(myOutcomes, { limit: 1 });
  const { stateFileId: id } = await call(viewAgent, { id: outcomes[0]?.responsible?.id ?? "" });
  const { version, hash } = await call(readFile, { id });
  await call(writeFile, { id, content, version, hash });
}

for (const kind of storeKinds)
  describe(`how sessions end on ${kind}`, () => {
    const staged = stagedOn(kind);
    /** Ann has work, on a node whose failures are noted. */
    const onNodeThatFails = async (stage: Stage) => {
      const ann = await stage.org.agent("Ann");
      const hard = await ann.call(createOutcome, { title: "hard", parents: [ann.id] });
      const errors: unknown[] = [];
      stage.crash(stage);
      const node = stage.node("node-1", { reportBug: (error) => void errors.push(error) });
      return { ann, hard, errors, node };
    };
    const logOf = async ({ org }: Stage, id: string) => {
      const { logFileId } = await org.board(viewAgent, { id });
      return logFileId === null ? "" : (await org.board(readFile, { id: logFileId })).content;
    };

    staged(
      "sessions that change nothing come further and further apart",
      async ({ org, runner, ...stage }) => {
        const ann = await org.agent("Ann");
        const hard = await ann.call(createOutcome, { title: "hard", parents: [ann.id] });
        runner.plan(ann.id, idle);
        await stage.rest();
        assert.equal(runner.started.length, 1);
        assert.equal(await stage.scheduler.tick(), stage.now() + 1000);
        stage.advance(999);
        await stage.rest();
        assert.equal(runner.started.length, 1);
        runner.plan(ann.id, idle);
        stage.advance(1);
        await stage.rest();
        assert.equal(runner.started.length, 2);
        stage.advance(1999);
        await stage.rest();
        assert.equal(runner.started.length, 2);
        // A person who wakes the agent does not have to wait for the pause to end.
        runner.plan(ann.id, async ({ call }) => {
          await call(completeOutcome, { id: hard.id });
        });
        await org.board(wakeAgent, { id: ann.id });
        await stage.rest();
        assert.equal(runner.started.length, 3);
      },
    );

    staged(
      "three sessions in a row without progress block the outcome, notify the manager and stop further spending",
      async ({ org, runner, ...stage }) => {
        const boss = await org.agent("Chief");
        const ann = await org.agent("Ann", boss.id);
        const hard = await ann.call(createOutcome, { title: "hard", parents: [ann.id] });
        runner.plan(ann.id, idle, idle, idle);
        runner.plan(boss.id, async ({ call }) => {
          const [letter] = (await call(readInbox, {})).messages;
          assert.equal(letter?.from.kind, "system");
          assert.ok(letter?.body?.includes("hard") && letter.body.includes(hard.id));
          await call(acknowledgeMessage, { id: letter?.id ?? "" });
        });
        for (let step = 0; step < 20; step++) {
          await stage.rest();
          stage.advance(minute);
        }
        assert.deepEqual(
          runner.started.map(({ agent }) => agent.name),
          ["Ann", "Ann", "Ann", "Chief"],
        );
        const seen = await ann.call(viewOutcome, { id: hard.id });
        assert.equal(seen.workable, false);
        assert.match(
          seen.blocked?.reason ?? "",
          /3 sessions of Ann in a row made no progress \(the last one: exited with code 1\)$/,
        );
        assert.equal(seen.history[0]?.action, "outcome.stall");
        assert.equal(seen.history[0]?.by.kind, "system");
        // If the owner unblocks the outcome, it gets one more session. If another agent does, it gets three.
        runner.plan(ann.id, idle);
        runner.plan(boss.id, clearInbox);
        await ann.call(updateOutcome, { id: hard.id, blocked: null });
        await stage.rest();
        stage.advance(minute);
        await stage.rest();
        assert.match(
          (await ann.call(viewOutcome, { id: hard.id })).blocked?.reason ?? "",
          /^4 sessions of Ann/,
        );
        runner.plan(ann.id, clearInbox, idle, idle, async ({ call }) => {
          await call(completeOutcome, { id: hard.id });
        });
        await org.board(updateOutcome, { id: hard.id, blocked: null });
        for (let step = 0; step < 3; step++) {
          await stage.rest();
          stage.advance(minute);
        }
      },
    );

    staged("progress resets the count", async ({ org, runner, ...stage }) => {
      const ann = await org.agent("Ann");
      const hard = await ann.call(createOutcome, { title: "hard", parents: [ann.id] });
      const note: Script = async ({ call }) => {
        const { id } = await call(createOutcome, { title: "step", parents: [hard.id] });
        await call(completeOutcome, { id });
      };
      const play = [idle, idle, note, idle, idle, note, idle, idle];
      runner.plan(ann.id, ...play);
      for (let step = 0; runner.started.length < play.length && step < play.length; step++) {
        if (step > 0) stage.advance(minute);
        await stage.rest();
      }
      assert.equal(runner.started.length, play.length);
      assert.equal((await ann.call(viewOutcome, { id: hard.id })).blocked, null);
      await ann.call(closeOutcome, { id: hard.id, rationale: "the test is over" });
    });

    staged(
      "reads, refusals and writes of the agent's own state document don't count as progress",
      async ({ org, runner, ...stage }) => {
        const ann = await org.agent("Ann");
        const hard = await ann.call(createOutcome, { title: "hard", parents: [ann.id] });
        const busy: Script = async ({ call }) => {
          await call(readInbox, {});
          await call(viewOutcome, { id: hard.id });
          await call(readFile, { id: hard.id });
          await refusal(call(completeOutcome, { id: org.rootId }), "forbidden");
          await saveState(call, `# Busy ${runner.started.length}`);
          await call(submitSummary, { summary: "I looked at it." });
        };
        runner.plan(ann.id, busy, busy, busy);
        runner.plan(org.rootId, clearInbox);
        for (let step = 0; step < 6; step++) {
          await stage.rest();
          stage.advance(minute);
        }
        assert.notEqual((await ann.call(viewOutcome, { id: hard.id })).blocked, null);
      },
    );

    staged(
      "an outcome that waited for one that has ended is blocked after three sessions too",
      async ({ org, runner, ...stage }) => {
        const ann = await org.agent("Ann");
        const first = await ann.call(createOutcome, { title: "first", parents: [ann.id] });
        const hard = await ann.call(createOutcome, { title: "hard", parents: [ann.id] });
        await ann.call(updateOutcome, {
          id: hard.id,
          blocked: { reason: "first things first", on: first.id },
        });
        await ann.call(completeOutcome, { id: first.id });
        runner.plan(ann.id, idle, idle, idle);
        runner.plan(org.rootId, clearInbox);
        for (let step = 0; step < 6; step++) {
          await stage.rest();
          stage.advance(minute);
        }
        assert.match((await ann.call(viewOutcome, { id: hard.id })).blocked?.reason ?? "", /no progress/);
      },
    );

    staged("a brain that can't be started counts as a session that did nothing", async (stage) => {
      const { org } = stage;
      const { ann, hard, errors, node } = await onNodeThatFails(stage);
      node.runner.plan(org.rootId, clearInbox);
      for (let step = 0; step < 3; step++) {
        node.runner.failStart(ann.id, new Error("no such command"));
        await (step === 0 ? node.scheduler.start() : stage.rest());
        stage.advance(minute);
      }
      await stage.rest();
      assert.equal(errors.length, 3);
      assert.match((await ann.call(viewOutcome, { id: hard.id })).blocked?.reason ?? "", /no progress/);
      const { sessions } = await org.board(listAgentSessions, { id: ann.id });
      assert.equal(sessions.length, 3);
      assert.ok(sessions.every(({ endReason }) => endReason === "could not be started: no such command"));
      assert.match(await logOf(stage, ann.id), /no such command/);
    });

    staged(
      "a node that cannot start sessions blames no agent, and tries again after longer waits",
      async (stage) => {
        const { org } = stage;
        const { ann, hard, errors, node } = await onNodeThatFails(stage);
        const fail = () =>
          node.runner.failStart(
            ann.id,
            Object.assign(new Error("ENOSPC: no space left on device, mkdir"), { code: "ENOSPC" }),
          );
        fail();
        await node.scheduler.start();
        await stage.rest();
        for (const wait of [5000, 10_000, 20_000]) {
          assert.ok(((await node.scheduler.tick()) ?? 0) <= stage.now() + wait);
          stage.advance(wait - 1);
          await stage.rest();
          const before: number = errors.length;
          fail();
          stage.advance(1);
          await stage.rest();
          assert.equal(errors.length, before + 1, `after ${wait} ms`);
        }
        assert.equal((await ann.call(viewOutcome, { id: hard.id })).blocked, null);
        const { sessions } = await org.board(listAgentSessions, { id: ann.id });
        assert.equal(sessions.length, 4);
        assert.ok(
          sessions.every(
            ({ endReason }) => endReason?.startsWith("its node could not start it: ENOSPC") === true,
          ),
        );
        const told = (await org.board(boardInbox, { companyId: org.companyId })).messages.filter(({ body }) =>
          body?.includes('The node "node-1" could not start a session: ENOSPC'),
        );
        assert.equal(told.length, 1);
        node.runner.plan(ann.id, async ({ call }) => {
          await call(completeOutcome, { id: hard.id });
        });
        await org.board(wakeAgent, { id: ann.id });
        await stage.rest();
        assert.equal((await ann.call(viewOutcome, { id: hard.id })).status, "completed");
      },
    );

    staged("an inbox that could not be processed opens again with the next message", async (stage) => {
      const { org, runner } = stage;
      const boss = await org.agent("Chief");
      const ann = await org.agent("Ann", boss.id);
      runner.plan(ann.id, idle, idle, idle);
      runner.plan(boss.id, clearInbox);
      await boss.call(sendMessage, { to: ann.id, body: "crash" });
      for (let step = 0; step < 6; step++) {
        await stage.rest();
        stage.advance(minute);
      }
      assert.equal(runner.started.length, 4);
      const inbox = (await ann.call(myOutcomes, { status: "open" })).outcomes.find((o) => o.kind === "inbox");
      assert.equal(inbox?.workable, false);
      // The boss can't change its report's outcomes, but it can write to the report.
      runner.plan(ann.id, clearInbox);
      await boss.call(sendMessage, { to: ann.id, body: "try again, it is mended" });
      await stage.rest();
      assert.equal(runner.started.length, 5);
      assert.equal((await ann.call(readInbox, {})).waiting, 0);
      assert.equal((await ann.call(viewOutcome, { id: inbox?.id ?? "" })).status, "completed");
    });

    staged("the root's stall is told to the board", async ({ org, runner, ...stage }) => {
      runner.plan(org.rootId, idle, idle, idle);
      await org.board(sendMessage, { companyId: org.companyId, body: "a goal" });
      for (let step = 0; step < 6; step++) {
        await stage.rest();
        stage.advance(minute);
      }
      const { messages } = await org.board(boardInbox, { companyId: org.companyId });
      assert.equal(messages.length, 1);
      assert.match(
        messages[0]?.body ?? "",
        /The inbox of Root .* is blocked: 3 sessions of Root .* The next message to Root unblocks the inbox/,
      );
    });

    staged(
      "a session that did nothing failed, whatever its exit code says, and the manager reads why",
      async ({ org, runner, ...stage }) => {
        const { companyId } = org;
        const boss = await org.agent("Chief");
        const ann = await org.agent("Ann", boss.id);
        const job = await ann.call(createOutcome, { title: "job", parents: [ann.id] });
        const reason = "Claude Code ended without a tool call and without a result";
        const nothing = async () => ({ code: 0, cause: "failed" as const, reason });
        runner.plan(ann.id, nothing, nothing, nothing);
        runner.plan(boss.id, async ({ call }) => {
          const [letter] = (await call(readInbox, {})).messages;
          assert.ok(letter?.body?.includes(`the last one: ${reason}`));
          await call(acknowledgeMessage, { id: letter?.id ?? "" });
        });
        for (let step = 0; step < 4; step++) {
          await stage.rest();
          stage.advance(minute);
        }
        const ends = async (end: "failed" | "done" | "stopped") =>
          (await org.board(listSessions, { companyId, end })).sessions.map((session) => [
            session.end,
            session.exitCode,
            session.endReason,
          ]);
        const one = ["failed", 0, reason];
        assert.deepEqual(await ends("failed"), [one, one, one]);
        assert.deepEqual([(await ends("done")).length, (await ends("stopped")).length], [1, 0]);
        const { blocked } = await org.board(viewOutcome, { id: job.id });
        assert.match(
          blocked?.reason ?? "",
          /no progress \(the last one: Claude Code ended without a tool call/,
        );
      },
    );

    // covers LOG-01, LOG-02, LOG-03, LOG-04, LOG-05, AGT-06
    staged(
      "each session has an entry in the agent's log, written by the session or by the daemon",
      async (stage) => {
        const { org, runner } = stage;
        const ann = await org.agent("Ann");
        const job = await ann.call(createOutcome, { title: "job", parents: [ann.id] });
        assert.equal(await logOf(stage, ann.id), "");
        const files: string[] = [];
        runner.plan(
          ann.id,
          async ({ call }) => {
            files.push((await call(createFile, { description: "left behind", content: "x" })).id);
            await call(updateOutcome, { id: job.id, description: "half done" });
            return { code: 137, reason: "ended by SIGKILL", output: "One.\nTwo.\n", toolCalls: 3 };
          },
          async ({ call }) => {
            // The agent may read its log, but only the system writes it.
            const { logFileId } = await call(viewAgent, { id: ann.id });
            const id = logFileId ?? "";
            const log = await call(readFile, { id });
            assert.match(log.content, /This session left no summary/);
            await refusal(
              call(writeFile, { id, content: "never happened", version: log.version, hash: log.hash }),
              "forbidden",
            );
            await refusal(
              org.board(writeFile, { id, content: "never happened", version: log.version, hash: log.hash }),
              "refused",
            );
            assert.ok((await call(readAuditLog, {})).events.length > 3);
            await call(completeOutcome, { id: job.id });
            await call(submitSummary, { summary: "Finished the job because it was due." });
          },
        );
        await stage.rest();
        stage.advance(minute);
        await stage.rest();
        const log = await logOf(stage, ann.id);
        const [first, second] = runner.started;
        assert.ok(first !== undefined && second !== undefined);
        const [, one = "", two = ""] = log.split(/^## /m);
        assert.ok(one.includes(`session ${first.id}`) && two.includes(`session ${second.id}`));
        assert.match(one, /Ended: ended by SIGKILL \(exit 137\)/);
        assert.match(one, /- knowledge\.create × 1\n- outcome\.update × 1/);
        assert.ok(one.includes(`kb://${files[0] ?? ""}`));
        assert.match(two, /Finished the job because it was due\./);
        assert.ok(!two.includes("left no summary"));
        const { companyId } = org;
        const listed = async (input: object) =>
          (await org.board(listSessions, { companyId, ...input })).sessions.map(
            ({ end, summary, lastLine, toolCalls, outcome }) => [
              end,
              summary,
              lastLine,
              toolCalls,
              outcome?.title,
            ],
          );
        const summary = "Finished the job because it was due.";
        const [late, early] = [
          ["done", summary, null, 0, "job"],
          ["failed", null, "Two.", 3, "job"],
        ];
        assert.deepEqual(await listed({}), [late, early]);
        assert.deepEqual(await listed({ end: "failed", outcome: job.id }), [early]);
        assert.deepEqual(await listed({ end: "stopped" }), []);
        assert.deepEqual(await listed({ outcome: ann.id }), []);
        assert.deepEqual(await listed({ text: "ann jo", end: "failed" }), [early]);
        assert.deepEqual(await listed({ text: "JOB" }), [late, early]);
        for (const text of ["job ben", "ob", "-"]) assert.deepEqual(await listed({ text }), []);
        // An agent can't see the titles of some outcomes, so it must not find sessions by them either.
        const own = async (text: string) => (await ann.call(listSessions, { text })).count;
        assert.deepEqual([await own("ann"), await own("job")], [2, 0]);
        assert.equal((await org.board(viewSession, { id: second.id })).summary, summary);
        // Only a session can submit a summary.
        await refusal(ann.call(submitSummary, { summary: "by key" }), "refused");
        const { logFileId } = await org.board(viewAgent, { id: ann.id });
        // The agent's manager can read the log. Another agent can't.
        assert.ok((await org.root(readFile, { id: logFileId ?? "" })).content.includes(first.id));
        const ben = await org.agent("Ben");
        await refusal(ben.call(readFile, { id: logFileId ?? "" }), "not_found");
      },
    );

    // covers STA-01, STA-02, STA-03, STA-04, STA-06, SES-03, AGT-05
    staged(
      "the next session begins with the state document of the last one, or is told that the last one wrote nothing",
      async ({ org, runner, ...stage }) => {
        const ann = await org.agent("Ann");
        const job = await ann.call(createOutcome, { title: "long job", parents: [ann.id] });
        const step = async (call: TestCaller, text: string): Promise<void> =>
          void (await call(updateOutcome, { id: job.id, description: text }));
        runner.plan(
          ann.id,
          async ({ call, briefing }) => {
            assert.match(briefing.text, /> Nothing has happened yet\./);
            assert.ok(!briefing.text.includes("did not update it"));
            await saveState(call, "# I was here\n\nThe key is under the mat.");
            await step(call, "one");
          },
          async ({ call, briefing }) => {
            assert.match(briefing.text, /> The key is under the mat\./);
            assert.match(briefing.text, /version 2\. It says/);
            // The session works, but ends without a summary.
            await step(call, "two");
          },
          async ({ call, briefing }) => {
            assert.match(briefing.text, /Your last session did not update it, so read your log/);
            const { stateFileId: id } = await call(viewAgent, { id: ann.id });
            assert.equal((await call(viewHistory, { id })).versions.length, 2);
            await saveState(call, "# Caught up");
            await call(completeOutcome, { id: job.id });
          },
        );
        for (let step = 0; step < 3; step++) {
          await stage.rest();
          stage.advance(minute);
        }
        assert.equal(runner.started.length, 3);
        runner.plan(ann.id, async (session) => {
          assert.match(session.briefing.text, /> # Caught up/);
          assert.ok(!session.briefing.text.includes("did not update it"));
          await clearInbox(session);
        });
        await org.root(sendMessage, { to: ann.id, body: "well done" });
        await stage.rest();
      },
    );

    // covers SES-05, SES-07
    staged(
      "a session that ends early is followed by another while work is left, and by none when the work is done",
      async ({ org, runner, ...stage }) => {
        const ann = await org.agent("Ann");
        const jobs: string[] = [];
        for (const title of ["one", "two", "three"])
          jobs.push((await ann.call(createOutcome, { title, parents: [ann.id] })).id);
        // Does one outcome in each session, as if its context were full then.
        const oneEach: Script = async ({ call }) => {
          const { outcomes } = await call(myOutcomes, { status: "open" });
          await call(completeOutcome, { id: outcomes.find(({ workable }) => workable)?.id ?? "" });
        };
        runner.plan(ann.id, oneEach, oneEach, oneEach);
        await stage.rest();
        assert.equal(runner.started.length, 3);
        stage.advance(10 * minute);
        await stage.rest();
        assert.equal(runner.started.length, 3);
      },
    );

    // covers STA-05
    staged(
      "a state document that is too large is refused, and the refusal says what to do",
      async (stage) => {
        const ann = await stage.org.agent("Ann");
        const { stateFileId: id } = await stage.org.board(viewAgent, { id: ann.id });
        const { version, hash } = await ann.call(readFile, { id });
        const long = "x".repeat(32 * 1024);
        const refused = await refusal(
          ann.call(writeFile, { id, content: `${long}x`, version, hash }),
          "too_large",
        );
        assert.match(refused.hint, /Keep what your next session needs/);
        await ann.call(writeFile, { id, content: long, version, hash });
      },
    );
  });

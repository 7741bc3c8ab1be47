import assert from "node:assert/strict";
import { describe } from "node:test";
import { approve } from "../../contract/approvals.ts";
import { requestAgent, waitForApproval } from "../../contract/create-agent.ts";
import {
  acknowledgeMessage,
  agentInbox,
  boardInbox,
  listSent,
  sendMessage,
  viewMessage,
} from "../../contract/mail.ts";
import { createKey, pauseAgent, terminateAgent, updateAgent } from "../../contract/agents.ts";
import { completeOutcome, createOutcome } from "../../contract/outcomes.ts";
import { listAgentSessions } from "../../contract/sessions.ts";
import { storeKinds } from "../../testing/organization.ts";
import { scriptedRunner } from "../../testing/scripted-runner.ts";
import { says } from "../../testing/scripts.ts";
import { type Stage, stagedOn } from "../../testing/stage.ts";

const minute = 60_000;

for (const kind of storeKinds)
  describe(`the last words of sessions on ${kind}`, () => {
    const staged = stagedOn(kind);
    /** An agent created with create_agent, below the root unless another boss is named. */
    const made = async ({ org }: Stage, input: Record<string, unknown>, boss = org.root): Promise<string> => {
      const { requestId = "" } = await boss(requestAgent, input);
      await org.board(approve, { id: requestId });
      const { agent } = await boss(waitForApproval, { requestId });
      assert.ok(agent !== undefined);
      return agent.id;
    };
    const write = async ({ org }: Stage, to: string, body = "a question") =>
      (await org.board(sendMessage, { companyId: org.companyId, to, body })).id;
    const board = async ({ org }: Stage) =>
      (await org.board(boardInbox, { companyId: org.companyId, limit: 1000 })).messages.map(
        ({ from, body }) => [from.kind === "agent" ? from.name : from.kind, body] as const,
      );
    const inbox = async ({ org }: Stage, id: string) =>
      (await org.board(agentInbox, { id })).messages.map(
        ({ from, body }) => [from.kind === "agent" ? from.name : from.kind, body] as const,
      );
    /** People hold these positions: they get mail and are never started. */
    const person = ({ org }: Stage, ...ids: string[]) =>
      Promise.all(ids.map((id) => org.board(updateAgent, { id, adapterType: "human" })));
    const personRoot = async (stage: Stage): Promise<void> => {
      await person(stage, stage.org.rootId);
      const { messages } = await stage.org.board(agentInbox, { id: stage.org.rootId });
      for (const { id } of messages) await stage.org.board(acknowledgeMessage, { id });
    };

    staged("@human goes to the board, and answers the message that woke it", async (stage) => {
      const nia = await made(stage, { name: "Nia" });
      await personRoot(stage);
      const asked = await write(stage, nia);
      stage.runner.plan(
        nia,
        says('{"usage":{"inputTokens":5,"outputTokens":1}}', "@human", "An answer.", "", "Two lines."),
      );
      await stage.rest();
      assert.deepEqual(await board(stage), [["Nia", "An answer.\n\nTwo lines."]]);
      const message = await stage.org.board(viewMessage, { id: asked });
      assert.equal(message.result, "answered");
      assert.deepEqual(await inbox(stage, nia), []);
      stage.advance(minute);
      await stage.rest();
      assert.equal(stage.runner.started.length, 1);
      await write(stage, nia);
      stage.runner.plan(nia, says("@human, all in one line"));
      await stage.rest();
      assert.deepEqual((await board(stage)).at(-1), ["Nia", "all in one line"]);
    });

    staged(
      "an agent is addressed by id, slug or name, and the rest of the line belongs to the text",
      async (stage) => {
        const { org, runner } = stage;
        const lead = await org.agent("Lead Dev", (await org.agent("Department")).id);
        const nia = await made(stage, { name: "Nia", nextAgent: "Lead Dev" });
        await person(stage, lead.id);
        await personRoot(stage);
        const lines = [
          [`@${lead.id}`, "one"],
          ["@lead-dev", "two"],
          ["@Lead Dev", "three"],
          ["@LEAD  DEV:", "four"],
          ["@Lead Dev, please read this", "five"],
          ["@lead-dev six"],
          ["@boss", "seven"],
        ];
        for (const said of lines) {
          await write(stage, nia);
          runner.plan(nia, says(...said));
          await stage.rest();
          stage.advance(minute);
        }
        assert.deepEqual(
          (await inbox(stage, lead.id)).map(([, body]) => body),
          ["one", "two", "three", "four", "please read this\nfive", "six"],
        );
        assert.deepEqual(await inbox(stage, org.rootId), [["Nia", "seven"]]);
        assert.deepEqual(await board(stage), []);
      },
    );

    staged("an agent without a mail route to the board can still answer the board", async (stage) => {
      const { org, runner } = stage;
      const lead = await org.agent("Lead");
      const nia = await made(stage, { name: "Nia", nextAgent: "Lead" });
      await person(stage, lead.id);
      await personRoot(stage);
      await write(stage, nia);
      runner.plan(nia, says("here is your answer"));
      await stage.rest();
      assert.deepEqual(await board(stage), [["Nia", "here is your answer"]]);
    });

    staged("a text that can't be sent goes back only to its author", async (stage) => {
      const { org, runner } = stage;
      const ann = await org.agent("Ann");
      const stranger = await org.agent("Stranger", ann.id);
      const nia = await made(stage, { name: "Nia", nextAgent: "Stranger" });
      const gone = await org.agent("Ann Smith", ann.id);
      await org.board(terminateAgent, { id: gone.id });
      // The board is told who left. This test is not about that notice.
      for (const { id } of (await org.board(boardInbox, { companyId: org.companyId })).messages)
        await org.board(acknowledgeMessage, { id });
      await person(stage, stranger.id, ann.id);
      await personRoot(stage);
      // Root has no message of Nia to answer, and Nia reports to root. No output may reach either of them.
      for (const said of [
        ["@Ann", "to Ann"],
        ["@Nobody", "to nobody"],
        ["@Nia", "to myself"],
        ["@Ann Smith", "to one who left"],
        ["@ann-smith: to one who left"],
        ["@Ann Smith, please read this"],
        ["@here is all that I know of it"],
        [`@${"x".repeat(5000)}`, "to something long"],
      ]) {
        await write(stage, nia);
        runner.plan(nia, says(...said), says("I see."));
        await stage.rest();
        stage.advance(minute);
        await stage.rest();
      }
      const { messages } = await org.board(agentInbox, { id: nia, all: true });
      const noRoute = "you have no mail route to Ann, and no message from Ann that you could still answer";
      assert.deepEqual(
        messages.filter(({ from }) => from.kind === "system").map(({ body }) => body?.slice(0, 200)),
        [
          `Your message to @Ann was not sent: ${noRoute}.\n\nYour text:\n> to Ann`,
          "Your message to @Nobody was not sent: there is no agent called Nobody.\n\nYour text:\n> to nobody",
          "Your message to @Nia was not sent: there is no agent called Nia.\n\nYour text:\n> to myself",
          "Your message to @Ann Smith was not sent: Ann Smith has left the company.\n\nYour text:\n> to one who left",
          "Your message to @Ann Smith was not sent: Ann Smith has left the company.\n\nYour text:\n> to one who left",
          "Your message to @Ann Smith was not sent: Ann Smith has left the company.\n\nYour text:\n> please read this",
          "Your message to @here is all that I know of it was not sent: there is no agent called here is all that I know of it.\n\nYour text:\n> @here is all that I know of it",
          `Your message to @${"x".repeat(80)}… was not sent: there is no agent called ${"x".repeat(80)}….\n\nYour text:\n> to something long`.slice(
            0,
            200,
          ),
        ],
      );
      // The board wrote the messages, and got no answer to them.
      assert.deepEqual(
        messages.filter(({ from }) => from.kind === "board").map(({ result }) => result),
        Array.from({ length: 8 }, () => "no answer was sent"),
      );
      const others = [ann.id, stranger.id, org.rootId];
      const got = await Promise.all(others.map((id) => inbox(stage, id)));
      assert.deepEqual([await board(stage), ...got], [[], [], [], []]);
    });

    staged("an automatic reply to an agent that has left goes back to its author", async (stage) => {
      const { org, runner } = stage;
      const boss = await org.agent("Chief");
      const nia = await made(stage, { name: "Nia" }, boss.call);
      await person(stage, boss.id);
      await personRoot(stage);
      await boss.call(sendMessage, { to: nia, body: "how far?" });
      runner.plan(
        nia,
        async () => {
          await org.board(terminateAgent, { id: boss.id });
          return { output: "for Chief alone" };
        },
        says("I see."),
      );
      await stage.rest();
      stage.advance(minute);
      await stage.rest();
      const { messages } = await org.board(agentInbox, { id: nia, all: true });
      assert.equal(
        messages.at(-1)?.body,
        "Your message to @Chief was not sent: Chief has left the company.\n\nYour text:\n> for Chief alone",
      );
      const seen = [...(await board(stage)), ...(await inbox(stage, org.rootId))].map(([, body]) => body);
      assert.ok(!seen.some((body) => body?.includes("for Chief alone")), JSON.stringify(seen));
    });

    staged("an agent is shown one writer's messages, and only that writer gets the reply", async (stage) => {
      const { org } = stage;
      const boss = await org.agent("Chief");
      const nia = await made(stage, { name: "Nia" }, boss.call);
      await org.board(updateAgent, {
        id: nia,
        adapterType: "process",
        adapterConfig: { command: "true" },
      });
      await person(stage, boss.id);
      await personRoot(stage);
      await boss.call(sendMessage, { to: nia, body: "Chief's secret" });
      await write(stage, nia, "the board's secret");
      const shown: string[] = [];
      stage.runner.otherwise(async ({ briefing }) => {
        shown.push(briefing.assignment);
        return { output: `reply ${shown.length}` };
      });
      for (let step = 0; step < 3; step++) {
        await stage.rest();
        stage.advance(minute);
      }
      assert.deepEqual(
        shown.map((text) => [text.includes("Chief's secret"), text.includes("the board's secret")]),
        [
          [true, false],
          [false, true],
        ],
      );
      assert.deepEqual((await inbox(stage, boss.id)).at(-1), ["Nia", "reply 1"]);
      assert.deepEqual(await board(stage), [["Nia", "reply 2"]]);
    });

    staged("the approved next agent answers, once for each message", async (stage) => {
      const { org, runner } = stage;
      const lead = await made(stage, { name: "Lead" });
      const other = await org.agent("Other");
      const nia = await made(stage, { name: "Nia", nextAgent: "Lead" }, other.call);
      await person(stage, other.id);
      await personRoot(stage);
      await write(stage, nia);
      runner.plan(nia, says("@Lead", "what do you think?"), says("@human", "Lead agrees."));
      runner.plan(lead, says("I agree."));
      for (let step = 0; step < 4; step++) {
        await stage.rest();
        stage.advance(minute);
      }
      assert.deepEqual(await board(stage), [["Nia", "Lead agrees."]]);
      const { messages } = await org.board(agentInbox, { id: nia, all: true });
      const answer = messages.find(({ body }) => body === "I agree.");
      const { messages: asked } = await org.board(agentInbox, { id: lead, all: true });
      const question = asked.find(({ body }) => body === "what do you think?");
      assert.deepEqual([answer?.inReplyTo, question?.answers], [question?.id, [answer?.id]]);
    });

    staged(
      "with autoReply, text without an address answers the sender; without autoReply nothing is sent",
      async (stage) => {
        const { org, runner } = stage;
        const boss = await org.agent("Chief");
        const loud = await made(stage, { name: "Loud" }, boss.call);
        const quiet = await made(stage, { name: "Quiet", autoReply: false }, boss.call);
        await person(stage, boss.id);
        await personRoot(stage);
        for (const { id } of (await org.board(agentInbox, { id: boss.id })).messages)
          await org.board(acknowledgeMessage, { id });
        const first = await boss.call(sendMessage, { to: loud, body: "loud?" });
        const second = await boss.call(sendMessage, { to: quiet, body: "quiet?" });
        runner.plan(loud, says("Loud, yes."));
        runner.plan(quiet, says("Quiet, yes."));
        await stage.rest();
        assert.deepEqual(await inbox(stage, boss.id), [["Loud", "Loud, yes."]]);
        assert.equal((await boss.call(viewMessage, { id: first.id })).result, "answered");
        assert.equal((await boss.call(viewMessage, { id: second.id })).acknowledgedAt, null);
        // An output with an address is sent in any case. The author itself is told what became of the message.
        for (const result of [null, "done"]) {
          runner.plan(quiet, async ({ call }) => {
            if (result !== null) await call(acknowledgeMessage, { id: second.id, result });
            return { output: `@boss\nQuiet, ${result}.` };
          });
          stage.advance(minute);
          await stage.rest();
          assert.deepEqual((await inbox(stage, boss.id)).at(-1), ["Quiet", `Quiet, ${result}.`]);
          assert.equal((await boss.call(viewMessage, { id: second.id })).result, result);
        }
      },
    );

    staged(
      "each message is answered once, oldest first, including one that the session acknowledged itself",
      async (stage) => {
        const { runner } = stage;
        const nia = await made(stage, { name: "Nia" });
        await personRoot(stage);
        const one = await write(stage, nia, "one");
        const two = await write(stage, nia, "two");
        runner.plan(
          nia,
          async ({ call }) => {
            stage.advance(1);
            await call(acknowledgeMessage, { id: one, result: "by hand" });
            return { output: "to one" };
          },
          says("to two"),
        );
        await stage.rest();
        stage.advance(minute);
        await stage.rest();
        assert.deepEqual(await board(stage), [
          ["Nia", "to one"],
          ["Nia", "to two"],
        ]);
        const results = [];
        for (const id of [one, two]) results.push((await stage.org.board(viewMessage, { id })).result);
        assert.deepEqual(results, ["by hand", "answered"]);
      },
    );

    staged(
      "an agent does not answer a notice of the system, and the notice does not wake it again",
      async (stage) => {
        const { org, runner } = stage;
        const nia = await made(stage, { name: "Nia" });
        await personRoot(stage);
        const asker = org.as((await org.board(createKey, { id: nia })).key);
        const { requestId = "" } = await asker(requestAgent, { name: "Below" });
        await org.board(approve, { id: requestId });
        runner.plan(nia, says("Thank you!"));
        await stage.rest();
        // The requester's manager is told of the decision. This test is not about that notice.
        for (const { id } of (await org.board(agentInbox, { id: org.rootId })).messages)
          await org.board(acknowledgeMessage, { id });
        assert.equal(runner.started.length, 1);
        assert.deepEqual(
          [await board(stage), await inbox(stage, nia), await inbox(stage, org.rootId)],
          [[], [], []],
        );
        stage.advance(minute);
        await stage.rest();
        assert.equal(runner.started.length, 1);
      },
    );

    staged("a session that failed, was stopped or printed nothing sends no reply", async (stage) => {
      const { org, runner } = stage;
      const nia = await made(stage, { name: "Nia" });
      await personRoot(stage);
      await write(stage, nia);
      const stopped = Promise.withResolvers<void>();
      runner.plan(
        nia,
        async () => ({ code: 1, reason: "exited with code 1", output: "@human\nfailed" }),
        async () => ({ code: null, reason: "ended by SIGTERM", output: "@human\nended" }),
        async ({ hold }) => {
          await hold(stopped.promise);
          return { output: "@human\nstopped" };
        },
      );
      for (let step = 0; step < 3; step++) {
        await stage.rest();
        stage.advance(minute);
      }
      await org.board(pauseAgent, { id: nia });
      stopped.resolve();
      await stage.rest();
      assert.deepEqual([runner.started.length, await board(stage)], [3, []]);
      const { sessions } = await org.board(listAgentSessions, { id: nia });
      assert.ok(sessions.every(({ endedAt }) => endedAt !== null));
    });

    staged("bytes that no store can keep do not delay the end of a session", async (stage) => {
      const nia = await made(stage, { name: "Nia" });
      await personRoot(stage);
      await write(stage, nia);
      stage.runner.plan(nia, says("@hu\u0000man", "\u0000hel\ud800lo \ud83e\udd16\u0007"));
      await stage.rest();
      assert.deepEqual(await board(stage), [["Nia", "hel\ufffdlo 🤖\u0007"]]);
      await write(stage, nia);
      stage.runner.plan(nia, async () => ({ code: 1, reason: "it said \u0000\udc00" }));
      await stage.rest();
      const { sessions } = await stage.org.board(listAgentSessions, { id: nia });
      const reasons = new Set(sessions.map(({ endReason }) => endReason));
      assert.deepEqual(reasons, new Set(["exited with code 0", "it said \ufffd"]));
    });

    for (const moment of ["exited", "exited and been seen to", "settled"] as const)
      staged(`a node that dies when a session has ${moment} says its words once`, async (stage) => {
        const { org, store } = stage;
        const nia = await made(stage, { name: "Nia" });
        await personRoot(stage);
        await write(stage, nia);
        stage.crash(stage);
        const died = Promise.withResolvers<void>();
        const forever = new Promise<never>(() => undefined);
        const at = async (step: string): Promise<void> => {
          if (moment === "settled" || step !== "exited") return;
          died.resolve();
          await forever;
        };
        // The commit that ends the session is the last step.
        const watched = {
          ...store,
          write: async <T>(work: Parameters<typeof store.write<T>>[0]): Promise<T> => {
            const before = (await board(stage)).length;
            const answer = await store.write(work);
            if (moment === "settled" && (await board(stage)).length > before) {
              died.resolve();
              await forever;
            }
            return answer;
          },
        };
        const first = stage.node("node-2", { at, store: watched });
        first.runner.plan(nia, says("@human", "Only once."));
        await first.scheduler.start();
        await died.promise;
        stage.crash(first);
        const exit = { code: 0, reason: "exited with code 0", output: "@human\nOnly once." };
        const kept = { ...scriptedRunner(org.core.dispatch), takeExit: () => exit };
        const next = stage.node("node-2", moment === "exited and been seen to" ? { runner: kept } : {});
        // Before the end was recorded, nothing was sent. The next session does the work of the first.
        if (moment === "exited") next.runner.plan(nia, says("@human", "Only once."));
        await next.scheduler.start();
        stage.advance(minute);
        await stage.rest();
        assert.deepEqual(await board(stage), [["Nia", "Only once."]]);
        assert.deepEqual((await org.board(listSent, { companyId: org.companyId })).messages.length, 1);
        assert.deepEqual(await inbox(stage, nia), []);
      });

    staged("a session that works on an outcome and has no mail sends no reply", async (stage) => {
      const { org, runner } = stage;
      const nia = await made(stage, { name: "Nia" });
      await personRoot(stage);
      const own = org.as((await org.board(createKey, { id: nia })).key);
      const { id } = await own(createOutcome, { title: "work", parents: [nia] });
      runner.plan(nia, async ({ call }) => {
        await call(completeOutcome, { id });
        return { output: "I have done it." };
      });
      await stage.rest();
      assert.deepEqual(
        [runner.started.length, await board(stage), await inbox(stage, org.rootId)],
        [1, [], []],
      );
    });
  });

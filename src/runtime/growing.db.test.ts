import assert from "node:assert/strict";
import { describe } from "node:test";
import { boardInbox, sendMessage } from "../contract/mail.ts";
import { createKey, listAgents, viewAgent } from "../contract/agents.ts";
import { closeOutcome, createOutcome, submitOutcome, updateOutcome } from "../contract/outcomes.ts";
import { delegateOutcome, reclaimOutcome } from "../contract/delegation.ts";
import { why } from "../contract/why.ts";
import { storeKinds } from "../testing/organization.ts";
import { byTitle, passes, report, printLines, stagedPrinters, told, work } from "../testing/printers.ts";
import type { Script } from "../testing/scripted-runner.ts";
import { hang, says } from "../testing/scripts.ts";
import type { Stage } from "../testing/stage.ts";

for (const kind of storeKinds)
  describe(`an organization that grows, on ${kind}`, () => {
    const staged = stagedPrinters(kind);

    staged(
      "a plan task for the planner's own role becomes its own work, and roles are matched before names",
      async (stage) => {
        const { org } = stage;
        const editor = await report(stage, "Writer", "Editor");
        await work(stage);
        const tasks = [
          { title: "Decide", assignee: "CEO" },
          { title: "Sign", assignee: "root" },
          { title: "Edit", assignee: "Editor" },
        ];
        await printLines(stage, "HIRE[Writer]: Writes.", "```plan", JSON.stringify(tasks), "```");
        const owner = async (title: string) => (await byTitle(stage, title)).responsible?.id;
        assert.deepEqual(
          [await owner("Decide"), await owner("Sign"), await owner("Edit")],
          [org.rootId, org.rootId, editor],
        );
        const session = await org.session(org.rootId);
        const more = await session.call(createOutcome, { title: "More", parents: [org.rootId] });
        const given = await session.call(delegateOutcome, { id: more.id, to: "writer" });
        const { agents } = await org.board(listAgents, { companyId: org.companyId });
        const writer = agents.find(({ role }) => role === "Writer");
        assert.deepEqual([given.responsible?.id, writer?.name, agents.length], [writer?.id, "Writer 2", 3]);
      },
    );

    staged("a brain without tools that replies has handled the message, once", async (stage) => {
      const { org, runner } = stage;
      const { companyId, rootId } = org;
      const mia = await report(stage, "Mia", "Manager");
      await org.board(sendMessage, { companyId, body: "How are you?" });
      await org.board(sendMessage, { companyId, to: mia, body: "Tell Root that it rains." });
      runner.plan(mia, says("@root", "It rains."));
      runner.plan(rootId, says("@board", "Well, thank you."), says("@mia", "So it does."));
      runner.otherwise(hang);
      await passes(stage, 5);
      const { messages } = await org.board(boardInbox, { companyId });
      assert.deepEqual(
        messages.map(({ body }) => body),
        ["Well, thank you."],
      );
      assert.match(await told(stage, mia), /So it does\.$/);
      assert.equal(runner.started.filter(({ agent }) => agent.id === rootId).length, 2);
    });

    staged("text without an address is not sent, and the agent is told how to answer", async (stage) => {
      const { org, runner } = stage;
      const { companyId, rootId } = org;
      await org.board(sendMessage, { companyId, body: "How are you?" });
      runner.plan(rootId, says("Well, thank you."), async ({ briefing }) => {
        assert.match(briefing.assignment, /> > Well, thank you\.\n> {3}This text was not sent to anyone/);
        return { output: "@board\nWell, thank you." };
      });
      await passes(stage, 5);
      const { messages } = await org.board(boardInbox, { companyId });
      assert.deepEqual(
        messages.map(({ body }) => body),
        ["Well, thank you."],
      );

      // An agent that never learns this is stopped after a while. The board is told how to start it again.
      runner.otherwise(says("Fine."));
      await org.board(sendMessage, { companyId, body: "And now?" });
      const before = runner.started.length;
      await passes(stage, 60);
      assert.equal(runner.started.length - before, 3);
      const last = (await org.board(boardInbox, { companyId })).messages.at(-1)?.body ?? "";
      assert.match(
        last,
        /The inbox of Root .* is blocked: 3 sessions .* The next message to Root unblocks the inbox/,
      );
    });

    staged(
      "notices count as seen by an agent that ends well without output, and don't start it again",
      async (stage) => {
        const { org, runner } = stage;
        const mia = await report(stage, "Mia", "Manager");
        const id = await work(stage);
        await org.board(delegateOutcome, { id, to: mia });
        await org.board(reclaimOutcome, { id, reason: "never mind" });
        await org.board(closeOutcome, { id, rationale: "never mind" });
        assert.match(await told(stage, mia), /reclaimed .*\n\nThe board's reason:\n> never mind/);
        runner.otherwise(async () => ({ output: "" }));
        await passes(stage, 10);
        // The root agent was told too: it got the work back, and then its outcome was closed.
        const started = runner.started.map(({ agent }) => agent.name).toSorted();
        assert.deepEqual([started, await told(stage, mia)], [["Mia", "Root"], ""]);
        const { messages } = await org.board(boardInbox, { companyId: org.companyId });
        assert.ok(messages.every(({ body }) => !/blocked/.test(body ?? "")));
      },
    );

    staged(
      "a closed part delays no other part, and the combined result names the missing part",
      async (stage) => {
        const { org, runner } = stage;
        const ann = await report(stage, "Ann", "Writer");
        const bob = await report(stage, "Bob", "Printer");
        await work(stage);
        const tasks = [
          { title: "Write", assignee: "Writer" },
          { title: "Print", assignee: "Printer", dependsOn: ["Write"] },
          { title: "Check", assignee: "self" },
        ];
        runner.plan(org.rootId, says("```plan", JSON.stringify(tasks), "```"), says("All is well."));
        runner.otherwise(hang);
        await stage.rest();
        const write = await byTitle(stage, "Write");
        await org.board(closeOutcome, { id: write.id, rationale: "nobody reads it" });
        // The agent that delegated the blocked outcome decides about it. Its report can't.
        assert.match(
          await told(stage, org.rootId),
          /"Write" .* was closed\.\n\n.*\n> nobody reads it[\s\S]*- "Print"/,
        );
        assert.match(await told(stage, ann), /The board closed "Write"/);
        assert.equal(await told(stage, bob), "");
        const print = await byTitle(stage, "Print");
        assert.match((await org.board(why, { id: print.id })).says, /was closed and will not be completed/);
        await org.board(closeOutcome, { id: print.id, rationale: "nothing to print" });
        const integration = await byTitle(stage, "Integrate: The whole");
        assert.deepEqual(
          integration.dependsOn.map(({ title }) => title),
          ["Check"],
        );
        runner.plan(org.rootId, says("Never mind."), async ({ briefing }) => {
          assert.match(
            briefing.assignment,
            /> The part "Write" was closed without a result: nobody reads it/,
          );
          assert.match(
            briefing.assignment,
            /> The part "Print" was closed without a result: nothing to print/,
          );
          assert.match(briefing.assignment, /> All is well\./);
          return { output: "Nothing is printed." };
        });
        await passes(stage, 3);
        assert.equal((await byTitle(stage, "The whole")).status, "completed");
      },
    );

    /** Mia sends Eve's work back twice. Mia's manager is then asked and answers with this script. */
    const disputed = async (stage: Stage) => {
      const { runner } = stage;
      const mia = await report(stage, "Mia", "Manager");
      const eve = await report(stage, "Eve", "Engineer", mia);
      await work(stage);
      const verdict =
        (words: string): Script =>
        async () => {
          const { id } = await byTitle(stage, "Build it.");
          return { output: `VERDICT[${id}]: ${words}` };
        };
      runner.plan(stage.org.rootId, says("DELEGATE[Manager]: See that it is built."));
      const noted = says("Noted.");
      runner.plan(eve, says("First try."), noted, says("Second try."), noted);
      const back = [verdict("REWORK no roof"), verdict("REWORK still no roof")];
      runner.plan(mia, says("DELEGATE[Engineer]: Build it."), ...back);
      return { mia, eve, verdict };
    };

    staged(
      "only the manager that is asked can decide about disputed work, and its owner can't",
      async (stage) => {
        const { org, runner } = stage;
        const { eve, verdict } = await disputed(stage);
        // The chief is shown the question and the last submission.
        runner.plan(org.rootId, async (session) => {
          const own = org.as((await org.board(createKey, { id: eve })).key);
          const { id } = await byTitle(stage, "Build it.");
          await assert.rejects(own(updateOutcome, { id, blocked: null }), /is waiting for a decision/);
          await assert.rejects(
            own(updateOutcome, { id, blocked: { reason: "mine" } }),
            /is waiting for a decision/,
          );
          await assert.rejects(own(submitOutcome, { id, note: "again" }), /is waiting for a decision/);
          assert.match(
            session.briefing.assignment,
            /## Submissions waiting for your verdict\n\n### "Build it\."/,
          );
          assert.match(session.briefing.assignment, /> the work was sent back twice[\s\S]*> Second try\./);
          return verdict("REWORK a flat roof will do")(session);
        });
        runner.otherwise(hang);
        await passes(stage, 10);
        const open = await byTitle(stage, "Build it.");
        assert.deepEqual([open.status, open.blocked], ["open", null]);
        assert.match(
          await told(stage, eve),
          /Root reopened "Build it\." .*\n\nRoot's reason:\n> a flat roof will do/,
        );
        assert.deepEqual((await org.board(viewAgent, { id: eve })).reviews, {
          pass: 0,
          rework: 2,
          escalated: 1,
          unreadable: 0,
        });
      },
    );

    staged(
      "disputed work that the next manager up accepts is done, and dependent work continues",
      async (stage) => {
        const { org, runner } = stage;
        const { eve, mia, verdict } = await disputed(stage);
        runner.plan(org.rootId, verdict("PASS as it is"));
        runner.otherwise(hang);
        await passes(stage, 10);
        assert.equal((await byTitle(stage, "Build it.")).status, "completed");
        assert.equal((await org.board(viewAgent, { id: eve })).reviews?.pass, 1);
        const put = await byTitle(stage, "Integrate: See that it is built.");
        assert.deepEqual([put.responsible?.id, put.workable], [mia, true]);
      },
    );

    staged(
      "when no manager above decides either, the board is asked once, and why() says so",
      async (stage) => {
        const { org, runner } = stage;
        await disputed(stage);
        runner.plan(org.rootId, says("I do not know."), says("Ask somebody else."));
        runner.otherwise(hang);
        await passes(stage, 30);
        const { says: answer } = await org.board(why, { id: (await byTitle(stage, "Build it.")).id });
        assert.match(
          answer,
          /the board \(Root's manager\) decides what happens next\. The manager that was asked, or the board, decides about it/,
        );
        const { messages } = await org.board(boardInbox, { companyId: org.companyId });
        assert.equal(messages.length, 1, messages.map(({ body }) => body).join("\n"));
        assert.match(
          messages[0]?.body ?? "",
          /"Build it\." .* needs your decision: Root gave no readable verdict twice, so the board[\s\S]*agency decide /,
        );
      },
    );

    staged(
      "an agent that has to redo work is told what was missing, and sees its earlier result",
      async (stage) => {
        const { org, runner } = stage;
        const eve = await report(stage, "Eve", "Engineer");
        await work(stage);
        runner.plan(
          org.rootId,
          says("DELEGATE[Engineer]: Build it."),
          says("VERDICT[Build it.]: REWORK no roof"),
        );
        runner.plan(org.rootId, async ({ briefing }) => {
          const { id } = await byTitle(stage, "Build it.");
          // The agent used the title, and was told the id.
          assert.ok(
            briefing.assignment.includes(`Use the id of one that is: ${id} ("Build it.")`),
            briefing.assignment,
          );
          return { output: `VERDICT[${id}]: REWORK no roof` };
        });
        runner.plan(eve, says("Four walls."), says("Noted."), async ({ briefing }) => {
          assert.match(
            briefing.assignment,
            /Your last submission was sent back:\n> no roof\n\nYou submitted:\n> Four walls\./,
          );
          return { output: "Four walls and a roof." };
        });
        runner.otherwise(hang);
        await passes(stage, 10);
        assert.equal((await byTitle(stage, "Build it.")).status, "submitted");
      },
    );
  });

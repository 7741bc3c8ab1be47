import assert from "node:assert/strict";
import { describe } from "node:test";
import { listRoster } from "../../contract/roster.ts";
import { boardInbox, sendMessage } from "../../contract/mail.ts";
import { listAgents, viewAgent } from "../../contract/agents.ts";
import { createOutcome, myOutcomes, updateOutcome } from "../../contract/outcomes.ts";
import { delegateOutcome } from "../../contract/delegation.ts";
import { why } from "../../contract/why.ts";
import { listAgentSessions, viewSession } from "../../contract/sessions.ts";
import { storeKinds } from "../../testing/organization.ts";
import {
  byTitle,
  eventsOf,
  outcomes,
  report,
  printLines,
  stagedPrinters,
  told,
  work,
} from "../../testing/printers.ts";
import type { Script } from "../../testing/scripted-runner.ts";
import { hang, says } from "../../testing/scripts.ts";
import type { Stage } from "../../testing/stage.ts";

for (const kind of storeKinds)
  describe(`directives on ${kind}`, () => {
    const staged = stagedPrinters(kind);

    // covers ORG-14, ORG-15, ORG-16, ORG-27, ORG-30, ORG-31, ORG-32, ORG-39
    staged(
      "a plan in a fence makes outcomes in order, a hire for the missing role, and one integration",
      async (stage) => {
        const { org } = stage;
        const ann = await report(stage, "Ann", "Writer");
        const whole = await work(stage);
        await printLines(
          stage,
          "```plan",
          JSON.stringify([
            { title: "Print", assignee: "Printer", dependsOn: ["Write"], model: "m-1", effort: "low" },
            { title: "Write", assignee: "writer", acceptance: "no typo" },
            { title: "Bind", assignee: "self", dependsOn: [0] },
          ]),
          "```",
        );
        const [print, write, bind] = [
          await byTitle(stage, "Print"),
          await byTitle(stage, "Write"),
          await byTitle(stage, "Bind"),
        ];
        assert.equal(write.responsible?.id, ann);
        assert.equal(write.acceptance, "no typo");
        assert.equal(bind.responsible?.id, org.rootId);
        assert.deepEqual(
          print.dependsOn.map(({ id }) => id),
          [write.id],
        );
        assert.deepEqual(
          bind.dependsOn.map(({ id }) => id),
          [print.id],
        );
        const { agents } = await org.board(listRoster, { companyId: org.companyId });
        const printer = agents.find(({ role }) => role === "Printer");
        assert.deepEqual([print.responsible?.id, printer?.boss?.id], [printer?.id, org.rootId]);
        assert.deepEqual([printer?.model, printer?.effort, printer?.adapterType], ["m-1", "low", "process"]);
        assert.deepEqual([write.delegatedBy?.id, bind.delegatedBy], [org.rootId, null]);
        assert.deepEqual(
          write.parents.map(({ id }) => id),
          [whole],
        );
        const integration = await byTitle(stage, "Integrate: The whole");
        assert.deepEqual(
          new Set(integration.dependsOn.map(({ id }) => id)),
          new Set([print.id, write.id, bind.id]),
        );
        assert.deepEqual([integration.depth, write.depth], [0, 1]);
        assert.deepEqual(
          integration.parents.map(({ id }) => id),
          [whole],
        );
      },
    );

    const refused: Readonly<
      Record<
        string,
        { lines: string[]; why: RegExp; before?: (stage: Stage) => Promise<unknown>; kept?: number }
      >
    > = {
      "a 17th agent": {
        lines: ["HIRE[Writer]: Writes."],
        before: async (stage) => {
          for (let number = 2; number <= 16; number++) await report(stage, `N ${number}`, `Role ${number}`);
        },
        why: /HIRE\[Writer\][\s\S]*has 16 agents, and agents can hire up to 16/,
      },
      "a 4th delegation": {
        lines: ["1", "2", "3", "4"].map((part) => `DELEGATE[Writer]: Part ${part}.`),
        before: (stage) => report(stage, "Ann", "Writer"),
        why: /DELEGATE\[Writer\]: Part 4\.[\s\S]*at most 3 delegated parts/,
        kept: 3,
      },
      "a second hire of a role": {
        lines: ["HIRE[ writer ]: Writes more.", "HIRE[Checker]: Checks."],
        before: (stage) => report(stage, "Ann", "Writer"),
        why: /already has a report with the role "writer": Ann/,
      },
      "a grandchild": {
        lines: ["DELEGATE[Engineer]: Build it."],
        before: async (stage) => report(stage, "Eve", "Engineer", await report(stage, "Mia", "Manager")),
        why: /Eve reports to Mia, not to Root[\s\S]*Delegate to Mia/,
      },
      "an ambiguous role": {
        lines: ["DELEGATE[Writer]: Write it."],
        before: async (stage) => [
          await report(stage, "Ann", "Writer"),
          await report(stage, "Writer", "Writer"),
        ],
        why: /2 reports of Root have the role Writer: Ann \([0-9a-f-]{36}\), Writer \([0-9a-f-]{36}\)/,
      },
      itself: { lines: ["DELEGATE[root]: Do it."], why: /can't delegate to itself/ },
      "itself, by its role": { lines: ["DELEGATE[ceo]: Do it."], why: /can't delegate to itself/ },
      "a plan for a grandchild by name": {
        lines: ["```plan", '[{"title":"A","assignee":"eve"}]', "```"],
        before: async (stage) => report(stage, "Eve", "Engineer", await report(stage, "Mia", "Manager")),
        why: /Eve \(Engineer\) is not a direct report of Root, and "eve" is not a role[\s\S]*Delegate to Mia/,
      },
      "an agent that does not exist": {
        lines: ["DELEGATE[Nobody]: Do it."],
        why: /has no direct report called "Nobody"/,
      },
      "an agent that left": {
        lines: ["DELEGATE[01900000-0000-7000-8000-000000000009]: Do it."],
        why: /has no direct report called "01900000/,
      },
      "a directive that cannot be read": { lines: ["DELEGATE[Writer] Do it."], why: /can't be parsed/ },
      "a plan that goes in a circle": {
        lines: [
          "```plan",
          '[{"title":"A","assignee":"self","dependsOn":["B"]},{"title":"B","assignee":"self","dependsOn":["A"]}]',
          "```",
        ],
        why: /wait for each other in a circle: "A", "B"/,
      },
      "a plan that depends on an unknown task": {
        lines: ["```plan", '[{"title":"A","assignee":"Writer","dependsOn":["B"]}]', "```"],
        why: /No task of this plan is called "B"/,
      },
    };
    // covers ORG-11, ORG-12, ORG-26, ORG-37, ORG-38, ORG-43
    for (const [what, { lines, why: reason, before, kept }] of Object.entries(refused))
      staged(`refused to its author with the reason, and nothing of it remains: ${what}`, async (stage) => {
        await before?.(stage);
        const agentsBefore = (await stage.org.board(listAgents, { companyId: stage.org.companyId })).agents
          .length;
        await work(stage);
        await printLines(stage, ...lines);
        assert.match(await told(stage, stage.org.rootId), reason);
        assert.equal((await eventsOf(stage, "outcome.delegate")).length, kept ?? 0);
        const { agents } = await stage.org.board(listAgents, { companyId: stage.org.companyId });
        assert.equal(agents.length, agentsBefore + (what === "a second hire of a role" ? 1 : 0));
        assert.equal(
          (await eventsOf(stage, "access.refused")).length > 0,
          !/can't be parsed/.test(reason.source),
        );
      });

    // covers ORG-44
    staged("work can be delegated two levels down and no further", async (stage) => {
      const mia = await report(stage, "Mia", "Manager");
      const eve = await report(stage, "Eve", "Engineer", mia);
      await report(stage, "Ian", "Intern", eve);
      await work(stage);
      stage.runner.plan(mia, says("DELEGATE[Engineer]: Build it."));
      stage.runner.plan(eve, says("DELEGATE[Intern]: Build it for me."));
      await printLines(stage, "DELEGATE[Manager]: See that it is built.");
      assert.match(await told(stage, eve), /already 2 delegations deep\. The limit is 2/);
      assert.equal((await eventsOf(stage, "outcome.delegate")).length, 2);
      const { messages } = await stage.org.board(boardInbox, { companyId: stage.org.companyId });
      assert.match(messages[0]?.body ?? "", /Eve .* has reached a limit/);
    });

    // covers ORG-13, ORG-24
    staged("a hire without the right is refused, and the other directives take effect", async (stage) => {
      const mia = await report(stage, "Mia", "Manager");
      await report(stage, "Eve", "Engineer", mia);
      const { org } = stage;
      await work(stage);
      stage.runner.plan(mia, says("HIRE[Tester]: Tests.", "DELEGATE[Engineer]: Build it."));
      await printLines(stage, "DELEGATE[Manager]: See that it is built.");
      assert.match(await told(stage, mia), /Mia doesn't have the permission to hire/);
      const offered = async (id: string) => {
        const [session] = (await org.board(listAgentSessions, { id })).sessions;
        return (await org.board(viewSession, { id: session?.id ?? "" })).assignment?.includes("HIRE[<role>]");
      };
      assert.deepEqual([await offered(mia), await offered(org.rootId)], [false, true]);
      assert.equal((await eventsOf(stage, "outcome.delegate")).length, 2);
      assert.equal((await org.board(listAgents, { companyId: org.companyId })).agents.length, 3);
    });

    // covers ORG-25, ORG-40
    staged(
      "an integration can't be delegated, and no agent can be hired for it, by any directive",
      async (stage) => {
        const ann = await report(stage, "Ann", "Writer");
        await work(stage);
        stage.runner.plan(ann, says("A text."));
        stage.runner.plan(
          stage.org.rootId,
          says("DELEGATE[Writer]: Write it."),
          async () => {
            const waiting = (await outcomes(stage)).find(({ status }) => status === "submitted");
            return { output: `VERDICT[${waiting?.id ?? ""}]: PASS` };
          },
          says(
            "HIRE[Editor]: Edits.",
            "DELEGATE[Writer]: Write the rest.",
            "```plan",
            '[{"title":"A","assignee":"Writer"}]',
            "```",
          ),
        );
        stage.runner.otherwise(hang);
        await stage.rest();
        const said = await told(stage, stage.org.rootId);
        assert.equal(said.match(/It can't be delegated, and no agent can be hired for it/g)?.length, 3, said);
        assert.equal((await eventsOf(stage, "outcome.delegate")).length, 1);
        // It can't be delegated below the integration either, through an outcome created for the purpose.
        const integration = await byTitle(stage, "Integrate: The whole");
        const below = await stage.org.board(createOutcome, { title: "Below", parents: [integration.id] });
        const session = await stage.org.session(stage.org.rootId);
        await assert.rejects(
          session.call(delegateOutcome, { id: below.id, to: "Writer" }),
          /can't be delegated/,
        );
      },
    );

    staged(
      "the output of a session without tool calls is its result, and that of a session with tool calls is not",
      async (stage) => {
        const { org } = stage;
        const ann = await report(stage, "Ann", "Writer");
        await work(stage);
        stage.runner.plan(ann, async ({ call }) => {
          const { outcomes: mine } = await call(myOutcomes, {});
          const id = mine.find(({ kind: of }) => of === "work")?.id ?? "";
          await call(updateOutcome, { id, blocked: { reason: "I need a pen" } });
          return { output: "I am done for today." };
        });
        await printLines(stage, "DELEGATE[Writer]: Write it.");
        const written = await byTitle(stage, "Write it.");
        assert.deepEqual(
          [written.status, written.blocked?.reason, written.result],
          ["open", "I need a pen", null],
        );
        const session = (await org.board(listAgentSessions, { id: ann })).sessions[0];
        const shown = await org.board(viewSession, { id: session?.id ?? "" });
        assert.match(shown.assignment ?? "", /Your work now: "Write it\."/);
      },
    );

    staged("after one rework the reviewer's manager is asked, and the results are kept", async (stage) => {
      const { org } = stage;
      const mia = await report(stage, "Mia", "Manager");
      const eve = await report(stage, "Eve", "Engineer", mia);
      await work(stage);
      const verdict =
        (words: string): Script =>
        async () => {
          const waiting = (await outcomes(stage)).find(({ status }) => status === "submitted");
          return { output: `VERDICT[${waiting?.id ?? ""}]: ${words}` };
        };
      stage.runner.plan(eve, says("First try."), says("Noted."), says("Second try."), says("Noted."));
      stage.runner.plan(
        mia,
        says("DELEGATE[Engineer]: Build it."),
        verdict("REWORK no roof"),
        verdict("REWORK still no roof"),
      );
      await printLines(stage, "DELEGATE[Manager]: See that it is built.");
      const built = await byTitle(stage, "Build it.");
      assert.equal(built.status, "open");
      assert.match(built.blocked?.reason ?? "", /sent back twice, so Root \(Mia's manager\) decides/);
      assert.match(await told(stage, org.rootId), /still no roof/);
      assert.deepEqual((await org.board(viewAgent, { id: eve })).reviews, {
        pass: 0,
        rework: 1,
        escalated: 1,
        unreadable: 0,
      });
      const { says: answer } = await org.board(why, { id: built.id });
      assert.match(answer, /sent back twice, so Root .* decides[\s\S]*or the board, decides about it/);
      // The board looks at the outcome and unblocks it. The count then starts from zero.
      stage.runner.plan(eve, says("Noted."), says("Third try."));
      stage.runner.plan(mia, verdict("PASS, with a roof now"));
      await org.board(updateOutcome, { id: built.id, blocked: null });
      await stage.rest();
      assert.equal((await byTitle(stage, "Build it.")).status, "completed");
      assert.equal((await org.board(viewAgent, { id: eve })).reviews?.pass, 1);
    });

    staged(
      "an unreadable verdict is not a pass, and after the second one the reviewer's manager is asked",
      async (stage) => {
        const { org } = stage;
        const mia = await report(stage, "Mia", "Manager");
        const eve = await report(stage, "Eve", "Engineer", mia);
        await work(stage);
        stage.runner.plan(eve, says("A house."));
        stage.runner.plan(
          mia,
          says("DELEGATE[Engineer]: Build it."),
          says("It looks good to me."),
          says("VERDICT: PASS"),
        );
        await printLines(stage, "DELEGATE[Manager]: See that it is built.");
        // Sessions that change nothing are followed by a pause.
        stage.advance(60_000);
        await stage.rest();
        const built = await byTitle(stage, "Build it.");
        assert.equal(built.status, "open");
        assert.match(
          built.blocked?.reason ?? "",
          /Mia gave no readable verdict twice, so Root \(Mia's manager\) decides what happens next/,
        );
        assert.match(await told(stage, org.rootId), /no readable verdict twice/);
        assert.deepEqual((await org.board(viewAgent, { id: eve })).reviews, {
          pass: 0,
          rework: 0,
          escalated: 1,
          unreadable: 2,
        });
      },
    );

    staged("an agent can judge only work that was submitted to it", async (stage) => {
      const mia = await report(stage, "Mia", "Manager");
      await report(stage, "Eve", "Engineer", mia);
      const other = await work(stage, "Another");
      await stage.org.board(updateOutcome, { id: other, blocked: { reason: "later" } });
      await work(stage);
      await printLines(stage, `VERDICT[${other}]: PASS`, "VERDICT[nothing]: PASS");
      const said = await told(stage, stage.org.rootId);
      assert.equal(said.match(/is waiting for your verdict/g)?.length, 2, said);
      assert.equal((await byTitle(stage, "Another")).status, "open");
    });

    staged(
      "an agent that repeats refused directives gets no more answers, and the board is told once",
      async (stage) => {
        const { org } = stage;
        await report(stage, "Ann", "Writer");
        stage.runner.otherwise(says("HIRE[Writer]: Writes.", "DELEGATE[Nobody]: Do it."));
        await org.board(sendMessage, { companyId: org.companyId, body: "Begin" });
        for (let round = 0; round < 60; round++) {
          stage.advance(10 * 60_000);
          await stage.rest();
        }
        const sessions = stage.runner.started.length;
        assert.ok(sessions < 40, `${sessions} sessions`);
        const { messages } = await org.board(boardInbox, { companyId: org.companyId, limit: 1000 });
        assert.ok(messages.length >= 1 && messages.length <= 4, messages.map(({ body }) => body).join("\n"));
        const before = stage.runner.started.length;
        stage.advance(60 * 60_000);
        await stage.rest();
        assert.equal(stage.runner.started.length, before, "it rests");
      },
    );
  });

import assert from "node:assert/strict";
import { describe } from "node:test";
import * as approvals from "../contract/approvals.ts";
import { boardInbox, sendMessage } from "../contract/mail.ts";
import { updateCompany } from "../contract/companies.ts";
import { why } from "../contract/why.ts";
import { storeKinds } from "../testing/organization.ts";
import { byTitle, outcomes, passes, report, stagedPrinters, told } from "../testing/printers.ts";
import type { Script } from "../testing/scripted-runner.ts";
import { says } from "../testing/scripts.ts";
import type { Stage } from "../testing/stage.ts";

/** An agent that does its work, reviews results and combines them. */
const diligent: Script = async ({ briefing: { assignment } }) => {
  const waiting = assignment.split("## Submissions waiting for your verdict")[1] ?? "";
  const verdicts = [...waiting.matchAll(/^### .*\(outcome ([0-9a-f-]{36})\)$/gm)];
  if (verdicts.length > 0)
    return { output: verdicts.map(([, id]) => `VERDICT[${id ?? ""}]: PASS`).join("\n") };
  const results = assignment.split("## Results to build on")[1]?.match(/^> .*/gm) ?? [];
  return { output: assignment.startsWith("## Your work now") ? `Done. ${results.join(" ")}` : "" };
};

for (const kind of storeKinds)
  describe(`an organization that grows where a person approves, on ${kind}`, () => {
    /** When the board asks, the chief wants a writer and a checker, and has work for both. */
    const staged = (
      name: string,
      play: (stage: Stage, ids: { readonly writer: string; readonly checker: string }) => Promise<void>,
    ): void => {
      stagedPrinters(kind)(name, async (stage) => {
        const { board, companyId, rootId } = stage.org;
        await board(updateCompany, { companyId, requireBoardApprovalForNewAgents: true });
        await board(sendMessage, { companyId, body: "Tell me of pelicans" });
        const hires = ["HIRE[Writer]: Writes.", "HIRE[Checker]: Checks."];
        stage.runner.plan(rootId, says(...hires, "DELEGATE[Writer]: Write.", "DELEGATE[Checker]: Check."));
        stage.runner.otherwise(diligent);
        await stage.rest();
        const list = (await board(approvals.listApprovals, { companyId, status: "pending" })).approvals;
        const of = (role: string) =>
          list.find(({ payload }) => JSON.stringify(payload).includes(`"role":"${role}"`))?.id ?? "";
        await play(stage, { writer: of("Writer"), checker: of("Checker") });
      });
    };
    const reasonOf = async (stage: Stage, title: string): Promise<string> =>
      (await stage.org.board(why, { id: (await byTitle(stage, title)).id })).says;
    /** Whether the explanation of the agent or outcome refers to one of the approvals. */
    const waitsFor = async (stage: Stage, id: string, approvalIds: readonly string[]): Promise<boolean> => {
      const { moves, references } = await stage.org.board(why, { id });
      return moves && references.some((one) => approvalIds.includes(one.id ?? ""));
    };
    /** All work is done and the board has its answer. */
    const ends = async (stage: Stage): Promise<void> => {
      await passes(stage, 5);
      const open = (await outcomes(stage)).filter(
        ({ status }) => status === "open" || status === "submitted",
      );
      assert.deepEqual(
        open.filter(({ kind: of }) => of !== "perpetual" && of !== "mandate").map(({ title }) => title),
        [],
      );
      const { messages } = await stage.org.board(boardInbox, { companyId: stage.org.companyId });
      // No other agent is blocked. Showing notices to a brain that had nothing to say does not count against its agent.
      assert.deepEqual(
        messages.map(({ body }) => body?.split("\n")[0]),
        ["Done: Tell me of pelicans"],
      );
    };

    staged("why names the approval that everything waits for", async (stage, { writer, checker }) => {
      assert.ok(await waitsFor(stage, (await byTitle(stage, "Write.")).id, [writer]));
      assert.ok(await waitsFor(stage, (await byTitle(stage, "Check.")).id, [checker]));
      for (const title of ["Tell me of pelicans", "Integrate: Tell me of pelicans"])
        assert.ok(await waitsFor(stage, (await byTitle(stage, title)).id, [writer, checker]), title);
      assert.ok(await waitsFor(stage, stage.org.rootId, [writer, checker]));
    });

    for (const order of [
      ["writer", "checker"],
      ["checker", "writer"],
    ] as const)
      staged(`each yes releases its own work: ${order.join(", then ")}`, async (stage, ids) => {
        const titles = { writer: "Write.", checker: "Check." };
        const [first, second] = order;
        await stage.org.board(approvals.approve, { id: ids[first] });
        await passes(stage, 2);
        assert.equal((await byTitle(stage, titles[first])).status, "completed");
        assert.ok(await waitsFor(stage, (await byTitle(stage, titles[second])).id, [ids[second]]));
        await stage.org.board(approvals.approve, { id: ids[second] });
        await ends(stage);
      });

    for (const [how, decide, word] of [
      ["rejection", approvals.reject, "rejected"],
      ["cancelling", approvals.cancelApproval, "cancelled"],
    ] as const)
      staged(`${how} gives the work back with the reason`, async (stage, { writer, checker }) => {
        const { board, rootId } = stage.org;
        await board(approvals.approve, { id: checker });
        await board(decide, { id: writer, decisionNote: "too dear" });
        assert.match(
          await told(stage, rootId),
          /Writer was not hired: .*too dear\. The work that was planned for this agent is back with you[\s\S]*- "Write\."/,
          word,
        );
        await ends(stage);
        assert.equal((await byTitle(stage, "Write.")).responsible?.id, rootId);
      });

    staged(
      "a revised hire keeps its work, and the work shows the new name",
      async (stage, { writer, checker }) => {
        const { board } = stage.org;
        await board(approvals.requestRevision, { id: writer, decisionNote: "call her Wanda" });
        assert.match(await reasonOf(stage, "Write."), /must be revised and resubmitted/);
        await board(approvals.resubmit, { id: writer, payload: { name: "Wanda", role: "Author" } });
        assert.equal((await byTitle(stage, "Write.")).blocked?.reason, "waiting for the approval of Wanda");
        for (const id of [writer, checker]) await board(approvals.approve, { id });
        await ends(stage);
        assert.equal((await byTitle(stage, "Write.")).responsible?.name, "Wanda");
      },
    );

    staged("work for a hire that goes to another boss stays, and its owner is told", async (stage, ids) => {
      const { board, rootId } = stage.org;
      const mia = await report(stage, "Mia", "Manager");
      await board(approvals.requestRevision, { id: ids.writer, decisionNote: "below Mia" });
      await board(approvals.resubmit, { id: ids.writer, payload: { reportsTo: mia } });
      await board(approvals.approve, { id: ids.writer });
      assert.match(
        await told(stage, rootId),
        /Writer doesn.t report to you\. The work that was planned for this agent is back with you/,
      );
      await board(approvals.approve, { id: ids.checker });
      await ends(stage);
      assert.equal((await byTitle(stage, "Write.")).responsible?.id, rootId);
    });
  });

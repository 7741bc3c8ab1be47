import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { listAgents } from "../contract/organization.ts";
import { createOutcome, delegateOutcome } from "../contract/outcomes.ts";
import { storeKinds } from "../testing/organization.ts";
import { byTitle, onPrinters, report, say, work } from "../testing/printers.ts";
import type { Stage } from "../testing/stage.ts";

for (const kind of storeKinds)
  describe(`an organization that grows, on ${kind}`, () => {
    const staged = (name: string, play: (stage: Stage) => Promise<void>): void => {
      test(name, () => onPrinters(kind, play));
    };

    staged("a plan for its own role is its own work; a role comes before a name", async (stage) => {
      const { org } = stage;
      const editor = await report(stage, "Writer", "Editor");
      await work(stage);
      const tasks = [
        { title: "Decide", assignee: "CEO" },
        { title: "Sign", assignee: "root" },
        { title: "Edit", assignee: "Editor" },
      ];
      await say(stage, "HIRE[Writer]: Writes.", "```plan", JSON.stringify(tasks), "```");
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
    });
  });

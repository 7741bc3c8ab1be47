import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  deleteFile,
  listFiles,
  readFile,
  readVersion,
  searchFiles,
  viewHistory,
  writeFile,
} from "../contract/knowledge.ts";
import {
  completeOutcome,
  createOutcome,
  reopenOutcome,
  submitOutcome,
  updateOutcome,
} from "../contract/outcomes.ts";
import { delegateOutcome } from "../contract/delegation.ts";
import { refusal, sharedOrganization, storeKinds } from "../testing/organization.ts";

for (const kind of storeKinds)
  describe(`files of outcomes on ${kind}`, async () => {
    const { org } = await sharedOrganization(kind);
    const boss = await org.agent("Chief");
    const report = await org.agent("Report", boss.id);

    const frontOf = (content: string): Record<string, string> =>
      Object.fromEntries(
        content
          .slice(4, content.indexOf("\n---\n"))
          .split("\n")
          .map((line) => [line.slice(0, line.indexOf(": ")), line.slice(line.indexOf(": ") + 2)]),
      );

    // covers OUT-02
    test("an outcome is a file, and every change is a version with the name of its author", async () => {
      const { id } = await boss.call(createOutcome, {
        title: 'Say "hello": properly\\n',
        description: "line one\n---\nstatus: forged",
        acceptance: "somebody answers",
        parents: [boss.id],
      });
      const first = await boss.call(readFile, { id });
      assert.equal(first.version, 1);
      assert.equal(first.mediaType, "text/markdown");
      const front = frontOf(first.content);
      assert.deepEqual(
        [front["title"], front["status"], front["parents"], front["children"], front["responsible"]],
        [JSON.stringify('Say "hello": properly\\n'), "open", `["${boss.id}"]`, "[]", `"${boss.id}"`],
      );
      // Text written into the body stays in the body.
      assert.equal(first.content.match(/^status: /gm)?.length, 2);
      assert.match(first.content, /\n## Acceptance criteria\n\nsomebody answers\n$/);

      await org.board(updateOutcome, { id, title: "Said" });
      await boss.call(updateOutcome, { id, blocked: { reason: "waiting" } });
      await boss.call(updateOutcome, { id, blocked: null });
      await boss.call(delegateOutcome, { id, to: report.id });
      await report.call(submitOutcome, { id });
      await boss.call(completeOutcome, { id });
      await boss.call(reopenOutcome, { id, reason: "again" });
      const { versions } = await boss.call(viewHistory, { id });
      assert.deepEqual(
        versions.toReversed().map(({ author }) => author.agentId),
        [boss.id, null, boss.id, boss.id, boss.id, report.id, boss.id, boss.id],
      );
      const status = async (version: number) =>
        frontOf((await boss.call(readVersion, { id, version })).content)["status"];
      assert.deepEqual(
        [await status(5), await status(6), await status(7), await status(8)],
        ["open", "submitted", "completed", "open"],
      );
      assert.equal(
        frontOf((await boss.call(readVersion, { id, version: 3 })).content)["blocked"],
        '"waiting"',
      );
      assert.equal((await boss.call(readFile, { id })).description, "Said");
    });

    test("the next read of a parent's file shows its new children, in one version", async () => {
      const parent = await boss.call(createOutcome, { title: "parent", parents: [boss.id] });
      assert.equal((await boss.call(readFile, { id: parent.id })).version, 1);
      const children: string[] = [];
      for (const title of ["first", "second", "third"])
        children.push((await boss.call(createOutcome, { title, parents: [parent.id] })).id);
      const read = await boss.call(readFile, { id: parent.id });
      assert.equal(read.version, 2);
      assert.equal(frontOf(read.content)["children"], `[${children.map((id) => `"${id}"`).join(", ")}]`);
      assert.equal((await boss.call(readFile, { id: parent.id })).version, 2);
      await boss.call(createOutcome, { title: "fourth", parents: [parent.id] });
      const { versions } = await boss.call(viewHistory, { id: parent.id });
      assert.deepEqual(
        versions.map(({ version, author }) => [version, author.kind]),
        [
          [3, "system"],
          [2, "system"],
          [1, "agent"],
        ],
      );
    });

    test("an outcome's file changes only with the outcome", async () => {
      const { id } = await boss.call(createOutcome, { title: "untouchable", parents: [boss.id] });
      const { version, hash } = await boss.call(readFile, { id });
      const written = { id, version, hash, content: "mine now" };
      // An agent has at most the right to read this file, by its position. The board is refused by the rule itself.
      await refusal(boss.call(writeFile, written), "forbidden");
      await refusal(boss.call(deleteFile, { id }), "forbidden");
      const { hint } = await refusal(org.board(writeFile, written), "refused");
      assert.match(hint, /update_outcome/);
      await refusal(org.board(deleteFile, { id }), "refused");
      assert.equal((await boss.call(readFile, { id })).version, version);
    });

    test("only agents that may read the outcome can read, list and find its file", async () => {
      const { id } = await boss.call(createOutcome, { title: "quixotic endeavour", parents: [boss.id] });
      const found = async (agent: typeof boss) =>
        (await agent.call(searchFiles, { query: "quixotic" })).files.map((file) => file.id);
      await refusal(report.call(readFile, { id }), "not_found");
      assert.deepEqual([await found(boss), await found(report)], [[id], []]);
      await boss.call(delegateOutcome, { id, to: report.id });
      assert.equal((await report.call(readFile, { id })).description, "quixotic endeavour");
      assert.deepEqual([await found(boss), await found(report)], [[id], [id]]);
      const listed = await report.call(listFiles, { kind: "outcome", query: "quixotic" });
      assert.deepEqual(
        listed.files.map((file) => [file.id, file.level]),
        [[id, "read"]],
      );
    });
  });

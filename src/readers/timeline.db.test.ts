import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createFile } from "../contract/knowledge.ts";
import { acknowledgeMessage, readInbox } from "../contract/mail.ts";
import { completeOutcome, createOutcome, submitOutcome, viewTimeline } from "../contract/outcomes.ts";
import { delegateOutcome } from "../contract/delegation.ts";
import { clearInbox } from "../testing/scripts.ts";
import { refusal, storeKinds } from "../testing/organization.ts";
import { onStage } from "../testing/stage.ts";

for (const kind of storeKinds)
  describe(`the timeline of an outcome on ${kind}`, () => {
    test("shows sessions, calls and files only to readers with the right", () =>
      onStage(kind, async ({ org, runner, ...stage }) => {
        const chief = await org.agent("Chief");
        const ann = await org.agent("Ann", chief.id);
        const stranger = await org.agent("Stranger");
        const job = await chief.call(createOutcome, { title: "job", parents: [chief.id] });
        await chief.call(delegateOutcome, { id: job.id, to: ann.id });
        let file = "";
        const part = await ann.call(createOutcome, { title: "part", parents: [job.id] });
        for (const { id } of (await ann.call(readInbox, {})).messages)
          await ann.call(acknowledgeMessage, { id });
        runner.plan(chief.id, clearInbox);
        runner.plan(ann.id, async ({ call }) => {
          file = (await call(createFile, { description: "hers", content: "zebra" })).id;
          await call(completeOutcome, { id: part.id });
          await call(submitOutcome, { id: job.id });
        });
        await stage.rest();
        const seen = await org.board(viewTimeline, { id: part.id });
        const operations = seen.entries.map(({ operation }) => operation);
        for (const one of ["outcome.create", "outcome.complete"]) assert.ok(operations.includes(one), one);
        assert.deepEqual(
          seen.entries.map(({ at }) => at),
          seen.entries.map(({ at }) => at).toSorted((a, b) => (a < b ? 1 : a > b ? -1 : 0)),
        );
        const sessions = seen.entries.filter((entry) => entry.kind === "session");
        const files = seen.entries.filter((entry) => entry.kind === "file" && entry.subject === file);
        assert.ok(sessions.length >= 1, operations.join());
        assert.ok(files.length >= 1, operations.join());
        const managers = await chief.call(viewTimeline, { id: part.id });
        const hidden = managers.entries.filter(({ operation }) => operation === "knowledge.create");
        assert.deepEqual(
          hidden.map(({ subject, data, says }) => [subject, data, says]),
          [[null, {}, "Ann created something that you can't read."]],
        );
        const read = seen.entries.map(({ says }) => says);
        for (const says of ['Ann completed "part".', 'Ann created the file "hers".'])
          assert.ok(read.includes(says), read.join("\n"));
        assert.ok(!JSON.stringify(managers).includes(file) && managers.entries.length > 0);
        // Chief sees all work below the job. Not every agent that reads its outcome sees the company's spending.
        assert.notEqual((await chief.call(viewTimeline, { id: job.id })).cost, null);
        assert.equal((await ann.call(viewTimeline, { id: org.rootId })).cost, null);
        assert.notEqual((await org.board(viewTimeline, { id: org.rootId })).cost, null);
        const above = await org.root(viewTimeline, { id: part.id }).catch(() => undefined);
        assert.ok(!JSON.stringify(above ?? "").includes(file));
        assert.ok(above?.entries.every(({ operation }) => operation.startsWith("outcome.")) ?? true);
        await refusal(stranger.call(viewTimeline, { id: part.id }), "not_found");
      }));
  });

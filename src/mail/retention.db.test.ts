import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createFile, readFile, searchFiles, viewAccessLog, viewHistory } from "../contract/knowledge.ts";
import { verifyLedger } from "../contract/ledger.ts";
import { acknowledgeMessage, readInbox, sendMessage, viewMessage } from "../contract/mail.ts";
import { updateCompany } from "../contract/companies.ts";
import { tidy } from "../daemon/tidying.ts";
import { refusal, storeKinds } from "../testing/organization.ts";
import { onStage } from "../testing/stage.ts";

const day = 24 * 3600 * 1000;

for (const kind of storeKinds)
  describe(`the retention of mail on ${kind}`, () => {
    test("the text of an acknowledged message is deleted after its time, but its record and waiting messages stay", () =>
      onStage(kind, async ({ org, store, advance }) => {
        const { companyId } = org;
        await org.board(updateCompany, { companyId, messageRetentionDays: 10, maxSessions: 0 });
        const ann = await org.agent("Ann");
        const file = await org.root(createFile, { description: "a file of its own", content: "plans" });
        const done = await org.root(sendMessage, { to: ann.id, body: "an ephemeral remark" });
        const enclosed = await org.root(sendMessage, { to: ann.id, file: file.id });
        const waiting = await org.root(sendMessage, { to: ann.id, body: "still to be read" });
        for (const { id } of [done, enclosed])
          await ann.call(acknowledgeMessage, { id, result: "dealt with" });
        advance(10 * day);
        await tidy(store);
        assert.equal((await ann.call(readFile, { id: done.file })).content, "an ephemeral remark");
        advance(1);
        await tidy(store);
        // The text is gone for everybody, wherever it was kept.
        for (const call of [ann.call, org.root, org.board])
          await refusal(call(readFile, { id: done.file }), "gone");
        assert.deepEqual((await org.board(searchFiles, { companyId, query: "ephemeral" })).files, []);
        const record = await org.root(viewMessage, { id: done.id });
        assert.deepEqual(
          [record.body, record.result, record.from.id, record.to.id],
          [null, "dealt with", org.rootId, ann.id],
        );
        assert.equal((await org.board(viewHistory, { id: done.file })).versions.length, 1);
        assert.ok((await org.board(viewAccessLog, { id: done.file })).accesses.length > 0);
        assert.equal((await org.board(verifyLedger, {})).ok, true);
        // Files that were attached to a message stay. Messages that nothing was done about are kept without a time limit.
        assert.equal((await ann.call(readFile, { id: file.id })).content, "plans");
        assert.deepEqual(
          (await ann.call(readInbox, {})).messages.map(({ id, body }) => [id, body]),
          [[waiting.id, "still to be read"]],
        );
        // Running it again changes nothing.
        await tidy(store);
        await refusal(ann.call(readFile, { id: done.file }), "gone");
      }));

    test("a forwarded message keeps its text until every receiver has acknowledged it", () =>
      onStage(kind, async ({ org, store, advance }) => {
        await org.board(updateCompany, { companyId: org.companyId, messageRetentionDays: 1, maxSessions: 0 });
        const ann = await org.agent("Ann");
        const ben = await org.agent("Ben", ann.id);
        const letter = await org.root(sendMessage, { to: ann.id, body: "for Ben, really" });
        const passed = await ann.call(sendMessage, { to: ben.id, file: letter.file });
        await ann.call(acknowledgeMessage, { id: letter.id, result: "passed on" });
        advance(2 * day);
        await tidy(store);
        assert.equal((await ben.call(readInbox, {})).messages[0]?.body, "for Ben, really");
        await ben.call(acknowledgeMessage, { id: passed.id });
        advance(2 * day);
        await tidy(store);
        await refusal(ben.call(readFile, { id: letter.file }), "gone");
      }));

    test("many texts are deleted at once, in each company by its own setting", () =>
      onStage(kind, async ({ org, store, advance }) => {
        const other = await org.another();
        for (const { board, companyId } of [org, other])
          await board(updateCompany, { companyId, maxSessions: 0 });
        await org.board(updateCompany, { companyId: org.companyId, messageRetentionDays: 1 });
        const files: string[] = [];
        for (const each of [org, other]) {
          const { id, call } = await each.agent("Ann");
          for (let index = 0; index < (each === org ? 105 : 2); index++) {
            const sent = await each.root(sendMessage, { to: id, body: `message ${index}` });
            await call(acknowledgeMessage, { id: sent.id });
            files.push(sent.file);
          }
        }
        advance(2 * day);
        await tidy(store);
        for (const [index, id] of files.entries())
          if (index < 105) await refusal(org.board(readFile, { id }), "gone");
          else await org.board(readFile, { id });
      }));
  });

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { terminateAgent } from "../contract/agents.ts";
import {
  explainAccess,
  grantPermission,
  listPermissions,
  revokePermission,
} from "../contract/capabilities.ts";
import { createFile, deleteFile, readFile, readVersion, writeFile } from "../contract/knowledge.ts";
import {
  listConversation,
  readInbox,
  sendDeferredMessage,
  sendMessage,
  viewMessage,
} from "../contract/mail.ts";
import {
  refusal,
  sharedOrganization,
  storeKinds,
  type TestCaller,
  teamsIn,
} from "../testing/organization.ts";
import { onStage } from "../testing/stage.ts";

for (const kind of storeKinds)
  describe(`files that go with mail on ${kind}`, async () => {
    const { org } = await sharedOrganization(kind);
    const { companyId } = org;
    const team = teamsIn(org);
    const file = (call: TestCaller, content = "first") =>
      call(createFile, { description: `about ${content}`, content });
    const kb = (id: string) => ({ resource: `kb:${id}`, level: "read" }) as const;
    const listed = async (call: TestCaller, id: string) =>
      (await call(listPermissions, {})).structural.filter(({ resource }) => resource === `kb:${id}`);

    for (const how of ["named", "linked"] as const)
      test(`a file that is ${how} is readable for the receiver, at the version that was sent`, async () => {
        const { boss, ann, ben, number } = await team();
        const paper = await file(ann.call);
        const sent = await ann.call(
          sendMessage,
          how === "named"
            ? { to: "boss", body: "see the file", files: [paper.id] }
            : { to: "boss", body: `see kb://${paper.id}` },
        );
        const enclosed = { id: paper.id, version: 1, description: "about first", linked: how === "linked" };
        assert.deepEqual([sent.files, sent.unreadable], [[enclosed], []]);
        await ann.call(writeFile, { id: paper.id, content: "second", version: 1, hash: paper.hash });
        const seen = await boss.call(readFile, { id: paper.id });
        assert.deepEqual([seen.content, seen.version, seen.pinned], ["first", 1, true]);
        await refusal(boss.call(readVersion, { id: paper.id, version: 2 }), "not_found");
        for (const call of [ben.call, org.root]) await refusal(call(readFile, { id: paper.id }), "not_found");
        assert.deepEqual((await boss.call(readInbox, {})).messages[0]?.files, [enclosed]);
        assert.deepEqual((await boss.call(listConversation, { with: ann.id })).messages[0]?.files, [
          enclosed,
        ]);
        // The right is listed and explained like every right.
        const [right, ...more] = await listed(boss.call, paper.id);
        assert.deepEqual([right?.levels, more], [["read"], []]);
        assert.match(right?.because ?? "", new RegExp(`Ann ${number}`));
        const explained = await boss.call(explainAccess, kb(paper.id));
        assert.deepEqual([explained.allowed, explained.held], [true, "read"]);
        assert.match(explained.because, /version 1/);
        await refusal(
          boss.call(writeFile, { id: paper.id, content: "x", version: 1, hash: paper.hash }),
          "forbidden",
        );
        // The right can't be granted to others.
        await refusal(boss.call(grantPermission, { to: ben.id, ...kb(paper.id) }), "not_found");
        await ann.call(deleteFile, { id: paper.id });
        assert.deepEqual((await boss.call(viewMessage, { id: sent.id })).files, []);
      });

    test("the right ends with the sender's right, and a chain of senders keeps no right alive", async () => {
      const { boss, ann, deep, number } = await team();
      const lent = await file(boss.call, "lent");
      const grant = await boss.call(grantPermission, { to: ann.id, resource: `kb:${lent.id}` });
      await ann.call(sendMessage, { to: deep.id, body: "look", files: [lent.id] });
      await deep.call(sendMessage, { to: "boss", body: "back to you", files: [lent.id] });
      assert.equal((await deep.call(readFile, { id: lent.id })).content, "lent");
      await boss.call(revokePermission, { id: grant.id });
      for (const { call } of [ann, deep]) await refusal(call(readFile, { id: lent.id }), "not_found");
      assert.deepEqual(await listed(deep.call, lent.id), []);
      assert.deepEqual((await deep.call(readInbox, {})).messages[0]?.files, []);
      // The borrower of a file is not its author, so a link does not share it.
      const other = await file(boss.call, "other");
      await boss.call(grantPermission, { to: ann.id, resource: `kb:${other.id}` });
      const again = await ann.call(sendMessage, { to: deep.id, body: `see kb://${other.id}` });
      assert.deepEqual(again.files, []);
      assert.deepEqual(again.unreadable, [
        {
          file: other.id,
          readers: [{ id: deep.id, name: `Deep ${number}` }],
          says: `Deep ${number} can't open kb://${other.id}. To share it, send it along: send_message with "files": ["${other.id}"].`,
        },
      ]);
      await refusal(deep.call(readFile, { id: other.id }), "not_found");
    });

    test("after the sender has left, the manager that has its files keeps the right alive", async () => {
      const { boss, ann, deep } = await team();
      const paper = await file(ann.call);
      const sent = await ann.call(sendMessage, { to: deep.id, body: "the text", files: [paper.id] });
      await org.board(terminateAgent, { id: ann.id });
      assert.equal((await boss.call(readFile, { id: paper.id })).content, "first");
      assert.equal((await deep.call(readFile, { id: paper.id })).content, "first");
      await org.board(terminateAgent, { id: boss.id });
      assert.equal((await deep.call(readFile, { id: paper.id })).content, "first");
      await org.board(deleteFile, { id: paper.id });
      await refusal(deep.call(readFile, { id: paper.id }), "gone");
      // The text of the message stays.
      assert.equal((await deep.call(viewMessage, { id: sent.id })).body, "the text");
    });

    test("the answer about a link that the sender can't open is the same whether the file exists or not", async () => {
      const { boss, ann } = await team();
      const hidden = await file(org.root, "hidden");
      const bosses = await file(boss.call, "the manager's own");
      const elsewhere = await org.another();
      const foreign = await file(elsewhere.root, "foreign");
      const nowhere = `${hidden.id.slice(0, 24)}${"f".repeat(12)}`;
      const says = [];
      for (const id of [hidden.id, bosses.id, foreign.id, nowhere]) {
        const { unreadable, files } = await ann.call(sendMessage, { to: "boss", body: `see kb://${id}` });
        assert.deepEqual(files, []);
        says.push(JSON.stringify(unreadable).replaceAll(id, "it"));
        await refusal(ann.call(sendMessage, { to: "boss", body: "x", files: [id] }), "not_found");
      }
      assert.equal(new Set(says).size, 1);
      assert.match(says[0] ?? "", /You can't open it either, or it was deleted\. Check the id\./);
      // The board can open everything. A link that its reader can open is not mentioned.
      const shared = await file(boss.call, "shared");
      await boss.call(grantPermission, { to: ann.id, ...kb(shared.id) });
      assert.deepEqual(
        (await ann.call(sendMessage, { to: "boss", body: `kb://${shared.id}` })).unreadable,
        [],
      );
    });

    test("the board sends files too, and 20 are the maximum", async () => {
      const { ann } = await team();
      const hidden = await file(org.root, "hidden");
      await org.board(sendMessage, { companyId, to: ann.id, body: "read this", files: [hidden.id] });
      assert.equal((await ann.call(readFile, { id: hidden.id })).pinned, true);
      const boards = await org.board(createFile, { companyId, description: "x", content: "the board's" });
      const linked = await org.board(sendMessage, { companyId, to: ann.id, body: `and kb://${boards.id}` });
      assert.deepEqual(linked.unreadable, []);
      assert.equal((await ann.call(readFile, { id: boards.id })).content, "the board's");
      const other = await file(org.root, "other");
      const { unreadable } = await org.board(sendMessage, {
        companyId,
        to: ann.id,
        body: `kb://${other.id}`,
      });
      assert.match(unreadable[0]?.says ?? "", /can't open kb:.* send it along/);
      await refusal(
        org.board(sendMessage, {
          companyId,
          to: ann.id,
          body: "x",
          files: Array.from({ length: 21 }, () => other.id),
        }),
        "invalid",
      );
      const elsewhere = await org.another();
      const foreign = await file(elsewhere.root, "foreign");
      await refusal(
        org.board(sendMessage, { companyId, to: ann.id, body: "x", files: [foreign.id] }),
        "not_found",
      );
    });

    test("the files of a deferred message arrive with it, at the version when it was sent", () =>
      onStage(kind, async (stage) => {
        const boss = await stage.org.agent("Chief");
        const ann = await stage.org.agent("Ann", boss.id);
        stage.runner.otherwise(async () => ({}));
        const paper = await file(boss.call);
        const deliverAt = new Date(stage.now() + 60_000).toISOString();
        await boss.call(sendDeferredMessage, { to: ann.id, body: "later", files: [paper.id], deliverAt });
        await boss.call(writeFile, { id: paper.id, content: "second", version: 1, hash: paper.hash });
        await refusal(ann.call(readFile, { id: paper.id }), "not_found");
        assert.equal((await ann.call(explainAccess, kb(paper.id))).allowed, false);
        stage.advance(60_000);
        await stage.rest();
        assert.equal((await ann.call(readFile, { id: paper.id })).content, "first");
      }));
  });

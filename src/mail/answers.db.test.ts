import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { terminateAgent, updateAgent } from "../contract/agents.ts";
import {
  explainAccess,
  grantPermission,
  listPermissions,
  revokePermission,
} from "../contract/capabilities.ts";
import { readFile } from "../contract/knowledge.ts";
import {
  acknowledgeMessage,
  agentInbox,
  boardInbox,
  cancelMessage,
  listConversation,
  listSent,
  markMessageRead,
  readInbox,
  sendDeferredMessage,
  sendMessage,
  viewMessage,
} from "../contract/mail.ts";
import { createPerson, signIn } from "../contract/people.ts";
import { type TestCaller, refusal, sharedOrganization, storeKinds } from "../testing/organization.ts";
import { onStage } from "../testing/stage.ts";

for (const kind of storeKinds) {
  describe(`answers on ${kind}`, async () => {
    const { org } = await sharedOrganization(kind);
    const { companyId } = org;
    let made = 0;
    /** Ann and Ben report to different managers. The board opened a route from Ann to Ben. */
    const pair = async () => {
      const number = ++made;
      const ann = await org.agent(`Ann ${number}`, (await org.agent(`Chief of Ann ${number}`)).id);
      const ben = await org.agent(`Ben ${number}`, (await org.agent(`Chief of Ben ${number}`)).id);
      const route = await org.board(grantPermission, { companyId, to: ann.id, resource: `mail:${ben.id}` });
      return { ann, ben, route };
    };
    const bodies = async (call: TestCaller) => (await call(readInbox, {})).messages.map(({ body }) => body);

    test("each message can be answered once, and an answer can't be answered", async () => {
      const { ann, ben, route } = await pair();
      await refusal(ben.call(sendMessage, { to: ann.id, body: "unasked" }), "forbidden");
      const first = await ann.call(sendMessage, { to: ben.id, body: "one" });
      const second = await ann.call(sendMessage, { to: ben.id, body: "two" });
      const answer = await ben.call(sendMessage, { to: ann.id, body: "to one", inReplyTo: first.id });
      assert.equal(answer.inReplyTo, first.id);
      await refusal(ben.call(sendMessage, { to: ann.id, body: "again", inReplyTo: first.id }), "forbidden");
      // Without inReplyTo, the last unanswered message is meant. The writer may be named by its slug, or left out.
      assert.equal((await ben.call(sendMessage, { to: `ann-${made}`, body: "to two" })).inReplyTo, second.id);
      await refusal(ben.call(sendMessage, { to: ann.id, body: "a third" }), "forbidden");
      await refusal(ben.call(sendMessage, { body: "a third", inReplyTo: second.id }), "forbidden");
      assert.deepEqual(await bodies(ann.call), ["to one", "to two"]);
      // Ann loses her route. She only got answers, which give no right to answer.
      await org.board(revokePermission, { id: route.id });
      await refusal(ann.call(sendMessage, { to: ben.id, body: "thanks" }), "forbidden");
      await refusal(ann.call(sendMessage, { to: ben.id, body: "thanks", inReplyTo: answer.id }), "forbidden");
      assert.deepEqual((await ann.call(viewMessage, { id: first.id })).answers, [answer.id]);
    });

    test("of two answers at the same time, one is sent", async () => {
      const { ann, ben } = await pair();
      const asked = await ann.call(sendMessage, { to: ben.id, body: "one" });
      const tried = await Promise.allSettled(
        Array.from({ length: 6 }, (_, index) =>
          ben.call(sendMessage, { to: ann.id, body: `answer ${index}`, inReplyTo: asked.id }),
        ),
      );
      assert.equal(tried.filter(({ status }) => status === "fulfilled").length, 1);
      assert.equal((await bodies(ann.call)).length, 1);
    });

    test("any agent may answer the board, and the board answers an agent", async () => {
      const { ann } = await pair();
      await refusal(ann.call(sendMessage, { to: "board", body: "unasked" }), "forbidden");
      const asked = await org.board(sendMessage, { companyId, to: ann.id, body: "how far?" });
      const answer = await ann.call(sendMessage, { body: "half way", inReplyTo: asked.id });
      assert.deepEqual([answer.to.kind, answer.inReplyTo], ["board", asked.id]);
      await refusal(ann.call(sendMessage, { to: "board", body: "and more" }), "forbidden");
      const more = await org.board(sendMessage, { companyId, body: "good", inReplyTo: answer.id });
      assert.deepEqual([more.to.id, more.inReplyTo], [ann.id, answer.id]);
      assert.equal((await ann.call(sendMessage, { to: "board", body: "thanks" })).inReplyTo, more.id);
    });

    test("what is answered must be a message that the recipient wrote to the sender", async () => {
      const { ann, ben } = await pair();
      const other = await pair();
      const asked = await ann.call(sendMessage, { to: ben.id, body: "one" });
      const foreign = await other.ann.call(sendMessage, { to: other.ben.id, body: "theirs" });
      const elsewhere = await org.another();
      const abroad = await elsewhere.board(sendMessage, { companyId: elsewhere.companyId, body: "abroad" });
      const nowhere = `${asked.id.slice(0, 24)}${"f".repeat(12)}`;
      for (const id of [foreign.id, abroad.id, nowhere])
        await refusal(ben.call(sendMessage, { to: ann.id, body: "x", inReplyTo: id }), "not_found");
      await refusal(ben.call(sendMessage, { to: "boss", body: "x", inReplyTo: asked.id }), "invalid");
      // A sender can't answer its own message.
      await refusal(ann.call(sendMessage, { to: ben.id, body: "x", inReplyTo: asked.id }), "not_found");
      // A notice of the system has no writer.
      await org.board(updateAgent, { id: ben.id, adapterType: "human" });
      const held = await ben.call(sendDeferredMessage, {
        to: "self",
        body: "later",
        deliverAt: new Date(Date.now() + 3_600_000).toISOString(),
      });
      await org.board(cancelMessage, { id: held.id });
      const notice = (await ben.call(readInbox, {})).messages.find(({ from }) => from.kind === "system");
      await refusal(ben.call(sendMessage, { body: "x", inReplyTo: notice?.id ?? "" }), "invalid");
      await refusal(
        ben.call(sendMessage, { to: "board", body: "x", inReplyTo: notice?.id ?? "" }),
        "invalid",
      );
    });

    test("the right to answer is listed and explained only to the agent and the board", async () => {
      const { ann, ben } = await pair();
      const resource = `mail:${ann.id}` as const;
      const listed = async () =>
        (await ben.call(listPermissions, {})).structural.filter((right) => right.resource === resource);
      assert.deepEqual(await listed(), []);
      assert.equal((await ben.call(explainAccess, { resource })).allowed, false);
      await ann.call(sendMessage, { to: ben.id, body: "one" });
      assert.deepEqual(await listed(), [
        {
          resource,
          levels: ["send"],
          because: `Ann ${made} wrote to you. You can answer each message once.`,
        },
      ]);
      const explained = await ben.call(explainAccess, { resource });
      assert.deepEqual([explained.allowed, explained.held], [true, "send"]);
      assert.match(explained.because, /can answer it once/);
      const boards = { companyId, agent: ben.id, resource };
      assert.equal((await org.board(explainAccess, boards)).allowed, true);
      await ben.call(sendMessage, { to: ann.id, body: "answered" });
      assert.deepEqual(await listed(), []);
      assert.equal((await ben.call(explainAccess, { resource })).allowed, false);
    });

    test("an answer to an agent that has left is refused, and its message stays readable", async () => {
      const { ann, ben } = await pair();
      const asked = await ann.call(sendMessage, { to: ben.id, body: "the text stays" });
      await org.board(terminateAgent, { id: ann.id });
      await refusal(ben.call(sendMessage, { to: ann.id, body: "x" }), "refused");
      assert.equal((await ben.call(readFile, { id: asked.file })).content, "the text stays");
      assert.equal((await ben.call(viewMessage, { id: asked.id })).body, "the text stays");
      assert.equal((await ben.call(explainAccess, { resource: `mail:${ann.id}` })).allowed, false);
    });

    test("a conversation shows both directions and links each answer to its message", async () => {
      const { ann, ben } = await pair();
      const asked = await ann.call(sendMessage, { to: ben.id, body: "one" });
      await ben.call(acknowledgeMessage, { id: asked.id, result: "noted" });
      const answer = await ben.call(sendMessage, { to: ann.id, body: "to one" });
      await ann.call(sendMessage, { to: "boss", body: "to another" });
      const held = await ann.call(sendDeferredMessage, {
        to: ben.id,
        body: "not yet",
        deliverAt: new Date(Date.now() + 3_600_000).toISOString(),
      });
      const seen = async (call: TestCaller, input: Record<string, unknown>) =>
        (await call(listConversation, input)).messages.map(({ body, answers, inReplyTo }) => [
          body,
          inReplyTo,
          answers,
        ]);
      const both = [
        ["to one", asked.id, []],
        ["one", null, [answer.id]],
      ];
      assert.deepEqual(await seen(ben.call, { with: ann.id }), both);
      assert.deepEqual(await seen(ann.call, { with: `ben-${made}` }), [["not yet", null, []], ...both]);
      assert.deepEqual((await seen(ann.call, {})).length, 4);
      assert.deepEqual(await seen(ben.call, { with: "board" }), []);
      // People see everyone's mail. Agents see their own.
      assert.deepEqual(await seen(org.board, { companyId, of: ben.id, with: ann.id }), both);
      for (const mailbox of [ann.id, "board"])
        await refusal(ben.call(listConversation, { of: mailbox }), "forbidden");
      assert.deepEqual(await seen(ben.call, { of: ben.id, with: ann.id }), both);
      await refusal(ben.call(listConversation, { with: "no such agent" }), "not_found");
      const page = await ben.call(listConversation, { limit: 1 });
      const rest = await ben.call(listConversation, { limit: 1, cursor: page.nextCursor ?? "" });
      assert.deepEqual([page.messages[0]?.body, rest.messages[0]?.body], ["to one", "one"]);
      await refusal(ben.call(listConversation, { cursor: held.id }), "invalid");
      // The past mail of an agent stays readable for the board.
      assert.deepEqual(
        (await org.board(agentInbox, { id: ben.id, all: true })).messages.map(({ body }) => body),
        ["one"],
      );
    });

    test("the board's messages have read marks", async () => {
      const elsewhere = await org.another();
      const { board, root } = elsewhere;
      const input = { companyId: elsewhere.companyId };
      const first = await root(sendMessage, { to: "board", body: "one" });
      const second = await root(sendMessage, { to: "board", body: "two" });
      assert.equal((await board(boardInbox, input)).unread, 2);
      assert.notEqual((await board(markMessageRead, { id: first.id })).readAt, null);
      assert.equal((await board(boardInbox, input)).unread, 1);
      await board(viewMessage, { id: second.id });
      const { unread, waiting } = await board(boardInbox, input);
      assert.deepEqual([unread, waiting], [0, 2]);
      assert.notEqual((await root(viewMessage, { id: second.id })).readAt, null);
      await refusal(root(markMessageRead, { id: first.id }), "not_found");
      const down = await board(sendMessage, { ...input, body: "down" });
      await refusal(board(markMessageRead, { id: down.id }), "refused");
      await board(viewMessage, { id: down.id });
      assert.equal((await board(viewMessage, { id: down.id })).readAt, null);
    });

    test("a viewer looks at the board's messages and marks none as read", async () => {
      const elsewhere = await org.another();
      const { board, root, core } = elsewhere;
      const { signIn: link } = await board(createPerson, { name: "Vera", role: "viewer" });
      const input = { code: link.code, kind: "program" };
      const signedIn = await core.dispatch({ operation: signIn, token: undefined, input });
      const viewer = elsewhere.as(signIn.output.parse(signedIn).token ?? "");
      const { id } = await root(sendMessage, { to: "board", body: "for the board" });
      const seen = await viewer(viewMessage, { id });
      assert.deepEqual([seen.body, seen.readAt], ["for the board", null]);
      assert.equal((await board(boardInbox, { companyId: elsewhere.companyId })).unread, 1);
    });
  });

  describe(`cancelled mail on ${kind}`, () => {
    const minute = 60_000;

    test("the sender or the board cancels a message that is not delivered, and it stays cancelled", () =>
      onStage(kind, async ({ org, ...stage }) => {
        const { companyId } = org;
        const boss = await org.agent("Chief");
        const ann = await org.agent("Ann", boss.id);
        const ben = await org.agent("Ben", boss.id);
        await org.board(updateAgent, { id: boss.id, adapterType: "human" });
        for (const { id } of [ann, ben]) await org.board(updateAgent, { id, adapterType: "human" });
        const deliverAt = new Date(stage.now() + minute).toISOString();
        const input = { to: ann.id, deliverAt };
        const mine = await boss.call(sendDeferredMessage, { ...input, body: "mine" });
        const other = await boss.call(sendDeferredMessage, { ...input, body: "other" });
        const kept = await boss.call(sendDeferredMessage, { ...input, body: "kept" });
        // For all other agents the message does not exist, including its receiver.
        for (const { call } of [ann, ben]) await refusal(call(cancelMessage, { id: mine.id }), "not_found");
        const cancelled = await boss.call(cancelMessage, { id: mine.id });
        assert.equal(cancelled.failure, "Chief cancelled it");
        assert.notEqual(cancelled.cancelledAt, null);
        await refusal(boss.call(cancelMessage, { id: mine.id }), "conflict");
        assert.equal((await org.board(cancelMessage, { id: other.id })).failure, "the board cancelled it");
        stage.advance(minute);
        await stage.rest();
        assert.deepEqual(
          (await ann.call(readInbox, {})).messages.map(({ body }) => body),
          ["kept"],
        );
        assert.deepEqual(
          (await boss.call(readInbox, {})).messages.map(({ body }) => body),
          [`The board cancelled your deferred message to Ann (kb://${other.file}). It was not delivered.`],
        );
        for (const call of [boss.call, org.board]) {
          const { message } = await refusal(call(cancelMessage, { id: kept.id }), "conflict");
          assert.match(message, /was delivered to Ann at /);
        }
        await refusal(ann.call(cancelMessage, { id: kept.id }), "refused");
        await refusal(ben.call(cancelMessage, { id: kept.id }), "not_found");
        await refusal(ann.call(viewMessage, { id: mine.id }), "not_found");
        await refusal(ann.call(readFile, { id: mine.file }), "not_found");
        assert.deepEqual(
          (await boss.call(listSent, {})).messages.map(({ body, failure }) => [body, failure]),
          [
            ["kept", null],
            ["other", "the board cancelled it"],
            ["mine", "Chief cancelled it"],
          ],
        );
        // The board cancels its own message.
        const boards = await org.board(sendDeferredMessage, {
          companyId,
          ...input,
          body: "b",
          deliverAt: new Date(stage.now() + minute).toISOString(),
        });
        await org.board(cancelMessage, { id: boards.id });
      }));

    test("of a delivery and a cancellation at the same time, only one takes effect", () =>
      onStage(kind, async ({ org, ...stage }) => {
        const boss = await org.agent("Chief");
        const ann = await org.agent("Ann", boss.id);
        for (const { id } of [boss, ann]) await org.board(updateAgent, { id, adapterType: "human" });
        const ids: string[] = [];
        for (let index = 0; index < 12; index++)
          ids.push(
            (
              await boss.call(sendDeferredMessage, {
                to: ann.id,
                body: `${index}`,
                deliverAt: new Date(stage.now() + minute).toISOString(),
              })
            ).id,
          );
        stage.advance(minute);
        const cancelled = await Promise.all([
          stage.scheduler.tick().then(() => null),
          ...ids.map((id) =>
            boss.call(cancelMessage, { id }).then(
              () => id,
              () => null,
            ),
          ),
        ]);
        await stage.rest();
        const got = (await ann.call(readInbox, {})).messages.map(({ id }) => id);
        const gone = cancelled.filter((id) => id !== null);
        assert.deepEqual([...got, ...gone].toSorted(), ids.toSorted());
      }));
  });
}
